"""The lab's screen with the next request under every policy, side by side. Each appears when it is computed."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.compaction.forecast import SOON
from workbench.config.errors import WorkbenchError
from workbench.config.text import counted
from workbench.context.items import SIGNS, State
from workbench.context.plan import ContextPlan
from workbench.context.policy_files import short_policy_name
from workbench.context.policy_names import RECORDED
from workbench.tui.screens.policy_diff import PlanSide, PolicyDiffScreen
from workbench.tui.screens.text_blocks import join_blocks, name_value_rows, paragraph, per_cent
from workbench.tui.screens.what_if import (
    PolicyOutcome,
    SessionSnapshot,
    plan_snapshot,
    policy_outcome,
    what_if_policies,
    what_if_setup,
)
from workbench.tui.screens.what_if_bar import bar_legend, policy_bar
from workbench.tui.widgets.columns import Cell, Column, Row, rest_width
from workbench.tui.widgets.finder import Finder, FinderResult
from workbench.tui.widgets.main_screen_api import MainScreenApi

COUNTED: tuple[State, ...] = ("sent", "truncated", "masked", "summarised", "dropped", "excluded")
"""The states whose items are counted. All but the last have a column."""
VERDICTS = {"fits": "fits", "too_large": "too large", "waiting": "waiting"}
WAITING = ("…",) * 11
"""The cells of a policy that is still being computed."""


class LabMomentScreen(Finder[str | int]):
    """A row per policy with its bar; any two can be compared item by item.

    Its result is the policy to use, or the event to show in the context.
    """

    NAME = "lab: the next request under every policy"
    COLUMNS = (
        Column("policy", 16),
        Column(""),
        Column("tokens", 9, right=True),
        Column("share", 7, right=True),
        Column("sent", 5, right=True, least=128),
        Column("cut", 5, right=True, least=128),
        Column("mask", 5, right=True, least=128),
        Column("sum", 5, right=True, least=128),
        Column("drop", 5, right=True, least=128),
        Column("verdict", 11),
        Column("compacts", 9, right=True, least=84),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "use this policy", id="moment.use", priority=True),
        Binding("ctrl+d", "compare", "compare item by item", id="moment.compare", priority=True),
        Binding("ctrl+b", "base", "compare with this one", id="moment.base", priority=True),
    ]

    def __init__(self, host: MainScreenApi, asked: SessionSnapshot) -> None:
        super().__init__(host)
        self.add_class("-below")
        self._asked = asked
        self._made: dict[str, PolicyOutcome | WorkbenchError] = {}
        self._base = asked.policy if asked.recorded is None else RECORDED
        """The policy that all are compared with; at first the session's own, or the recording of another agent."""

    def on_mount(self) -> None:
        self._work_out()

    @work(group="lab")
    async def _work_out(self) -> None:
        """Compute the outcome of each policy in the background, the base first, and show it."""
        for ref in dict.fromkeys([self._base, *what_if_policies(self._asked.policy)]):
            self._made[ref] = await self.host.in_background(partial(self._outcome, ref))
            self.refill()  # the scale of all bars may have changed

    def _outcome(self, ref: str) -> PolicyOutcome | WorkbenchError:
        # The settings that the session overrides apply on top, as they would in the session.
        try:
            setup = what_if_setup(self.host.services, self.host.options, self._asked, ref, self._asked.knobs)
            return policy_outcome(setup, self._asked, ref)
        except WorkbenchError as error:
            return error

    def _plan(self, ref: str) -> ContextPlan:
        setup = what_if_setup(self.host.services, self.host.options, self._asked, ref, self._asked.knobs)
        return plan_snapshot(setup, self._asked)

    async def search_rows(self, text: str) -> FinderResult:
        """Find policies whose names have all words of `text`."""
        words = text.lower().split()
        names = [ref for ref in what_if_policies(self._asked.policy) if all(word in ref.lower() for word in words)]
        bars = [made.parts for made in self._made.values() if isinstance(made, PolicyOutcome)]
        return FinderResult(
            [Row(ref, self._cells(ref)) for ref in names], bar_legend(bars, short_policy_name(self._base))
        )

    def on_resize(self) -> None:
        self.call_after_refresh(self.refill)
        super().on_resize()

    def _bar(self, made: PolicyOutcome) -> Content:
        width = self.found.scrollable_content_region.width - 1
        bars = [each for each in self._made.values() if isinstance(each, PolicyOutcome)]
        base = self._made.get(self._base)
        other = sum(base.parts[:-1]) if isinstance(base, PolicyOutcome) else 0
        scale = max(sum(each.parts) for each in bars)
        return policy_bar(made.parts, other, scale, rest_width(self.COLUMNS, width) if width > 0 else 0)

    def _cells(self, ref: str) -> tuple[Cell, ...]:
        word = " now" if ref == self._asked.policy else " base" if ref == self._base else ""
        sign = ("● ", "$success") if ref == self._asked.policy else ("  ", "")
        title = Content.assemble(sign, short_policy_name(ref), (word, "$quiet"))
        made = self._made.get(ref)
        if made is None:
            return title, *WAITING[1:]
        if isinstance(made, WorkbenchError):
            return title, "", "–", "–", *("–",) * 5, Content.styled("✗ broken", "$error"), "–"
        good = made.status == "fits"
        verdict = Content.styled(f"{'✓' if good else '✗'} {VERDICTS[made.status]}", "$success" if good else "$error")
        counts = [f"{made.states.get(state, 0):,}" for state in COUNTED[:5]]
        soon = "never" if made.next == "no automatic compaction" else "?" if made.soon is None else _turns(made.soon)
        return title, self._bar(made), f"{made.tokens:,}", per_cent(made.tokens, made.window), *counts, verdict, soon

    async def row_details(self, value: str) -> Content:
        made = self._made.get(value)
        if made is None:
            return paragraph("working…", "$quiet")
        if isinstance(made, WorkbenchError):
            return paragraph(str(made), "$warning")
        base = self._made.get(self._base)
        freed = base.tokens - made.tokens if isinstance(base, PolicyOutcome) else 0
        name = short_policy_name(self._base)
        change = f"{abs(freed):,} {'fewer' if freed > 0 else 'more'} than {name}" if freed else f"as under {name}"
        facts = name_value_rows(
            [
                ("request", f"{made.tokens:,} of {made.window:,} tokens, {change}"),
                ("whole", f"{made.original:,} tokens, if nothing were left out"),
                ("verdict", made.why),
                ("next", made.next),
            ],
            self.wide,
        )
        states = name_value_rows(
            [(f"{SIGNS[state]} {state}", f"{made.states.get(state, 0):,}") for state in COUNTED], self.wide
        )
        title = Content.styled(short_policy_name(value), "bold")
        return join_blocks(title, paragraph(made.about), facts, states)

    def choose_row(self, value: str) -> None:
        self.dismiss(value)

    def action_base(self) -> None:
        """Make the marked policy the base that others are compared with."""
        if self.marked is not None:
            self._base = self.marked
            self.refill()

    @work(group="diff")
    async def action_compare(self) -> None:
        """Compare the marked policy with the base, item by item."""
        if self.marked is None:
            return
        if self.marked == self._base:
            self.warning = "choose another policy to compare with this one"
            return
        first, second = (
            PlanSide(short_policy_name(ref), partial(self._plan, ref)) for ref in (self._base, self.marked)
        )
        seq = await self.app.push_screen_wait(PolicyDiffScreen(self.host, first, second))
        if seq:
            self.dismiss(int(seq))


def _turns(turns: int) -> str:
    return "next turn" if turns <= 0 else counted(turns, "turn") if turns <= SOON else "not soon"
