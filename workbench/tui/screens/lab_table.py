"""What the lab shows of each policy: its row in the table, its line in the plot, its figures at one request."""

from __future__ import annotations

from dataclasses import dataclass, field

from textual.content import Content

from workbench.config.errors import WorkbenchError
from workbench.config.text import printable
from workbench.context.load import RECORDED
from workbench.lab.values import ABOUT_MISSED, PolicyRun
from workbench.tui.compaction.plot import MADE
from workbench.tui.screens.lab_plot import MISSED, LabLine, LabPicture, signs
from workbench.tui.screens.text_blocks import per_cent
from workbench.tui.screens.what_if import short_name
from workbench.tui.screens.what_if_bar import PolicyPart, bar_legend, policy_bar
from workbench.tui.widgets.cells import number
from workbench.tui.widgets.columns import Cell, Column, line

WIDE = 90
"""Columns of the list from which on numbers are written out."""
WIDE_CELL, NARROW_CELL = 50, 27
"""Columns of the figures of one request under one policy, at least."""
PARTS = (
    PolicyPart("read from the cache", "▓", "$slot-system"),
    PolicyPart("not in it", "█", "$slot-history"),
    PolicyPart("too large to be sent", "!", "$error"),
    PolicyPart("", " ", ""),
)
FIGURES = (
    *(Column("", 1), Column("", 10), Column("", 7, right=True), Column("", 7, right=True, least=WIDE_CELL)),
    Column(""),
)
"""Of one request under one policy; as often beside each other as there is room."""


@dataclass(slots=True)
class LabTable:
    """The policies of a lab and what is known of them so far."""

    refs: list[str]
    """In the order of their signs."""
    now: str
    """The policy of the session."""
    waiting: list[str]
    """Still to be replayed."""
    working: str = ""
    """Being replayed."""
    base: str = RECORDED
    """What the others are compared with."""
    runs: dict[str, PolicyRun | WorkbenchError] = field(default_factory=dict)
    turned: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By policy: the knobs that were turned here, the last one last."""

    @property
    def made(self) -> list[PolicyRun]:
        """Those that were replayed."""
        return [run for run in self.runs.values() if isinstance(run, PolicyRun)]

    def run(self, ref: str | None) -> PolicyRun | None:
        """How one did; None: it is not known yet, or broken."""
        made = self.runs.get(ref or "")
        return made if isinstance(made, PolicyRun) else None

    def cells(self, ref: str, columns: int, is_wide: bool, bar: int) -> tuple[Cell, ...]:
        """Its row of so many columns, with room for a bar; `is_wide`: numbers are written out."""
        sign, style = signs(self.refs)[ref]
        words = [f"✎{len(self.turned[ref])}"] if self.turned.get(ref) else []
        words += ["base"] if ref == self.base else ["now"] if ref == self.now else []
        dot = ("● ", "$success") if ref == self.now else ("  ", "")
        named = Content.assemble((f"{sign} ", f"bold {style}"), dot, short_name(ref))
        name = Content.assemble(named, (" ".join(["", *words]), "$quiet"))
        made, figures = self.runs.get(ref), columns - 2
        if ref == self.working or (made is None and ref in self.waiting):
            said = "replaying…" if ref == self.working else "waiting…"
            if not isinstance(made, PolicyRun):
                return name, Content.styled(said, "$quiet"), *("…",) * figures
            name = Content.assemble(name, (" …", "$accent"))
        if not isinstance(made, PolicyRun):
            return name, Content.styled(f"✗ broken: {printable(str(made))}", "$error"), *("–",) * figures
        if not made.points:
            return name, "", *("–",) * figures
        overflows: Cell = Content.styled(f"✗ {made.overflows:,}", "bold $error") if made.overflows else "0"
        totals, peaks = [run.tokens for run in self.made], [run.peak for run in self.made]
        # Where there is no column for what did not fit, the peak says that something did not.
        peak: Cell = Content.assemble(("✗ " if made.overflows else "", "bold $error"), number(made.peak, 5, peaks))
        misses = f"{100 * len(made.misses) / len(made.points):.1f}"
        return (
            name,
            self._bar(made, bar),
            number(made.tokens, 11 if is_wide else 5, totals),
            *([f"{made.peak:,}", overflows, f"{len(made.compactions):,}"] if is_wide else [peak]),
            Content.styled(f"{MISSED} {misses}", "$warning") if made.misses else misses,
            "–" if made.cost is None else f"${made.cost:,.2f}",
        )

    def _bar(self, made: PolicyRun, room: int) -> Content:
        base, scale = self.run(self.base), max(run.tokens for run in self.made)
        return policy_bar(_parts(made), base.tokens if base is not None else 0, scale, room, PARTS)

    def legend(self) -> str:
        """What the bars are made of; empty while there are none."""
        bars = [_parts(run) for run in self.made]
        missed = f"  {MISSED} {ABOUT_MISSED}" if any(run.misses for run in self.made) else ""
        return f"{bar_legend(bars, short_name(self.base), PARTS)}{missed}" if bars else ""

    def picture(self, marked: str, at: int) -> LabPicture:
        """All lines; the marked one on top, the cursor at one request."""
        shown = [ref for ref in self.refs if (run := self.run(ref)) is not None and run.points]
        run = self.run(marked) or self.run(self.base)
        chosen = shown.index(marked) if marked in shown else -1
        return LabPicture([self.line(ref) for ref in shown], chosen, run.window if run is not None else 0, at)

    def line(self, ref: str) -> LabLine:
        """One that was replayed."""
        run = self.run(ref)
        assert run is not None
        return LabLine(
            *signs(self.refs)[ref],
            [point.tokens for point in run.points],
            frozenset(each.request - 1 for each in run.compactions),
            frozenset(miss.request - 1 for miss in run.misses),
        )

    def figures(self, marked: str | None, at: int, width: int) -> list[Content]:
        """A cell per policy, the marked and the base first: in a small terminal no others are seen."""
        first = [ref for ref in dict.fromkeys([marked, self.base]) if ref is not None]
        refs = [ref for ref in dict.fromkeys([*first, *self.refs]) if (run := self.run(ref)) and run.points]
        is_wide = width >= WIDE
        many = max(1, width // (WIDE_CELL if is_wide else NARROW_CELL))
        cells = [line(FIGURES, self._figure(ref, at, is_wide, ref == marked), width // many - 1) for ref in refs]
        return [Content(" ").join(cells[at : at + many]) for at in range(0, len(cells), many)]

    def _figure(self, ref: str, at: int, is_wide: bool, is_marked: bool) -> tuple[Cell, ...]:
        run, (sign, style) = self.run(ref), signs(self.refs)[ref]
        assert run is not None
        point = run.points[at]
        notes = [
            ("✗", "too large", "bold $error") if not point.fits else None,
            (f"{MISSED} {point.misses}", "missed", "$warning") if point.misses else None,
            (MADE, "compacted", "") if any(each.request == point.request for each in run.compactions) else None,
        ]
        name = Content.styled(short_name(ref), "bold" if is_marked else "")
        share = per_cent(point.tokens, run.window)
        return (
            Content.styled(sign, f"bold {style}"),
            name,
            f"{point.tokens:,}",
            share,
            Content(" ").join(
                Content.styled(f"{sign} {word}" if is_wide else sign, style)
                for sign, word, style in filter(None, notes)
            ),
        )


def _parts(run: PolicyRun) -> tuple[int, ...]:
    """Of the bar: what of its tokens the cache had, what it had not, and what would not have been sent at all."""
    fitting = [point for point in run.points if point.fits]
    read, sent = sum(point.cache_read for point in fitting), sum(point.tokens for point in fitting)
    return read, sent - read, run.tokens - sent, 0
