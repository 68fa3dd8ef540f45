"""The filter line: `state:masked tool:run_command >2000 "exact text" text`. All terms must hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, get_args

from workbench.config.errors import WrongCall
from workbench.config.text import whole_number
from workbench.context.items import SIGNS, SLOTS, Item, Kind

Test = Callable[[Item], bool]

KEYS = ("state:", "tool:", "role:", "slot:", "kind:", "turn:", "pinned:")
FORMS = f"{' '.join(KEYS)} >2000 <100 “exact text” or a word"
"""What a filter may be made of, in a line."""

_TERM = re.compile(r'(-?)(?:"([^"]*)"|(\S+))')
_KEY = re.compile(r"([a-z]+):(.*)")
_SIZE = re.compile(r"([<>])(=?)([\d_,.]*)(k?)", re.IGNORECASE)
_TURNS = re.compile(r"(\d+)(?:-(\d*))?")


class Filter(NamedTuple):
    """A filter that was understood."""

    text: str = ""
    """As it was typed."""
    tests: tuple[Test, ...] = ()

    def holds(self, row: Item) -> bool:
        """Whether a row is to be seen."""
        return all(test(row) for test in self.tests)

    def __bool__(self) -> bool:
        """A filter without terms hides nothing."""
        return bool(self.tests)


def parse(text: str) -> Filter:
    """Understand a filter line, or say in a line what was expected."""
    if text.count('"') % 2:
        raise WrongCall('a closing " is missing')
    tests: list[Test] = []
    for minus, exact, word in _TERM.findall(text):
        if not word and not exact:
            continue
        test = partial(_has_exactly, exact) if exact else _term(word)
        tests.append(partial(_not, test) if minus else test)
    return Filter(text.strip(), tuple(tests))


def _term(word: str) -> Test:
    if word[0] in "<>":
        return _size(word)
    found = _KEY.fullmatch(word)
    if not found:
        return partial(_has, word.lower())
    key, value = found.groups()
    make = _MAKERS.get(key)
    if make is None:
        raise WrongCall(f'no such key: {key}: expected one of {" ".join(KEYS)} (text with a colon goes in "quotes")')
    return make(value)


def _size(word: str) -> Test:
    found = _SIZE.fullmatch(word)
    digits = re.sub("[_,.]", "", found[3]) if found else ""
    if not found or not digits:
        raise WrongCall(f"{word}: expected a number of tokens, as in {word[0]}2000 or {word[0]}2k")
    limit = whole_number(digits) * (1_000 if found[4] else 1) + (1 if found[1] == ">" else -1) * (not found[2])
    return partial(_at_least if found[1] == ">" else _at_most, limit)


def _one_of(field: str, words: tuple[str, ...], value: str) -> Test:
    """A field with a few values of its own; the beginning of a word is enough."""
    wanted: set[str] = set()
    for part in value.lower().split(","):
        found = {word for word in words if part and word.startswith(part)}
        if not found:
            raise WrongCall(f"{field}:{part}: expected one of {', '.join(words)}")
        wanted |= {part} if part in found else found
    return partial(_is_in, field, frozenset(wanted))


def _named(field: str, value: str) -> Test:
    """A field whose values nobody knows beforehand: a part of one is enough."""
    if not value:
        raise WrongCall(f"{field}: expected a name, as in {field}:{'run_command' if field == 'tool' else 'user'}")
    return partial(_holds_any, field, tuple(value.lower().split(",")))


def _turn(value: str) -> Test:
    found = _TURNS.fullmatch(value)
    if not found:
        raise WrongCall(f"turn:{value}: expected a number or a range, as in turn:3, turn:3-5 or turn:3-")
    first = whole_number(found[1])
    last = first if found[2] is None else whole_number(found[2]) if found[2] else 1 << 60
    return partial(_turn_in, first, last)


def _pin(value: str) -> Test:
    if value.lower() not in ("", "yes", "no"):
        raise WrongCall(f"pinned:{value}: expected nothing, yes or no")
    return partial(_is_pinned, value.lower() != "no")


_MAKERS: dict[str, Callable[[str], Test]] = {
    "state": partial(_one_of, "state", tuple(SIGNS)),
    "slot": partial(_one_of, "slot", SLOTS),
    "kind": partial(_one_of, "kind", get_args(Kind)),
    "tool": partial(_named, "tool"),
    "role": partial(_named, "role"),
    "turn": _turn,
    "pinned": _pin,
}


# The tests themselves: plain functions, because they are called once per row of a hundred thousand


def _not(test: Test, row: Item) -> bool:
    return not test(row)


def _is_in(field: str, wanted: frozenset[str], row: Item) -> bool:
    return getattr(row, field) in wanted


def _holds_any(field: str, parts: tuple[str, ...], row: Item) -> bool:
    value = (getattr(row, field) or "").lower()
    return any(part in value for part in parts if part)


def _turn_in(first: int, last: int, row: Item) -> bool:
    return first <= row.turn <= last


def _is_pinned(wanted: bool, row: Item) -> bool:
    return row.pinned is wanted


def _at_least(limit: int, row: Item) -> bool:
    return row.tokens >= limit


def _at_most(limit: int, row: Item) -> bool:
    return row.tokens <= limit


def _has(word: str, row: Item) -> bool:
    return word in row.original.lower() or word in row.who.lower()


def _has_exactly(text: str, row: Item) -> bool:
    return text in row.original or (row.text is not None and text in row.text)
