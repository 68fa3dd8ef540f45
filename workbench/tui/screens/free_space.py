"""Free space: what the selected request could do without, in two orders. One key masks the chosen items."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.getters import query_one
from textual.reactive import var
from textual.screen import ModalScreen
from textual.widgets import Static

from workbench.config.errors import Refused, WorkbenchError
from workbench.config.text import counted, printable
from workbench.context.plan import ContextPlan
from workbench.tui.inspector.overrides import OverridePreview, preview_overrides
from workbench.tui.screens import freeable
from workbench.tui.screens.freeable import Freeable, FreeableLog, FreeOrder
from workbench.tui.screens.mask_list import MaskList
from workbench.tui.widgets.cells import one_line
from workbench.tui.widgets.main_screen_api import MainScreenApi
from workbench.views.context_view import ContextView
from workbench.views.values import FILE

OTHER: dict[FreeOrder, FreeOrder] = {"unneeded": "largest", "largest": "unneeded"}
KEYS: dict[FreeOrder, str] = {"unneeded": "the largest", "largest": "no longer needed"}
"""The name of the other order."""


class FreeSpaceScreen(ModalScreen[OverridePreview]):
    """Items of the selected request that can be masked. Its result is the agreed change."""

    BINDING_GROUP_TITLE = "Free space"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "agree", "mask the chosen ones", id="largest.agree"),
        Binding("o,tab", "other", "the other order: the largest, or what is no longer needed", id="largest.order"),
        Binding("L", "order('largest')", "the largest", id="largest.largest", show=False),
        Binding("M", "order('unneeded')", "what is no longer needed", id="largest.unneeded", show=False),
        Binding("escape,q", "leave", "cancel", id="largest.leave"),
    ]

    order: var[FreeOrder] = var("unneeded", init=False)
    made: var[OverridePreview | None] = var(None)
    """The effect of masking the chosen items; None while it is computed, or if nothing can be changed."""

    list = query_one(MaskList)
    header = query_one("#mask-header", Static)
    figures = query_one("#mask-figures", Static)
    box = query_one(".dialog", Vertical)

    def __init__(self, host: MainScreenApi, shown: ContextView, asked: FreeableLog, order: FreeOrder) -> None:
        super().__init__()
        self._host = host
        self._shown = shown
        self._asked = asked
        self._before: ContextPlan | None = None
        """The plan of the next request, which a change would affect."""
        self.set_reactive(FreeSpaceScreen.order, order)

    @property
    def _why_not(self) -> str:
        """Why nothing can be masked, or empty. For a file, a session is made first."""
        shown = self._shown
        if shown.at is not None and not shown.is_newest:
            return "a past request cannot be changed; } goes to the newest"
        return shown.fixed if shown.fixed != FILE else ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static("", id="mask-header", markup=False)
            yield MaskList(freeable.line_of)
            yield Static("", id="mask-figures", markup=False)

    def on_mount(self) -> None:
        self.watch_order(self.order)

    def watch_order(self, order: FreeOrder) -> None:
        """Show the items of an order."""
        at = self._shown.at
        where = "" if at is None else f" · request {at + 1:,}"
        self.box.border_title = one_line(f"{freeable.TITLES[order]}{where}")
        keys = ["Space choose", "a all or none", f"o {KEYS[order]}", "Enter mask these", "Esc leave"]
        self.box.border_subtitle = one_line(" · ".join(key for key in keys if not self._why_not or "mask" not in key))
        self.header.update(freeable.HEADERS[order])
        self.made, self.list.items = None, ()
        self.figures.update("looking…")
        self._load_items(order)

    @work(exclusive=True, group="look", description="load items")
    async def _load_items(self, order: FreeOrder) -> None:
        try:
            found, proposed = await self._host.in_background(partial(self._find, order))
        except WorkbenchError as error:
            self.figures.update(f"! {printable(str(error))}")
            return
        self.list.items = tuple(found)
        self.list.chosen = proposed
        self.list.focus()
        if self.list.items:
            self.list.post_message(MaskList.Changed())  # even if none is proposed
        else:
            self.figures.update(freeable.NOTHING[order])

    def _find(self, order: FreeOrder) -> tuple[Sequence[Freeable], frozenset[int]]:
        """The items, and the indexes of the proposed ones. There may be a hundred thousand rows."""
        plan = self._shown.plan
        if order == "largest":
            items = freeable.largest_items(plan)
            return items, freeable.worth_freeing(items, plan.limits.window)
        waste = freeable.still_sent(freeable.report_of(self._asked, self._host.services), plan)
        return waste, frozenset(range(len(waste)))

    def on_mask_list_changed(self) -> None:
        """Compute the effect of the choice."""
        self.made = None
        chosen = [self.list.items[at] for at in sorted(self.list.chosen) if at < len(self.list.items)]
        self.workers.cancel_group(self, "figures")
        if not self.list.items:
            return
        if not chosen:
            self.figures.update("none is chosen")
        elif self._why_not:
            self.figures.update(f"{freeable.held_words(chosen, self._shown.plan)}\n{printable(self._why_not)}")
        else:
            self.figures.update("working out the effect…")
            self._work_out(chosen)

    @work(exclusive=True, group="figures", description="work out")
    async def _work_out(self, chosen: Sequence[Freeable]) -> None:
        try:
            made, before = await self._host.in_background(partial(self._effect, chosen))
        except WorkbenchError as error:
            self.figures.update(f"! {printable(str(error))}")
            return
        self.made, self._before = made, before
        self.figures.update(freeable.masking_figures(made, before, chosen, self._asked.info))

    def _effect(self, chosen: Sequence[Freeable]) -> tuple[OverridePreview, ContextPlan]:
        shown = self._shown
        if shown.queries is None:
            raise Refused("nothing can be changed here")
        before = self._before or (shown.plan if shown.at is None else shown.queries.what_if(()))
        return preview_overrides(before, freeable.choice_of(chosen, shown.queries), shown.queries), before

    def action_other(self) -> None:
        self.order = OTHER[self.order]

    def action_order(self, order: FreeOrder) -> None:
        """Switch to an order, or close if it is shown already."""
        if order == self.order:
            self.dismiss(None)
        self.order = order

    def action_agree(self) -> None:
        """Agree, once the effect is shown."""
        if self.made is not None:
            self.dismiss(self.made)

    def action_leave(self) -> None:
        self.dismiss(None)


async def free_space(host: MainScreenApi, order: FreeOrder = freeable.ORDERS[0]) -> None:
    """List the items and mask the chosen ones. For a file, a session is made first if the user agrees."""
    shown = host.model.state.shown
    if shown is None:
        raise Refused("nothing is open yet")
    made = await host.show_and_wait(FreeSpaceScreen(host, shown, await host.from_session(freeable.asked_about), order))
    if made is not None:
        await mask_as_agreed(host, made)


async def mask_as_agreed(host: MainScreenApi, made: OverridePreview) -> None:
    """Mask the items that the user agreed to. For a file, a session is made first if the user agrees."""
    if not await host.make_writable():
        return
    for at, each in enumerate(made.choice.decisions):
        host.model.decide(each.action, each.first, each.last, joined=at > 0)
    freed = f"masked {counted(made.choice.rows, 'item')}, which frees {made.effect.freed:,} tokens"
    host.show_notice(f"{freed}; u undoes it")
