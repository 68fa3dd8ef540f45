"""Requests of `workbench judge`: questions about a context, and answers to grade. They are answered by rule."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.compaction.audit import ENOUGH, plain_text, significant_words
from workbench.rehearsal.probe_reading import ProbeReader
from workbench.wire.checked_requests import CheckedRequest

_CONTEXT = re.compile(
    r"<context>\n(?P<context>.*)\n</context>\s+<questions>\n(?P<questions>.*)\n</questions>", re.DOTALL
)
_ANSWERS = re.compile(r"<answers>\n(?P<answers>.*)\n</answers>", re.DOTALL)
_NUMBERED = re.compile(r"^(?P<number>\d{1,4})\. (?P<text>.*)$", re.MULTILINE)
_ITEM = re.compile(
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
        share = len(words & significant_words(given)) / len(words) if words else float(plain_text(expected) in given)
        word = "right" if share >= ENOUGH else "wrong"
        yield f"{item['number']}: {word}, it has {share:.0%} of the expected words"
