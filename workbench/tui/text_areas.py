"""Text areas without faults of Textual 8.2.8, which the docstrings report; see `textual_patches`."""

from __future__ import annotations

from textual import on
from textual.widgets import TextArea
from textual.widgets.text_area import EditResult, Location

from workbench.config.text import typed_text

BLINKING = 10.0
"""Seconds after which an unmoved cursor stops blinking: an idle screen does nothing else."""


class CleanTextArea(TextArea):
    """A text area that takes no control characters, and can undo a paste of more lines than it shows."""

    def _replace_via_keyboard(self, insert: str, start: Location, end: Location) -> EditResult | None:
        """What is pasted keeps its control characters. Expected: they are left out, but for lines and tabs."""
        return super()._replace_via_keyboard(typed_text(insert), start, end)

    def _recompute_cursor_offset(self) -> None:
        """Paste more lines than the area has room for, then undo: "ValueError: ... out of bounds".

        The text is measured before the cursor is back in it. Where that takes the scrollbar away, the area is resized,
        and the cursor is looked for in a line that is gone. Expected: the text from before the paste.
        """
        if self.cursor_location[0] < self.document.line_count:
            super()._recompute_cursor_offset()  # type: ignore[no-untyped-call]  # Textual's


class RestingTextArea(CleanTextArea):
    """A text area whose cursor blinks while the user types, and some seconds longer.

    In Textual it blinks for ever, and `cursor_blink = False` while it is away leaves the line without a cursor.
    Expected: a cursor that does not blink is seen.
    """

    def on_mount(self) -> None:
        """Start the timer."""
        self._resting = self.set_interval(BLINKING, self.rest)

    def on_focus(self) -> None:
        """Blink again."""
        self._wake()

    @on(TextArea.SelectionChanged)
    def _wake(self) -> None:
        self.cursor_blink = True
        self._resting.reset()
        self._resting.resume()

    def rest(self) -> None:
        """Stop blinking, with the cursor visible."""
        self.cursor_blink = False
        self.notify_style_update()  # else Textual shows the line that it drew while the cursor was away
        self._resting.pause()
