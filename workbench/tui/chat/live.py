"""The answer that is not in the log yet, as the lines under the transcript."""

from __future__ import annotations

from collections.abc import Collection

from textual.content import Content

from workbench.config.text import printable_lines
from workbench.tui.cells import wrapped
from workbench.tui.chat import blocks
from workbench.tui.chat.streaming import Growing
from workbench.tui.values import Call, Entry, Live

THOUGHT_ROWS = 3
"""Of reasoning, while nothing else has come, the last lines."""
_GUTTER = " " * blocks.GUTTER


class LiveLines:
    """The lines of a `Live`, of which those that will not change are made once."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._reply = ""
        self._text = self._anew()
        self._before: list[Content] = []
        self._after: list[Content] = []

    def _anew(self) -> Growing:
        return Growing(self._inner, Content.styled("ai".ljust(blocks.GUTTER), "bold $accent"), _GUTTER)

    @property
    def _inner(self) -> int:
        return max(self.width - blocks.GUTTER, 2)

    def take(self, live: Live | None, told: Collection[str] = ()) -> None:
        """The answer as far as it has come; calls that the transcript shows already are left to it."""
        if live is None or live.reply != self._reply:
            self._reply = live.reply if live else ""
            self._text = self._anew()
        self._before, self._after = [], []
        if live is None:
            return
        self._text.feed(live.text)
        if live.reasoning:
            self._before = self._thoughts(live)
        for call in live.calls:
            if call.call_id not in told:
                entry = Entry(0, "", "tool", 0, "", Call(call.tool, call.arguments))
                self._after += blocks.draw(entry, None, self.width, live=call).lines

    def _thoughts(self, live: Live) -> list[Content]:
        head = f"reasoning  {len(live.reasoning):,} characters"
        lines = [Content.assemble(_GUTTER, ("▸ " if live.text else "▾ ", "$quiet"), (head, "$quiet"))]
        if not live.text:
            end = printable_lines(live.reasoning[-self._inner * (THOUGHT_ROWS + 1) :].strip())
            rows = [piece for line in end for piece in wrapped(line, max(self._inner - 2, 2))]
            lines += [Content.assemble(_GUTTER, "  ", (row, "$quiet italic")) for row in rows[-THOUGHT_ROWS:]]
        return lines

    def __len__(self) -> int:
        return len(self._before) + (len(self._text) + 1 if len(self._text) else 0) + len(self._after)

    def __getitem__(self, line: int) -> Content:
        if line < len(self._before):
            return self._before[line]
        line -= len(self._before)
        if len(self._text):
            if line == 0:
                return Content()
            if line <= len(self._text):
                return self._text[line - 1]
            line -= len(self._text) + 1
        return self._after[line]
