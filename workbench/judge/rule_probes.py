"""Probes that rules make: from facts, decisions and to-dos in messages, and from calls and their results.

Whether the answer is still known after the compaction plays no part here. A probe whose answer cannot be read from the
full context is thrown out later, by asking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from workbench.compaction import fact_phrases, fact_words
from workbench.compaction.actions import CommandRun, actions_in, error_line
from workbench.compaction.audit import significant_words
from workbench.compaction.facts import MESSAGE_CHARS
from workbench.compaction.source import both_ends, item_text, without_own_words
from workbench.context.items import Item
from workbench.judge.values import Probe, ProbeKind

BLANK = "____"


def blank_question(sentence: str) -> str:
    """For one value of a sentence; the sentence has the blank in its place."""
    return f'Fill in the blank, as it was said: "{sentence}"'


def rest_question(beginning: str) -> str:
    """For the second part of a sentence."""
    return f'How does this go on: "{beginning} …"'


def status_question(command: str) -> str:
    """For the exit status of a command."""
    return f"With which exit status did this command end the last time it ran: `{command}`"


def error_question(command: str) -> str:
    """For the error that a command printed."""
    return f"Which error did this command print the last time it ran: `{command}`"


def changed_question(folder: str) -> str:
    """For the files that were changed in a folder."""
    return f"Which files in the folder `{folder}` were changed? Name all of them."


OPEN_TASKS = "Which tasks of the plan are still open? Name all of them."
FAILED_COMMANDS = "Which commands failed the last time they ran? Name all of them."


SHORTEST, LONGEST = 30, 280
"""Characters of a sentence to ask about. A longer one was cut, and cannot be completed."""
LEAST_CUE, LEAST_REST = 3, 2
"""Significant words that a question gives, and that it asks for."""
FILES = 8
"""Files, tasks or commands that one question asks for."""
SAME_VALUE = 2
"""Questions about the same value."""
LAST_PART = 0.1
"""The share of the items, from the end, in which an announced step may still be the next one."""

_NEXT = re.compile(r"(?:Now|Next|Then|First|Let me|Let's|I'll|I will|I need to|We need to)\b")
_TURN = re.compile(
    r"\b(?:because|instead of|rather than|so that|since|in order to|weil|statt|parce que|porque)\b", re.I
)
"""Where a decision turns to its reason, or to what was ruled out."""
_NUMBER = re.compile(r"(?<![\w.,/:#-])\d{2,9}(?![\w/:-]|[.,]\d)")
"""A number of its own, and no part of a date, a time or an address."""
_CUT = "…"


class _SpokenSentence(NamedTuple):
    sentence: str
    item: Item
    at: float
    """Its place in the conversation, 0 to 1."""


def probes_by_rule(items: Sequence[Item]) -> list[Probe]:
    """All probes that rules find in these items, in the order of the conversation, each question once."""
    found: dict[str, Probe] = {}
    for probe in (*_from_sentences(items), *_from_actions(items), *_from_plan(items)):
        found.setdefault(probe.question, probe)
    return list(found.values())


# What was said


def _from_sentences(items: Sequence[Item]) -> Iterator[Probe]:
    values: dict[str, int] = {}
    for found in _sentences(items):
        kind = _kind_of(found)
        if kind is not None:
            yield from _rest_probe(found, kind)
            continue
        value = _value_in(found.sentence)
        if value and values.setdefault(value, 0) < SAME_VALUE:
            values[value] += 1
            blank = found.sentence.replace(value, BLANK)
            yield Probe("recall", blank_question(blank), (value,), "value", (found.item.id,))


def _sentences(items: Sequence[Item]) -> Iterator[_SpokenSentence]:
    seen: set[str] = set()
    for at, item in enumerate(items):
        if item.kind not in ("message", "summary") or item.role not in ("user", "assistant"):
            continue
        text = fact_phrases.without_fenced_code(both_ends(without_own_words(item_text(item)), MESSAGE_CHARS))
        for sentence in fact_phrases.sentences_in(text):
            if SHORTEST <= len(sentence) <= LONGEST and sentence not in seen and '"' not in sentence:
                seen.add(sentence)
                yield _SpokenSentence(sentence, item, at / len(items))


def _kind_of(found: _SpokenSentence) -> ProbeKind | None:
    """The kind of a sentence that is asked for as a whole; None if only a value in it may be."""
    text = found.sentence
    if any(fact_phrases.open_tasks(text)):
        return "continuation"
    if found.item.role == "assistant" and found.at >= 1 - LAST_PART and _NEXT.match(text):
        return "continuation"
    if any(fact_phrases.DECISIONS.phrases(text)):
        return "decision"
    if found.item.role == "user" and any(fact_phrases.CONSTRAINTS.phrases(text)):
        return "decision"
    return None


def _rest_probe(found: _SpokenSentence, kind: ProbeKind) -> Iterator[Probe]:
    parts = halves(found.sentence)
    if parts is not None:
        yield Probe(kind, rest_question(parts[0]), (parts[1],), "words", (found.item.id,))


def halves(sentence: str) -> tuple[str, str] | None:
    """A sentence in two parts: what a question gives, and what it asks for. None if it is too short for that."""
    turn = _TURN.search(sentence)
    middle = sentence.find(" ", len(sentence) // 2)
    for at in (turn.start() - 1 if turn else -1, middle):
        if at > 0 and not sentence.endswith(_CUT):
            given, asked = sentence[:at].strip(), sentence[at:].strip()
            if len(significant_words(given)) >= LEAST_CUE and len(significant_words(asked)) >= LEAST_REST:
                return given, asked
    return None


def _value_in(sentence: str) -> str:
    """The first value of a sentence that its other words do not give away; empty if there is none."""
    for value in _values(sentence):
        rest = sentence.replace(value, " ")
        name = value.rstrip("/").rpartition("/")[2]
        if name not in rest and len(significant_words(rest)) > LEAST_CUE:
            return value
    return ""


def _values(sentence: str) -> Iterator[str]:
    for number in fact_phrases.numbers_with_units(sentence):
        digits = number.split()[0].lstrip("$€£")
        if len(digits) > 1 and re.search(rf"(?<![\w.,]){re.escape(digits)}(?![\w]|[.,]\d)", sentence):
            yield digits
    for word in sentence.split():
        for _, text in fact_words.facts_in_word(word.strip("`*\"'()[]{},;:")):
            if text in sentence:
                yield text
    yield from _NUMBER.findall(sentence)


# What was done


def _from_actions(items: Sequence[Item]) -> Iterator[Probe]:
    done = actions_in(items)
    last = {command.text: command for command in done.commands if _CUT not in command.text and "`" not in command.text}
    printed = _errors_by_call(items)
    asked = _with_telling_status(list(last.values()))
    for command in last.values():
        if command in asked:
            yield Probe("artefact", status_question(command.text), (command.status,), "value", (command.event,))
        error = printed.get(command.event, "")
        if error and _CUT not in error:
            yield Probe("artefact", error_question(command.text), (error,), "words", (command.event,))
    folders: dict[str, list[tuple[str, str]]] = {}
    for file in done.files:
        if file.written and _CUT not in file.path and "`" not in file.path:
            folder, _, name = file.path.rpartition("/")
            folders.setdefault(folder or ".", []).append((name, file.event))
    for folder, files in folders.items():
        kept = files[-FILES:]
        names, events = tuple(name for name, _ in kept), tuple(event for _, event in kept)
        yield Probe("artefact", changed_question(folder), names, "value", events)
    yield from _failing(last.values())


def _with_telling_status(commands: Sequence[CommandRun]) -> list[CommandRun]:
    """The commands to ask the status of: those that failed, and no more that did not, because a guess would be 0."""
    failed = [command for command in commands if command.status not in ("", "0")]
    passed = [command for command in commands if command.status == "0"]
    return failed + passed[-max(SAME_VALUE, len(failed)) :]


def _errors_by_call(items: Iterable[Item]) -> dict[str, str]:
    """By the id of a call: the error in its result."""
    calls: dict[str, str] = {}
    found: dict[str, str] = {}
    for item in items:
        if item.kind == "tool_call":
            calls[item.call_id] = item.id
        elif item.kind == "tool_result" and item.call_id in calls:
            found[calls[item.call_id]] = error_line(item_text(item))
    return found


def _failing(commands: Iterable[CommandRun]) -> Iterator[Probe]:
    failed = [command for command in commands if command.status not in ("", "0")][-FILES:]
    if failed:
        texts, events = tuple(each.text for each in failed), tuple(each.event for each in failed)
        yield Probe("continuation", FAILED_COMMANDS, texts, "value", events)


def _from_plan(items: Sequence[Item]) -> Iterator[Probe]:
    """The open entries of the plan when it was last written."""
    for item in reversed(items):
        if item.kind == "tool_call":
            steps = fact_phrases.listed_todos(item.tool or "", item_text(item))
            if steps is not None:
                if steps:
                    yield Probe("continuation", OPEN_TASKS, tuple(steps[:FILES]), "words", (item.id,))
                return
