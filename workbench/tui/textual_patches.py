"""Patches of Textual: replaced functions, for faults that Textual's own widgets, such as the palette, have as well.

The docstring of each patch reports the fault as one would report it to Textual: what one does, what happens in Textual
8.2.8, and what is expected. A test shows that plain Textual still has the fault; when that test fails, the patch can
go. `patch_textual` installs them when the screen starts. Faults that concern only our own widgets are fixed in
subclasses: see `steady_app` and `text_areas`. What concerns styles is in `kept_styles`. pyproject.toml limits Textual
to the releases that were patched.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import ceil
from types import ModuleType
from typing import Any, Literal

from rich.cells import split_text
from rich.console import Console
from rich.segment import Segment
from textual import markup as textual_markup
from textual import reactive
from textual._callback import invoke
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.await_complete import AwaitComplete
from textual.box_model import BoxModel
from textual.content import Content
from textual.css.stylesheet import Stylesheet
from textual.events import Resize
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
from textual.widgets import Input, OptionList

from workbench.config.text import without_controls
from workbench.tui import kept_styles
from workbench.tui.steady_app import ERRORS_TO_APP, is_leaving

_JOINED = re.compile("[\u200d\ufe0f]")
"""What makes one sign of several characters, or a wide one of a narrow one."""


# Long lists


def set_line_count(view: ScrollView, lines: int) -> None:
    """Give a list that has a scrollbar in any case so many lines; the caller repaints what changed.

    To assign `ScrollView.virtual_size` lays out and repaints the whole screen, for each line that is added. Expected:
    where `overflow-y` is `scroll`, another height needs no layout.
    """
    if lines != view.virtual_size.height:
        view.set_reactive(ScrollView.virtual_size, Size(0, lines))
        view.scroll_y = view.validate_scroll_y(view.scroll_y)


def move_thumb(view: ScrollView) -> None:
    """Pass on to the scrollbar where the view is. It is repainted only where its thumb moves.

    Each change of `ScrollBar.window_virtual_size` or `position` repaints the bar, which costs more than the lines next
    to it. Expected: no repaint where the thumb is drawn in the same eighths of a cell.
    """
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


# Terminals of a few columns


def _wrap(content: Content, width: int, *more: Any, **named: Any) -> list[Any]:
    """`Content("word").get_height({}, 0)` raises "ValueError: range() arg 3 must not be zero"; a list in a dialog may
    get no column. Expected: at least one column is used."""
    return TextualOriginals.wrap(content, max(width, 1 + 2 * named.get("line_pad", 0)), *more, **named)


def _truncate(content: Content, max_width: int, **named: Any) -> Content:
    """`Content.truncate` with a negative width cuts nothing, and the result claims a negative `cell_length`; the line
    takes more room than the screen has. Expected: an empty text."""
    return TextualOriginals.truncate(content, max(max_width, 0), **named)


# Emoji of several parts


def _split_cells(segment: Segment, cut: int) -> tuple[Segment, Segment]:
    """Rich's `Segment.split_cells` cuts an emoji of several parts between them, where a dialog's edge falls on one; the
    line then takes more columns than the screen has. Expected: as Rich's own `split_text`, which knows what belongs
    together."""
    text, style, control = segment
    if not _JOINED.search(text) or cut >= segment.cell_length:  # beyond the end, `split_text` raises
        return TextualOriginals.split_cells(segment, cut)
    before, after = split_text(text, cut)
    return Segment(before, style, control), Segment(after, style, control)


# Lists of options


def _move_page(options: OptionList, direction: Literal[-1, 1]) -> None:
    """Page up or down in an `OptionList` that has no lines yet, or no room for any, raises KeyError. Expected: nothing
    happens."""
    if (options.highlighted or 0) in options._index_to_line:
        TextualOriginals.move_page(options, direction)


# Lines and areas to type in


def _input_replace(line: Input, text: str, start: int, end: int) -> None:
    """What is pasted into an `Input`, by the terminal or from the app's own clipboard, keeps its control characters.
    Expected: they are left out, as they are where a key is typed."""
    TextualOriginals.input_replace(line, without_controls(text), start, end)


# Screens


def _dismiss(screen: Screen[Any], result: Any = None) -> AwaitComplete:
    """`Screen.dismiss` twice, by two keys or by a key and an answer: the second time pops whatever screen is on top by
    then, and at last the only one. Expected: a screen that is not on top is not left again."""
    return TextualOriginals.dismiss(screen, result) if screen.app.screen is screen else AwaitComplete()


def _screen_render(screen: Screen[Any]) -> Any:
    """A modal screen that is redrawn behind another one that did not change is blank.

    `Screen.render` takes the screen behind it from `visible_screen_stack`, on the assumption that those before it are
    drawn in the same go; one that is drawn alone finds itself. Expected: what is behind it.
    """
    stack = screen.app.screen_stack
    if screen in stack:
        visible_screen_stack.set(stack[: stack.index(screen)])
    return TextualOriginals.screen_render(screen)


def _widget_and_offset_at(screen: Screen[Any], x: int, y: int) -> tuple[Widget | None, Offset | None]:
    """A click where a widget was, after `remove` and before the next layout, raises AttributeError: the widget is still
    found, and a selection begins in its parent, which is None. Expected: no widget is found."""
    widget, offset = TextualOriginals.widget_and_offset_at(screen, x, y)
    is_gone = widget is not None and not isinstance(widget, Screen) and widget.parent is None
    return (None, None) if is_gone else (widget, offset)


# Sizes


def use_current_size(message: Resize, size: Size) -> None:
    """Replace the size in a message to a screen by the one that the terminal has now.

    The layout of a screen sends each new size to the screen once more. If the terminal gets two sizes in quick
    succession, these messages take turns: the screen is laid out for one, then for the other, for ever, and nothing
    else is done. Expected: an outdated size is not used.
    """
    if message.size != size:
        message.size = message.virtual_size = message.container_size = size


# Timers

SHORTEST_DELAY = 0.001


def _set_timer(pump: MessagePump, delay: float, *more: Any, **named: Any) -> Timer:
    """A timer with a negative delay counts backwards for ever, and the event loop does nothing else.

    `Toast` starts one for a notification that expires between the check for expiry and the look at the time left.
    Expected: a timer that is due already goes off.
    """
    return TextualOriginals.set_timer(pump, max(SHORTEST_DELAY, delay), *more, **named)


# Widgets that are being removed


def _on_invoke_later(pump: MessagePump, message: InvokeLater) -> None:
    """What `call_after_refresh` and `call_later` of a widget were given is still called while the widget is removed.

    Its children go first, so that a callback that queries them raises NoMatches; and the error counts as that of the
    widget which was at work when the call was asked for. Expected: nothing is called for a widget that is leaving.
    """

    async def if_it_stays() -> None:
        if not is_leaving(pump):
            with ERRORS_TO_APP:
                await invoke(message.callback)

    if pump.app._running:
        pump.app.screen._invoke_later(if_it_stays, pump)


# Painting


def _render_chops(
    compositor: Compositor, crop: Region, is_rendered_line: Callable[[int], bool]
) -> list[dict[int, Strip | None]]:
    """A change of one line renders its widget, those next to it and all behind them, with every line they have.

    `Compositor._render_chops` goes on behind widgets that cover everything, and takes for the place of a widget that of
    its container. Expected: the lines that are painted, from the front until nothing of them is left.
    """
    cuts, crop = compositor.cuts, crop.intersection(compositor.size.region)
    chops: list[dict[int, Strip | None]] = [dict.fromkeys(line[:-1]) for line in cuts]
    lines = [y for y in crop.line_range if is_rendered_line(y)]
    left = {(y, cut) for y in lines for cut, end in pairwise(cuts[y]) if cut < crop.right and end > crop.x}
    band, painted = Region(0, crop.y, compositor.size.width, crop.height), frozenset(lines)
    for widget, (region, clip) in compositor.visible_widgets.items():
        if not left:
            break
        seen = region.intersection(clip).intersection(band)
        if not (seen and seen.overlaps(crop)):
            continue
        first, last = seen.column_span
        known: list[int] = []
        """The cuts of the line before: mostly they are the same."""
        for y, strip in zip(seen.line_range, widget.render_lines(seen - region.offset), strict=False):
            if y in painted:
                line = chops[y]
                if cuts[y] != known:
                    known = cuts[y]
                    own = [cut for cut in known if first <= cut <= last]
                    ends = [cut - first for cut in own[1:]]
                for cut, piece in zip(own, strip.divide(ends), strict=False):
                    if line.get(cut) is None:
                        line[cut] = piece
                        left.discard((y, cut))
    return chops


# Output


def render_cleaned(strip: Strip, console: Console) -> str:
    """What Textual writes for a piece of a line, without anything in its text that a terminal acts on.

    `Strip.render` passes text to the terminal as it is, with escape sequences that may set the clipboard. Expected:
    control characters of a text are left out. Our texts are cleaned before; this is the wall behind that.
    """
    if strip._render_cache is None and any(not text.isprintable() for text, _, _ in strip._segments):
        strip._segments = [Segment(without_controls(text), style) for text, style, _ in strip._segments]
    return TextualOriginals.render(strip, console)


# Markup


def text_as_it_is(markup: str, style: str | Style = "", template_variables: object = None) -> Content:
    """A string as the characters that it has.

    Most strings are read as markup, and `Content.markup` does not undo that for every text: names of models, tools and
    files become links that run actions, or errors. Expected: an app can switch markup off. This program shows
    `Content`, which `tests/tui/test_no_markup.py` checks; this is the wall behind it.
    """
    return Content.styled(markup, style) if style else Content(markup)


# Errors


async def _dispatch(pump: MessagePump, message: Message) -> None:
    """The first message whose handler raises ends the loop that reads a widget's messages. Expected: the error is the
    app's to handle, and the next message is read."""
    with ERRORS_TO_APP:
        if isinstance(message, Resize) and isinstance(pump, Screen):
            use_current_size(message, pump.app.size)
        await TextualOriginals.dispatch(pump, message)


def _invoke_watcher(watcher: MessagePump, function: Callable[..., Any], old: object, new: object) -> None:
    """An error in a watcher counts as that of the widget whose value changed, and the watchers after it are not called.
    Expected: it is the watcher's own, and the others are called."""
    with watcher._context(), ERRORS_TO_APP:
        TextualOriginals.invoke_watcher(watcher, function, old, new)  # type: ignore[arg-type]  # it is a widget, or the app


def _render_lines(widget: Widget, crop: Region) -> list[Strip]:
    """An error in a widget's `render` leaves the whole screen undrawn. Expected: that widget is blank, the others are
    there."""
    with widget._context(), ERRORS_TO_APP:
        return TextualOriginals.render_lines(widget, crop)
    return [Strip.blank(crop.width)] * crop.height


def _box_model(widget: Widget, container: Size, *more: Any, **named: Any) -> BoxModel:
    """An error while a widget is measured leaves the whole screen without a layout. Expected: the others get theirs;
    that one has a line here."""
    with widget._context(), ERRORS_TO_APP:
        return TextualOriginals.box_model(widget, container, *more, **named)
    return BoxModel(Fraction(container.width), Fraction(1), widget.styles.margin)


class TextualOriginals:
    """Textual's own functions that are replaced."""

    dispatch = MessagePump._dispatch_message
    render_chops = Compositor._render_chops
    render = Strip.render
    render_lines = Widget.render_lines
    box_model = Widget._get_box_model
    wrap = Content._wrap_and_format
    truncate = Content.truncate
    split_cells = Segment.split_cells
    move_page = OptionList._move_page
    input_replace = Input.replace
    dismiss = Screen.dismiss
    screen_render = Screen.render
    widget_and_offset_at = Screen.get_widget_and_offset_at
    on_invoke_later = MessagePump._on_invoke_later
    set_timer = MessagePump.set_timer
    invoke_watcher = staticmethod(reactive.invoke_watcher)
    to_content = staticmethod(textual_markup.to_content)


PATCHES: dict[tuple[type | ModuleType, str], Callable[..., Any]] = {
    (MessagePump, "_dispatch_message"): _dispatch,
    (Compositor, "_render_chops"): _render_chops,
    (Strip, "render"): render_cleaned,
    (Widget, "render_lines"): _render_lines,
    (Widget, "_get_box_model"): _box_model,
    (Content, "_wrap_and_format"): _wrap,
    (Content, "truncate"): _truncate,
    (Segment, "split_cells"): _split_cells,
    (OptionList, "_move_page"): _move_page,
    (Input, "replace"): _input_replace,
    (Screen, "dismiss"): _dismiss,
    (Screen, "render"): _screen_render,
    (Screen, "get_widget_and_offset_at"): _widget_and_offset_at,
    (MessagePump, "_on_invoke_later"): _on_invoke_later,
    (MessagePump, "set_timer"): _set_timer,
    (reactive, "invoke_watcher"): _invoke_watcher,
    (textual_markup, "to_content"): text_as_it_is,
    (Stylesheet, "apply"): kept_styles.apply_kept_rules,
    (Stylesheet, "replace_rules"): kept_styles.replace_changed_rules,
    (Stylesheet, "_process_component_classes"): kept_styles.style_components,
}


def patch_textual() -> None:
    """Replace these functions for all widgets."""
    for (owner, name), ours in PATCHES.items():
        setattr(owner, name, ours)
