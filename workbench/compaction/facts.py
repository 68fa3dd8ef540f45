"""Facts: what a summary of a conversation should not lose, found by rules and not by a model.

A person has to read the list. So what users and assistants mention counts more than what appears in a tool's output,
each kind has a maximum, and the same thing is listed once, with the event where it was first seen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from workbench.compaction import fact_phrases, fact_words
from workbench.compaction.source import both_ends, item_text, without_own_words
from workbench.compaction.values import Fact, FactKind
from workbench.context.items import Item

MOST: dict[FactKind, int] = {
    "constraint": 30,
    "todo": 20,
    "path": 40,
    "error": 20,
    "commit": 15,
    "url": 20,
    "identifier": 30,
    "number": 20,
    "quote": 15,
}
"""How many of a kind are listed; also the order of the kinds."""
MESSAGE_CHARS, ARGUMENT_CHARS, RESULT_CHARS = 40_000, 8_000, 4_000
"""Characters that are read of one message, of a call's arguments and of a result: its two ends."""
USER_WEIGHT, ASSISTANT_WEIGHT, CALL_WEIGHT, TOOL_WEIGHT = 4, 3, 2, 1
"""The weight of a mention."""
LEAST_WEIGHT = 2
"""The least weight of a fact. One mention in a tool's output is not enough, unless it is an error or a commit; nor
is a name in code that the model wrote."""
_WEIGHTS: dict[int, dict[FactKind, int]] = {
    USER_WEIGHT: dict.fromkeys(MOST, USER_WEIGHT),
    ASSISTANT_WEIGHT: dict.fromkeys(MOST, ASSISTANT_WEIGHT),
    CALL_WEIGHT: dict.fromkeys(MOST, CALL_WEIGHT) | {"identifier": TOOL_WEIGHT, "number": TOOL_WEIGHT},
    # Tools print so many names and addresses that frequent printing means nothing.
    TOOL_WEIGHT: dict.fromkeys(MOST, TOOL_WEIGHT)
    | {"error": LEAST_WEIGHT, "commit": LEAST_WEIGHT, "identifier": 0, "url": 0},
}
"""What one mention adds: by who mentions it, then by kind of fact."""

Key = tuple[FactKind, str]
Mention = tuple[Key, str]
"""A fact in a text, and its spelling there."""


def fact_key(kind: FactKind, text: str) -> Key:
    """Two facts with the same key are the same: case matters for paths only."""
    if kind == "path":
        return kind, text.removeprefix("./").rstrip("/")
    folded = text.casefold()
    return kind, folded.removesuffix("()") if kind == "identifier" else folded


class _Entry:
    """A fact so far; no struct, because a struct's fields take twice as long to set, and each mention sets three."""

    __slots__ = ("event", "kind", "last", "last_weight", "text", "weight")

    def __init__(self, text: str, kind: FactKind, event: str) -> None:
        self.text = text
        self.kind = kind
        self.event = event
        self.weight = 0
        self.last = -1
        """The number of the last item that mentions it."""
        self.last_weight = 0
        """What that item added to the weight."""

    @property
    def fact(self) -> Fact:
        """The fact for the list."""
        return Fact(self.text, self.kind, self.event)

    def mention(self, weight: int, at: int) -> None:
        """Count a mention in item number `at`. Several in one item count once, with the highest weight."""
        added = weight if self.last != at else weight - self.last_weight
        if self.last != at or added > 0:
            self.weight, self.last, self.last_weight = self.weight + added, at, weight


class Mentions:
    """Finds the facts in texts word by word, and caches the result per word: few words are facts, and they recur."""

    def __init__(self, *, remember: bool = False) -> None:
        """`remember`: the texts will be read again, for example if one session is compacted in several ways."""
        self._texts: dict[str, tuple[Mention, ...]] | None = {} if remember else None
        self._words: dict[str, tuple[Mention, ...]] = {}
        self._words_without_facts: set[str] = set()

    def mentions_in(self, text: str) -> tuple[Mention, ...]:
        if self._texts is None:
            return self._find_mentions(text)
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = self._find_mentions(text)
        return known

    def _find_mentions(self, text: str) -> tuple[Mention, ...]:
        words = self._words
        # Sorted, because the order of a set changes from run to run.
        candidates = sorted(fact_words.odd_words(text) - self._words_without_facts)
        return tuple([each for word in candidates for each in words.get(word) or self._facts_of_word(word)])

    def _facts_of_word(self, word: str) -> tuple[Mention, ...]:
        found = tuple([(fact_key(kind, text), text) for kind, text in fact_words.facts_in_word(word)])
        if found:
            self._words[word] = found
        else:
            self._words_without_facts.add(word)
        return found


class FactCollection(Struct):
    """The weighted facts of some texts."""

    mentions: Mentions = field(default_factory=Mentions)
    entries: dict[Key, _Entry] = field(default_factory=dict)
    _tool_todos: list[Key] = field(default_factory=list)
    """The entries of a tool's to-do list when it was last written."""
    _at: int = 0
    """The number of the current item."""
    _split_cache: tuple[list[_Entry], list[_Entry]] | None = None
    """The entries so far that are worth listing, and the rest."""

    def add_item(self, item: Item) -> None:
        self._at += 1
        self._split_cache = None
        if item.state == "masked":
            return  # its text is no part of the conversation
        text = without_own_words(item_text(item)) if item.state == "truncated" else item_text(item)
        if item.kind == "tool_result":
            self._words(both_ends(text, RESULT_CHARS), item.id, TOOL_WEIGHT)
        elif item.kind == "tool_call":
            self._replace_tool_todos(item, text)
            self._words(argument_values(both_ends(text, ARGUMENT_CHARS)), item.id, CALL_WEIGHT)
        else:
            self.add_text(
                both_ends(text, MESSAGE_CHARS), item.id, USER_WEIGHT if item.role == "user" else ASSISTANT_WEIGHT
            )

    def add_text(self, text: str, event: str, weight: int) -> None:
        """Add a text that somebody wrote."""
        self._split_cache = None
        plain = fact_phrases.without_fenced_code(text)
        self._words(plain, event, weight)
        if plain is not text:
            self._words(fact_phrases.fenced_code(text), event, CALL_WEIGHT)
        self._add("number", fact_phrases.numbers_with_units(plain), event, weight)
        self._add("quote", _worth_quoting(fact_phrases.quoted_texts(plain), weight), event, weight)
        self._add("todo", fact_phrases.open_tasks(plain), event, weight)
        if weight == USER_WEIGHT:
            self._add("constraint", fact_phrases.CONSTRAINTS.phrases(plain), event, weight)

    def _words(self, text: str, event: str, weight: int) -> None:
        entries, weights, at = self.entries, _WEIGHTS[weight], self._at
        for key, spelt in self.mentions.mentions_in(text):
            entry = entries.get(key) or self._entry(key, spelt, event)
            entry.mention(weights[entry.kind], at)

    def _entry(self, key: Key, text: str, event: str) -> _Entry:
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = _Entry(text, key[0], event)
        return entry

    def _replace_tool_todos(self, item: Item, arguments: str) -> None:
        steps = fact_phrases.listed_todos(item.tool or "", arguments)
        if steps is not None:
            for key in self._tool_todos:
                self.entries.pop(key, None)
            self._add("todo", steps, item.id, USER_WEIGHT)
            self._tool_todos = [fact_key("todo", step) for step in steps]

    def _add(self, kind: FactKind, texts: Iterable[str], event: str, weight: int) -> None:
        for text in texts:
            self._entry(fact_key(kind, text), text, event).mention(_WEIGHTS[weight][kind], self._at)

    def listed(self) -> tuple[Fact, ...]:
        """The facts worth reading: by kind, in the order in which they were first seen."""
        return tuple([entry.fact for entry in self._split()[0]])

    def unlisted(self) -> tuple[Fact, ...]:
        """The facts that do not fit into the list."""
        return tuple([entry.fact for entry in self._split()[1]])

    def _split(self) -> tuple[list[_Entry], list[_Entry]]:
        if self._split_cache is not None:
            return self._split_cache
        found: list[_Entry] = []
        rest: list[_Entry] = []
        by_kind: dict[FactKind, list[_Entry]] = {kind: [] for kind in MOST}
        for entry in self.entries.values():
            if entry.weight >= LEAST_WEIGHT:
                by_kind[entry.kind].append(entry)
        for kind, entries in by_kind.items():
            most = MOST[kind]
            if kind == "path":
                entries = _without_tails(entries)
            if len(entries) > most:
                ranked = sorted(range(len(entries)), key=lambda at: (-entries[at].weight, -entries[at].last, at))
                rest.extend(entries[at] for at in ranked[most:])
                entries = [entries[at] for at in sorted(ranked[:most])]
            found.extend(entries)
        self._split_cache = (found, rest)
        return self._split_cache

    def paths(self) -> Iterator[str]:
        """Every path that was seen, listed or not."""
        return (text for kind, text in self.entries if kind == "path")


_KEY = re.compile(r'"\w{1,60}"\s{0,9}:')
_ESCAPE = re.compile(r"\\(?:u(?![dD][89a-fA-F])([0-9a-fA-F]{4})|([\\/nt]))")
"""An escape in JSON: of white space, a slash, a backslash, or a letter, except for halves of a surrogate pair."""
_ESCAPED = {"n": "\n", "t": "\t"}


def argument_values(arguments: str) -> str:
    """A call's arguments without the names of its parameters, and with escapes resolved, each once."""
    plain = _ESCAPE.sub(_unescaped, arguments) if "\\" in arguments else arguments
    return _KEY.sub(" ", plain)


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _ESCAPED.get(found[2], found[2])


def _without_tails(entries: list[_Entry]) -> list[_Entry]:
    """Leaves out a path that is the ending of exactly one other: it is the same file, abbreviated."""
    ends = Counter(tail for entry in entries for tail in fact_words.path_tails(fact_key("path", entry.text)[1]))
    return [entry for entry in entries if ends[fact_key("path", entry.text)[1]] != 1]


def _worth_quoting(quotes: Iterable[str], weight: int) -> Iterator[str]:
    """Quotations that are not a fact of another kind; single words only if a user quoted them."""
    return (
        quote for quote in quotes if " " in quote or (weight == USER_WEIGHT and not fact_words.facts_in_word(quote))
    )


def collect_facts(items: Iterable[Item], mentions: Mentions | None = None) -> FactCollection:
    """The facts of items, including those not worth listing. `mentions`: from earlier readings."""
    table = FactCollection(mentions or Mentions())
    for item in items:
        if item.state != "excluded":
            table.add_item(item)
    return table


def facts_of_text(text: str, event: str) -> tuple[Fact, ...]:
    """The facts in one text, weighed as if the assistant wrote it."""
    table = FactCollection()
    table.add_text(without_own_words(text), event, ASSISTANT_WEIGHT)
    return table.listed()
