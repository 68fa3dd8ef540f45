"""Whether an answer is the same next action as another: the same calls, or much the same words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from math import inf

from msgspec import Struct

from workbench.sources.replay_answers import ReplayAnswer

ALIKE = 0.9
"""The share of the same words from which on two texts are the same action."""
LEAST_DROP = 2.0
"""The fall of the log-probability from which on a scored answer counts as changed: it is seven times less likely."""
_SPREAD = 1.1
"""Texts may differ by so much more than the unchanged request's answers differ from each other."""
_FARTHEST = 0.9
"""Texts that differ by more are never the same."""


class SameAction(Struct, frozen=True):
    """Decides whether answers are the same as the one that is explained."""

    reference: ReplayAnswer
    """The recorded answer if the model still gives it, else the most typical answer to the unchanged request."""
    is_recorded: bool
    threshold: float
    """The distance up to which an answer is the same."""

    def is_same(self, answer: ReplayAnswer) -> bool:
        """Whether an answer is the same next action."""
        return action_distance(self.reference, answer) <= self.threshold


class SameLikelihood(Struct, frozen=True):
    """Decides whether the recorded answer is still about as likely."""

    reference: ReplayAnswer
    """The recorded answer, with its mean log-probability after the unchanged request."""
    is_recorded: bool
    threshold: float
    """By how much the log-probability may fall."""

    def is_same(self, answer: ReplayAnswer) -> bool:
        """Whether the answer did not become much less likely."""
        return likelihood_drop(self.reference, answer) <= self.threshold


def likelihood_drop(reference: ReplayAnswer, answer: ReplayAnswer) -> float:
    """By how much the log-probability fell; infinite if the answer failed."""
    if answer.problem or answer.logprob is None or reference.logprob is None:
        return inf
    return reference.logprob - answer.logprob


def _same_likelihood(scored: Sequence[ReplayAnswer]) -> SameLikelihood:
    values = [each.logprob or 0.0 for each in scored]
    mean, spread = sum(values) / len(values), max(values) - min(values)
    return SameLikelihood(scored[0]._replace(logprob=mean), True, max(LEAST_DROP, 3 * spread))


def same_action(
    recorded: ReplayAnswer | None, unchanged: Sequence[ReplayAnswer], alike: float = ALIKE
) -> SameAction | SameLikelihood | None:
    """How to compare, learned from the answers to the unchanged request; None without an answer to compare with."""
    answers = [answer for answer in unchanged if not answer.problem]
    if not answers:
        return None
    if answers[0].logprob is not None:
        return _same_likelihood(answers)
    most = 1 - alike
    near = [recorded] if recorded and any(action_distance(recorded, each) <= most for each in answers) else []
    reference = near[0] if near else _typical(answers)
    apart = [action_distance(one, other) for at, one in enumerate(answers) for other in answers[at + 1 :]]
    noise = max((each for each in apart if each <= _FARTHEST), default=0.0)
    least = 0.0 if reference.calls else most
    return SameAction(reference, bool(near), min(max(least, noise * _SPREAD), _FARTHEST))


def _typical(answers: Sequence[ReplayAnswer]) -> ReplayAnswer:
    return min(answers, key=lambda one: sum(action_distance(one, other) for other in answers))


def action_distance(one: ReplayAnswer, other: ReplayAnswer) -> float:
    """From 0, the same action, to 1, another one.

    Calls of the same tools differ by the words of their arguments, texts by their words; what is said next to calls
    does not count. An answer with calls and one without are different, and so is one that failed.
    """
    if one.problem or other.problem or bool(one.calls) != bool(other.calls):
        return 1.0
    if not one.calls:
        return _word_distance(one.text, other.text)
    first, second = sorted(map(plain_call, one.calls)), sorted(map(plain_call, other.calls))
    if first == second:
        return 0.0
    if [tool for tool, _ in first] != [tool for tool, _ in second]:
        return 1.0
    return max(_word_distance(before[1], after[1]) for before, after in zip(first, second, strict=True))


def plain_call(call: tuple[str, str]) -> tuple[str, str]:
    """A call whose arguments are in one form, whatever blanks and order the model wrote."""
    tool, arguments = call
    try:
        return tool, json.dumps(json.loads(arguments or "{}"), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return tool, arguments


def _word_distance(one: str, other: str) -> float:
    """The share of words that only one of two texts has. Their order does not count: a model that repeats itself for
    ten thousand words is compared as fast as any other."""
    first, second = Counter(one.split()), Counter(other.split())
    if first == second:
        return 0.0
    return 1 - 2 * (first & second).total() / (first.total() + second.total())


def commonest_answer(answers: Sequence[ReplayAnswer]) -> tuple[ReplayAnswer, int] | None:
    """The answer that came most often, and how often; None for no answers."""
    counts = Counter(map(_action, answers))
    if not counts:
        return None
    action, times = counts.most_common(1)[0]
    return next(each for each in answers if _action(each) == action), times


def _action(answer: ReplayAnswer) -> object:
    return answer.problem or tuple(map(plain_call, answer.calls)) or answer.text
