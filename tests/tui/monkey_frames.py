"""Fewer frames for a monkey: painting takes a third of its time.

Textual paints up to sixty frames a second, and one with every layout. Most bursts of keys are painted once, when they
are over. Some are painted frame by frame, because a screen that is half there has to be paintable too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from textual import screen
from textual._compositor import Compositor
from textual.app import App

FRAME_SECONDS = 1 / 10
"""Between two frames."""


class Frames:
    """Holds painting back, and paints what was held back."""

    def __init__(self) -> None:
        self.held_back = False
        """Whether nothing is painted for now."""

    @contextmanager
    def fewer(self) -> Iterator[None]:
        """Every app paints as this object says."""
        plain = Compositor.render_update

        def render_update(compositor: Compositor, *given: Any, **named: Any) -> Any:
            return None if self.held_back else plain(compositor, *given, **named)

        with (
            patch.object(Compositor, "render_update", render_update),
            patch.object(screen, "UPDATE_PERIOD", FRAME_SECONDS),
        ):
            yield

    def paint(self, app: App[Any]) -> None:
        """Everything that changed since the last frame."""
        self.held_back = False
        if app.screen.is_mounted and app.screen._compositor._dirty_regions:
            app.screen._compositor_refresh()
