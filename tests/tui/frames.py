"""Fewer frames for tests: painting takes more than a third of the time of a screen.

Textual paints up to sixty frames a second, and one with every layout. Here a frame is held back until the test has
waited for its keys, for a tenth of a second at most. Then everything that has changed is painted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

from textual._compositor import Compositor
from textual.screen import Screen

FRAME_SECONDS = 1 / 10
"""How long a frame is held back where nobody looks."""


class HeldFrames:
    """Frames that are painted when somebody looks, or their time is over."""

    def __init__(self) -> None:
        self.is_holding = True
        """Whether frames are held back; a test of single frames says that they are not."""
        self._due: WeakKeyDictionary[Compositor, asyncio.TimerHandle] = WeakKeyDictionary()
        self._is_painting = False

    @contextmanager
    def holding(self) -> Iterator[None]:
        """In all apps."""
        plain = Compositor.render_update

        def render_update(compositor: Compositor, full: bool = False, **named: Any) -> Any:
            if full or self._is_painting or not self.is_holding:  # a picture is always whole
                return plain(compositor, full, **named)
            if compositor not in self._due:
                later = asyncio.get_running_loop().call_later
                self._due[compositor] = later(FRAME_SECONDS, self._paint, compositor)
            return None

        with patch.object(Compositor, "render_update", render_update):
            yield

    def paint_held(self) -> None:
        """Paint what changed since the last frame."""
        for compositor in list(self._due):
            self._paint(compositor)

    def _paint(self, compositor: Compositor) -> None:
        due = self._due.pop(compositor, None)
        if due is not None:
            due.cancel()
        screen = compositor.root
        if isinstance(screen, Screen) and screen.is_mounted and screen.is_current and compositor._dirty_regions:
            self._is_painting = True
            try:
                with screen._context():
                    screen._compositor_refresh()
            finally:
                self._is_painting = False
