"""A text view with a search line and a key to copy."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.getters import query_one
from textual.reactive import reactive
from textual.screen import ModalScreen
from textual.widget import Widget

from workbench.config.text import counted
from workbench.tui.widgets.cells import join_cells, one_line
from workbench.tui.widgets.input_line import InputLine
from workbench.tui.widgets.text_view import Make, TextView

COPIED_MOST = 1_000_000
"""The most characters to copy to the clipboard; many terminals accept no more."""


class FootLine(Widget):
    """One line about the widget above it."""

    content: reactive[Content] = reactive(Content())

    def render(self) -> Content:
        return self.content.truncate(self.size.width, ellipsis=True) if self.size.width else self.content


class TextReader(Vertical):
    """A text view, a line about the matches, and the search line."""

    BINDING_GROUP_TITLE = "A text"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "search the text", id="text.find"),
        Binding("n", "step(1)", "the next match", id="text.next"),
        Binding("N", "step(-1)", "the match before", id="text.previous"),
        Binding("y", "copy", "copy the text", id="text.copy"),
    ]

    view = query_one(TextView)
    ask = query_one(InputLine)
    foot = query_one(FootLine)

    def compose(self) -> ComposeResult:
        yield TextView()
        yield InputLine()
        yield FootLine()

    def show(self, make: Make, weight: int) -> None:
        """Show a text of about `weight` characters."""
        self.view.show(make, weight)

    @on(TextView.Laid)
    def _laid(self, message: TextView.Laid) -> None:
        message.stop()
        self._update_foot()

    def on_resize(self) -> None:
        """Update the line below, whose width is known now."""
        self.call_after_refresh(self._update_foot)

    def _update_foot(self) -> None:
        view = self.view
        parts = [Content.styled(counted(len(view.page.lines), "line"), "$quiet")]
        if view.page.note:
            parts.append(Content.styled(view.page.note, "$warning"))
        if view.wanted and not self.ask.display:
            found = f"match {view.at + 1:,} of {len(view.matches):,}" if view.matches else "no match"
            parts.insert(0, Content(f"{found} for “{view.wanted}”"))
        parts.append(Content.styled("/ search · n next · y copy", "$quiet"))
        self.foot.content = join_cells(parts, max(1, self.foot.size.width))

    def action_find(self) -> None:
        self.ask.open("search", "")

    @on(InputLine.Entered)
    def _entered(self, message: InputLine.Entered) -> None:
        message.stop()
        self.view.focus()
        self.view.search_text(message.text)

    @on(InputLine.Cancelled)
    def _left(self, message: InputLine.Cancelled) -> None:
        message.stop()
        self.view.focus()

    @on(InputLine.Edited)
    def _typed(self, message: InputLine.Edited) -> None:
        message.stop()  # the search starts with Enter

    def action_step(self, by: int) -> None:
        self.view.step(by)

    def action_copy(self) -> None:
        copy_to_clipboard(self, self.view.page.copy)


def copy_to_clipboard(widget: Widget, text: str) -> None:
    """Copy a text, and show how much was copied and left out."""
    if not text:
        widget.notify("there is nothing to copy here", severity="warning", markup=False)
        return
    widget.app.copy_to_clipboard(text[:COPIED_MOST])
    more = f"; the rest of {len(text):,} is left out" if len(text) > COPIED_MOST else ""
    widget.notify(f"{min(len(text), COPIED_MOST):,} characters copied{more}", markup=False)


class BoxedText(ModalScreen[None]):
    """A text in a box over the panes."""

    BINDING_GROUP_TITLE = "The text"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "close", id="source.close")]

    def __init__(self, title: str, make: Make, weight: int) -> None:
        """`make` makes a text of about `weight` characters."""
        super().__init__()
        self._title, self._make, self._weight = title, make, weight

    def compose(self) -> ComposeResult:
        with Vertical(id="source") as box:
            box.border_title = one_line(self._title)
            box.border_subtitle = "/ search · y copy · Esc closes"
            yield TextReader()

    def on_mount(self) -> None:
        reader = self.query_one(TextReader)
        reader.show(self._make, self._weight)
        reader.view.focus()


class TextScreen(ModalScreen[None]):
    """A head, and below it a focused text."""

    reader = query_one(TextReader)

    def on_mount(self) -> None:
        self._fill()
        self.reader.view.focus()

    def _fill(self) -> None:
        """Show the text in the current form."""
