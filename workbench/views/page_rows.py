"""The rows of many requests, each row and each text once: requests share most of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from workbench.config.text import printable, printable_lines
from workbench.context.items import SLOTS, Edit, Item, State

STATES: Final[tuple[State, ...]] = ("sent", "truncated", "masked", "summarised", "dropped", "excluded", "aside")
EXACT: Final = 1
PINNED: Final = 2
_HISTORY: Final = SLOTS.index("history")


class PageRows:
    """Rows as lists of numbers, for the page's script: it reads texts by their number."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        """`clean`: changes every text before it is stored, such as to mask secrets."""
        self._clean = clean
        self.texts: list[str] = []
        """What is sent, and the originals; of many lines."""
        self.words: list[str] = []
        """Names and reasons, a line each."""
        self.rows: list[list[int | None]] = []
        """Each: event, turn, slot, who, state, tokens, original tokens, flags, reason, text, original (-1: none)."""
        self._text_numbers: dict[str, int] = {}
        self._word_numbers: dict[str, int] = {}
        self._row_numbers: dict[tuple[Any, ...], int] = {}

    def add_request(self, items: Iterable[Item]) -> list[int]:
        """Add the rows of a request; returns them as pairs of the first row's number and how many follow each other."""
        numbers = self._row_numbers
        runs: list[int] = []
        following = -1
        for item in items:
            # A row moves from the current turn to history without being another row.
            key = (item.id, item.seq, item.state, item.tokens, item.pinned, item.edits, item.text, item.original)
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(self.rows)
                self.rows.append(self._row(item))
            if number == following:
                runs[-1] += 1
            else:
                runs += (number, 1)
            following = number + 1
        return runs

    def _row(self, item: Item) -> list[int | None]:
        slot = _HISTORY if item.slot == "turn" else SLOTS.index(item.slot) if item.slot in SLOTS else _HISTORY
        text = -1 if item.text is None else self._text_number(item.text)
        original = -1 if item.text == item.original else self._text_number(item.original)
        return [
            item.seq,
            item.turn,
            slot,
            self._word_number(item.who),
            STATES.index(item.state),
            item.tokens,
            item.original_tokens,
            EXACT * item.exact + PINNED * item.pinned,
            self._word_number(_reasons(item.edits)),
            text,
            original,
        ]

    def _text_number(self, text: str) -> int:
        number = self._text_numbers.get(text)
        if number is None:
            number = self._text_numbers[text] = len(self.texts)
            self.texts.append("\n".join(printable_lines(self._clean(text))))
        return number

    def _word_number(self, words: str) -> int:
        number = self._word_numbers.get(words)
        if number is None:
            number = self._word_numbers[words] = len(self.words)
            self.words.append(printable(self._clean(words)))
        return number


def _reasons(edits: Sequence[Edit]) -> str:
    return "; ".join(edit.why for edit in edits)
