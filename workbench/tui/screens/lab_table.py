"""What the lab shows for each policy: its row in the table, its line in the plot, its figures at one request."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field
from textual.content import Content

from workbench.config.errors import WorkbenchError
from workbench.config.text import counted, percent, printable
from workbench.context.policy_files import short_policy_name
from workbench.context.policy_names import RECORDED
from workbench.lab.values import ABOUT_MISSED, JUDGED, MISSED_IN_100, REREADING, JudgedShare, PolicyRun, judged_text
from workbench.tui.compaction.plot import MADE
from workbench.tui.screens.lab_plot import MISSED, LabLine, LabPicture, policy_signs
from workbench.tui.screens.text_blocks import per_cent
from workbench.tui.screens.what_if_bar import PolicyPart, bar_legend, policy_bar
from workbench.tui.widgets.cells import short_number
from workbench.tui.widgets.columns import Cell, Column, row_line

WIDE = 90
"""From this width on, numbers are written in full."""
WIDE_CELL, NARROW_CELL = 50, 27
"""The least width of the figures of one request under one policy."""
PARTS = (
    PolicyPart("read from the cache", "▓", "$slot-system"),
    PolicyPart("not in it", "█", "$slot-history"),
    PolicyPart("too large to be sent", "!", "$error"),
    PolicyPart("", " ", ""),
)
NARROW_COLUMNS = (
    Column("  policy", 18),
    Column(""),
    Column("tokens", 6, right=True),
    Column("peak", 7, right=True, least=70),
    Column(MISSED_IN_100, 13, right=True),
    Column("cost", 8, right=True),
)
WIDE_COLUMNS = (
    Column("  policy", 20),
    Column(""),
    Column("tokens", 11, right=True),
    Column("peak", 9, right=True),
    Column("too large", 9, right=True),
    Column("compacted", 9, right=True),
    Column(MISSED_IN_100, 13, right=True),
    Column("cost", 9, right=True),
)
JUDGED_COLUMN = Column(JUDGED, 6, right=True)
FIGURES = (
    *(Column("", 1), Column("", 10), Column("", 7, right=True), Column("", 7, right=True, least=WIDE_CELL)),
    Column(""),
)
"""The columns for one request under one policy, repeated side by side if there is room."""


class LabTable(Struct):
    """The policies of a lab and their runs so far."""

    refs: list[str]
    """In the order of their signs."""
    now: str
    """The policy of the session."""
    waiting: list[str]
    """The policies that are not replayed yet."""
    working: str = ""
    """The policy that is being replayed."""
    base: str = RECORDED
    """The policy that others are compared with."""
    runs: dict[str, PolicyRun | WorkbenchError] = field(default_factory=dict)
    turned: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By policy: the knobs changed here, in the order of the changes."""
    judged: dict[str, JudgedShare | None] = field(default_factory=dict)
    """By policy, once it was asked for."""

    @property
    def made(self) -> list[PolicyRun]:
        """The finished runs."""
        return [run for run in self.runs.values() if isinstance(run, PolicyRun)]

    def run_of_policy(self, ref: str | None) -> PolicyRun | None:
        """The run of a policy; None if it is not finished, or failed."""
        made = self.runs.get(ref or "")
        return made if isinstance(made, PolicyRun) else None

    def columns(self, is_wide: bool) -> Sequence[Column]:
        """The columns of the rows. In a narrow list what was judged takes the place of the peak."""
        found = WIDE_COLUMNS if is_wide else NARROW_COLUMNS
        if not self.judged:
            return found
        return [*(each for each in found if is_wide or each.title != "peak"), JUDGED_COLUMN]

    def cells(self, ref: str, is_wide: bool, bar: int) -> tuple[Cell, ...]:
        """A policy's row, with `bar` cells for its bar; `is_wide`: write numbers in full."""
        sign, style = policy_signs(self.refs)[ref]
        words = [f"✎{len(self.turned[ref])}"] if self.turned.get(ref) else []
        words += ["base"] if ref == self.base else ["now"] if ref == self.now else []
        dot = ("● ", "$success") if ref == self.now else ("  ", "")
        named = Content.assemble((f"{sign} ", f"bold {style}"), dot, short_policy_name(ref))
        name = Content.assemble(named, (" ".join(["", *words]), "$quiet"))
        made, figures = self.runs.get(ref), len(self.columns(is_wide)) - 2
        if ref == self.working or (made is None and ref in self.waiting):
            state = "replaying…" if ref == self.working else "waiting…"
            if not isinstance(made, PolicyRun):
                return name, Content.styled(state, "$quiet"), *("…",) * figures
            name = Content.assemble(name, (" …", "$accent"))
        if not isinstance(made, PolicyRun):
            return name, Content.styled(f"✗ broken: {printable(str(made))}", "$error"), *("–",) * figures
        if not made.points:
            return name, "", *("–",) * figures
        overflows: Cell = Content.styled(f"✗ {made.overflows:,}", "bold $error") if made.overflows else "0"
        totals, peaks = [run.tokens for run in self.made], [run.peak for run in self.made]
        # Without a column for requests that do not fit, the peak shows that there are some.
        peak: Cell = Content.assemble(
            ("✗ " if made.overflows else "", "bold $error"), short_number(made.peak, 5, peaks)
        )
        sizes: list[Cell] = [f"{made.peak:,}", overflows, f"{len(made.compactions):,}"] if is_wide else [peak]
        misses, share = f"{made.missed_in_100:.1f}", self.judged.get(ref)
        return (
            name,
            self._bar(made, bar),
            short_number(made.tokens, 11 if is_wide else 5, totals),
            *(sizes if is_wide or not self.judged else []),
            Content.styled(f"{MISSED} {misses}", "$warning") if made.misses else misses,
            "–" if made.cost is None else f"${made.cost:,.2f}",
            *(["–" if share is None else percent(share.mean, 0)] if self.judged else []),
        )

    def _bar(self, made: PolicyRun, room: int) -> Content:
        base, scale = self.run_of_policy(self.base), max(run.tokens for run in self.made)
        return policy_bar(_parts(made), base.tokens if base is not None else 0, scale, room, PARTS)

    def legend(self) -> str:
        """The meaning of the bars; empty while there are none."""
        bars = [_parts(run) for run in self.made]
        missed = f"  {MISSED} {ABOUT_MISSED}" if any(run.misses for run in self.made) else ""
        return f"{bar_legend(bars, short_policy_name(self.base), PARTS)}{missed}" if bars else ""

    def picture(self, marked: str, at: int) -> LabPicture:
        """The plot, with the marked line on top and the cursor at one request."""
        shown = [ref for ref in self.refs if (run := self.run_of_policy(ref)) is not None and run.points]
        run = self.run_of_policy(marked) or self.run_of_policy(self.base)
        chosen = shown.index(marked) if marked in shown else -1
        return LabPicture([self.line(ref) for ref in shown], chosen, run.window if run is not None else 0, at)

    def line(self, ref: str) -> LabLine:
        """The line of a finished run."""
        run = self.run_of_policy(ref)
        assert run is not None
        return LabLine(
            *policy_signs(self.refs)[ref],
            [point.tokens for point in run.points],
            frozenset(each.request - 1 for each in run.compactions),
            frozenset(miss.request - 1 for miss in run.misses),
        )

    def session_line(self, ref: str | None) -> list[Content]:
        """What a policy misses in the whole session, and what it would cost to read that again."""
        run = self.run_of_policy(ref)
        if run is None or not run.points:
            return []
        words = "nothing missed"
        if run.misses:
            requests, facts = counted(run.missed_requests, "request"), counted(len(run.misses), "fact")
            price = f"{run.reread_tokens:,} tokens" if run.reread_cost is None else f"${run.reread_cost:,.2f}"
            words = f"{requests} with a miss, {facts}, {REREADING} {price}"
        share = self.judged.get(ref or "")
        words += f", {JUDGED} {judged_text(share.mean, share.probes)}" if share is not None else ""
        return [Content.styled(f"{short_policy_name(run.policy)}, whole session: {words}", "$quiet")]

    def figures(self, marked: str | None, at: int, width: int) -> list[Content]:
        """A cell per policy; the marked one and the base come first, because a small terminal shows no others."""
        first = [ref for ref in dict.fromkeys([marked, self.base]) if ref is not None]
        refs = [ref for ref in dict.fromkeys([*first, *self.refs]) if (run := self.run_of_policy(ref)) and run.points]
        is_wide = width >= WIDE
        many = max(1, width // (WIDE_CELL if is_wide else NARROW_CELL))
        cells = [row_line(FIGURES, self._figure(ref, at, is_wide, ref == marked), width // many - 1) for ref in refs]
        return [Content(" ").join(cells[at : at + many]) for at in range(0, len(cells), many)]

    def _figure(self, ref: str, at: int, is_wide: bool, is_marked: bool) -> tuple[Cell, ...]:
        run, (sign, style) = self.run_of_policy(ref), policy_signs(self.refs)[ref]
        assert run is not None
        point = run.points[at]
        notes = [
            ("✗", "too large", "bold $error") if not point.fits else None,
            (f"{MISSED} {point.misses}", "missed", "$warning") if point.misses else None,
            (MADE, "compacted", "") if any(each.request == point.request for each in run.compactions) else None,
        ]
        name = Content.styled(short_policy_name(ref), "bold" if is_marked else "")
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
    """The parts of the bar: tokens from the cache, other tokens, and tokens that would not have been sent."""
    fitting = [point for point in run.points if point.fits]
    read, sent = sum(point.cache_read for point in fitting), sum(point.tokens for point in fitting)
    return read, sent - read, run.tokens - sent, 0
