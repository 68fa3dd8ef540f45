"""What Textual does not do as this program needs it: every use of its private parts, and every way around a fault.

Each patch says what is wrong without it, and a test beside it shows that plain Textual still has the fault: when that
test fails, the patch can go. pyproject.toml holds Textual to the releases that the patches were made for.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable
from fractions import Fraction
from math import ceil
from typing import Any, Literal, TypeVar

from rich.console import Console
from rich.segment import Segment
from textual import events, on
from textual._context import active_app, active_message_pump
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.box_model import BoxModel
from textual.content import Content
from textual.dom import DOMNode
from textual.driver import Driver
from textual.drivers._writer_thread import WriterThread
from textual.geometry import Region, Size
from textual.message import Message
from textual.message_pump import MessagePump
from textual.messages import Prune
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import OptionList, TextArea
from textual.worker import WorkerFailed, active_worker

from workbench.config.text import without_controls

Result = TypeVar("Result")


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


# Terminals of a few columns. To wrap a text in no column at all raises, and a list in a dialog may get none.


def _wrap(content: Content, width: int, *more: Any, **named: Any) -> list[Any]:
    return Plain.wrap(content, max(width, 1 + 2 * named.get("line_pad", 0)), *more, **named)


# Lists of options. A page up or down in one that has no lines yet, or no room for any, raises.


def _move_page(options: OptionList, direction: Literal[-1, 1]) -> None:
    if (options.highlighted or 0) in options._index_to_line:
        Plain.move_page(options, direction)


# Screens that are left twice, by two keys or by a key and an answer. The second time takes away whatever screen is on
# top by then, and at last the only one.


def _dismiss(screen: Screen[Any], result: Any = None) -> AwaitComplete:
    return Plain.dismiss(screen, result) if screen.app.screen is screen else AwaitComplete()


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
# would send messages that nobody wrote. Some terminals take such sequences out of what is pasted; tmux does not. And
# each character of a paste costs as much as a key: ten million of them stop the screen for many seconds.

ESCAPE = "\x1b"
CSI = "\x9b"
"""`ESC [` as one character: the parser passes it on, and the composer takes out its sequences as well."""
START, END = "\x1b[200~", "\x1b[201~"
MOST_PASTED = 250_000
"""Characters of a paste that are taken, and one more to tell that there were others."""


class PasteParser(XTermParser):
    """Textual's own, which gets to see where a paste begins and ends, and nothing of what is in it."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pasting = False
        self._held = ""
        """In a paste: what may be the beginning of its end. Else: the last that came, in which a paste may begin."""
        self._pieces: list[str] = []
        self._room = 0
        """Characters that the paste may still have."""
        self._pasted: deque[str] = deque()
        """Pastes that have ended."""

    def feed(self, data: str) -> Iterable[Message]:
        """What the terminal sent, in pieces that may end anywhere."""
        quiet = self._without_pastes(self._without_reports(data))
        if quiet or not data:  # nothing at all means to the parser that the terminal is gone
            for event in super().feed(quiet):
                yield events.Paste(self._pasted.popleft()) if isinstance(event, events.Paste) else event

    def _without_reports(self, data: str) -> str:
        """What a terminal tells of its keyboard is for us, since Textual would take it for keys."""
        if self._pasting or ESCAPE not in data:
            return data
        KEYBOARD.tells_modifiers |= _MODIFIED.search(data) is not None
        return _REPORT.sub("", data)

    def _without_pastes(self, data: str) -> str:
        parts = []
        while data:
            if self._pasting:
                text, end, data = (self._held + data).partition(END)
                self._held = "" if end else _begun(text)
                self._take(text.removesuffix(self._held))
                if end:
                    self._pasting = False
                    self._pasted.append("".join(self._pieces))
                    parts.append(END)
            else:
                seen = self._held + data
                before, start, after = seen.partition(START)
                parts.append(data.removesuffix(after) if start else data)
                self._held, self._pasting = "" if start else before[1 - len(START) :], bool(start)
                self._pieces, self._room = [], MOST_PASTED + 1
                data = after
        return "".join(parts)

    def _take(self, text: str) -> None:
        text = text[: self._room].replace("\x00", "").replace("\x1b[", CSI).replace(ESCAPE, "")
        self._pieces.append(text)
        self._room -= len(text)


def _begun(text: str) -> str:
    """How much of a paste's end stands at the end of a text."""
    return next((END[:size] for size in range(len(END) - 1, 0, -1) if text.endswith(END[:size])), "")


# Keyboards. Textual asks every terminal to send Shift+Enter as such and never learns whether it does, so that nobody
# can say which keys will work. A terminal that does it says so when it is asked, and by the keys that it sends.

ASK_KEYBOARD = "\x1b[?u"
_REPORT = re.compile(r"\x1b\[\?\d+u")
_MODIFIED = re.compile(r"\x1b\[(?:\?[1-9]\d*|\d[\d:;]*)u")


class Keyboard:
    """What is known of the user's."""

    tells_modifiers = False
    """Whether Shift+Enter is another key than Enter."""


KEYBOARD = Keyboard()


def ask_keyboard(app: App[Any]) -> None:
    """Ask the terminal; the answer comes with the keys, or never."""
    if app._driver is not None:
        app._driver.write(ASK_KEYBOARD)


# Output. Textual passes text to the terminal as it is, with escape sequences that may set the clipboard. Text is
# cleaned where it is put on the screen, so that what was taken out shows; this is the wall behind it.


def render_cleaned(strip: Strip, console: Console) -> str:
    """What Textual writes for a piece of a line, without anything in its text that a terminal acts on."""
    if strip._render_cache is None and any(not text.isprintable() for text, _, _ in strip._segments):
        strip._segments = [Segment(without_controls(text), style) for text, style, _ in strip._segments]
    return Plain.render(strip, console)


# Terminals that are gone, or send what is no text. The thread that writes ends with the first write that fails, and
# after thirty more the screen's own loop waits for it for ever; the one that reads ends the program at a byte that is
# no UTF-8.


class SteadyWriter(WriterThread):
    """Textual's own, which throws away what no terminal takes any more."""

    def run(self) -> None:
        """Until there is nothing left to write."""
        try:
            super().run()
        except OSError:
            while self._queue.get() is not None:
                pass


def lenient_decoder(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    """Bytes that are no text become a sign that says so."""
    return lambda: codecs.getincrementaldecoder(encoding)("replace")


REPLACEMENTS = {
    "XTermParser": PasteParser,
    "WriterThread": SteadyWriter,
    "getincrementaldecoder": lenient_decoder,
}


def guard(driver: type[Driver]) -> type[Driver]:
    """The driver, with these in place of what its module names so: it offers no other way."""
    module = sys.modules[driver.__module__]
    for name, ours in REPLACEMENTS.items():
        if hasattr(module, name):
            setattr(module, name, ours)
    return driver


# Errors. One in a handler, a worker, a timer or while drawing ends the program, and what reads a widget's messages ends
# with the first that fails.


class SteadyApp(App[Result]):
    """An app that is asked what to do about an error; whatever failed goes on with the next message."""

    def failed(self, error: BaseException) -> None:
        """An error that nobody expected."""
        raise NotImplementedError

    def refresh_css(self, animate: bool = True) -> None:
        """Another theme is one frame: Textual would paint a part of the screen in the new colours before the rest."""
        if self._screen_stack:
            compositor = self.screen._compositor
            compositor._dirty_regions.add(compositor.size.region)
        super().refresh_css(animate)

    def _handle_exception(self, error: Exception) -> None:
        """What is on its way out still gets messages and answers, and looks for widgets that it no longer has."""
        is_worker = isinstance(error, WorkerFailed)
        who = active_worker.get().node if is_worker else active_message_pump.get(self)
        ends = self._exit or (self._is_mounted and not self._running)
        if not ends and not (isinstance(who, DOMNode) and _is_going(who)):
            self.failed(error.error if isinstance(error, WorkerFailed) else error)


def _is_going(node: DOMNode) -> bool:
    return any(each._closing or getattr(each, "_pruning", False) for each in node.ancestors_with_self)


def _steady_app() -> SteadyApp[Any] | None:
    app = active_app.get(None)
    return app if isinstance(app, SteadyApp) else None


async def _dispatch(pump: MessagePump, message: Message) -> None:
    try:
        await Plain.dispatch(pump, message)
    except Exception as error:
        app = _steady_app()
        if app is None:
            raise
        app._handle_exception(error)


def _render_lines(widget: Widget, crop: Region) -> list[Strip]:
    """A widget that cannot be drawn is blank; the others are there."""
    try:
        return Plain.render_lines(widget, crop)
    except Exception as error:
        app = _steady_app()
        if app is None:
            raise
        app._handle_exception(error)
        return [Strip.blank(crop.width)] * crop.height


def _box_model(widget: Widget, container: Size, *more: Any, **named: Any) -> BoxModel:
    """One whose size cannot be told gets a line."""
    try:
        return Plain.box_model(widget, container, *more, **named)
    except Exception as error:
        app = _steady_app()
        if app is None:
            raise
        app._handle_exception(error)
        return BoxModel(Fraction(container.width), Fraction(1), widget.styles.margin)


# Screens that are left while they still work.


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


class Plain:
    """What Textual itself does, where something else is put in its place."""

    dispatch = MessagePump._dispatch_message
    render = Strip.render
    render_lines = Widget.render_lines
    box_model = Widget._get_box_model
    wrap = Content._wrap_and_format
    move_page = OptionList._move_page
    dismiss = Screen.dismiss


MENDED: dict[tuple[type, str], Callable[..., Any]] = {
    (MessagePump, "_dispatch_message"): _dispatch,
    (Strip, "render"): render_cleaned,
    (Widget, "render_lines"): _render_lines,
    (Widget, "_get_box_model"): _box_model,
    (Content, "_wrap_and_format"): _wrap,
    (OptionList, "_move_page"): _move_page,
    (Screen, "dismiss"): _dismiss,
}


def mend() -> None:
    """Put these in the place of Textual's own, for all widgets: most that fail are Textual's."""
    for (owner, name), ours in MENDED.items():
        setattr(owner, name, ours)
