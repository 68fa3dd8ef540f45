"""The streaming answer as lines under the transcript."""

from __future__ import annotations

from collections.abc import Collection

from textual.content import Content

from workbench.config.text import printable_lines
from workbench.tui.chat import blocks, markdown
from workbench.tui.chat.streaming import GrowingText, StreamingLines
from workbench.tui.widgets.cells import wrapped_line
from workbench.views.values import ChatCall, ChatEntry, LiveAnswer

THOUGHT_ROWS = 3
"""Lines of reasoning to show until the answer begins."""
_GUTTER = " " * blocks.GUTTER


class ReasoningLines:
    """The reasoning of a streaming answer: a line, and below it nothing, its last lines, or all of them."""

    def __init__(self, width: int) -> None:
        self._width = max(markdown.prose_width(width - 2), 2)
        self._text = ""
        self._is_open = False
        self._peek: list[Content] = []
        self._all = GrowingText(self._width)
        """All lines, filled once it is first unfolded."""
        self._taken = 0

    def update_reasoning(self, live: LiveAnswer, is_open: bool | None) -> None:
        """Show the reasoning so far. By default its last lines are shown until the answer begins."""
        self._text, self._is_open, self._peek = live.reasoning, bool(is_open), []
        if is_open:
            more = self._text[self._taken :].removesuffix("\r")  # perhaps the first half of a line break
            self._taken += len(more)
            if more:
                self._all.feed("\n".join(printable_lines(more)))
        elif is_open is None and not live.text:
            end = printable_lines(self._text[-self._width * (THOUGHT_ROWS + 1) :].strip())
            rows = [piece for line in end for piece in wrapped_line(line, self._width)]
            self._peek = [Content.assemble(_GUTTER, "  ", (row, "$quiet italic")) for row in rows[-THOUGHT_ROWS:]]

    def __len__(self) -> int:
        if not self._text:
            return 0
        return 1 + (len(self._all.rows) if self._is_open else len(self._peek))

    def __getitem__(self, line: int) -> Content:
        if line == 0:
            head = f"reasoning  {len(self._text):,} characters"
            return Content.assemble(_GUTTER, ("▾ " if self._is_open else "▸ ", "$quiet"), (head, "$quiet"))
        if self._is_open:
            return Content.assemble(_GUTTER, "  ", self._all.rows[line - 1].stylize_before("$quiet"))
        return self._peek[line - 1]


class LiveLines:
    """The lines of a `LiveAnswer`. Lines that cannot change any more are made once."""

    def __init__(self, width: int, folder: str = "") -> None:
        self.width = width
        self._folder = folder
        self._reply = ""
        self._begin()
        self._after: list[Content] = []

    def _begin(self) -> None:
        inner = max(self.width - blocks.GUTTER, 2)
        self._thoughts = ReasoningLines(inner)
        self._text = StreamingLines(inner, Content.styled("ai".ljust(blocks.GUTTER), "bold $accent"), _GUTTER)

    def update_live(self, live: LiveAnswer | None, shown: Collection[str] = (), is_open: bool | None = None) -> None:
        """Show the answer so far, without the calls in `shown`, which the transcript shows.

        `is_open`: whether the user unfolded or folded its reasoning; None: neither.
        """
        if live is None or live.reply != self._reply:
            self._reply = live.reply if live else ""
            self._begin()
        self._after = []
        if live is None:
            return
        self._text.feed(live.text)
        self._thoughts.update_reasoning(live, is_open)
        for call in live.calls:
            if call.call_id not in shown:
                entry = ChatEntry(0, "", "tool", 0, "", ChatCall(call.tool, call.arguments))
                self._after += blocks.draw_entry(entry, None, self.width, live=call, folder=self._folder).lines

    @property
    def unfolds(self) -> bool:
        """Whether the first line is the head of reasoning that can be unfolded."""
        return len(self._thoughts) > 0

    def __len__(self) -> int:
        return len(self._thoughts) + (len(self._text) + 1 if len(self._text) else 0) + len(self._after)

    def __getitem__(self, line: int) -> Content:
        if line < len(self._thoughts):
            return self._thoughts[line]
        line -= len(self._thoughts)
        if len(self._text):
            if line == 0:
                return Content()
            if line <= len(self._text):
                return self._text[line - 1]
            line -= len(self._text) + 1
        return self._after[line]
