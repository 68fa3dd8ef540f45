"""Facts that are no single words: numbers with a unit, names of people and things, and words in Chinese, Japanese and
Korean. An answer that uses one must have it from somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

_UNITS: Final = (
    "ms|µs|us|ns|s|secs?|seconds?|mins?|minutes?|h|hours?|days?|weeks?|[KMGT]i?B|bytes?|px|rpm|rps|qps|Hz|kHz|MHz|GHz|"
    "%|percent|retries|attempts|replicas|shards|workers|threads|connections|°C|kg|km|USD|EUR"
)
_MEASURE = re.compile(rf"(?<![\w.,/:-])([0-9]{{1,3}}(?:\.[0-9]{{1,3}})?)[ -]?({_UNITS})(?!\w)")
_CHOSEN: Final = "0 1 2 3 4 5 6 7 8 9 10 12 15 20 24 25 30 40 45 50 60 75 80 90 99 100 120 150 200 300 500"
_ROUND: Final = frozenset(_CHOSEN.split())
"""Numbers that a model may make up (a timeout, a limit), so using one proves nothing."""
_NAME = re.compile(r"(?<![\w.])[A-Z][a-zà-ÿ]{2,20}(?: [A-Z][a-zà-ÿ]{2,20}){1,2}(?!\w)")
_LETTERS: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_RUN = re.compile(rf"[{_LETTERS}]{{2,12}}")
_FOREIGN = re.compile(rf"[{_LETTERS}]")
_MOST: Final = 0.2
"""With a larger share of such letters, the text is written in that language."""


def find_measures(text: str) -> Iterator[str]:
    """Small numbers with a unit, without the space between them: `37ms`. Round ones do not count."""
    for number, unit in _MEASURE.findall(text):
        if number not in _ROUND:
            yield f"{number}{unit}"


def all_measures(text: str) -> set[str]:
    """All measures in a text that may be the source of one, round ones included."""
    return {f"{number}{unit}" for number, unit in _MEASURE.findall(text)}


def find_name_phrases(text: str) -> Iterator[str]:
    """Two or three words in a row that begin with a capital: a name, or a heading (see `without_prose`)."""
    return iter(_NAME.findall(text))


def without_prose(phrases: Iterable[str], texts: Iterable[str]) -> set[str]:
    """Keep the phrases that are names: at least one word never occurs in lower case in the session."""
    phrases = set(phrases)
    words = {word.casefold() for phrase in phrases for word in phrase.split()}
    for text in texts if words else ():
        words.difference_update(re.findall(r"[a-zà-ÿ]{3,}", text))
    return {phrase for phrase in phrases if not words.isdisjoint(phrase.casefold().split())}


def find_foreign_words(text: str) -> Iterator[str]:
    """Words in Chinese, Japanese or Korean letters within a text in another language."""
    if len(_FOREIGN.findall(text)) <= _MOST * len(text):
        yield from _RUN.findall(text)
