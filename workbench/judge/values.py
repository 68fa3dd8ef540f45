"""The values of a judgement: probes, answers, grades, and what they add up to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Literal, NamedTuple

from workbench.judge.context_text import ContextBlock, joined_blocks

ProbeKind = Literal["recall", "artefact", "decision", "continuation"]
"""An exact fact; files and commands and their state; what was chosen and why; what comes next and what still fails."""
KINDS: tuple[ProbeKind, ...] = ("recall", "artefact", "decision", "continuation")
Match = Literal["value", "words"]
"""value: the expected text itself has to be in the answer; words: most of its significant words."""
RULE = "rule"
"""Who made a probe or a grade without a model."""
HAND = "hand"
"""Who made a grade that the user set."""


class Probe(NamedTuple):
    """A question about something that a compaction replaces."""

    kind: ProbeKind
    question: str
    expected: tuple[str, ...]
    """The answer; if several, each counts for its share."""
    match: Match
    events: tuple[str, ...]
    """The ids of the events that hold the answer."""
    made_by: str = RULE

    @property
    def id(self) -> str:
        """The same for the same question and answer."""
        return text_hash("\n".join((self.kind, self.question, *self.expected)), 8)


class ProbeAnswer(NamedTuple):
    """What a model answered to a probe."""

    probe: str
    context: str
    """The hash of the text that it answered from."""
    model: str
    attempt: int
    text: str
    prompt: str = ""
    """The hash of the prompt that it was asked with."""

    @property
    def hash(self) -> str:
        """Grades are for a probe and a text, so that the same answer is graded once."""
        return answer_hash(self.probe, self.text)


class Grade(NamedTuple):
    """How good an answer is."""

    probe: str
    answer: str
    """The hash of the answer."""
    score: float
    """0 to 1."""
    by: str
    """`rule`, `hand`, or the judging model."""
    why: str = ""
    prompt: str = ""
    """The hash of the rubric, if a model graded."""


class Score(NamedTuple):
    """The mean grade of some probes. There is no score without the number of probes."""

    probes: int
    mean: float | None
    """None if nothing was graded."""
    low: float | None = None
    high: float | None = None
    """The bootstrap interval; None with fewer probes than it takes."""


@dataclass(frozen=True)
class JudgedContext:
    """What a model would have after a compaction, or under a policy."""

    name: str
    """The policy, or the compaction."""
    blocks: tuple[ContextBlock, ...]
    tokens: int
    made_by: str = ""
    """Who wrote its summary; empty if it has none."""
    summary: str = ""
    note: str = ""
    """Why it is not what was asked for, in words: nothing to compact, or no model to write the summary."""

    @cached_property
    def text(self) -> str:
        """All of it."""
        return joined_blocks(self.blocks)

    @cached_property
    def hash(self) -> str:
        """Answers belong to the text, whatever the policy is called."""
        return text_hash(self.text)


def text_hash(text: str, length: int = 16) -> str:
    """A short name for a text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]


def answer_hash(probe: str, text: str) -> str:
    """A short name for an answer to a probe."""
    return text_hash(f"{probe}\n{text}")
