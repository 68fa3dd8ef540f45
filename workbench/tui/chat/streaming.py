"""A streaming answer: plain text at first. Each block is rendered as Markdown as soon as it is complete.

Nothing is done twice: a finished block is rendered once, a line of the unfinished one is wrapped once. So the work is
proportional to the length of the answer, however small its pieces are.
"""

from __future__ import annotations

import re

from textual.content import Content

from workbench.config.text import printable_lines
from workbench.tui.chat import markdown
from workbench.tui.widgets.cells import line_cuts
from workbench.tui.widgets.soft_wrap import soft_pieces

_FENCE = re.compile(r"\s*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:\s|$)")


class BlockSplitter:
    """Splits a growing text into blocks. A finished block never changes."""

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.rest = ""
        """The unfinished block."""
        self._looked = 0
        """How many characters of `rest` were examined: whole lines only."""
        self._fence = ""
        """The fence that opened the code block at the end of `rest`; empty outside code."""
        self._blank = False
        """Whether the last line was blank."""

    def feed(self, more: str) -> None:
        self.rest += more
        while (end := self.rest.find("\n", self._looked)) >= 0:
            self._line(self.rest[self._looked : end], self._looked, end + 1)

    def _line(self, line: str, start: int, end: int) -> None:
        """Examine one whole line of `rest`: a block may end before it or after it."""
        self._looked = end
        if self._fence:
            if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence = ""
                if not self._is_list():
                    self._cut(end)
            return
        if not line.strip():
            self._blank = True
            if start and not self._is_list():
                self._cut(end)
            return
        if self._blank and start and not (line[0].isspace() or _ITEM.match(line)):
            self._cut(start)  # a list ends at a line that is neither indented nor an item
        self._blank = False
        if (fence := _FENCE.match(line)) and not (fence[1][0] == "`" and "`" in fence[2]):
            if not (self._is_list() or _ITEM.match(line.lstrip())):
                self._cut(self._looked - (end - start))
            self._fence = fence[1]

    @property
    def in_code(self) -> bool:
        """Whether `rest` is code, which may be wider than prose."""
        return bool(self._fence) and self.rest.startswith(self._fence)

    def _is_list(self) -> bool:
        return _ITEM.match(self.rest.lstrip("\n ")) is not None

    def _cut(self, at: int) -> None:
        """Finish the block that ends at this position of `rest`."""
        if at:
            self.finished.append(self.rest[:at])
            self.rest = self.rest[at:]
            self._looked -= at
            self._blank = False


class GrowingText:
    """Wraps growing plain text. A row is final as soon as another follows."""

    def __init__(self, width: int) -> None:
        self.rows: list[Content] = []
        self.width = width
        self._text = ""
        """The text from the start of the last row on."""
        self._between: str | None = None
        """The characters between that row and the one before it; None if the row starts a line of the text."""

    def feed(self, more: str) -> None:
        self._text += more
        if self.rows:
            self.rows.pop()
        *whole, last = self._text.split("\n")
        for line in whole:
            self.rows.extend(soft_pieces(line, self.width, between=self._between))
            self._between = None
        self.rows.extend(soft_pieces(last, self.width, between=self._between))
        *settled, (at, _) = line_cuts(last, self.width)
        if settled:
            self._between = last[settled[-1][1] : at]
        self._text = last[at:]


class StreamingLines:
    """The lines of a streaming answer on the screen, by index: finished blocks, then the unfinished one."""

    def __init__(self, width: int, first: Content, indent: str) -> None:
        """`first` is the prefix of the first line, `indent` of all others."""
        self.width = width
        self._first = first
        self._indent = indent
        self._raw = 0
        """How many characters of the answer were read."""
        self._blocks = BlockSplitter()
        self._done: list[Content] = []
        self._rendered = 0
        """How many finished blocks were rendered."""
        self._tail = GrowingText(markdown.prose_width(width))

    def feed(self, text: str) -> None:
        more = text[self._raw :]
        if more.endswith("\r"):
            more = more[:-1]  # perhaps the first half of a line break; it is read with the second half
        if not more:
            return
        self._raw += len(more)
        clean = "\n".join(printable_lines(more))
        self._blocks.feed(clean)
        fresh = self._blocks.finished[self._rendered :]
        for block in fresh:
            if lines := markdown.render_markdown(block, self.width):
                for line in [*lines, Content()]:
                    self._done.append(self._dressed(len(self._done), line))
        self._rendered += len(fresh)
        width = self.width if self._blocks.in_code else markdown.prose_width(self.width)
        if fresh or not self._tail.rows or width != self._tail.width:
            self._tail = GrowingText(width)
            if self._blocks.rest.strip():
                self._tail.feed(self._blocks.rest.lstrip("\n"))
        else:
            self._tail.feed(clean)

    def __len__(self) -> int:
        return len(self._done) + len(self._tail.rows)

    def __getitem__(self, line: int) -> Content:
        if line < len(self._done):
            return self._done[line]
        return self._dressed(line, self._tail.rows[line - len(self._done)])

    def _dressed(self, number: int, line: Content) -> Content:
        """The line with its prefix."""
        return Content.assemble(self._indent if number else self._first, line)
