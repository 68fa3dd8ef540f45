"""Grades answers by rule: exact values, lists and words. What a rule cannot decide is left to a judging model."""

from __future__ import annotations

import re

from workbench.compaction.audit import ENOUGH, KeptFacts, plain_text, significant_words
from workbench.compaction.fact_words import facts_in_word
from workbench.compaction.values import Fact
from workbench.judge.values import RULE, Grade, Probe, answer_hash

RIGHT, PARTLY, WRONG = 1.0, 0.5, 0.0
WORDS = {"right": RIGHT, "partly": PARTLY, "wrong": WRONG}
"""The grades that a model or the user can give."""
_UNKNOWN = re.compile(
    r"\W*(?:unknown|none|n/a|no answer|i (?:do not|don't|cannot|can't) (?:know|tell|say|find)|(?:it is |this is )?not "
    r"(?:known|stated|said|given|mentioned|specified|in the (?:context|record|text)|available|clear))\b",
    re.IGNORECASE,
)


def grade_by_rule(probe: Probe, answer: str) -> Grade | None:
    """The grade of an answer; None if only a judge can say.

    A longer answer never gets less than a part of it: what counts is whether the expected text is in it.
    """
    hashed, shown = answer_hash(probe.id, answer), answer.strip()
    if not shown or shown == probe.question:
        return Grade(probe.id, hashed, WRONG, RULE, "there is no answer")
    held = [text for text in probe.expected if holds(shown, text, probe)]
    share = len(held) / len(probe.expected)
    if share == RIGHT:
        return Grade(probe.id, hashed, RIGHT, RULE, "it has what was expected")
    if not held and _UNKNOWN.match(shown):
        return Grade(probe.id, hashed, WRONG, RULE, "it says that it does not know")
    if probe.match == "value" or len(probe.expected) > 1:
        return Grade(probe.id, hashed, share, RULE, f"it has {len(held)} of {len(probe.expected)}")
    return None


def holds(answer: str, expected: str, probe: Probe) -> bool:
    """Whether an expected text is in an answer, without trivial differences."""
    wanted, given = plain_text(expected), plain_text(answer)
    if re.search(rf"(?<![\w.]){re.escape(wanted)}(?!\w)", given):
        return True
    if probe.match == "words":
        words = significant_words(expected)
        return bool(words) and len(words & significant_words(answer)) >= ENOUGH * len(words)
    kept = KeptFacts(answer)
    facts = (Fact(text, kind, "") for kind, text in facts_in_word(expected) if text == expected)
    return any(kept.has_kept(fact) for fact in facts)
