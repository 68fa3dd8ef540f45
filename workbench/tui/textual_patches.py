"""What Textual does not do as this program needs it: every use of its private parts, and every way around a fault.

Each patch says what is wrong without it, and a test beside it shows that plain Textual still has the fault: when that
test fails, the patch can go. pyproject.toml holds Textual to the releases that the patches were made for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from math import ceil

from rich.console import Console
from rich.segment import Segment
from textual import on
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.geometry import Size
from textual.message import Message
from textual.messages import Prune
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widgets import TextArea

from workbench.config.text import without_controls

# Long lists. To assign `virtual_size` lays out and repaints the whole screen, for each line that is added.


def set_line_count(view: ScrollView, lines: int) -> None:
    """Give a list that has a scrollbar in any case so many lines; whoever calls it repaints what changed."""
    if lines != view.virtual_size.height:
        view.set_reactive(ScrollView.virtual_size, Size(0, lines))
        view.scroll_y = view.validate_scroll_y(view.scroll_y)


# Scrollbars. One is repainted with whatever it is told, which costs more than the lines beside it.


def move_thumb(view: ScrollView) -> None:
    """Tell the scrollbar where the view is. It is repainted only where its thumb moves."""
    bar = view.vertical_scrollbar
    before = _thumb(bar)
    bar.set_reactive(ScrollBar.window_virtual_size, max(view.virtual_size.height, 1))
    bar.set_reactive(ScrollBar.position, view.scroll_y)
    if before != _thumb(bar):
        bar.refresh()


def _thumb(bar: ScrollBar) -> tuple[int, int]:
    """Where a scrollbar's thumb begins and ends, in eighths of a cell; as Textual draws it."""
    window, virtual = bar.window_size, bar.window_virtual_size
    if virtual <= window or not window:
        return 0, 0
    size = max(1, window * window / virtual)
    start = int((window - size) * bar.position / (virtual - window) * 8)
    return start, start + ceil(size * 8)


# Cursors. One blinks for ever, and where blinking is turned off while it is away, it stays away.

BLINKING = 10.0
"""Seconds after which a cursor that nobody moved stands still: to blink is all that an idle screen does."""


class RestingTextArea(TextArea):
    """Its cursor blinks while one types, and some seconds longer."""

    def on_mount(self) -> None:
        """From the first moment."""
        self._resting = self.set_interval(BLINKING, self.rest)

    def on_focus(self) -> None:
        """Show where one types."""
        self._wake()

    @on(TextArea.SelectionChanged)
    def _wake(self) -> None:
        self.cursor_blink = True
        self._resting.reset()
        self._resting.resume()

    def rest(self) -> None:
        """Stay where it is, to be seen."""
        self.cursor_blink = False
        self.notify_style_update()  # else Textual shows the line that it drew while the cursor was away
        self._resting.pause()


# Pastes. Escape sequences inside a paste are taken for keys: a coloured log would end the paste, and its line ends
# would send messages that nobody wrote. Some terminals take such sequences out of what is pasted; tmux does not.

ESCAPE = "\x1b"
CSI = "\x9b"
"""`ESC [` as one character: the parser passes it on, and the composer takes out its sequences as well."""
START, END = "\x1b[200~", "\x1b[201~"


class PasteParser(XTermParser):
    """Textual's own, which gets to see no escape sequence in a paste but its end."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pasting = False
        self._held = ""
        """In a paste: what may be the beginning of its end. Else: the last that came, in which a paste may begin."""

    def feed(self, data: str) -> Iterable[Message]:
        """What the terminal sent, in pieces that may end anywhere."""
        quiet = self._quiet(data)
        # Nothing at all means to the parser that the terminal is gone.
        return super().feed(quiet) if quiet or not data else ()

    def _quiet(self, data: str) -> str:
        parts = []
        while data:
            if self._pasting:
                text, end, data = (self._held + data).partition(END)
                self._held, self._pasting = "", not end
                if not end:
                    self._held = _begun(text)
                    text = text.removesuffix(self._held)
                parts += [text.replace("\x1b[", CSI).replace(ESCAPE, ""), end]
            else:
                seen = self._held + data
                before, start, after = seen.partition(START)
                parts.append(data.removesuffix(after) if start else data)
                self._held, self._pasting = "" if start else before[1 - len(START) :], bool(start)
                data = after
        return "".join(parts)


def _begun(text: str) -> str:
    """How much of a paste's end stands at the end of a text."""
    return next((END[:size] for size in range(len(END) - 1, 0, -1) if text.endswith(END[:size])), "")


# Output. Textual passes text to the terminal as it is, with escape sequences that may set the clipboard. Text is
# cleaned where it is put on the screen, so that what was taken out shows; this is the wall behind it.

_render = Strip.render


def render_cleaned(strip: Strip, console: Console) -> str:
    """What Textual writes for a piece of a line, without anything in its text that a terminal acts on."""
    if strip._render_cache is None and any(not text.isprintable() for text, _, _ in strip._segments):
        strip._segments = [Segment(without_controls(text), style) for text, style, _ in strip._segments]
    return _render(strip, console)


def guard(driver: type[Driver]) -> type[Driver]:
    """The driver, with this parser in place of the one that its module names, and cleaned output: it offers no other
    way."""
    setattr(Strip, "render", render_cleaned)  # noqa: B010 - to a type checker a method is no value
    module = sys.modules[driver.__module__]
    if getattr(module, "XTermParser", None) is XTermParser:
        setattr(module, "XTermParser", PasteParser)  # noqa: B010 - to a type checker the name is a class, not a value
    return driver


class WorkerScreen:
    """For screens with workers: they end before the widgets they write to are gone, however the screen is left.

    Textual stops a widget's workers when the widget is gone, and that is after its children: an answer that comes in
    between would look for widgets that are no longer there.
    """

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No key before the screen is there: one that is left before it has its widgets would look for them."""
        assert isinstance(self, Screen)
        return self.is_mounted and super().check_action(action, parameters)  # type: ignore[misc]  # the screen's own

    async def on_prune(self, event: Prune) -> None:
        """The first thing that a screen hears of its end."""
        assert isinstance(self, Screen)
        for node in self.walk_children(with_self=True):
            self.workers.cancel_node(node)
