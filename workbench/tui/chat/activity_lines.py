"""The lines between the transcript and the composer: the current activity, and queued messages."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from workbench.config.text import printable
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.cells import join_cells
from workbench.views.values import Activity

DOING = {
    "loading": "opening",
    "asking": "waiting for the model",
    "answering": "answering",
    "tools": "running",
    "waiting": "waiting for you",
    "compacting": "compacting",
}
RESTING = frozenset({"idle", "read_only"})
MOST_WAITING = 3
"""The most queued messages to show; the others are counted."""


def is_working(activity: Activity) -> bool:
    return activity.kind not in RESTING and activity.kind != "loading"


class ActivityLine(Observing, Widget):
    """What the session is doing, and how much is new below the view."""

    activity = observed(lambda session: session.activity)
    below: reactive[tuple[int, bool]] = reactive((0, False))
    """The number of entries added since the user scrolled up, and whether an answer streams in."""

    class EndWanted(Message):
        """The user wants to scroll to the end."""

    def render(self) -> Content:
        """One line, the most important part first; parts that do not fit are left out."""
        return join_cells(self._parts(), self.content_size.width, "   ")

    def _parts(self) -> list[Content]:
        parts = []
        if self.activity.kind not in RESTING:
            word = DOING.get(self.activity.kind, self.activity.kind)
            words = f"{word}: {printable(self.activity.text)}" if self.activity.text else word
            parts.append(Content.assemble(("● ", "$accent"), (words, "bold")))
        if is_working(self.activity) and self.activity.kind != "waiting":  # then Esc belongs to the question
            parts.append(Content.assemble(("Esc", "bold $quiet"), (" stop", "$quiet")))
        count, coming = self.below
        if count or coming:
            new = f"{count:,} new below" if count else "an answer comes in below"
            parts.append(Content.assemble((f"↓ {new}", "bold $primary"), ("  End in the chat shows it", "$quiet")))
        return parts or [Content()]

    def on_click(self) -> None:
        self.post_message(self.EndWanted())


class QueuedMessages(Observing, Widget):
    """The messages that wait until the model is done."""

    queue = observed(lambda session: session.queue, layout=True)

    @dataclass(eq=False)
    class OneWanted(Message):
        """The user wants to edit a queued message."""

        index: int

    def watch_queue(self, queue: tuple[str, ...]) -> None:
        """Hide the widget if nothing is queued."""
        self.set_class(bool(queue), "-waiting")

    @property
    def _first(self) -> int:
        return max(0, len(self.queue) - MOST_WAITING)

    def get_content_height(self, *_: object) -> int:
        """A line for each message, and one for the number of the others."""
        return len(self.queue) - self._first + bool(self._first)

    def render(self) -> Content:
        """The last messages, because the last one can be edited with a key."""
        width = self.content_size.width
        lines = [Content.styled(f"  {self._first} more wait before these", "$quiet")] if self._first else []
        for number in range(self._first, len(self.queue)):
            back = "  Alt+↑ edits it" if number == len(self.queue) - 1 else ""
            text = f"waits {number + 1}: {printable(self.queue[number][:500])}"
            line = Content(text).truncate(max(width - len(back), 8), ellipsis=True)
            lines.append(Content.assemble(line, (back, "$quiet")))
        return Content("\n").join(lines)

    def on_click(self, event: events.Click) -> None:
        index = self._first + event.y - bool(self._first)
        if self._first <= index < len(self.queue):
            self.post_message(self.OneWanted(index))
