"""Answers requests of `workbench judge` by rule: it grades answers, and for questions about a context it quotes
what the context says about the words of the question.

Each line is judged by itself, and all that fit are quoted. So a context with more lines never gets a shorter answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from typing import NamedTuple

from workbench.compaction import fact_phrases, fact_words
from workbench.compaction.actions import call_arguments, command_in, error_line, exit_status, paths_in, writes_files
from workbench.compaction.audit import ENOUGH, plain_text, significant_words
from workbench.config.patterns import late_pattern
from workbench.wire.checked_requests import CheckedRequest

UNKNOWN = "unknown"
LONGEST_LINE = 4_000
"""Characters of a line that are read; a longer one is data."""
COMMAND = 160
"""Characters of a command in a line."""

_ENTRY = late_pattern(
    r"\[(?<![^\n]\[)(?P<id>\S{1,200}) (?P<who>user|assistant|system|developer|summary|notice|call|result)\b"
    r"(?P<more>[^\]\n]{0,200})\]$",
    re.MULTILINE,
)
"""The beginning of an entry: its id and its author. A pattern that begins with a literal is fast."""
_OF = late_pattern(r" of (?P<call>\S+)$")
_QUOTED = late_pattern(
    r'(?:Fill in the blank, as it was said|How does this go on): "(?P<cue>.*?)(?: …)?"\s*$', re.DOTALL
)
_STATUS = late_pattern(r"With which exit status did this command end the last time it ran: `(?P<command>.*)`")
_PRINTED = late_pattern(r"Which error did this command print the last time it ran: `(?P<command>.*)`")
_CHANGED = late_pattern(r"Which files in the folder `(?P<folder>.*)` were changed\?")
_OPEN = late_pattern(r"Which tasks of the plan are still open\?")
_FAILED = late_pattern(r"Which commands failed the last time they ran\?")

_CHANGE = late_pattern(
    r"\b(?:written|wrote|chang|edit|creat|modif|updat|add|fix|patch|replac|remov|delet|implement|renam|refactor)",
    re.IGNORECASE,
)
_LEFT = late_pattern(r"\b(?:open|next|to-?dos?|remaining|pending|unfinished|still)\b", re.IGNORECASE)
_BAD = late_pattern(r"\b(?:fail\w*|errors?|exit(?:ed)?(?: with)? (?:code|status):? -?[1-9]\d*)\b", re.IGNORECASE)
_FENCE = late_pattern(r"```(?:bash|sh|shell|console|mswea_bash_command)\n([^`]{1,4000})")


_ASKING = significant_words("what which when where does have that with this from were into many should would could")
"""Words of a question that its answer need not have."""


class _Line(NamedTuple):
    text: str
    heading: str
    """The heading above it."""


class _Run(NamedTuple):
    command: str
    result: str


class ProbeReader:
    """Reads one context for some questions."""

    def __init__(self, context: str) -> None:
        self._lines: list[_Line] = []
        self._runs: dict[str, _Run] = {}
        """By command: its last run. A later one replaces it."""
        self._changed: list[str] = []
        self._tasks: list[str] = []
        """The open tasks of the plan when a call last wrote it."""
        self._read_entries(context)

    def answer_all(self, questions: Sequence[str]) -> list[str]:
        """The answer to each question; `unknown` if the context says nothing about it."""
        cues = {at: cue for at, question in enumerate(questions) if (cue := _cue(question))}
        quoted = self._quotations(cues)
        found = [quoted[at] if at in cues else self._about(question) for at, question in enumerate(questions)]
        return [" | ".join(dict.fromkeys(lines)) or UNKNOWN for lines in found]

    def _read_entries(self, context: str) -> None:
        calls: dict[str, str] = {}
        asked = ""
        """The command of an agent without tools, which the next message answers."""
        for entry, text in _entries(context):
            if entry is not None and entry["who"] == "call":
                self._read_call(entry, text, calls)
                continue
            if entry is not None and entry["who"] == "result":
                of = _OF.search(entry["more"])
                command = calls.get(of["call"], "") if of else ""
                if command:
                    self._runs[command] = _Run(command, text)
            elif entry is not None and entry["who"] in ("user", "assistant"):
                block = _FENCE.search(text) if entry["who"] == "assistant" else None
                if asked and exit_status(text):
                    self._runs[asked] = _Run(asked, text)
                asked = fact_phrases.one_short_line(block[1], COMMAND) if block else ""
            self._lines += _lines_of(text)

    def _read_call(self, entry: re.Match[str], text: str, calls: dict[str, str]) -> None:
        tool, arguments = entry["more"].strip(), call_arguments(text)
        command = command_in(arguments)
        if command:
            calls[entry["id"]] = command
        if writes_files(tool):
            self._changed += paths_in(arguments)
        steps = fact_phrases.listed_todos(tool, text)
        self._tasks = self._tasks if steps is None else steps

    def _quotations(self, cues: dict[int, frozenset[str]]) -> dict[int, list[str]]:
        """By question: the sentences that have most of its words."""
        by_word: dict[str, list[int]] = {}
        for at, cue in cues.items():
            for word in _needed_words(cue):
                by_word.setdefault(word, []).append(at)
        found: dict[int, list[str]] = {at: [] for at in cues}
        for line in self._lines if by_word else ():
            for sentence in fact_phrases.sentences_in(line.text):
                words = significant_words(sentence)
                for at in {at for word in words & by_word.keys() for at in by_word[word]}:
                    if len(words & cues[at]) >= ENOUGH * len(cues[at]):
                        found[at].append(sentence)
        return found

    def _about(self, question: str) -> list[str]:
        if asked := _STATUS.match(question):
            return self._about_run(asked["command"], exit_status)
        if asked := _PRINTED.match(question):
            return self._about_run(asked["command"], lambda text: error_line(text) or _short(text))
        if asked := _CHANGED.match(question):
            return self._files_in(asked["folder"])
        if _OPEN.match(question):
            return [*self._tasks, *(_short(line.text) for line in self._lines if _is_open_task(line))]
        failed = [run.command for run in self._runs.values() if exit_status(run.result) not in ("", "0")]
        return [*failed, *(_short(line.text) for line in self._lines if _BAD.search(line.text))]

    def _about_run(self, command: str, part: Callable[[str], str]) -> list[str]:
        """A part of the command's last result, and of each line that quotes the command."""
        run = self._runs.get(command)
        texts = [run.result] if run is not None else []
        texts += [_short(line.text) for line in self._lines if command in line.text]
        return [found for found in map(part, texts) if found]

    def _files_in(self, folder: str) -> list[str]:
        named = [*self._changed]
        for line in self._lines:
            if _CHANGE.search(line.text) or _CHANGE.search(line.heading):
                words = fact_words.split_words(line.text)
                named += sorted(
                    text for word in words for kind, text in fact_words.facts_in_word(word) if kind == "path"
                )
        return [path for path in named if _is_in(path, folder)]


def _is_open_task(line: _Line) -> bool:
    return bool(_LEFT.search(line.heading)) or any(fact_phrases.open_tasks(line.text))


def _is_in(path: str, folder: str) -> bool:
    """Whether a path, perhaps shortened, may be that of a file in the folder."""
    parent = path.rpartition("/")[0]
    return not parent or (parent or ".") == folder or folder.endswith(f"/{parent}")


def _cue(question: str) -> frozenset[str]:
    """The words that an answer has to be near; none for a question about files, commands or tasks."""
    quoted = _QUOTED.match(question)
    if quoted:
        return significant_words(quoted["cue"].replace("____", " "))
    known = (_STATUS, _PRINTED, _CHANGED, _OPEN, _FAILED)
    return frozenset() if any(form.match(question) for form in known) else significant_words(question) - _ASKING


def _needed_words(cue: frozenset[str]) -> list[str]:
    """So many of the words that a sentence with most of all has at least one of them: the longest, which are rare."""
    least = ceil(ENOUGH * len(cue))
    return sorted(cue, key=lambda word: (-len(word), word))[: len(cue) - least + 1]


def _entries(context: str) -> Iterator[tuple[re.Match[str] | None, str]]:
    before, at = None, 0
    for entry in _ENTRY.finditer(context):
        yield before, context[at : entry.start()]
        before, at = entry, entry.end()
    yield before, context[at:]


def _lines_of(text: str) -> Iterator[_Line]:
    heading = ""
    for line in text.split("\n"):
        line = line[:LONGEST_LINE].strip()
        if line.startswith("#"):
            heading = line
        elif line:
            yield _Line(line, heading)


def _short(line: str) -> str:
    return fact_phrases.one_short_line(line)


_CONTEXT = late_pattern(
    r"<context>\n(?P<context>.*)\n</context>\s+<questions>\n(?P<questions>.*)\n</questions>", re.DOTALL
)
_ANSWERS = late_pattern(r"<answers>\n(?P<answers>.*)\n</answers>", re.DOTALL)
_NUMBERED = late_pattern(r"^(?P<number>\d{1,4})\. (?P<text>.*)$", re.MULTILINE)
_ITEM = late_pattern(
    r"^(?P<number>\d{1,4})\. question: (?P<question>.*)\n {3}expected: (?P<expected>.*)\n {3}answer: (?P<answer>.*)$",
    re.MULTILINE,
)


def answer_to_probes(request: CheckedRequest) -> str | None:
    """The answers, or the grades, one on each line; None if the request asks for neither."""
    text = request.messages[-1].text if request.messages and request.messages[-1].role == "user" else ""
    if text.rstrip().endswith("</questions>") and (asked := _CONTEXT.search(text)):
        numbered = list(_NUMBERED.finditer(asked["questions"]))
        found = ProbeReader(asked["context"]).answer_all([each["text"] for each in numbered])
        return "\n".join(f"{each['number']}: {answer}" for each, answer in zip(numbered, found, strict=True))
    if text.rstrip().endswith("</answers>") and (given := _ANSWERS.search(text)):
        return "\n".join(_graded(given["answers"]))
    return None


def _graded(answers: str) -> Iterator[str]:
    for item in _ITEM.finditer(answers):
        expected, given = item["expected"], item["answer"]
        words = significant_words(expected)
        share = len(words & significant_words(given)) / len(words) if words else float(_names(given, expected))
        word = "right" if share >= ENOUGH else "wrong"
        yield f"{item['number']}: {word}, it has {share:.0%} of the expected words"


def _names(given: str, expected: str) -> bool:
    """Whether short words are in a text. Inside other words they do not count, except in scripts without blanks."""
    alone = rf"(?<![\w.]){re.escape(plain_text(expected))}(?!\w)"
    return re.search(alone, plain_text(given), re.ASCII) is not None
