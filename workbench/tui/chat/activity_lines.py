"""The lines between the transcript and the composer: what goes on, and what waits."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from workbench.config.text import printable
from workbench.tui.observing import Observing, observed
from workbench.tui.widgets.cells import joined
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
"""Waiting messages that are shown; of more the number is told."""


def is_working(activity: Activity) -> bool:
    """Whether there is something to interrupt."""
    return activity.kind not in RESTING and activity.kind != "loading"


class ActivityLine(Observing, Widget):
    """What goes on, and what is new below."""

    activity = observed(lambda session: session.activity)
    below: reactive[tuple[int, bool]] = reactive((0, False))
    """Entries that came since the user scrolled up, and whether one is coming in."""

    class EndWanted(Message):
        """The user wants to see what is below."""

    def render(self) -> Content:
        """One line, the important first; what does not fit is left out whole."""
        return joined(self._parts(), self.content_size.width, "   ")

    def _parts(self) -> list[Content]:
        parts = []
        if self.activity.kind not in RESTING:
            word = DOING.get(self.activity.kind, self.activity.kind)
            words = f"{word}: {printable(self.activity.text)}" if self.activity.text else word
            parts.append(Content.assemble(("● ", "$accent"), (words, "bold")))
        if is_working(self.activity) and self.activity.kind != "waiting":  # there, Esc is the question's
            parts.append(Content.assemble(("Esc", "bold $quiet"), (" stop", "$quiet")))
        count, coming = self.below
        if count or coming:
            new = f"{count:,} new below" if count else "an answer comes in below"
            parts.append(Content.assemble((f"↓ {new}", "bold $primary"), ("  End in the chat shows it", "$quiet")))
        return parts or [Content()]

    def on_click(self) -> None:
        """To the end."""
        self.post_message(self.EndWanted())


class QueuedMessages(Observing, Widget):
    """The messages that wait for the model to be done."""

    queue = observed(lambda session: session.queue, layout=True)

    class OneWanted(Message):
        """The user wants one back."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def watch_queue(self, queue: tuple[str, ...]) -> None:
        """Nothing waits: no line."""
        self.set_class(bool(queue), "-waiting")

    @property
    def _first(self) -> int:
        return max(0, len(self.queue) - MOST_WAITING)

    def get_content_height(self, *_: object) -> int:
        """A line each, and one that says how many there are besides."""
        return len(self.queue) - self._first + bool(self._first)

    def render(self) -> Content:
        """The last ones, since the last one is the one that comes back."""
        width = self.content_size.width
        lines = [Content.styled(f"  {self._first} more wait before these", "$quiet")] if self._first else []
        for number in range(self._first, len(self.queue)):
            back = "  Alt+↑ edits it" if number == len(self.queue) - 1 else ""
            text = f"waits {number + 1}: {printable(self.queue[number][:500])}"
            line = Content(text).truncate(max(width - len(back), 8), ellipsis=True)
            lines.append(Content.assemble(line, (back, "$quiet")))
        return Content("\n").join(lines)

    def on_click(self, event: events.Click) -> None:
        """That one, please."""
        index = self._first + event.y - bool(self._first)
        if self._first <= index < len(self.queue):
            self.post_message(self.OneWanted(index))
