"""Audit: what a summary kept of its source and what it lost. Deterministic, instant, and no judge of style."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property

from workbench.compaction import fact_phrases, fact_words
from workbench.compaction.facts import FactCollection, collect_facts, fact_key, facts_of_text
from workbench.compaction.source import previous_summary
from workbench.compaction.values import Fact, SelectedRange, SummaryAudit
from workbench.config.patterns import late_pattern

HEADING = "## From the record, word for word"
"""The heading above facts that were added because a summary had lost them."""
ENOUGH = 0.6
"""A sentence is kept if one line of the summary has at least this share of its significant words."""
SIGNIFICANT = 4
"""Letters of a significant word; shorter ones are grammar."""

LEAST_SIGNIFICANT = 3
"""Significant words of a line that says something by itself."""
MOST_LINES = 40
"""Lines of an earlier summary to list as lost."""

_POINT = late_pattern(r"\s*(?:[-*•]\s+)+(\S.*)")
_SENTENCE = late_pattern(r"(?<=[.!?])\s+")
_WORD = late_pattern(r"\w+")
_MARKUP = str.maketrans("", "", "`*")
_THOUSANDS = late_pattern(r"(?<=\d),(?=\d{3})")


def plain_text(text: str) -> str:
    """A text without trivial differences: case, white space, markup, thousands separators."""
    return _THOUSANDS.sub("", " ".join(text.translate(_MARKUP).split()).casefold())


def significant_words(text: str) -> frozenset[str]:
    """The different words of a text that say something by themselves."""
    return frozenset(word for word in _WORD.findall(plain_text(text)) if len(word) >= SIGNIFICANT)


class KeptFacts:
    """Checks which facts a summary contains."""

    def __init__(self, summary: str, paths: Iterable[str] = ()) -> None:
        """`paths`: all paths of the source; they decide whether a shortened path is unambiguous."""
        found = fact_words.split_words(summary)
        self._plain = plain_text(summary)
        self._names = fact_words.word_parts(found)
        self._keys = {fact_key(kind, text) for word in found for kind, text in fact_words.facts_in_word(word)}
        self._keys |= {fact_key("number", number) for number in fact_phrases.numbers_with_units(summary)}
        self._commits = {text for kind, text in self._keys if kind == "commit"}
        self._commit_lengths = {len(text) for text in self._commits}
        self._commit_starts = {text[:end] for text in self._commits for end in range(1, len(text))}
        self._paths = {text for kind, text in self._keys if kind == "path"}
        self._summary = summary
        self._all_paths = paths

    @cached_property
    def _lines(self) -> list[frozenset[str]]:
        """The significant words of each line."""
        return [significant_words(line) for line in self._summary.split("\n") if line.strip()]

    @cached_property
    def _tails(self) -> Counter[str]:
        """How many paths of the source have this end."""
        return Counter(tail for path in {*self._all_paths} for tail in fact_words.path_tails(path))

    def has_kept(self, fact: Fact) -> bool:
        key = fact_key(fact.kind, fact.text)
        if key in self._keys:
            return True
        match fact.kind:
            case "path":
                return any(tail in self._paths and self._tails[tail] <= 1 for tail in fact_words.path_tails(key[1]))
            case "identifier" | "error":
                return key[1] in self._names
            case "commit":
                shorter = (key[1][:length] in self._commits for length in self._commit_lengths)
                return key[1] in self._commit_starts or any(shorter)
            case "constraint" | "todo" | "statement":
                return self._says(fact.text)
            case "quote":
                return plain_text(fact.text) in self._plain
        return False

    def _says(self, sentence: str) -> bool:
        if plain_text(sentence) in self._plain:
            return True
        wanted = significant_words(sentence)
        return bool(wanted) and any(len(wanted & line) >= ENOUGH * len(wanted) for line in self._lines)


def audit_summary(
    selected: SelectedRange,
    summary: str,
    *,
    previous: str = "",
    facts: FactCollection | None = None,
    brief: bool = False,
) -> SummaryAudit:
    """What a summary kept of the items it replaces, and what it dropped of the previous summary.

    `previous` is that summary; by default those inside the range. `facts`: those of the items, if known already.
    `brief`: skip the previous summary and facts that are not listed.
    """
    table = facts or collect_facts(selected.items)
    held = KeptFacts(summary, table.paths())
    kept: list[Fact] = []
    lost: list[Fact] = []
    for fact in table.listed():
        (kept if held.has_kept(fact) else lost).append(fact)
    total = len(kept) + len(lost)
    share = len(kept) / total if total else 1.0
    if brief:
        return SummaryAudit(share, tuple(kept), tuple(lost))
    earlier = previous or previous_summary(selected)
    event = selected.previous[-1].id if selected.previous else ""
    forgotten = _forgotten(earlier, event, held) if earlier else ()
    unlisted = sum(not held.has_kept(fact) for fact in table.unlisted())
    return SummaryAudit(share, tuple(kept), tuple(lost), forgotten, unlisted)


def _forgotten(earlier: str, event: str, held: KeptFacts) -> tuple[Fact, ...]:
    """What the previous summary had and this one lacks: whole lines, and facts of lines that are kept in part."""
    lines = [fact for fact in _statements(earlier, event) if not held.has_kept(fact)]
    gone = "\n".join(fact.text for fact in lines)
    facts = [fact for fact in facts_of_text(earlier, event) if not held.has_kept(fact) and fact.text not in gone]
    return (*lines[:MOST_LINES], *facts)


def _statements(summary: str, event: str) -> list[Fact]:
    """The points of a summary; if it has none, its sentences."""
    points = [found[1] for line in summary.splitlines() if (found := _POINT.match(line))]
    plain = [line for line in summary.splitlines() if not line.lstrip().startswith("#")]
    statements = points or [sentence for line in plain for sentence in _SENTENCE.split(line)]
    return [
        Fact(text, "statement", event)
        for text in map(str.strip, statements)
        if len(significant_words(text)) >= LEAST_SIGNIFICANT
    ]


def summary_with_lost(summary: str, facts: Iterable[Fact]) -> str:
    """The summary with lost facts added under a heading, each with its event."""
    lines = [f"- {fact.kind}: {fact.text}{f' [{fact.event}]' if fact.event else ''}" for fact in facts]
    if not lines:
        return summary
    headings = [line for line in summary.splitlines() if line.startswith("## ")]
    head = [] if headings[-1:] == [HEADING] else ["", HEADING, ""]
    return "\n".join([summary.rstrip(), *head, *lines]).lstrip("\n")
