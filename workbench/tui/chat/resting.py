"""A text area whose cursor rests when nobody types."""

from __future__ import annotations

from textual import on
from textual.widgets import TextArea

BLINKING = 10.0
"""Seconds after which a cursor that nobody moved stands still: to blink is all that an idle screen does."""


class RestingArea(TextArea):
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
