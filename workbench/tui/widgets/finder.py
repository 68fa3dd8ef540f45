"""A screen with a search input, a list of matches, and details of the marked row."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.getters import query_one
from textual.message import Message
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from workbench.config.errors import WorkbenchError
from workbench.config.text import printable
from workbench.tui.widgets.cells import join_cells, one_line
from workbench.tui.widgets.columns import Column, Row, header_line, row_line
from workbench.tui.widgets.input_line import FilterField
from workbench.tui.widgets.key_names import key_names
from workbench.tui.widgets.main_screen_api import MainScreenApi

T = TypeVar("T")
R = TypeVar("R")

MOST = 200
"""The most rows to show; typing filters them."""


class FinderResult(NamedTuple):
    """The rows that a text finds."""

    rows: Sequence[Row]
    note: str = ""
    """A line below the list, such as how many more rows there are."""
    mark: str | None = None
    """The row to mark; None: the first, or the one that was marked before."""


class KeyLine(Widget):
    """The keys of a screen, as many as fit."""

    def __init__(self, bindings: Iterable[Binding]) -> None:
        super().__init__()
        self._shown = [each for each in bindings if each.show]

    def render(self) -> Content:
        now = {each.binding.id: key for key, each in reversed(self.screen.active_bindings.items())}
        keys = (
            Content.assemble((key_names(now.get(each.id, each.key)), "bold"), " ", each.description)
            for each in self._shown
        )
        return join_cells(keys, self.size.width, "  ")


class FoundList(OptionList):
    """A list that keeps the marked row visible when it is resized."""

    class Resized(Message):
        """Its size has changed: the widgets around it are laid out after the rows."""

    def on_resize(self) -> None:
        """Scroll to the marked row, and post `Resized`, because the columns may change."""
        self.call_after_refresh(self.scroll_to_highlight)
        self.post_message(self.Resized())


class Finder(ModalScreen[T | None], Generic[T]):
    """Type to filter; arrows move the mark; Enter chooses the marked row.

    A subclass implements `search_rows` and `row_details`. Both are called often and may be slow: only the last result
    is shown.
    """

    NAME: ClassVar[str] = ""
    """The title in the border."""
    PLACEHOLDER: ClassVar[str] = "type to filter"
    EMPTY: ClassVar[str] = "nothing matches"
    COLUMNS: ClassVar[Sequence[Column]] = (Column(""),)

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "take it", id="finder.take", priority=True),
        Binding("escape", "leave", "close", id="finder.leave"),
        Binding("down", "move(1)", "the next", id="finder.down", show=False, priority=True),
        Binding("up", "move(-1)", "the one before", id="finder.up", show=False, priority=True),
        Binding("pagedown", "page(1)", "a page down", id="finder.page-down", show=False, priority=True),
        Binding("pageup", "page(-1)", "a page up", id="finder.page-up", show=False, priority=True),
        Binding("ctrl+down", "read(3)", "scroll the description down", id="finder.read", show=False, priority=True),
        Binding("ctrl+up", "read(-3)", "scroll the description up", id="finder.read-back", show=False, priority=True),
    ]

    warning: reactive[str] = reactive("")
    """A problem or a result, shown until the next key that changes something."""

    box = query_one(".finder--box", Vertical)
    field = query_one("#finder-field", Input)
    head = query_one("#finder-head", Static)
    found = query_one("#finder-list", OptionList)
    page = query_one("#finder-page", VerticalScroll)
    about = query_one("#finder-about", Static)
    note = query_one("#finder-note", Static)

    def __init__(self, host: MainScreenApi) -> None:
        super().__init__(classes="finder")
        self.host = host
        self._rows: Sequence[Row] = ()
        self._note = ""
        self._answered = asyncio.Event()
        """Set while the list shows the result for the text."""
        self._text = ""
        """The last text that was searched."""
        self._taking = False
        """Whether Enter was pressed before the result arrived."""
        self._wanted: str | None = None
        """The row to mark as soon as the list can be drawn."""
        self._drawn = 0
        """The width for which the rows were drawn."""

    # For subclasses

    async def search_rows(self, text: str) -> FinderResult:
        """Find the rows for a text. Raises WorkbenchError."""
        raise NotImplementedError

    async def row_details(self, value: str) -> Content:
        """The details of a row. Raises WorkbenchError."""
        return Content()

    def empty(self) -> Content:
        """The details if there are no rows."""
        return Content.styled(self.EMPTY, "$quiet")

    def choose_row(self, value: str) -> None:
        """Called when the user presses Enter on a row."""
        raise NotImplementedError

    def between(self) -> ComposeResult:
        """Widgets between the list and the details."""
        yield from ()

    # Drawing

    def compose(self) -> ComposeResult:
        """The list and the details, side by side if there is room."""
        with Vertical(classes="finder--box") as box:
            box.border_title = one_line(self.NAME)
            yield FilterField(placeholder=self.PLACEHOLDER, compact=True, id="finder-field")
            with Container(classes="finder--body"):
                with Vertical(classes="finder--list"):
                    yield Static(id="finder-head", markup=False)
                    yield FoundList(markup=False, compact=True, id="finder-list")
                yield from self.between()
                with VerticalScroll(can_focus=False, id="finder-page"):
                    yield Static(id="finder-about", markup=False)
            yield Static(id="finder-note", markup=False)
            yield KeyLine(bindings_of_class(type(self)))

    def on_mount(self) -> None:
        self.found.can_focus = False
        self.field.focus()
        self.call_after_refresh(self.refill)

    def on_resize(self) -> None:
        self.call_after_refresh(self._redraw)
        self.call_after_refresh(self.reload_details)

    @on(FoundList.Resized)
    def _widen(self) -> None:
        if self.found.scrollable_content_region.width - 1 != self._drawn:
            self._redraw()

    def refill(self) -> None:
        """Search again; the mark stays on its row if it still exists."""
        self._ask(keeps_mark=True)

    @on(Input.Changed, "#finder-field")
    def _typed(self) -> None:
        self.warning = ""
        self._ask(keeps_mark=False)

    def _ask(self, *, keeps_mark: bool) -> None:
        self._answered.clear()
        self._text = self.field.value
        self._find(self._text, keeps_mark)

    @work(group="find", exclusive=True, description="find")
    async def _find(self, text: str, keeps_mark: bool) -> None:
        try:
            found = await self.search_rows(text)
        except WorkbenchError as error:
            found = FinderResult((), str(error))
        marked = self.marked if keeps_mark else None  # the current one: it may have moved meanwhile
        self._rows = found.rows
        self._note = found.note
        self._answered.set()
        self._draw(marked if found.mark is None else found.mark)
        if self._taking:
            self._taking = False
            self.action_take()

    def _redraw(self) -> None:
        marked = self.marked
        self._draw(self._wanted if marked is None else marked)

    def _draw(self, marked: str | None) -> None:
        width = self.found.scrollable_content_region.width - 1
        if width <= 0:
            self._wanted = marked
            return
        self._drawn = width
        self.head.update(header_line(self.COLUMNS, width))
        self.found.clear_options()
        self.found.add_options(Option(row_line(self.COLUMNS, row.cells, width), row.value) for row in self._rows)
        at = next((at for at, row in enumerate(self._rows) if row.value == marked), 0)
        self.found.highlighted = at if self._rows else None
        if not self._rows and self._answered.is_set():
            self.about.update(self.empty())
        self._show_note()

    def watch_warning(self) -> None:
        if self.is_mounted:
            self._show_note()

    def _show_note(self) -> None:
        warned = Content.styled(printable(self.warning), "bold $warning")
        self.note.update(warned if self.warning else Content.styled(printable(self._note), "$quiet"))
        self.note.display = bool(self.warning or self._note)

    def redraw(self, value: str, cells: tuple[str | Content, ...]) -> None:
        """Replace the cells of a row."""
        at = next((at for at, row in enumerate(self._rows) if row.value == value), None)
        if at is None:
            return
        self._rows = [*self._rows[:at], Row(value, cells), *self._rows[at + 1 :]]
        width = self.found.scrollable_content_region.width - 1
        if width > 0 and self.found.option_count:  # otherwise it is drawn later
            self.found.replace_option_prompt(value, row_line(self.COLUMNS, cells, width))

    @property
    def wide(self) -> int:
        """The width of the details."""
        return max(self.page.scrollable_content_region.width, 1)

    async def settled(self) -> None:
        """Wait until the list shows the result for the text."""
        await self._answered.wait()

    # The marked row

    @property
    def marked(self) -> str | None:
        """The value of the marked row; None if there is none."""
        at = self.found.highlighted
        return self._rows[at].value if at is not None and at < len(self._rows) else None

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        self.reload_details()

    def reload_details(self) -> None:
        """Load the details of the marked row again."""
        marked = self.marked
        if marked is not None:
            self._show_details(marked)

    @work(group="details", exclusive=True, description="show details")
    async def _show_details(self, value: str) -> None:
        if value != self.marked or not self._answered.is_set():  # there is a newer result, or one will come
            return
        try:
            details = await self.row_details(value)
        except WorkbenchError as error:
            details = Content.styled(printable(str(error)), "$warning")
        if value == self.marked:
            self.about.update(details)
            self.page.scroll_home(animate=False)

    # Keys

    def action_take(self) -> None:
        """Choose the marked row; if the result for the text is pending, wait for it."""
        marked = self.marked
        if not self._answered.is_set() or self._text != self.field.value:
            self._taking = True
        elif marked is not None:
            self.warning = ""
            self.choose_row(marked)

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_take()

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_move(self, by: int) -> None:
        """Move the mark; the focus stays in the input."""
        if by > 0:
            self.found.action_cursor_down()
        else:
            self.found.action_cursor_up()

    def action_page(self, by: int) -> None:
        self.found.action_page_down() if by > 0 else self.found.action_page_up()  # type: ignore[no-untyped-call]  # Textual's

    def only_keys(self) -> None:
        """Remove the input, so that letters are keys."""
        self.field.display = self.field.can_focus = False
        self.set_focus(None)

    def action_read(self, lines: int) -> None:
        self.page.scroll_relative(y=lines, animate=False)


def bindings_of_class(kind: type) -> list[Binding]:
    """The bindings of a screen, its own before those of its bases, which it overrides."""
    found: dict[str, Binding] = {}
    for each in kind.__mro__:
        if each.__module__.startswith("workbench."):
            for binding in vars(each).get("BINDINGS", ()):
                found.setdefault(binding.key, binding)
    return list(found.values())
