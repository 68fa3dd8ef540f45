"""The requests of a judgement: the words that are sent, and how answers to them are read. All data is inside frames."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workbench.compaction.audit import ENOUGH, significant_words
from workbench.compaction.prompts import shipped_prompt
from workbench.judge.grading import WORDS
from workbench.judge.values import Probe, text_hash
from workbench.models.catalogue import is_local

ANSWER, SMALL, GRADE, PROBES = "judge_answer", "judge_small", "judge_grade", "judge_probes"
"""The prompts, by the names of their files. The second one is for the embedded model."""
LONGEST_ANSWER = 2_000
"""Characters of an answer that are shown to the judge."""
LONGEST_PROBE = 400
"""Characters of a question or an answer that a model may write."""

_TAG = re.compile(r"<(?=/?(?:context|questions|answers|record)\b)", re.IGNORECASE)
_NUMBERED = re.compile(r"\s*(?:[-*]\s*)?\**(\d{1,4})\**\s*[:.)]\**\s*(.*)")
_GRADE = re.compile(r"\W*(right|partly|wrong)\b\W*(.*)", re.IGNORECASE | re.DOTALL)


class JudgePrompt(NamedTuple):
    """A prompt of the program's."""

    name: str
    text: str

    @property
    def hash(self) -> str:
        """Changes with its text."""
        return text_hash(self.text)


def judge_prompt(name: str) -> JudgePrompt:
    return JudgePrompt(name, shipped_prompt(name))


def answer_prompt(model: str) -> JudgePrompt:
    """The prompt with which a model answers. The embedded one is too small for frames and numbered lines."""
    return judge_prompt(SMALL if is_local(model) else ANSWER)


def single_question(context: str, question: str) -> tuple[str, str]:
    """One question in a form that the embedded model can answer: the whole reply is the answer."""
    return f"Text:\n{context}", framed_line(question)


def in_frame(text: str) -> str:
    """A text that cannot open or close a frame."""
    return _TAG.sub("‹", text)


def framed_line(text: str, most: int = LONGEST_ANSWER) -> str:
    """A text in one line of bounded length."""
    return in_frame(" ".join(text.split()))[:most]


def framed_context(context: str) -> str:
    """The first part of a message with questions, so that a provider's cache has it for the next ones."""
    return f"<context>\n{in_frame(context)}\n</context>"


def framed_questions(questions: Sequence[str]) -> str:
    """The second part: questions about the context."""
    numbered = "\n".join(f"{number}. {framed_line(question)}" for number, question in enumerate(questions, 1))
    return f"<questions>\n{numbered}\n</questions>"


def numbered_answers(text: str, count: int) -> dict[int, str]:
    """By number, from 1: the answers in a reply. A line without a number belongs to the answer before it."""
    found: dict[int, str] = {}
    current = 0
    for line in text.splitlines():
        numbered = _NUMBERED.match(line)
        number = int(numbered[1]) if numbered else 0
        if numbered and 1 <= number <= count and number not in found:
            current = number
            found[current] = numbered[2].strip()
        elif current and line.strip():
            found[current] = f"{found[current]} {line.strip()}".strip()
    return {number: answer[:LONGEST_ANSWER] for number, answer in found.items() if answer}


class GradedItem(NamedTuple):
    """What the judge sees of an answer: neither the policy nor the context."""

    question: str
    expected: str
    answer: str


def grading_message(items: Sequence[GradedItem]) -> str:
    """Answers to grade."""
    lines = []
    for number, item in enumerate(items, 1):
        lines.append(f"{number}. question: {framed_line(item.question)}")
        lines.append(f"   expected: {framed_line(item.expected)}")
        lines.append(f"   answer: {framed_line(item.answer)}")
    return "<answers>\n" + "\n".join(lines) + "\n</answers>"


def numbered_grades(text: str, count: int) -> dict[int, tuple[float, str]]:
    """By number: the grade and its reason. What is neither right, partly nor wrong is no grade."""
    found = {}
    for number, words in numbered_answers(text, count).items():
        grade = _GRADE.match(words)
        if grade:
            found[number] = WORDS[grade[1].lower()], framed_line(grade[2], LONGEST_PROBE)
    return found


def probes_message(record: str, count: int) -> str:
    """A record to write questions about."""
    return f"<record>\n{in_frame(record)}\n</record>\n\nWrite {count} questions, half of them of each kind."


def written_probes(text: str, texts: Mapping[str, str], model: str) -> list[Probe]:
    """The probes in a model's reply. `texts`: what the record holds, by event.

    A probe is left out if it names an event that the record does not have, or if the answer is not in those events.
    """
    found = []
    for line in text.splitlines():
        value = _object(line)
        kind, question, answer = (value.get(name) for name in ("kind", "question", "answer"))
        events = value.get("events")
        if kind not in ("decision", "continuation") or not isinstance(events, list) or not events:
            continue
        if not (isinstance(question, str) and isinstance(answer, str)):
            continue
        question, answer = framed_line(question, LONGEST_PROBE), framed_line(answer, LONGEST_PROBE)
        named = tuple(event for event in events if isinstance(event, str) and event in texts)
        if len(named) == len(events) and _is_in_events(answer, [texts[event] for event in named]) and question:
            found.append(Probe(kind, question, (answer,), "words", named, model))
    return found


def _object(line: str) -> dict[str, Any]:
    try:
        value = json.loads(line[line.index("{") : line.rindex("}") + 1])
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_in_events(answer: str, texts: Sequence[str]) -> bool:
    wanted = significant_words(answer)
    held = significant_words("\n".join(texts))
    return bool(wanted) and len(wanted & held) >= ENOUGH * len(wanted)
