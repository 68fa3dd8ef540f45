"""The present log under every policy, side by side; worked out one by one while the screen is looked at."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.config.errors import WorkbenchError
from workbench.context.items import SIGNS, State
from workbench.context.load import preset_names, user_policies
from workbench.tui.screens.text_blocks import blocks, pairs, paragraph, per_cent
from workbench.tui.screens.what_if import PolicyOutcome, SessionSnapshot, outcome, set_up
from workbench.tui.widgets.columns import Cell, Column, Row
from workbench.tui.widgets.finder import Finder, FinderResult
from workbench.tui.widgets.host import Host

COUNTED: tuple[State, ...] = ("sent", "truncated", "masked", "summarised", "dropped", "excluded")
VERDICTS = {"fits": "fits", "too_large": "too large", "waiting": "waiting"}
WAITING = ("…",) * 10


def policy_names(now: str) -> list[str]:
    """The policies to choose from: the one that holds first, then the presets, then the user's own."""
    own = [str(path) for path in user_policies()]
    return list(dict.fromkeys([now, *preset_names(), *own]))


def short_name(ref: str) -> str:
    """A policy as people call it: a file by its name."""
    return ref.rpartition("/")[2].removesuffix(".toml")


class LabScreen(Finder[str]):
    """A row per policy; Enter goes on under it."""

    NAME = "lab: this session under every policy"
    COLUMNS = (
        Column("policy"),
        Column("tokens", 9, right=True),
        Column("share", 7, right=True),
        Column("sent", 5, right=True, least=92),
        Column("cut", 5, right=True, least=92),
        Column("mask", 5, right=True, least=92),
        Column("sum", 5, right=True, least=92),
        Column("drop", 5, right=True, least=92),
        Column("verdict", 9),
        Column("compacts", 9, right=True, least=60),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "use this policy", id="lab.use", priority=True),
    ]

    def __init__(self, host: Host, asked: SessionSnapshot) -> None:
        super().__init__(host)
        self.add_class("-below")
        self._asked = asked
        self._made: dict[str, PolicyOutcome | WorkbenchError] = {}

    def on_mount(self) -> None:
        """The rows fill one after the other."""
        self._work_out()

    @work(group="lab")
    async def _work_out(self) -> None:
        for ref in policy_names(self._asked.policy):
            self._made[ref] = await self.host.in_background(partial(self._outcome, ref))
            self.redraw(ref, self._cells(ref))
            if self.marked == ref:
                self.retell()

    def _outcome(self, ref: str) -> PolicyOutcome | WorkbenchError:
        # What was set in this session holds under each of them, as it would if one went on under it.
        try:
            setup = set_up(self.host.services, self.host.options, self._asked, ref, self._asked.knobs)
            return outcome(setup, self._asked, ref)
        except WorkbenchError as error:
            return error

    async def find(self, text: str) -> FinderResult:
        """All policies whose names have the words in them."""
        words = text.lower().split()
        names = [ref for ref in policy_names(self._asked.policy) if all(word in ref.lower() for word in words)]
        return FinderResult([Row(ref, self._cells(ref)) for ref in names])

    def _cells(self, ref: str) -> tuple[Cell, ...]:
        now = Content.assemble(("● ", "$success"), short_name(ref), ("  now", "$quiet"))
        title = now if ref == self._asked.policy else Content(f"  {short_name(ref)}")
        made = self._made.get(ref)
        if made is None:
            return title, *WAITING[1:]
        if isinstance(made, WorkbenchError):
            return title, "–", "–", *("–",) * 5, Content.styled("✗ broken", "$error"), "–"
        good = made.status == "fits"
        verdict = Content.styled(f"{'✓' if good else '✗'} {VERDICTS[made.status]}", "$success" if good else "$error")
        counts = [f"{made.states.get(state, 0):,}" for state in COUNTED[:5]]
        soon = "never" if made.next == "no automatic compaction" else "?" if made.soon is None else _turns(made.soon)
        return title, f"{made.tokens:,}", per_cent(made.tokens, made.window), *counts, verdict, soon

    async def tell(self, value: str) -> Content:
        """The figures in words."""
        made = self._made.get(value)
        if made is None:
            return paragraph("working…", "$quiet")
        if isinstance(made, WorkbenchError):
            return paragraph(str(made), "$warning")
        freed = self._asked.tokens - made.tokens
        change = f"{abs(freed):,} {'fewer' if freed > 0 else 'more'} than now" if freed else "as now"
        facts = pairs(
            [
                ("request", f"{made.tokens:,} of {made.window:,} tokens, {change}"),
                ("whole", f"{made.original:,} tokens, if nothing were left out"),
                ("verdict", made.why),
                ("compacts", made.next),
            ],
            self.wide,
        )
        states = pairs([(f"{SIGNS[state]} {state}", f"{made.states.get(state, 0):,}") for state in COUNTED], self.wide)
        title = Content.styled(short_name(value), "bold")
        return blocks(title, paragraph(made.about), facts, states)

    def take(self, value: str) -> None:
        """Go on under it."""
        self.dismiss(value)


def _turns(turns: int) -> str:
    return "now" if turns <= 0 else f"{turns:,} turn" if turns == 1 else f"{turns:,} turns"
