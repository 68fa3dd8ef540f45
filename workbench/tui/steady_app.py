"""The app that survives its errors: an unexpected error in a widget is handled, and the widget continues.

It uses private parts of Textual. As in `textual_patches`, each docstring reports a fault of Textual 8.2.8, and a test
shows it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TypeVar

from textual._context import active_app, active_message_pump
from textual.app import App
from textual.await_remove import AwaitRemove
from textual.command import CommandPalette
from textual.dom import DOMNode
from textual.errors import NoWidget
from textual.geometry import Region
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import AwaitMount, Widget
from textual.worker import WorkerFailed, active_worker

Result = TypeVar("Result")


def is_leaving(pump: MessagePump) -> bool:
    """Whether a widget, or one that contains it, is being removed."""
    nodes = pump.ancestors_with_self if isinstance(pump, DOMNode) else [pump]
    return any(each._closing or each._closed or getattr(each, "_pruning", False) for each in nodes)


def _can_act(node: DOMNode) -> bool:
    return not isinstance(node, Widget) or (node.is_mounted and not is_leaving(node))


class SteadyPalette(CommandPalette):
    """Open the palette, make the terminal smaller, and let a click arrive that was made before: NoWidget is raised.

    Expected: a click outside the screen closes the palette, as one next to it does.
    """

    def get_widget_at(self, x: int, y: int) -> tuple[Widget, Region]:
        try:
            return super().get_widget_at(x, y)
        except NoWidget:
            return self, self.region


class SteadyApp(App[Result]):
    """An app that is asked what to do about an error; the widget that failed continues with the next message.

    In Textual an error in a handler, a worker, a timer or while drawing ends the program, and a widget reads no message
    after the first that fails. Expected: `App._handle_exception` can be overridden, and the app continues.
    """

    def failed(self, error: BaseException) -> None:
        """Called with an unexpected error."""
        raise NotImplementedError

    def refresh_css(self, animate: bool = True) -> None:
        """Change the theme in one frame. Textual paints a part of the screen in the new colours before the rest.

        Before there is a screen, Textual reads the style sheets for nothing: the screen has them read again.
        """
        if not self._screen_stack:
            self.stylesheet.set_variables(self.get_css_variables())
            return
        compositor = self.screen._compositor
        compositor._dirty_regions.add(compositor.size.region)
        super().refresh_css(animate)

    def _get_screen(self, screen: Screen[Any] | str) -> tuple[Screen[Any], AwaitMount]:
        """Give a new screen the classes of its breakpoints at once. Textual sets them when it has painted the first
        frame, and then styles, lays out and paints the screen again."""
        new = self.get_screen(screen)
        if not new.is_running:
            for length, its, ours in (
                (self.size.width, new.HORIZONTAL_BREAKPOINTS, self.HORIZONTAL_BREAKPOINTS),
                (self.size.height, new.VERTICAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS),
            ):
                breakpoints = ours if its is None else its
                new.add_class(*new._get_breakpoint_classes(length, breakpoints or []), update=False)
        return super()._get_screen(new)

    def _handle_exception(self, error: Exception) -> None:
        """Ignore errors of widgets that are being removed: they still get messages, and query lost children."""
        is_worker = isinstance(error, WorkerFailed)
        who = active_worker.get().node if is_worker else active_message_pump.get(self)
        ends = self._exit or (self._is_mounted and not self._running)
        if not ends and not (isinstance(who, MessagePump) and is_leaving(who)):
            self.failed(error.error if isinstance(error, WorkerFailed) else error)

    async def run_action(
        self, action: Any, default_namespace: DOMNode | None = None, namespaces: Mapping[str, DOMNode] | None = None
    ) -> bool:
        """Run no action of a screen before its widgets exist, or while they are removed: it would query them."""
        target, _, _ = self._parse_action(action, default_namespace or self, namespaces)
        return _can_act(target) and await super().run_action(action, default_namespace, namespaces)

    def _check_action_state(self, action: str, default_namespace: DOMNode) -> bool | None:
        """The same for the check whether an action is available."""
        target, _, _ = self._parse_action(action, default_namespace)
        return _can_act(target) and super()._check_action_state(action, default_namespace)

    def action_command_palette(self) -> None:
        """Open the palette without an id: Textual's has one, so a second cannot open while the first closes."""
        if not CommandPalette.is_open(self):  # type: ignore[arg-type]  # any app will do
            self.push_screen(SteadyPalette())

    async def _flush_next_callbacks(self) -> None:
        """Cancel a worker that is about to wait for a screen while another one closes: that one is never removed.

        `push_screen_wait` runs the app's pending callbacks in the worker's task, such as waiting for a closed screen to
        be removed. If the worker is cancelled there, the screen's own task is cancelled with it, and the app ends with
        CancelledError. Expected: only the worker is cancelled.
        """
        if active_worker.get(None) is None:
            await super()._flush_next_callbacks()
        else:
            await asyncio.shield(super()._flush_next_callbacks())

    def _prune(self, *nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        """Cancel the workers of a widget before it is removed.

        Textual cancels them afterwards, when the children are already gone: an answer that comes in between would
        query widgets that no longer exist.
        """
        for node in nodes:
            for each in node.walk_children(with_self=True):
                self.workers.cancel_node(each)
        return super()._prune(*nodes, parent=parent)


class _ErrorsToApp:
    """Passes errors to a steady app, as errors of the widget that is active; in any other app they are raised."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        app = active_app.get(None)
        if not isinstance(error, Exception) or not isinstance(app, SteadyApp):
            return False
        app._handle_exception(error)
        return True


ERRORS_TO_APP = _ErrorsToApp()
"""A block whose errors the steady app handles."""
