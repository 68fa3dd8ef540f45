"""Digest: a summary without a model: lines taken from the record, bounded, and the same for the same record.

It takes over if a model fails, so that a full window never means a dead session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec import Struct, field

from workbench.compaction import fact_phrases
from workbench.compaction.actions import SessionActions, actions_in
from workbench.compaction.facts import MESSAGE_CHARS, FactCollection, collect_facts, fact_key
from workbench.compaction.source import both_ends, item_text, previous_summary
from workbench.compaction.values import Fact, FactKind, SelectedRange
from workbench.context.items import Item
from workbench.models.tokens import TokenCounter

MARK = "made without a model"
REQUEST_SHARE = 0.6
"""Characters of the first and of the last request, for each token of the cap."""
LEAST_REQUEST = 80
TO_A_LINE = 5
"""Mentions on one line."""
OPENING = 1_000
"""Characters of a reply that are searched for its first sentence."""
TELLING = 20
"""Characters of a sentence that says something."""
_REQUESTS = ("First request", "Requests after that", "Last request")
TITLES = frozenset(
    {
        *_REQUESTS, "Earlier summary", "What users insisted on", "Decisions", "Open to-dos", "Files touched",
        "Commands", "Errors", "Also mentioned", "What the assistant said",
    }
)  # fmt: skip
"""The headings of a digest."""
_HEAD = re.compile(rf"Digest(?: of ([\d,]+) items \((\S+) to \S+\))?, {MARK}")
_HEADING = re.compile(r"(#{1,6})(?: |$)")
_LEFT_OUT = re.compile(r"\(([\d,]+) more left out\)")
_MENTIONED = frozenset({"path", "error", "commit", "url", "identifier", "number"})


class _Section(Struct):
    """A heading and its lines, the most important last."""

    title: str
    lines: Sequence[str]
    share: float
    """Its share of the cap, before leftovers are distributed."""
    oldest_first: bool = False
    """Whether its first lines are the ones to keep."""
    missing: int = 0
    """Lines that an earlier digest left out already."""
    taken: int = 0

    def next(self) -> str:
        """The next line to take; empty if all are taken."""
        if self.taken == len(self.lines):
            return ""
        return self.lines[self.taken] if self.oldest_first else self.lines[len(self.lines) - 1 - self.taken]

    def shown(self) -> list[str]:
        """Its lines in the digest, with a note on what is missing."""
        left = len(self.lines) - self.taken
        lines = list(self.lines[: self.taken] if self.oldest_first else self.lines[left:])
        note = [f"({left + self.missing:,} more left out)"] if left + self.missing else []
        if not lines:
            return []
        return [f"## {self.title}", *(lines + note if self.oldest_first else note + lines), ""]


class EarlierDigest(Struct, frozen=True):
    """What an earlier digest had, so that the next one continues its sections instead of nesting them."""

    items: int = 0
    first: str = ""
    """The id of its first item."""
    lines: dict[str, list[str]] = field(default_factory=dict)
    """By section."""
    missing: dict[str, int] = field(default_factory=dict)
    """How many lines each section left out."""
    other: tuple[str, ...] = ()
    """The lines of summaries that are no digest, their headings below those of a digest."""


def read_earlier_digest(text: str) -> EarlierDigest:
    """Read the summaries that a digest updates."""
    items, first, title, is_digest, before = 0, "", "", False, ""
    lines: dict[str, list[str]] = {}
    missing: dict[str, int] = {}
    other: list[str] = []
    for line in map(str.rstrip, text.split("\n")):
        after_blank, before = not before, line
        if head := _HEAD.match(line):
            is_digest, title = True, ""
            if head[1]:
                items, first = items + int(head[1].replace(",", "")), first or head[2]
        elif not line:
            continue
        elif is_digest and line.startswith("## ") and line[3:] in TITLES:
            title = line[3:]
        elif is_digest and title and after_blank:  # a digest has empty lines only before its headings
            is_digest, title = False, ""
            other.append(_deeper(line))
        elif title and (left_out := _LEFT_OUT.fullmatch(line)):
            missing[title] = missing.get(title, 0) + int(left_out[1].replace(",", ""))
        elif title == "Earlier summary":
            other.append(_deeper(line, 0))
        elif title:
            # Digests of earlier versions have requests without a dash.
            lines.setdefault(title, []).append(line if line.startswith("- ") else f"- {line}")
        else:
            other.append(_deeper(line))
    return EarlierDigest(items, first, lines, missing, tuple(other))


def _deeper(line: str, levels: int = 1) -> str:
    """A line of another summary. A heading gets a level below the digest's own, so that it is not taken for one."""
    found = _HEADING.match(line)
    return "#" * min(max(len(found[1]) + levels, 3), 6) + line[found.end(1) :] if found else line


def make_digest(
    selected: SelectedRange,
    max_tokens: int,
    counter: TokenCounter,
    previous: str | None = None,
    facts: FactCollection | None = None,
) -> str:
    """A digest of what a compaction would replace, in at most `max_tokens`, and never larger than its source.

    `previous` is the summary that it updates, by default those inside the range; empty: it starts over. `facts`:
    those of the items, if known already.
    """
    earlier = previous_summary(selected) if previous is None else previous
    items = [item for item in selected.items if item.state != "excluded"]
    source = sum(item.tokens or item.original_tokens for item in items) + counter.count(earlier).tokens
    cap = min(max_tokens, source)
    found = (facts or collect_facts(items)).listed()
    before = read_earlier_digest(earlier)
    sections = _sections(items, selected.staying, found, before, cap)
    head = _head(items, before)
    _fill(sections, cap - counter.count(head).tokens, counter)
    while True:
        text = _assembled(head, sections)
        if counter.count(text).tokens <= cap:
            return text
        fullest = next((section for section in reversed(sections) if section.taken), None)
        if fullest is None:
            return _headed(text, cap, counter)
        fullest.taken -= 1


def _head(items: Sequence[Item], before: EarlierDigest) -> str:
    if not items:
        return f"Digest, {MARK}."
    count, first = len(items) + before.items, before.first or items[0].id
    return f"Digest of {count:,} items ({first} to {items[-1].id}), {MARK}: lines taken from the record."


def _assembled(head: str, sections: Iterable[_Section]) -> str:
    lines = [head, "", *(line for section in sections for line in section.shown())]
    return "\n".join(lines).rstrip()


def _headed(text: str, cap: int, counter: TokenCounter) -> str:
    """As much of a text as fits, if the cap leaves no room for a section."""
    text = text[: counter.head(text, cap)].rstrip()
    while text and counter.count(text).tokens > cap:
        text = text[:-1].rstrip()
    return text


def _fill(sections: Sequence[_Section], room: int, counter: TokenCounter) -> None:
    """Give each section its share, then distribute what is left, in order."""
    left = room
    for share in (True, False):
        for section in sections:
            mine = min(left, int(room * section.share)) if share else left
            left -= mine - _take_lines(section, mine, counter)


def _take_lines(section: _Section, room: int, counter: TokenCounter) -> int:
    """Take lines as long as they fit; returns the room that is left."""
    while True:
        line = section.next()
        title = 0 if section.taken else counter.count(f"## {section.title}\n\n").tokens + 8
        cost = counter.count(line).tokens + 1 + title
        if not line or cost > room:
            return room
        section.taken += 1
        room -= cost


# Its content


def _sections(
    items: Sequence[Item], staying: Sequence[Item], found: Sequence[Fact], before: EarlierDigest, cap: int
) -> list[_Section]:
    done = actions_in(items, staying)
    users = [item for item in items if item.role == "user" and item.kind == "message"]
    speech = [item for item in items if item.kind == "message"]
    decisions = _decisions(speech)
    most = max(LEAST_REQUEST, int(cap * REQUEST_SHARE))
    first, between, last = _first_between_last(_requests(users, most), before)
    sections = [
        _Section("Earlier summary", before.other, 0.3, oldest_first=True),
        _Section("First request", first, 0.2),
        _Section("Requests after that", between, 0.1),
        _Section("Last request", last, 0.2),
        _Section("What users insisted on", _of_kind(found, "constraint"), 0.1),
        _Section("Decisions", decisions, 0.1),
        _Section("Open to-dos", _of_kind(found, "todo"), 0.1),
        _Section("Files touched", _files(done), 0.1),
        _Section("Commands", _commands(done), 0.1),
        _Section("Errors", [f"- {error.text} [{error.event}]" for error in done.errors], 0.1),
        _Section("Also mentioned", _mentions(found, done), 0.1, oldest_first=True),
        _Section("What the assistant said", [line for line in _openings(speech) if line not in decisions], 0.1),
    ]
    for section in sections:
        if section.title not in _REQUESTS:
            section.lines = _without_repeats([*before.lines.get(section.title, ()), *section.lines])
        section.missing = before.missing.get(section.title, 0)
    return sections


def _without_repeats(lines: Sequence[str]) -> list[str]:
    """The lines, of those that differ only in their event the last."""
    found: dict[str, str] = {}
    for line in lines:
        text = line.rpartition(" [")[0] or line
        found.pop(text, None)
        found[text] = line
    return list(found.values())


def _first_between_last(now: list[str], before: EarlierDigest) -> tuple[list[str], list[str], list[str]]:
    """The requests of users in three sections. Only a digest that updates another one has those in the middle."""
    first, between, last = (before.lines.get(title, []) for title in _REQUESTS)
    if not first:
        return now[:1], [], now[1:][-1:]
    if not now:
        return first, between, last
    return first, [*between, *last, *now[:-1]], now[-1:]


def _requests(items: Iterable[Item], most: int) -> list[str]:
    return [
        f"- {fact_phrases.one_short_line(both_ends(item_text(item), 4 * most), most)} [{item.id}]" for item in items
    ]


def _decisions(speech: Iterable[Item]) -> list[str]:
    found: dict[str, str] = {}
    for item in speech:
        for phrase in fact_phrases.DECISIONS.phrases(
            fact_phrases.without_fenced_code(both_ends(item_text(item), MESSAGE_CHARS))
        ):
            found.pop(phrase, None)
            found[phrase] = item.id
    return [f"- {phrase} [{event}]" for phrase, event in found.items()]


def _of_kind(found: Iterable[Fact], kind: FactKind) -> list[str]:
    return [f"- {fact.text} [{fact.event}]" for fact in found if fact.kind == kind]


def _mentions(found: Iterable[Fact], done: SessionActions) -> list[str]:
    """Names and figures, a few to a line, most important kind first; files that were touched are listed elsewhere."""
    touched = {fact_key("path", file.path) for file in done.files}
    named = (fact for fact in found if fact.kind in _MENTIONED and fact_key(fact.kind, fact.text) not in touched)
    lines: list[str] = []
    for kind, group in groupby(named, key=lambda fact: fact.kind):
        texts = [f"{fact.text} [{fact.event}]" for fact in group]
        lines += [f"- {kind}: {', '.join(texts[at : at + TO_A_LINE])}" for at in range(0, len(texts), TO_A_LINE)]
    return lines


def _openings(speech: Iterable[Item]) -> list[str]:
    """The first sentence of each reply that says something: `Perfect!` and `Found it.` do not."""
    replies = (
        (item, fact_phrases.sentences_in(both_ends(item_text(item), OPENING)))
        for item in speech
        if item.role == "assistant"
    )
    first = ((item, next((one for one in sentences if len(one) >= TELLING), "")) for item, sentences in replies)
    return [f"- {sentence} [{item.id}]" for item, sentence in first if sentence]


def _files(done: SessionActions) -> list[str]:
    """Files, the ones written last."""
    ordered = sorted(done.files, key=lambda file: file.written)
    return [f"- {file.path} ({'written' if file.written else 'read'}) [{file.event}]" for file in ordered]


def _commands(done: SessionActions) -> list[str]:
    found: dict[str, str] = {}
    for command in done.commands:
        status = f": exit status {command.status}" if command.status else ""
        found.pop(command.text, None)
        found[command.text] = f"- `{command.text}`{status} [{command.event}]"
    return list(found.values())
