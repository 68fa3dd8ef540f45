"""An answer while it comes in: plain text, of which each block becomes Markdown as soon as it has ended.

Nothing is made twice: a finished block is rendered once, a line of the unfinished one is wrapped once. So the work is
in proportion to the answer, however small the pieces are that it comes in.
"""

from __future__ import annotations

import re

from textual.content import Content

from workbench.config.text import printable_lines
from workbench.tui.chat import markdown
from workbench.tui.widgets.cells import cuts
from workbench.tui.widgets.soft_wrap import soft_pieces

_FENCE = re.compile(r"\s*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(`{3,}|~{3,})(.*)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:\s|$)")


class Blocks:
    """A text cut into blocks as it grows; a block never changes once it is there. Together they are the text."""

    def __init__(self) -> None:
        self.finished: list[str] = []
        self.rest = ""
        """What has not ended yet."""
        self._looked = 0
        """How much of the rest was looked at: whole lines only."""
        self._fence = ""
        self._blank = False
        """Whether the last line was blank."""

    def feed(self, more: str) -> None:
        """The text goes on."""
        self.rest += more
        while (end := self.rest.find("\n", self._looked)) >= 0:
            self._line(self.rest[self._looked : end], self._looked, end + 1)

    def _line(self, line: str, start: int, end: int) -> None:
        """Look at one whole line of the rest."""
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
            self._cut(start)  # a list ends where something else begins
        self._blank = False
        if (fence := _FENCE.match(line)) and not (fence[1][0] == "`" and "`" in fence[2]):
            if not (self._is_list() or _ITEM.match(line.lstrip())):
                self._cut(self._looked - (end - start))
            self._fence = fence[1]

    @property
    def in_code(self) -> bool:
        """Whether the rest is code, which may be wider than prose."""
        return bool(self._fence) and self.rest.startswith(self._fence)

    def _is_list(self) -> bool:
        return _ITEM.match(self.rest.lstrip("\n ")) is not None

    def _cut(self, at: int) -> None:
        if at:
            self.finished.append(self.rest[:at])
            self.rest = self.rest[at:]
            self._looked -= at
            self._blank = False


class Tail:
    """Plain text wrapped as it grows. A row is settled as soon as there is another after it."""

    def __init__(self, width: int) -> None:
        self.rows: list[Content] = []
        self.width = width
        self._text = ""
        """The text from where the last row begins."""
        self._between: str | None = None
        """What stood between that row and the one before it; None: a line of the text begins there."""

    def feed(self, more: str) -> None:
        """The text goes on."""
        self._text += more
        if self.rows:
            self.rows.pop()
        *whole, last = self._text.split("\n")
        for line in whole:
            self.rows.extend(soft_pieces(line, self.width, between=self._between))
            self._between = None
        self.rows.extend(soft_pieces(last, self.width, between=self._between))
        *settled, (at, _) = cuts(last, self.width)
        if settled:
            self._between = last[settled[-1][1] : at]
        self._text = last[at:]


class Growing:
    """The lines of an answer that comes in."""

    def __init__(self, width: int, first: Content, indent: str) -> None:
        """`first` stands before the first line, `indent` before all others."""
        self.width = width
        self._first = first
        self._indent = indent
        self._raw = 0
        """How much of the answer was taken in."""
        self._blocks = Blocks()
        self._done: list[Content] = []
        self._rendered = 0
        self._tail = Tail(markdown.prose(width))

    def feed(self, text: str) -> None:
        """The answer as far as it has come; it only ever grows."""
        more = text[self._raw :]
        if more.endswith("\r"):
            more = more[:-1]  # the first half of a line's end, perhaps
        if not more:
            return
        self._raw += len(more)
        clean = "\n".join(printable_lines(more))
        self._blocks.feed(clean)
        fresh = self._blocks.finished[self._rendered :]
        for block in fresh:
            if lines := markdown.render(block, self.width):
                for line in [*lines, Content()]:
                    self._done.append(self._dressed(len(self._done), line))
        self._rendered += len(fresh)
        width = self.width if self._blocks.in_code else markdown.prose(self.width)
        if fresh or not self._tail.rows or width != self._tail.width:
            self._tail = Tail(width)
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
        return Content.assemble(self._indent if number else self._first, line)
