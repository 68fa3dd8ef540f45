"""Fixes for Textual: every use of its private parts, and every workaround for a bug.

Each patch says what is wrong without it, and a test shows that plain Textual still has the bug: when that test fails,
the patch can be removed. pyproject.toml pins the releases of Textual that the patches were made for.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil
from types import ModuleType, TracebackType
from typing import Any, Literal, TypeVar

from rich.cells import split_text
from rich.console import Console
from rich.segment import Segment
from textual import markup as textual_markup
from textual import on, reactive
from textual._callback import invoke
from textual._context import active_app, active_message_pump, visible_screen_stack
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.await_remove import AwaitRemove
from textual.box_model import BoxModel
from textual.command import CommandPalette
from textual.content import Content
from textual.dom import DOMNode
from textual.errors import NoWidget
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.message_pump import MessagePump
from textual.messages import InvokeLater
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.style import Style
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, OptionList, TextArea
from textual.widgets.text_area import EditResult, Location
from textual.worker import WorkerFailed, active_worker

from workbench.config.text import without_controls

Result = TypeVar("Result")
_JOINED = re.compile("[\u200d\ufe0f]")
"""Characters that join others into one sign, or make a sign wide."""


# Long lists. Assigning `virtual_size` lays out and repaints the whole screen, for each added line.


def set_line_count(view: ScrollView, lines: int) -> None:
    """Set the number of lines of a list that always has a scrollbar; the caller repaints what changed."""
    if lines != view.virtual_size.height:
        view.set_reactive(ScrollView.virtual_size, Size(0, lines))
        view.scroll_y = view.validate_scroll_y(view.scroll_y)


# Scrollbars. Every new value repaints a scrollbar, which costs more than the lines next to it.


def move_thumb(view: ScrollView) -> None:
    """Update the scrollbar. It is repainted only if its thumb moves."""
    bar = view.vertical_scrollbar
    before = _thumb(bar)
    bar.set_reactive(ScrollBar.window_virtual_size, max(view.virtual_size.height, 1))
    bar.set_reactive(ScrollBar.position, view.scroll_y)
    if before != _thumb(bar):
        bar.refresh()


def _thumb(bar: ScrollBar) -> tuple[int, int]:
    """The start and the end of a scrollbar's thumb, in eighths of a cell, as Textual draws it."""
    window, virtual = bar.window_size, bar.window_virtual_size
    if virtual <= window or not window:
        return 0, 0
    size = max(1, window * window / virtual)
    start = int((window - size) * bar.position / (virtual - window) * 8)
    return start, start + ceil(size * 8)


# Very narrow terminals. Wrapping a text to width 0 raises, and a list in a dialog may have width 0.


def _wrap(content: Content, width: int, *more: Any, **named: Any) -> list[Any]:
    return Plain.wrap(content, max(width, 1 + 2 * named.get("line_pad", 0)), *more, **named)


# Truncating a text to a negative width does not cut it, so that its line is wider than the screen.


def _truncate(content: Content, max_width: int, **named: Any) -> Content:
    return Plain.truncate(content, max(max_width, 0), **named)


# Emoji of several parts. If a dialog's edge falls on one, Rich cuts between its parts; then the line is wider than the
# screen. Rich's own `split_text` knows which parts belong together.


def _split_cells(segment: Segment, cut: int) -> tuple[Segment, Segment]:
    text, style, control = segment
    if not _JOINED.search(text) or cut >= segment.cell_length:  # `split_text` raises past the end
        return Plain.split_cells(segment, cut)
    before, after = split_text(text, cut)
    return Segment(before, style, control), Segment(after, style, control)


# Option lists. Page up or down raises in a list without lines or without room.


def _move_page(options: OptionList, direction: Literal[-1, 1]) -> None:
    if (options.highlighted or 0) in options._index_to_line:
        Plain.move_page(options, direction)


# Text inputs. Pasted text, from the terminal or the app's clipboard, keeps its control characters.


def _input_replace(line: Input, text: str, start: int, end: int) -> None:
    Plain.input_replace(line, without_controls(text), start, end)


def _area_replace(area: TextArea, insert: str, start: Location, end: Location) -> EditResult | None:
    lines = insert.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    cleaned = "\n".join("\t".join(map(without_controls, line.split("\t"))) for line in lines)
    return Plain.area_replace(area, cleaned, start, end)


# Text areas. Undoing a paste of many lines measures the text before the cursor is back in it: if that removes the
# scrollbar, Textual looks for the cursor in a line that no longer exists.


def _recompute_cursor_offset(area: TextArea) -> None:
    if area.cursor_location[0] < area.document.line_count:
        Plain.recompute_cursor_offset(area)  # type: ignore[no-untyped-call]  # Textual's


# Screens that are dismissed twice, by two keys or by a key and an answer. The second time removes the screen that is on
# top by then, perhaps the last one.


def _dismiss(screen: Screen[Any], result: Any = None) -> AwaitComplete:
    return Plain.dismiss(screen, result) if screen.app.screen is screen else AwaitComplete()


# Screens behind others. Each takes the screen behind it from a list, assuming that those before it are drawn in the
# same pass; a screen that is drawn alone, behind an unchanged dialog, finds itself and is blank.


def _screen_render(screen: Screen[Any]) -> Any:
    stack = screen.app.screen_stack
    if screen in stack:
        visible_screen_stack.set(stack[: stack.index(screen)])
    return Plain.screen_render(screen)


# Clicks. Until the next layout, a removed widget is still found at its place; a click there would start a selection in
# its container, which is None by then.


def _widget_and_offset_at(screen: Screen[Any], x: int, y: int) -> tuple[Widget | None, Offset | None]:
    widget, offset = Plain.widget_and_offset_at(screen, x, y)
    is_gone = widget is not None and not isinstance(widget, Screen) and widget.parent is None
    return (None, None) if is_gone else (widget, offset)


class SteadyPalette(CommandPalette):
    """A palette that closes when a click comes from outside its screen, as after the terminal was made smaller."""

    def get_widget_at(self, x: int, y: int) -> tuple[Widget, Region]:
        try:
            return super().get_widget_at(x, y)
        except NoWidget:
            return self, self.region


# Timers. A timer with a negative delay counts backwards for ever, and the event loop does nothing else. Textual starts
# one for a notification that expires between its check for expiry and its look at the time left.

SHORTEST_DELAY = 0.001


def _set_timer(pump: MessagePump, delay: float, *more: Any, **named: Any) -> Timer:
    return Plain.set_timer(pump, max(SHORTEST_DELAY, delay), *more, **named)


# Widgets that are being removed. A widget's children are removed first, and its pending callbacks would look for them.


def is_leaving(pump: MessagePump) -> bool:
    """Whether it, or one of its ancestors, is being removed."""
    nodes = pump.ancestors_with_self if isinstance(pump, DOMNode) else [pump]
    return any(each._closing or each._closed or getattr(each, "_pruning", False) for each in nodes)


def _exists(node: DOMNode) -> bool:
    return not isinstance(node, Widget) or (node.is_mounted and not is_leaving(node))


def _on_invoke_later(pump: MessagePump, message: InvokeLater) -> None:
    """Run the callback in the context of this pump, whichever was active when it was requested."""

    async def if_it_stays() -> None:
        if not is_leaving(pump):
            with _CAUGHT:
                await invoke(message.callback)

    if pump.app._running:
        pump.app.screen._invoke_later(if_it_stays, pump)


# Cursors. A cursor blinks for ever, and if blinking is turned off while it is invisible, it stays invisible.

BLINKING = 10.0
"""Seconds without a key after which the cursor stops blinking, so that an idle screen does nothing."""


class RestingTextArea(TextArea):
    """A text area whose cursor blinks while the user types, and some seconds longer."""

    def on_mount(self) -> None:
        self._resting = self.set_interval(BLINKING, self.rest)

    def on_focus(self) -> None:
        self._wake()

    @on(TextArea.SelectionChanged)
    def _wake(self) -> None:
        self.cursor_blink = True
        self._resting.reset()
        self._resting.resume()

    def rest(self) -> None:
        """Stop blinking, with the cursor visible."""
        self.cursor_blink = False
        self.notify_style_update()  # otherwise Textual shows the line as drawn without the cursor
        self._resting.pause()


# Output. Textual passes text to the terminal unchanged, with escape sequences that may set the clipboard. Our widgets
# replace control characters visibly; this is the second line of defence.


def render_cleaned(strip: Strip, console: Console) -> str:
    """Textual's output for a piece of a line, without control characters in its text."""
    if strip._render_cache is None and any(not text.isprintable() for text, _, _ in strip._segments):
        strip._segments = [Segment(without_controls(text), style) for text, style, _ in strip._segments]
    return Plain.render(strip, console)


# Markup. Textual parses most strings as markup, and `Content.markup` does not escape every text. Names of models, tools
# and files would become links that run actions, or errors. This program uses no markup: it shows `Content`, which
# `tests/tui/test_no_markup.py` checks; this is the second line of defence.


def text_as_it_is(markup: str, style: str | Style = "", template_variables: object = None) -> Content:
    """A string as plain text."""
    return Content.styled(markup, style) if style else Content(markup)


# Errors. An error in a handler, a worker, a timer or while drawing ends the program, and a widget's message loop ends
# with its first error. If a widget is called because another is drawn or has a new value, the error is attributed to
# the other widget, and further watchers are not called.


class SteadyApp(App[Result]):
    """An app with a hook for errors; a widget that failed continues with the next message."""

    def failed(self, error: BaseException) -> None:
        """Handle an unexpected error."""
        raise NotImplementedError

    def refresh_css(self, animate: bool = True) -> None:
        """Change the theme in one frame: Textual would paint a part of the screen in the new colours first."""
        if self._screen_stack:
            compositor = self.screen._compositor
            compositor._dirty_regions.add(compositor.size.region)
        super().refresh_css(animate)

    def _handle_exception(self, error: Exception) -> None:
        """Ignore errors of widgets that are being removed: they still get messages, and look for missing children."""
        is_worker = isinstance(error, WorkerFailed)
        who = active_worker.get().node if is_worker else active_message_pump.get(self)
        ends = self._exit or (self._is_mounted and not self._running)
        if not ends and not (isinstance(who, MessagePump) and is_leaving(who)):
            self.failed(error.error if isinstance(error, WorkerFailed) else error)

    async def run_action(
        self,
        action: Any,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run no action on a screen before its widgets exist or while they are removed."""
        target, _, _ = self._parse_action(action, default_namespace or self, namespaces)
        return _exists(target) and await super().run_action(action, default_namespace, namespaces)

    def _check_action_state(self, action: str, default_namespace: DOMNode) -> bool | None:
        """Nor ask such a screen for its enabled keys."""
        target, _, _ = self._parse_action(action, default_namespace)
        return _exists(target) and super()._check_action_state(action, default_namespace)

    def action_command_palette(self) -> None:
        """Open the palette with an id of its own, so that it can open while the last one is being removed."""
        if not CommandPalette.is_open(self):  # type: ignore[arg-type]  # any app will do
            self.push_screen(SteadyPalette())

    async def _flush_next_callbacks(self) -> None:
        """Keep a cancelled worker from cancelling a screen that is being closed.

        `push_screen_wait` runs the app's pending callbacks in the worker's task, such as waiting for a closed screen to
        be removed. If the worker is cancelled there, Textual cancels the screen's own task with it: its widgets are
        never removed, and the app ends with CancelledError.
        """
        if active_worker.get(None) is None:
            await super()._flush_next_callbacks()
        else:
            await asyncio.shield(super()._flush_next_callbacks())

    def _prune(self, *nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        """Stop the workers of removed widgets first.

        Textual stops a widget's workers after its children are removed: a result that arrives in between would look for
        missing widgets.
        """
        for node in nodes:
            for each in node.walk_children(with_self=True):
                self.workers.cancel_node(each)
        return super()._prune(*nodes, parent=parent)


class _Caught:
    """Passes errors to a `SteadyApp`, attributed to the active widget; in any other app they are raised."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        app = active_app.get(None)
        if not isinstance(error, Exception) or not isinstance(app, SteadyApp):
            return False
        app._handle_exception(error)
        return True


_CAUGHT = _Caught()


async def _dispatch(pump: MessagePump, message: Message) -> None:
    with _CAUGHT:
        await Plain.dispatch(pump, message)


def _invoke_watcher(watcher: MessagePump, function: Callable[..., Any], old: object, new: object) -> None:
    with watcher._context(), _CAUGHT:
        Plain.invoke_watcher(watcher, function, old, new)  # type: ignore[arg-type]  # it is a widget, or the app


def _render_lines(widget: Widget, crop: Region) -> list[Strip]:
    """Draw a widget that fails as blank."""
    with widget._context(), _CAUGHT:
        return Plain.render_lines(widget, crop)
    return [Strip.blank(crop.width)] * crop.height


def _box_model(widget: Widget, container: Size, *more: Any, **named: Any) -> BoxModel:
    """Give a widget whose size cannot be computed one line."""
    with widget._context(), _CAUGHT:
        return Plain.box_model(widget, container, *more, **named)
    return BoxModel(Fraction(container.width), Fraction(1), widget.styles.margin)


class Plain:
    """Textual's own functions, before they are replaced."""

    dispatch = MessagePump._dispatch_message
    render = Strip.render
    render_lines = Widget.render_lines
    box_model = Widget._get_box_model
    wrap = Content._wrap_and_format
    truncate = Content.truncate
    split_cells = Segment.split_cells
    move_page = OptionList._move_page
    input_replace = Input.replace
    area_replace = TextArea._replace_via_keyboard
    recompute_cursor_offset = TextArea._recompute_cursor_offset
    dismiss = Screen.dismiss
    screen_render = Screen.render
    widget_and_offset_at = Screen.get_widget_and_offset_at
    on_invoke_later = MessagePump._on_invoke_later
    set_timer = MessagePump.set_timer
    invoke_watcher = staticmethod(reactive.invoke_watcher)
    to_content = staticmethod(textual_markup.to_content)


MENDED: dict[tuple[type | ModuleType, str], Callable[..., Any]] = {
    (MessagePump, "_dispatch_message"): _dispatch,
    (Strip, "render"): render_cleaned,
    (Widget, "render_lines"): _render_lines,
    (Widget, "_get_box_model"): _box_model,
    (Content, "_wrap_and_format"): _wrap,
    (Content, "truncate"): _truncate,
    (Segment, "split_cells"): _split_cells,
    (OptionList, "_move_page"): _move_page,
    (Input, "replace"): _input_replace,
    (TextArea, "_replace_via_keyboard"): _area_replace,
    (TextArea, "_recompute_cursor_offset"): _recompute_cursor_offset,
    (Screen, "dismiss"): _dismiss,
    (Screen, "render"): _screen_render,
    (Screen, "get_widget_and_offset_at"): _widget_and_offset_at,
    (MessagePump, "_on_invoke_later"): _on_invoke_later,
    (MessagePump, "set_timer"): _set_timer,
    (reactive, "invoke_watcher"): _invoke_watcher,
    (textual_markup, "to_content"): text_as_it_is,
}


def mend() -> None:
    """Replace Textual's functions, for all widgets: most that fail are Textual's own."""
    for (owner, name), ours in MENDED.items():
        setattr(owner, name, ours)
