"""A search in earlier inputs, the newest first; each further request finds an older match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain


class HistorySearch:
    """A search text and its matches. Each match appears once; inputs are read only as far as needed."""

    def __init__(self, inputs: Iterable[str], draft: str) -> None:
        """`inputs`: the newest first. `draft`: the current input, which comes back if the search is cancelled."""
        self.draft = draft
        self.query = ""
        self._inputs: Iterator[str] = iter(inputs)
        self._known: dict[str, None] = {}
        self._at = 0
        """The number of newer matches than the one that is shown."""

    @property
    def found(self) -> str | None:
        """The current match; None if nothing matches."""
        return self._match(self._at)

    def type(self, text: str) -> None:
        """Add to the search text, and start again from the newest."""
        self.query += text
        self._at = 0

    def erase(self) -> None:
        """Remove the last character of the search text."""
        self.query = self.query[:-1]
        self._at = 0

    def older(self) -> None:
        """Go to the next older match; stay at the oldest."""
        if self._match(self._at + 1) is not None:
            self._at += 1

    def add_older_inputs(self, inputs: Iterable[str]) -> None:
        """Add older inputs, which took longer to find."""
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
