"""Finds the facts that a model's answers use, and the earlier items that hold them. It needs no model.

An answer uses identifiers, paths, addresses, commits, errors, numbers, names and quotations. If an earlier item holds
one, the answer needed that fact. If a policy has removed every item that holds it, the model could not know it: a miss.
Facts are found by the rules that audit a summary (`compaction/fact_words`); plain numbers of four digits and more count
as well, and smaller ones with a unit. Names of parameters and the model's thinking do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from workbench.compaction import fact_phrases, fact_words
from workbench.compaction.facts import argument_values, fact_key
from workbench.compaction.values import FactKind
from workbench.lab.replay.id_words import find_ids, is_pair, word_pieces, words_of_prose
from workbench.lab.replay.phrases import (
    all_measures,
    find_foreign_words,
    find_measures,
    find_name_phrases,
    without_prose,
)
from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Event,
    SlotContent,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
    text_of,
)

LONGEST = 200_000
"""How many characters of a text are searched. A longer text is data."""
_NUMBER = re.compile(r"[0-9](?<![\w.,/-][0-9])[0-9,.]{3,30}(?!\w)")
"""The first digit comes before its lookbehind, because a pattern that begins with a digit is faster."""
_INNER = re.compile(r"[0-9](?<![A-Za-z0-9.,][0-9])[0-9,.]{3,30}(?![A-Za-z0-9])")
"""The same as a part of a longer word: `issue-48213`, `job_48213`, `/issues/48213`."""
_ROW = re.compile(r"[0-9][0-9,.]{3,}")
"""If one of the two patterns matches, it matches the beginning of such a row."""
_DIGITS = 4
"""Numbers with fewer digits are too common to mean anything."""
_PIECES = re.compile(r"\w+")
_ROUND = "00"
"""A number with this ending is one that a model chooses itself: a timeout, a limit."""
_COMMON = re.compile(
    r"--|/dev/|__\w+__|(?:README|CHANGELOG|AGENTS|CLAUDE)\.md$|(?:package|tsconfig)\.json$|(?:pyproject|Cargo)\.toml$"
    r"|requirements\.txt$|setup\.py$|go\.mod$|\.gitignore$|node_modules/?$|JSON\.(?:parse|stringify)$"
    r"|console\.(?:log|error|warn|info|debug)$|process\.(?:env|argv|exit|cwd|stdout|stderr|platform)$|(?:os|sys|path)\.\w+$"
    r"|(?:fileName|filePath|dirName|baseName|className|userId|userName|innerHTML|textContent|useState|useEffect|forEach"
    r"|toString|indexOf|hasOwnProperty|addEventListener|setTimeout|file_name|file_path|user_id|module\.exports)$"
)
"""Facts that every model knows: options of programs, devices, Python's own names, and usual names of files in a
project."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_ENDING = re.compile(r"\*\.[\w.-]+")
"""A pattern such as `*.test.ts` is not the name of a file."""
_SHORT_COMMITS = range(7, 13)

Key = tuple[FactKind, str]


class NeededFact(NamedTuple):
    """Something that an answer uses."""

    kind: FactKind
    text: str


class Needs:
    """The needed facts of a log, each by its number; which event uses and which holds them."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._numbers: dict[Key, int] = {}
        self.facts: list[NeededFact] = []
        self.uses: dict[int, tuple[int, ...]] = {}
        """By event of the model: the facts that it uses."""
        self._quotes: dict[str, list[tuple[str, int]]] = {}
        """By one of their words: quotations, and their numbers."""
        self._runs: dict[str, int] = {}
        """Words in letters that are written without spaces, and their numbers."""
        self._measures: dict[str, int] = {}
        """Numbers with a unit, and their numbers among the facts."""
        self._names = self._find_names(events)
        """The names of people and things that answers use."""
        answers = [event for event in events if isinstance(event.body, AssistantMessage | ToolCall)]
        self._prose = words_of_prose(map(_searched, answers), map(_searched, events))
        self._pieces: set[str] = set()
        """The longest piece of each fact that is a word. A word that has none of these pieces holds no needed fact."""
        self._known: dict[str, tuple[int, ...]] = {}
        """By word: the facts in it."""
        self._dull: set[str] = set()
        """Words that were checked and hold no needed fact, which is nearly all words."""
        for event in answers:
            assert isinstance(event.body, AssistantMessage | ToolCall)
            found = tuple(dict.fromkeys(self._used(event.body)))
            if found:
                self.uses[event.seq] = found
        self._starts = {fact.text[:_DIGITS] for fact in self.facts if fact.kind == "number"}
        """How the needed numbers begin."""
        self.holds: Mapping[int, tuple[int, ...]] = {}
        """By event: the needed facts that it holds."""
        if self.facts:
            texts = ((event.seq, text_for_model(event)) for event in events)
            self.holds = {seq: found for seq, text in texts if text and (found := self.held_in(text))}

    # What an answer uses

    @staticmethod
    def _find_names(events: Sequence[Event]) -> set[str]:
        answers = (text_of(event.body.content) for event in events if isinstance(event.body, AssistantMessage))
        found = {phrase for text in answers for phrase in find_name_phrases(_plain(text))}
        return without_prose(found, map(_searched, events))

    def _is_name(self, found: str) -> bool:
        return not is_pair(found) or self._prose.isdisjoint(found.split("-"))

    def _used(self, body: AssistantMessage | ToolCall) -> Iterator[int]:
        if isinstance(body, ToolCall):
            text = _ENDING.sub(" ", _plain(argument_values(body.arguments[:LONGEST])))
        else:
            text = _ENDING.sub(" ", _plain(text_of(body.content)))
            for quote in fact_phrases.quoted_texts(fact_phrases.without_fenced_code(text)):
                if " " in quote:
                    yield self._quote(quote)
            for phrase in find_name_phrases(text):
                if phrase in self._names:
                    yield self._quote(phrase)
            for measure in find_measures(text):
                yield self._measures.setdefault(measure, self._number(("number", measure), measure))
        for run in find_foreign_words(text):
            yield self._runs.setdefault(run, self._number(("identifier", run), run))
        for word in sorted(fact_words.odd_words(text)):
            named = list(_named(word))
            numbered = (
                each for each in find_ids(word) if self._is_name(each) and not any(each in name for _, name in named)
            )
            for kind, name in (*named, *(("identifier", each) for each in numbered)):
                if not _COMMON.match(name):
                    yield self._number(fact_key(kind, name), name)
        for number in sorted(plain_numbers(text)):
            if isinstance(body, AssistantMessage) or not number.endswith(_ROUND):
                yield self._number(("number", number), number)

    def _number(self, key: Key, text: str) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.facts)
            self.facts.append(NeededFact(key[0], text))
            piece = max(_PIECES.findall(key[1].casefold()) or [""], key=len)
            self._pieces.add(piece[: _SHORT_COMMITS.start] if key[0] == "commit" else piece)
        return self._numbers[key]

    def _quote(self, quote: str) -> int:
        key = fact_key("quote", quote)
        if key not in self._numbers:
            words = quote.split()
            anchor = max(words[1:-1] or words[:1], key=len).casefold()
            self._quotes.setdefault(anchor, []).append((key[1], len(self.facts)))
        return self._number(key, quote)

    # What an item holds

    def held_in(self, text: str) -> tuple[int, ...]:
        """The needed facts in a text."""
        text = _plain(text)
        found: set[int] = set()
        known = self._known
        for word in fact_words.odd_words(text) - self._dull:
            numbers = known.get(word) or self._look_at(word)
            found.update(numbers)
        if self._may_hold_numbers(text):
            keys: list[Key] = [("number", number) for number in _unseparated(text, _NUMBER, _INNER)]
            found.update(self._numbers[key] for key in keys if key in self._numbers)
        if self._quotes:
            self._add_quotes(text, found)
        if self._measures:
            found.update(self._measures[each] for each in all_measures(text) if each in self._measures)
        if self._runs and not text.isascii():
            found.update(number for run, number in self._runs.items() if run in text)
        return tuple(sorted(found))

    def _may_hold_numbers(self, text: str) -> bool:
        """Whether a row of digits begins like a needed number. Takes a third of the time of a search for numbers."""
        starts = self._starts
        return bool(starts) and any(row.replace(",", "")[:_DIGITS] in starts for row in set(_ROW.findall(text)))

    def _look_at(self, word: str) -> tuple[int, ...]:
        numbers = tuple(self._said_by_word(word)) if self._may_say(word) else ()
        if numbers:
            self._known[word] = numbers
        else:
            self._dull.add(word)
        return numbers

    def _may_say(self, word: str) -> bool:
        pieces = _PIECES.findall(word.casefold())
        starts = (piece[: _SHORT_COMMITS.start] for piece in pieces)
        return not (self._pieces.isdisjoint(pieces) and self._pieces.isdisjoint(starts))

    def _said_by_word(self, word: str) -> Iterator[int]:
        """A longer path holds a path, a dotted name holds a name, and a longer commit holds a commit."""
        keys: set[Key] = set()
        for kind, name in _named(word):
            key = fact_key(kind, name)
            keys.add(key)
            if kind == "path":
                keys.update((kind, part) for part in _parts(key[1], "/"))
            elif kind == "commit":
                keys.update((kind, key[1][:length]) for length in _SHORT_COMMITS)
        names = fact_words.word_parts(word_pieces(word))
        dotted = (part for name in names if name.count(".") > 1 for part in _parts(name, "."))
        for part in (*names, *dotted, *map(str.casefold, find_ids(word))):
            keys.update((("identifier", part), ("error", part)))
        return (self._numbers[key] for key in keys if key in self._numbers)

    def _add_quotes(self, text: str, found: set[int]) -> None:
        folded = text.casefold()
        words = self._quotes.keys() & set(folded.split())
        if words:
            plain = " ".join(folded.split())
            found.update(at for word in words for quote, at in self._quotes[word] if quote in plain)


_MOST_PARTS = 20
"""How many parts of a path or a dotted name are looked at."""


def _parts(whole: str, between: str) -> Iterator[str]:
    """The parts of a path or a dotted name that are neighbours: `src/app` and `app/main.py` in `src/app/main.py`."""
    parts = whole.split(between)[:_MOST_PARTS]
    for start in range(len(parts)):
        for end in range(start + 1, len(parts) + 1):
            yield between.join(parts[start:end])


def _named(word: str) -> Iterator[tuple[FactKind, str]]:
    """The facts in a word and in its pieces."""
    return (found for piece in word_pieces(word) for found in fact_words.facts_in_word(piece))


def _plain(text: str) -> str:
    """The part of a text that is searched, without colours."""
    text = text[:LONGEST]
    return _COLOURS.sub("", text) if "\x1b" in text else text


def _searched(event: Event) -> str:
    return _plain(text_for_model(event))


def plain_numbers(text: str) -> set[str]:
    """Numbers of at least four digits, without separators."""
    found = _unseparated(text, _NUMBER)
    return {number for number in found if sum(map(str.isdigit, number)) >= _DIGITS and number.count(".") < 2}


def _unseparated(text: str, *patterns: re.Pattern[str]) -> set[str]:
    found = {number for pattern in patterns for number in pattern.findall(text)}
    return {number.rstrip(".,").replace(",", "") for number in found}


def text_for_model(event: Event) -> str:
    """The text of an event that a model sees and a policy can remove."""
    match event.body:
        case UserMessage(content) | AssistantMessage(content) | SystemMessage(content):
            return text_of(content)
        case ToolResult() as body:
            return text_of(body.content)
        case ToolCall() as body:
            return argument_values(body.arguments[:LONGEST])
        case SlotContent() as body:
            return body.text
        case Compaction() as body:
            return body.summary
    return ""
