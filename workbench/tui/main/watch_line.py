"""The line of `workbench watch` without a name: which session is followed and why, and which other one is active."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from textual import work
from textual.content import Content
from textual.widget import Widget

from workbench.config.errors import Refused
from workbench.session.model import SessionModel
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.cells import fit_cells
from workbench.tui.widgets.key_names import key_name

CHECK_SECONDS = 1.0
"""Seconds between two looks for the active session."""
ACTIVE, PINNED = "changed last in this folder", "you stay here"
LEAST_NAME = 12
"""Cells that a session's name gets at least."""


class WatchLine(Observing, Widget):
    """Looks for the active session regularly, and changes over to it."""

    watched = observed(lambda session: session.watched)

    def __init__(self, model: SessionModel, hindrance: Callable[[], str]) -> None:
        """`hindrance`: what the user does on the screen that must not be interrupted; empty: nothing."""
        super().__init__(model)
        self._model = model
        self._hindrance = hindrance
        self._is_looking = False

    def on_mount(self) -> None:
        self.set_interval(CHECK_SECONDS, self._check_activity)

    def _check_activity(self) -> None:
        if not self._is_looking:
            self._is_looking = True
            self._follow_active()

    @work
    async def _follow_active(self) -> None:
        try:
            with suppress(Refused):  # nothing is open yet, or the model has begun to work
                other = await self._model.find_active(self._hindrance())
                if other is not None and not self._hindrance():
                    await self._model.change_over(other)
        finally:
            self._is_looking = False

    def render(self) -> Content:
        """The name gets the room that the rest leaves."""
        watched = self.watched
        if watched is None:
            return Content("")
        why = f" · {PINNED if watched.pinned else ACTIVE}"
        if not watched.waiting:
            key = f" · {self._key()} {'follows the active one' if watched.pinned else 'stays'}"
            name = self._fitted(watched.name, len(why) + len(key))
            return self._line(watched.pinned, (name, "bold"), (why + key, "$quiet"))
        why = why if watched.pinned else ""
        since = f" changed since{': ' if watched.why_not else ''}{watched.why_not}"
        names = (watched.name, watched.waiting)
        name, other = (self._fitted(each, len(why) + len(since) + 2, share=2) for each in names)
        return self._line(True, (name, "bold"), (f"{why}; ", "$quiet"), (other + since, "$warning"))

    def _fitted(self, name: str, taken: int, share: int = 1) -> str:
        """A name in its share of the room that is left."""
        return fit_cells(name, max(LEAST_NAME, (self.size.width - 2 - taken) // share)).rstrip()

    def _line(self, stays: bool, *parts: tuple[str, str]) -> Content:
        made = Content.assemble(("● ", "$warning" if stays else "$success"), *parts)
        return made.truncate(self.size.width, ellipsis=True)

    def _key(self) -> str:
        """The user's key that pins the session."""
        bound = (key for key, each in self.screen.active_bindings.items() if each.binding.id == "stay")
        return next((key_name(key) for key in bound), "/stay")
