"""A list of items to choose from, and what masking the chosen ones would free and cost."""

from __future__ import annotations

from asyncio import wrap_future
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Generic, TypeVar

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
from workbench.context.plan import ContextPlan
from workbench.session.context_view import ContextView, SessionQueries
from workbench.tui.inspector.overrides import OverridePreview, ProposedOverrides, preview
from workbench.tui.widgets.cells import fit, one_line

T = TypeVar("T")


class MaskList(Widget, Generic[T], can_focus=True):
    """A line for each item, with a box to choose it; where there are more than lines, those around the cursor."""

    BINDING_GROUP_TITLE = "What can be masked"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "the item above", id="largest.up"),
        Binding("down,j", "move(1)", "the item below", id="largest.down"),
        Binding("home,g", "edge(0)", "the first", id="largest.first"),
        Binding("end,G", "edge(1)", "the last", id="largest.last"),
        Binding("space", "choose", "choose the item, or not", id="largest.choose"),
        Binding("a", "all", "choose all or none", id="largest.all"),
    ]

    items: reactive[tuple[T, ...]] = reactive((), layout=True)
    chosen: reactive[frozenset[int]] = reactive(frozenset())
    """Of the items, those to be masked, by their places."""
    cursor: reactive[int] = reactive(0)

    class Changed(Message):
        """Others are chosen."""

    def __init__(self, line: Callable[[T, int], str]) -> None:
        """`line`: what is told of an item behind its box, in so many cells; what is longer is cut."""
        super().__init__()
        self._line = line

    def watch_chosen(self) -> None:
        """What it frees is another figure."""
        self.post_message(self.Changed())

    def validate_cursor(self, cursor: int) -> int:
        """It stays on the items."""
        return max(0, min(cursor, len(self.items) - 1))

    def action_move(self, by: int) -> None:
        """To another item."""
        self.cursor += by

    def action_edge(self, last: int) -> None:
        """To the first or the last."""
        self.cursor = len(self.items) * last

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
        if 0 <= event.y < len(self._seen):
            self.cursor = self._seen[event.y]
            self.action_choose()

    def get_content_height(self, *_: object) -> int:
        """A line for each."""
        return max(1, len(self.items))

    @property
    def _seen(self) -> range:
        height = max(1, self.size.height)
        first = max(0, min(self.cursor - height // 2, len(self.items) - height))
        return range(first, min(first + height, len(self.items)))

    def render(self) -> Content:
        """The box, and what is told of each."""
        lines = []
        for at in self._seen:
            box = "[x]" if at in self.chosen else "[ ]"
            line = fit(f"{box} {self._line(self.items[at], self.size.width - len(box) - 1)}", self.size.width)
            lines.append(Content.styled(line, "bold reverse" if at == self.cursor else "$foreground"))
        return Content("\n").join(lines)


class MaskScreen(ModalScreen[OverridePreview], Generic[T]):
    """Items that can be masked: these. A subclass says which there are, and what is told of them."""

    TITLE_LINE: ClassVar[str] = ""
    NOTHING: ClassVar[str] = ""
    HEADER: ClassVar[str] = ""
    """Over the list; none where it is plain what the columns are."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "agree", "mask the chosen ones", id="largest.agree"),
        Binding("escape,q,L,M", "leave", "cancel", id="largest.leave"),
    ]

    made: var[OverridePreview | None] = var(None)
    """What masking the chosen ones would do; None while that is worked out."""

    list = query_one(MaskList)
    figures = query_one("#mask-figures", Static)

    def __init__(self, shown: ContextView) -> None:
        super().__init__()
        self.shown = shown

    # What a subclass says

    def look(self) -> tuple[Sequence[T], frozenset[int]]:
        """The items, and which are proposed, by their places. Asked in a thread: there may be a hundred thousand."""
        raise NotImplementedError

    def line(self, item: T, width: int) -> str:
        """What is told of an item, in so many cells; what is longer is cut."""
        raise NotImplementedError

    def choice(self, items: Sequence[T], queries: SessionQueries) -> ProposedOverrides:
        """What is to be done with those that are chosen. Raises WorkbenchError."""
        raise NotImplementedError

    def effect(self, made: OverridePreview, items: Sequence[T]) -> str:
        """What that would do."""
        return figures(made, self.shown.plan)

    # What they share

    def compose(self) -> ComposeResult:
        """The items, then what it would free."""
        with Vertical(classes="dialog") as box:
            box.border_title = one_line(self.TITLE_LINE)
            box.border_subtitle = "Space choose · a all or none · Enter mask these · Esc leave"
            if self.HEADER:
                yield Static(self.HEADER, id="mask-header", markup=False)
            yield MaskList(self.line)
            yield Static("looking…", id="mask-figures", markup=False)

    def on_mount(self) -> None:
        """Others are looked at meanwhile."""
        self._look()

    @work
    async def _look(self) -> None:
        try:
            found, proposed = await wrap_future(background(self.look))
        except WorkbenchError as error:
            self.figures.update(f"! {printable(str(error))}")
            return
        self.list.items = tuple(found)
        self.list.chosen = proposed
        self.list.focus()
        if self.list.items:
            self.list.post_message(MaskList.Changed())  # also where none of them is worth it
        else:
            self.figures.update(self.NOTHING)

    def on_mask_list_changed(self) -> None:
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
    async def _work_out(self, chosen: Sequence[T]) -> None:
        shown = self.shown
        assert shown.queries is not None, "whoever asks can decide"
        try:
            choice = self.choice(chosen, shown.queries)
            self.made = await wrap_future(background(partial(preview, shown.plan, choice, shown.queries)))
        except WorkbenchError as error:
            self.figures.update(f"! {printable(str(error))}")
        else:
            self.figures.update(self.effect(self.made, chosen))

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
