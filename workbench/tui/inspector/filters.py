"""The filter line: `state:masked tool:run_command >2000 "exact text" text`. All terms must match."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, get_args

from workbench.config.errors import WrongCall
from workbench.config.text import whole_number
from workbench.context.items import SIGNS, SLOTS, Item, Kind, state_words

Test = Callable[[Item], bool]

KEYS = ("state:", "tool:", "role:", "slot:", "kind:", "turn:", "pinned:")
FORMS = f'{" ".join(KEYS)} >2000 sent>2000 <1k "exact text" word; - before a term: not'
"""The forms of a term, in a line."""
STATES = tuple(map(state_words, SIGNS))

_TERM = re.compile(r'(-?)(?:"([^"]*)"|((?:[^\s"]|"[^"]*")+))')
_KEY = re.compile(r"([a-z]+):(.*)")
_SIZE = re.compile(r"(sent)?([<>])(=?)([\d_,.]*)(k?)", re.IGNORECASE)
_BEGINS_SIZE = re.compile(r"(?:sent)?[<>]", re.IGNORECASE)
_TURNS = re.compile(r"(\d+)(?:-(\d*))?")


class Filter(NamedTuple):
    """A parsed filter."""

    text: str = ""
    """The filter as typed."""
    tests: tuple[Test, ...] = ()
    all: bool = False
    """Whether it asks for items that are never sent; they are not listed otherwise."""

    def holds(self, row: Item) -> bool:
        """Whether a row matches."""
        return all(test(row) for test in self.tests)

    def __bool__(self) -> bool:
        """Whether there are terms; without any, nothing is hidden."""
        return bool(self.tests)


def parse_filter(text: str) -> Filter:
    """Parse a filter line; raises WrongCall with what was expected."""
    if text.count('"') % 2:
        raise WrongCall('a closing " is missing')
    tests: list[Test] = []
    everything = False
    for minus, exact, word in _TERM.findall(text):
        if not word and not exact:
            continue
        test = partial(_has_exactly, exact) if exact else _term(word)
        tests.append(partial(_not, test) if minus else test)
        everything = everything or (not minus and _is_of_asides(test))
    return Filter(text.strip(), tuple(tests), everything)


def help_on(text: str) -> str:
    """Help for the last word: all terms, or the values of a term that was begun; empty if it is complete."""
    begun = text.rpartition(" ")[2].lstrip("-")
    if not begun:
        return FORMS
    if _BEGINS_SIZE.fullmatch(begun):
        return "a size in tokens: >2000, <1k, >=500 of the original, sent>2000 as it is sent"
    key = begun.removesuffix(":")
    return f"{begun} {_HELP[key]}" if begun.endswith(":") and key in _HELP else ""


def _term(word: str) -> Test:
    if _BEGINS_SIZE.match(word):
        return _size(word)
    found = _KEY.fullmatch(word)
    if not found:
        return partial(_has, word.lower())
    key, value = found.groups()
    make = _MAKERS.get(key)
    if make is None:
        raise WrongCall(f'no such key: {key}: expected one of {" ".join(KEYS)} (text with a colon: in "quotes")')
    return make(value.replace('"', ""))


def _size(word: str) -> Test:
    found = _SIZE.fullmatch(word)
    digits = re.sub("[_,.]", "", found[4]) if found else ""
    if not found or not digits:
        sign = ">" if ">" in word else "<"
        raise WrongCall(f"{word}: expected a number of tokens, as in {sign}2000, {sign}2k or sent{sign}2000")
    limit = whole_number(digits) * (1_000 if found[5] else 1) + (1 if found[2] == ">" else -1) * (not found[3])
    return partial(_at_least if found[2] == ">" else _at_most, "tokens" if found[1] else "original_tokens", limit)


def _one_of(field: str, words: tuple[str, ...], value: str) -> partial[bool]:
    """A field with a few fixed values; the beginning of a value is enough."""
    wanted: set[str] = set()
    for part in value.lower().split(","):
        found = {word for word in words if part and word.startswith(part)}
        if not found:
            raise WrongCall(f"{field}:{part}: expected one of {', '.join(words)}")
        wanted |= {part} if part in found else found
    return partial(_is_in, field, frozenset(wanted))


def _named(field: str, value: str) -> Test:
    """A field with any values; a part of a value is enough."""
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


def _state(value: str) -> Test:
    """A state, by its name on the screen or in the data."""
    parts = value.lower().replace("_", " ").replace("-", " ").split(",")
    found = _one_of("state", STATES, ",".join(state_words(part) for part in parts))
    return partial(_is_in, "state", frozenset("aside" if state == "not sent" else state for state in found.args[1]))


def _is_of_asides(test: Test) -> bool:
    """Whether a test asks for items that are never sent."""
    return isinstance(test, partial) and test.func is _is_in and "aside" in test.args[1]


_MAKERS: dict[str, Callable[[str], Test]] = {
    "state": _state,
    "slot": partial(_one_of, "slot", SLOTS),
    "kind": partial(_one_of, "kind", get_args(Kind)),
    "tool": partial(_named, "tool"),
    "role": partial(_named, "role"),
    "turn": _turn,
    "pinned": _pin,
}


_HELP = {
    "state": ", ".join(STATES).replace("not sent", '"not sent"'),
    "slot": ", ".join(SLOTS),
    "kind": ", ".join(get_args(Kind)),
    "tool": "a tool's name or a part of it, as in tool:read",
    "role": "system, user, assistant, tool",
    "turn": "a number or a range, as in turn:3, turn:3-5 or turn:3-",
    "pinned": "yes or no",
}


# The tests: plain functions, because they are called for each of perhaps a hundred thousand rows


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


def _at_least(field: str, limit: int, row: Item) -> bool:
    return int(getattr(row, field)) >= limit


def _at_most(field: str, limit: int, row: Item) -> bool:
    return int(getattr(row, field)) <= limit


def _has(word: str, row: Item) -> bool:
    return word in row.original.lower() or word in row.who.lower()


def _has_exactly(text: str, row: Item) -> bool:
    return text in row.original or (row.text is not None and text in row.text)
