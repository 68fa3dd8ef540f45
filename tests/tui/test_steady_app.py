"""What leaves, and what fails, in an app that goes on: each beside plain Textual.

Where a test of plain Textual fails, Textual has mended its fault: the patch can go.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress
from typing import Any, ClassVar

import pytest
from textual import events
from textual._node_list import DuplicateIds
from textual.app import App, ComposeResult
from textual.command import CommandPalette
from textual.css.query import NoMatches
from textual.errors import NoWidget
from textual.message_pump import MessagePump
from textual.messages import InvokeLater
from textual.reactive import var
from textual.screen import ModalScreen, Screen
from textual.widgets import Static
from textual.worker import WorkerCancelled

from tui.play import until
from workbench.tui.steady_app import SteadyApp, SteadyPalette
from workbench.tui.textual_patches import TextualOriginals, patch_textual


@pytest.mark.parametrize("is_plain", [True, False])
async def test_plain_textual_takes_another_screen_where_one_is_left_twice_and_ours_does_not(is_plain: bool) -> None:
    patch_textual()
    dismiss = TextualOriginals.dismiss if is_plain else Screen.dismiss
    async with App[None]().run_test() as pilot:
        under, over = Screen[None](), Screen[None]()
        await pilot.app.push_screen(under)
        await pilot.app.push_screen(over)
        dismiss(over)
        dismiss(over)
        await pilot.pause()
        assert (pilot.app.screen is under) is not is_plain


async def palette_twice(app: App[None]) -> None:
    """Shown, left, and shown again before the first is gone."""
    async with app.run_test() as pilot:
        app.action_command_palette()
        await pilot.pause()
        app.screen.dismiss()
        app.action_command_palette()
        assert isinstance(app.screen, CommandPalette)


async def test_plain_textual_cannot_show_the_palette_while_another_is_leaving_and_ours_can() -> None:
    with pytest.raises(DuplicateIds):
        await palette_twice(App())
    await palette_twice(Steady())


class Parent(Static):
    """Looks for its child when it is drawn."""

    value: var[int] = var(0, init=False)

    def compose(self) -> ComposeResult:
        """The child."""
        yield Static(id="child")

    def look(self) -> None:
        """Fails where the child is gone."""
        self.query_one("#child")


@pytest.mark.parametrize("is_plain", [True, False])
async def test_plain_textual_calls_a_widget_that_lost_its_children_and_ours_does_not(is_plain: bool) -> None:
    patch_textual()
    on_invoke_later = TextualOriginals.on_invoke_later if is_plain else MessagePump._on_invoke_later
    async with App[None]().run_test() as pilot:
        parent = Parent()
        await pilot.app.mount(parent)
        parent.look()
        parent.remove()
        await parent.query_one("#child")._task  # type: ignore[misc]  # the child is gone, its parent is on its way
        with pilot.app.screen._context():  # it said so while another was at work, as a worker of the main screen may
            on_invoke_later(parent, InvokeLater(parent.look))
        with pytest.raises(NoMatches) if is_plain else nullcontext():
            await pilot.app.screen._invoke_and_clear_callbacks()


@pytest.mark.parametrize("is_plain", [True, False])
async def test_plain_textual_cannot_take_a_click_on_what_is_gone_and_ours_can(
    is_plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch_textual()
    if is_plain:
        monkeypatch.setattr(Screen, "get_widget_and_offset_at", TextualOriginals.widget_and_offset_at)
    async with App[None]().run_test() as pilot:
        text = Static("text")
        await pilot.app.mount(text)
        await pilot.pause()
        screen = pilot.app.screen
        click = events.MouseDown(None, 1, 0, 0, 0, 1, False, False, False, 1, 0)
        with pilot.app.batch_update():  # nothing is laid out in it
            await text.remove()
            assert screen.get_widget_at(1, 0)[0] is text
            with pytest.raises(AttributeError, match="region") if is_plain else nullcontext():
                screen._forward_event(click)
        await pilot.pause()
        assert screen.get_widget_and_offset_at(1, 0)[0] is screen


# Errors


class Fragile(Static):
    """Fails at a key, and goes on after it in an app that is made for it."""

    can_focus = True
    pressed: ClassVar[list[str]] = []

    def on_key(self, event: events.Key) -> None:
        """The first time."""
        self.pressed.append(event.key)
        if event.key == "a":
            raise ValueError("a")


class Steady(SteadyApp[None]):
    """Counts what goes wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[BaseException] = []

    def compose(self) -> ComposeResult:
        """One widget."""
        yield Fragile()

    def failed(self, error: BaseException) -> None:
        """Go on."""
        self.errors.append(error)


class FirstClasses(Screen[None]):
    """Keeps the classes that it has before its first frame."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 - an instance's own
    first: frozenset[str] = frozenset()

    def on_mount(self) -> None:
        """Keep them."""
        self.first = frozenset(self.classes)


class PlainWithSizes(App[None]):
    """Has breakpoints for its screens, of which those of the columns are not used."""

    HORIZONTAL_BREAKPOINTS = [(0, "-columns")]  # noqa: RUF012 - an instance's own
    VERTICAL_BREAKPOINTS = [(20, "-tall")]  # noqa: RUF012 - an instance's own


class SteadyWithSizes(PlainWithSizes, Steady):
    """The same."""


async def first_classes(app: App[None]) -> frozenset[str]:
    """The classes of a new screen before its first frame; after it, it has those of its size."""
    screen = FirstClasses()
    async with app.run_test(size=(120, 30)) as pilot:
        await app.push_screen(screen)
        await until(lambda: screen.classes == {"-wide", "-tall"})
        await pilot.resize_terminal(90, 10)
        await until(lambda: screen.classes == {"-narrow"})
    return screen.first


async def test_plain_textual_styles_a_new_screen_without_the_classes_of_its_size_and_ours_does_not() -> None:
    assert await first_classes(PlainWithSizes()) == frozenset()
    assert await first_classes(SteadyWithSizes()) == {"-wide", "-tall"}


async def press_both(app: App[None]) -> None:
    async with app.run_test() as pilot:
        app.query_one(Fragile).focus()
        await pilot.press("a", "b")
        await pilot.pause()


async def test_plain_textual_ends_with_an_error_in_a_widget_and_ours_goes_on() -> None:
    patch_textual()

    class Ending(App[None]):
        def compose(self) -> ComposeResult:
            yield Fragile()

    with pytest.raises(ValueError, match="a"):
        await press_both(Ending())
    Fragile.pressed.clear()
    app = Steady()
    await press_both(app)
    assert Fragile.pressed == ["a", "b"]
    assert [str(error) for error in app.errors] == ["a"]


async def failing_beside_others(app: App[None]) -> list[str]:
    """One widget fails when a value of another changes, and when it is drawn; what the others heard of it."""
    seen: list[str] = []

    def fail() -> None:
        raise ValueError("a")

    async with app.run_test() as pilot:
        first, second = Parent(), Parent()
        await app.mount(first, second)
        first.watch(second, "value", fail, init=False)
        app.watch(second, "value", lambda: seen.append("value"), init=False)
        second.value = 1
        first.call_after_refresh(fail)
        second.call_after_refresh(seen.append, "drawn")
        await pilot.pause()
    return seen


async def test_plain_textual_lets_one_that_fails_keep_news_from_the_others_and_ours_does_not() -> None:
    patch_textual()
    with pytest.raises(ValueError, match="a"):
        await failing_beside_others(App())
    app = Steady()
    assert await failing_beside_others(app) == ["value", "drawn"]
    assert [str(error) for error in app.errors] == ["a", "a"]


# Themes


class _Two(Static):
    DEFAULT_CSS = "_Two { height: 1fr; background: $background; }"


def _themed(base: type[App[None]]) -> App[None]:
    class Themed(base):  # type: ignore[misc, valid-type]  # plain Textual's app, or ours
        def compose(self) -> ComposeResult:
            yield _Two("one", id="one")
            yield _Two("two", id="two")

        def failed(self, error: BaseException) -> None:
            raise error

    made: App[None] = Themed()
    return made


@pytest.mark.parametrize("base", [App, SteadyApp])
async def test_the_first_frame_of_another_theme_is_the_whole_screen(
    base: type[App[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a part of it was to be painted at that moment."""
    app = _themed(base)
    painted: list[set[str]] = []

    async with app.run_test(size=(20, 10)) as pilot:
        await pilot.pause()
        display = app._display

        def noted(screen: Screen[Any], update: Any) -> None:
            shown = update.render_segments(app.console) if hasattr(update, "render_segments") else ""
            painted.append({word for word in ("one", "two") if word in shown})
            display(screen, update)

        monkeypatch.setattr(app, "_display", noted)
        app.screen._dirty_widgets.add(app.query_one("#one"))
        app.theme = "textual-light"
        await until(lambda: any(painted))
    first = next(words for words in painted if words)
    assert first == ({"one"} if base is App else {"one", "two"})


# Workers


class _SlowToLeave(Static):
    """A widget that takes its time to go."""

    is_leaving = False

    async def on_unmount(self) -> None:
        self.is_leaving = True
        await asyncio.Event().wait()


class _Closing(ModalScreen[None]):
    def compose(self) -> ComposeResult:
        yield _SlowToLeave("busy")


async def _is_cancelled_with_a_worker(app: App[None]) -> bool:
    """Whether a screen that closes is cancelled when a worker is, one that is about to show another screen."""
    closing = _Closing()

    async def ask() -> None:
        app.pop_screen()
        await app.push_screen_wait(ModalScreen())

    async with app.run_test():
        await app.push_screen(closing)
        slow, task = closing.query_one(_SlowToLeave), closing._task
        assert task is not None
        worker = app.run_worker(ask())
        await until(lambda: slow.is_leaving)
        worker.cancel()
        found = bool(task.cancelling())
        assert slow._task is not None
        slow._task.cancel()  # it may go now
        with suppress(WorkerCancelled):
            await worker.wait()
    return found


async def test_a_worker_that_is_cancelled_does_not_cancel_a_screen_that_closes() -> None:
    app = Steady()
    assert not await _is_cancelled_with_a_worker(app)
    assert app.errors == []
    assert await _is_cancelled_with_a_worker(App()), "Textual has mended it"


# The palette


@pytest.mark.parametrize("palette", [CommandPalette, SteadyPalette])
async def test_a_click_outside_the_screen_closes_the_palette(palette: type[CommandPalette]) -> None:
    app = Steady()
    patch_textual()
    async with app.run_test(size=(8, 4)) as pilot:
        await app.push_screen(palette())
        await pilot.pause()
        shown = app.screen
        app.screen.post_message(events.Click(shown, 27, 14, 0, 0, 1, False, False, False, 27, 14))
        await until(lambda: bool(app.errors) or app.screen is not shown)
    assert [type(error) for error in app.errors] == ([NoWidget] if palette is CommandPalette else [])
