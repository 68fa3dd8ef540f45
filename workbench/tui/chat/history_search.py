"""A search in what was typed before: the newest first, and one further back each time it is asked again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain


class HistorySearch:
    """What was typed and what it found. Each text is there once; inputs are looked at only as far as is needed."""

    def __init__(self, inputs: Iterable[str], draft: str) -> None:
        """`inputs`: the newest first. `draft`: what stands in the input now, and comes back where nothing is taken."""
        self.draft = draft
        self.query = ""
        self._inputs: Iterator[str] = iter(inputs)
        self._known: dict[str, None] = {}
        self._at = 0
        """How many matches lie before the one that is shown."""

    @property
    def found(self) -> str | None:
        """The text that is shown; None where nothing matches."""
        return self._match(self._at)

    def type(self, text: str) -> None:
        """Look for something longer, from the newest on."""
        self.query += text
        self._at = 0

    def erase(self) -> None:
        """Look for something shorter."""
        self.query = self.query[:-1]
        self._at = 0

    def older(self) -> None:
        """The match before; the oldest stays."""
        if self._match(self._at + 1) is not None:
            self._at += 1

    def add(self, inputs: Iterable[str]) -> None:
        """Older ones, which took longer to find."""
        self._inputs = chain(self._inputs, inputs)

    def _match(self, number: int) -> str | None:
        sought = self.query.lower()
        for text in self._texts():
            if sought in text.lower():
                if number == 0:
                    return text
                number -= 1
        return None

    def _texts(self) -> Iterable[str]:
        yield from list(self._known)
        for text in self._inputs:
            if text.strip() and text not in self._known:
                self._known[text] = None
                yield text
