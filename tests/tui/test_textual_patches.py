"""The ways around Textual's faults, each beside a test of plain Textual.

Where a test of plain Textual fails, Textual has mended its fault: the patch can go.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import sys
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from pkgutil import walk_packages

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual import _time, events
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.geometry import Region, Size
from textual.message_pump import MessagePump
from textual.renderables.background_screen import BackgroundScreen
from textual.renderables.blank import Blank
from textual.screen import ModalScreen, Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

import workbench.tui
from support.terminal import Terminal
from tui.play import until
from workbench.log.events import UserMessage
from workbench.log.store import Store
from workbench.tui.textual_patches import (
    PATCHES,
    TextualOriginals,
    move_thumb,
    patch_textual,
    render_cleaned,
    set_line_count,
)

EVIL = "\x1b]52;c;ZXZpbA==\x07"


def test_text_reaches_the_terminal_without_its_escape_sequences() -> None:
    console = Console(color_system="truecolor", force_terminal=True)
    text = f"a{EVIL}b\x9b31m\u202ec\u200dd"
    assert EVIL in Strip([Segment(text)]).render(console) or Strip.render is render_cleaned
    for style in (None, Style(bold=True)):
        seen = render_cleaned(Strip([Segment(text, style), Segment("é")]), console)
        assert "a]52;c;ZXZpbA==b31mc\u200dd" in seen
        assert seen.count("\x1b") == (2 if style else 0), "its own, for the style"


def test_no_name_of_a_session_or_a_folder_sets_the_clipboard(tmp_path: Path) -> None:
    project = tmp_path / f"project{EVIL.replace('/', '')}"
    project.mkdir()
    (project / "AGENTS.md").write_text("Be kind.")
    (project / "package.json").write_text("{}")
    with Store.open(tmp_path / "data" / "workbench.db") as store, store.create([UserMessage("hello")], title=EVIL):
        pass
    folders = {"WORKBENCH_DATA_DIR": str(tmp_path / "data"), "WORKBENCH_CONFIG_DIR": str(tmp_path / "config")}
    start = f"import os, sys; os.chdir({str(project)!r}); from workbench.cli.main import main; sys.exit(main([]))"
    terminal = Terminal(command=(sys.executable, "-c", start), **folders)
    terminal.wait_for("no AI")
    for command, shown in (("/rename", "Enter accept"), ("/instructions", "AGENTS.md")):
        terminal.press(f"{command}\r")
        terminal.wait_for(shown)
        terminal.rest()
        terminal.press("\x1b")
        terminal.rest()
    terminal.press("\x11")
    assert terminal.end() == 0
    assert b"\x1b]52" not in terminal.seen


# Where the patches are


def test_private_parts_of_textual_are_imported_where_it_is_patched() -> None:
    folder = Path(workbench.tui.__file__).parent
    found = {
        path.name
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("textual._")
    }
    assert found == {"steady_app.py", "terminal_patches.py", "textual_patches.py"}


def test_no_widget_overrides_a_private_method_of_textual() -> None:
    for info in walk_packages(workbench.tui.__path__, "workbench.tui."):
        if info.name.endswith(("_patches", ".steady_app", ".text_areas")):
            continue
        for ours in vars(import_module(info.name)).values():
            if inspect.isclass(ours) and ours.__module__ == info.name:
                own = {name for name, each in vars(ours).items() if name[0] == "_" != name[1] and callable(each)}
                for base in ours.__mro__:
                    if base.__module__.startswith("textual"):
                        assert not own & vars(base).keys(), f"{ours} overrides what is private to {base}"


# Long lists and their scrollbars


class Page(App[None]):
    """A list of lines."""

    CSS = "ScrollView { overflow-y: scroll; }"

    def compose(self) -> ComposeResult:
        yield ScrollView()


def lays_out(widget: Widget) -> bool:
    return widget._layout_required


def repaints(widget: Widget) -> bool:
    return widget._repaint_required


async def test_plain_textual_lays_out_the_screen_for_every_line_and_ours_does_not() -> None:
    app = Page()
    async with app.run_test() as pilot:
        view = app.query_one(ScrollView)
        set_line_count(view, 100)
        assert view.virtual_size.height == 100
        assert not lays_out(view)
        view.virtual_size = Size(0, 101)
        assert lays_out(view)
        await pilot.pause()


async def test_plain_textual_repaints_a_scrollbar_that_looks_the_same_and_ours_does_not() -> None:
    app = Page()
    async with app.run_test():
        view = app.query_one(ScrollView)
        set_line_count(view, 100_000)
        move_thumb(view)
        bar = view.vertical_scrollbar
        await until(lambda: not repaints(bar))
        set_line_count(view, 100_001)
        move_thumb(view)
        assert bar.window_virtual_size == 100_001
        assert not repaints(bar)
        bar.window_virtual_size = 100_002
        assert repaints(bar)
        await until(lambda: not repaints(bar))
        set_line_count(view, 50)
        move_thumb(view)
        assert repaints(bar), "its thumb is longer now"


async def test_a_list_that_gets_shorter_is_scrolled_to_where_it_has_lines() -> None:
    app = Page()
    async with app.run_test(size=(80, 24)):
        view = app.query_one(ScrollView)
        set_line_count(view, 100)
        view.scroll_to(y=90, animate=False, force=True)
        assert view.scroll_offset.y == 76
        set_line_count(view, 30)
        assert view.scroll_offset.y == 6


# Screens behind others


@pytest.mark.parametrize("is_plain", [True, False])
async def test_plain_textual_draws_a_screen_behind_another_blank_and_ours_as_it_is(
    is_plain: bool,
) -> None:
    patch_textual()
    async with App[None]().run_test() as pilot:
        lower, upper = ModalScreen[None](), ModalScreen[None]()
        await pilot.app.push_screen(lower)
        await pilot.app.push_screen(upper)
        visible_screen_stack.set(pilot.app._background_screens)  # as where the upper one did not change
        drawn = (TextualOriginals.screen_render if is_plain else Screen.render)(lower)
        assert isinstance(drawn, Blank if is_plain else BackgroundScreen)


# Sizes


class Laid(Screen[None]):
    """Counts how often it gets a size."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 - Textual types it as an instance's own
    CSS = "Laid.-narrow Static { width: 50% }"
    ENOUGH = 50

    def __init__(self, settled: asyncio.Event) -> None:
        super().__init__()
        self.sizes: list[Size] = []
        self._settled = settled

    def compose(self) -> ComposeResult:
        yield Static("text")

    def on_resize(self, event: events.Resize) -> None:
        self.sizes.append(event.size)
        self.call_later(self._look)
        if len(self.sizes) > self.ENOUGH:
            self._settled.set()
            raise asyncio.CancelledError

    def _look(self) -> None:
        if not self.message_queue_size:
            self._settled.set()


@pytest.mark.parametrize("is_plain", [False, True])
async def test_two_sizes_in_quick_succession_settle(monkeypatch: pytest.MonkeyPatch, is_plain: bool) -> None:
    patch_textual()
    if is_plain:
        monkeypatch.setattr(MessagePump, "_dispatch_message", TextualOriginals.dispatch)
    app: App[None] = App()
    settled = asyncio.Event()
    async with app.run_test(size=(120, 40)) as pilot:
        screen = Laid(settled)
        await app.push_screen(screen)
        await pilot.pause()
        screen.sizes.clear()
        settled.clear()
        for size in (Size(80, 40), Size(120, 40)):
            app._size = size
            screen.post_message(events.Resize(size, size))
            screen.call_later(lambda: None)  # two sizes that directly follow each other are one
        await settled.wait()
        if not is_plain:
            assert screen.size == (120, 40)
    assert (len(screen.sizes) > Laid.ENOUGH) == is_plain, "Textual has mended it" if is_plain else "they take turns"


# Timers


@pytest.mark.parametrize("is_plain", [False, True])
async def test_a_timer_that_is_due_already_goes_off(monkeypatch: pytest.MonkeyPatch, is_plain: bool) -> None:
    patch_textual()
    set_timer = TextualOriginals.set_timer if is_plain else MessagePump.set_timer
    app: App[None] = App()
    went_off = asyncio.Event()
    looks, clock = 0, _time.get_time

    def get_time() -> float:
        nonlocal looks
        looks += 1
        if looks > 10_000:
            went_off.set()
            raise asyncio.CancelledError
        return clock()

    async with app.run_test():
        monkeypatch.setattr(_time, "get_time", get_time)
        set_timer(app, -0.00004, went_off.set)
        await went_off.wait()
        monkeypatch.undo()
    assert (looks > 10_000) == is_plain, "Textual has mended it" if is_plain else "it counts backwards"


# Painting


class Numbered(Widget):
    """Lines with their numbers; counts those that it is asked for."""

    drawn = 0

    def render_lines(self, crop: Region) -> list[Strip]:
        self.drawn += crop.height
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        return Strip([Segment(f"{self.id} {y}".ljust(self.size.width))], self.size.width)


class Covered(App[None]):
    """Two widgets side by side that cover the screen, and one that lies over both."""

    CSS = """
    Horizontal { layers: below above; }
    Numbered { width: 1fr; height: 1fr; layer: below; }
    #over { layer: above; width: 20; height: 3; offset: 30 5; }
    """

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Numbered(id="left")
            yield Numbered(id="right")
            yield Numbered(id="over")


PAINTING = [TextualOriginals.render_chops, PATCHES[Compositor, "_render_chops"]]
REGIONS = st.builds(Region, *(st.integers(0, most) for most in (79, 23)), *(st.integers(1, most) for most in (80, 24)))


@given(crops=st.lists(REGIONS, min_size=10, max_size=10))
@settings(max_examples=10, deadline=None)
def test_what_is_painted_is_what_plain_textual_paints(crops: list[Region]) -> None:
    async def paint() -> None:
        async with Covered().run_test(size=(80, 24)) as pilot:
            compositor = pilot.app.screen._compositor
            for crop in (each.intersection(compositor.size.region) for each in crops):
                plain, ours = (each(compositor, crop, crop.line_range.__contains__) for each in PAINTING)
                for y in crop.line_range:
                    for cut, end in pairwise(compositor.cuts[y]):
                        if cut < crop.right and end > crop.x:
                            assert ours[y][cut] == plain[y][cut] is not None

    asyncio.run(paint())


async def test_plain_textual_draws_all_lines_of_all_widgets_for_one_line_and_ours_draws_that() -> None:
    async with Covered().run_test(size=(80, 24)) as pilot:
        widgets = list(pilot.app.query(Numbered))
        drawn = []
        for each in PAINTING:
            for widget in widgets:
                widget.drawn = 0
            each(pilot.app.screen._compositor, Region(0, 2, 40, 1), {2}.__contains__)
            drawn.append({widget.id: widget.drawn for widget in widgets})
        assert drawn == [{"left": 24, "right": 24, "over": 3}, {"left": 1, "right": 0, "over": 0}]
