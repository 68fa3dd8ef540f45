"""The largest items that may be masked, and what masking those that are chosen would free."""

from __future__ import annotations

from asyncio import wrap_future
from collections.abc import Iterator, Sequence
from functools import partial
from heapq import nlargest
from typing import ClassVar

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.getters import query_one
from textual.message import Message
from textual.reactive import reactive, var
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from workbench.config.background import background
from workbench.config.errors import WorkbenchError
from workbench.config.text import counted, percent, printable
from workbench.context.items import SIGNS, Item
from workbench.context.plan import ContextPlan
from workbench.context.tool_lines import item_line
from workbench.session.context_view import ContextView
from workbench.tui.inspector.overrides import OverridePreview, choose, preview, why_not
from workbench.tui.widgets.cells import fit

MOST = 10
LEAST_TOKENS = 50
"""Of a smaller item the marker would leave little to free."""
WORTH = 0.01
"""The share of the window from which on an item is proposed, and not only listed."""
WHO = 16
"""Cells for who said it."""


def largest(plan: ContextPlan, count: int = MOST) -> list[Item]:
    """The largest items that may be masked, the largest first: one pass over what is sent."""
    return nlargest(count, _maskable(plan), key=lambda row: row.tokens)


def worth(items: Sequence[Item], window: int) -> frozenset[int]:
    """The places of those that are worth it."""
    return frozenset(at for at, row in enumerate(items) if row.tokens >= window * WORTH)


def _maskable(plan: ContextPlan) -> Iterator[Item]:
    """All but what is pinned or masked already, what cannot be masked, and what the next answer is about.

    That is what was said in the current turn, and the results that the model has not answered yet.
    """
    fresh: list[Item] = []
    for row in plan.rows.in_request():
        if row.role == "assistant":
            yield from fresh
            fresh = []
        if row.tokens < LEAST_TOKENS or row.pinned or row.state == "masked" or why_not("mask", row):
            continue
        if row.kind == "tool_result":
            fresh.append(row)
        elif row.slot != "turn":
            yield row


class LargestList(Widget, can_focus=True):
    """A line for each item, with a box to choose it."""

    BINDING_GROUP_TITLE = "The largest"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "the item above", id="largest.up"),
        Binding("down,j", "move(1)", "the item below", id="largest.down"),
        Binding("home,g", "move(-100)", "the largest", id="largest.first"),
        Binding("end,G", "move(100)", "the smallest", id="largest.last"),
        Binding("space", "choose", "choose the item, or not", id="largest.choose"),
        Binding("a", "all", "choose all or none", id="largest.all"),
    ]

    items: reactive[tuple[Item, ...]] = reactive((), layout=True)
    chosen: reactive[frozenset[int]] = reactive(frozenset())
    """Of the items, those to be masked, by their places."""
    cursor: reactive[int] = reactive(0)

    class Changed(Message):
        """Others are chosen."""

    def watch_chosen(self) -> None:
        """What it frees is another figure."""
        self.post_message(self.Changed())

    def validate_cursor(self, cursor: int) -> int:
        """It stays on the items."""
        return max(0, min(cursor, len(self.items) - 1))

    def action_move(self, by: int) -> None:
        """To another item."""
        self.cursor += by

    def action_choose(self) -> None:
        """The item under the cursor, or no longer."""
        if self.items:
            self.chosen ^= {self.cursor}

    def action_all(self) -> None:
        """All, or where all are chosen none."""
        every = frozenset(range(len(self.items)))
        self.chosen = frozenset() if self.chosen == every else every

    def on_click(self, event: events.Click) -> None:
        """Choose the item under the mouse, or no longer."""
        if 0 <= event.y < len(self.items):
            self.cursor = event.y
            self.action_choose()

    def get_content_height(self, *_: object) -> int:
        """A line for each."""
        return max(1, len(self.items))

    def render(self) -> Content:
        """Box, tokens, state, number, who, and what it says."""
        width = self.size.width
        lines = []
        for at, row in enumerate(self.items):
            box = "[x]" if at in self.chosen else "[ ]"
            who = fit(printable(row.who), WHO)
            line = fit(f"{box} {row.tokens:>8,}  {SIGNS[row.state]} #{row.seq:<5} {who}  {item_line(row)}", width)
            lines.append(Content.styled(line, "bold reverse" if at == self.cursor else "$foreground"))
        return Content("\n").join(lines)


class LargestScreen(ModalScreen[OverridePreview]):
    """The largest: mask these."""

    BINDING_GROUP_TITLE = "The largest"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "agree", "mask the chosen ones", id="largest.agree"),
        Binding("escape,q,L", "leave", "cancel", id="largest.leave"),
    ]

    made: var[OverridePreview | None] = var(None)
    """What masking the chosen ones would do; None while that is worked out."""

    list = query_one(LargestList)
    figures = query_one("#largest-figures", Static)

    def __init__(self, shown: ContextView) -> None:
        super().__init__()
        self._shown = shown

    def compose(self) -> ComposeResult:
        """The items, then what it would free."""
        with Vertical(classes="dialog") as box:
            box.border_title = "The largest items that can be masked"
            box.border_subtitle = "Space choose · a all or none · Enter mask these · Esc leave"
            yield LargestList()
            yield Static("looking for the largest…", id="largest-figures", markup=False)

    def on_mount(self) -> None:
        """Looked for in a thread: there may be a hundred thousand."""
        self._look()

    @work
    async def _look(self) -> None:
        self.list.items = tuple(await wrap_future(background(partial(largest, self._shown.plan))))
        self.list.chosen = worth(self.list.items, self._shown.plan.limits.window)
        self.list.focus()
        if self.list.items:
            self.list.post_message(LargestList.Changed())  # also where none of them is worth it
        else:
            self.figures.update(f"nothing to mask: no item of {LEAST_TOKENS} tokens or more may be masked")

    def on_largest_list_changed(self) -> None:
        """Work out what the choice would do."""
        self.made = None
        chosen = [self.list.items[at] for at in sorted(self.list.chosen)]
        if chosen:
            self.figures.update("working out the effect…")
            self._work_out(chosen)
        else:
            self.workers.cancel_group(self, "figures")
            self.figures.update("none is chosen")

    @work(exclusive=True, group="figures")
    async def _work_out(self, chosen: Sequence[Item]) -> None:
        shown = self._shown
        assert shown.queries is not None, "whoever asks can decide"
        try:
            choice = choose("mask", chosen, shown.queries)
            self.made = await wrap_future(background(partial(preview, shown.plan, choice, shown.queries)))
        except WorkbenchError as error:
            self.figures.update(f"! {printable(str(error))}")
        else:
            self.figures.update(figures(self.made, shown.plan))

    def action_agree(self) -> None:
        """Once it is said what that does."""
        if self.made is not None:
            self.dismiss(self.made)

    def action_leave(self) -> None:
        """Nothing is changed."""
        self.dismiss(None)


def figures(made: OverridePreview, plan: ContextPlan) -> str:
    """What masking would do."""
    freed = made.effect.freed
    window, used = (percent(freed / max(whole, 1), 1) for whole in (plan.limits.window, plan.size))
    shares = f"{used} of the request, {window} of the window"
    what = f"mask {counted(made.choice.rows, 'item')}: frees {freed:,} tokens ({shares})"
    return f"{what}, invalidates {made.effect.rewritten:,} cached tokens"
