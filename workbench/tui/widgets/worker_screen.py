"""Screens that are left while something is still being worked out for them."""

from __future__ import annotations

from textual.messages import Prune
from textual.screen import Screen


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
