"""What the result of a search rests on: the held-out sessions one by one, an interval over them, and other seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import isfinite
from typing import Any

from msgspec import Struct, structs

from workbench.config.resampling import bootstrap_interval
from workbench.config.text import percent
from workbench.context.policy_files import short_policy_name
from workbench.lab.noise import UNLIKELY, chance_of
from workbench.lab.running.tasks import LabPolicy
from workbench.lab.tuning.scoring import Figures
from workbench.lab.tuning.tune_corpus import TuneResult

_ENOUGH = 6
"""Fewer sessions are all on the same side by chance in more than 5 % of cases: an interval over them is too narrow."""


class HeldOutDifference(Struct, frozen=True):
    """By how much the policy differs from the base on the held-out sessions, with the interval over sessions."""

    value: float
    low: float
    high: float

    @property
    def may_be_none(self) -> bool:
        """Whether the interval includes 0."""
        return self.low <= 0 <= self.high


class TuningEvidence:
    """How sure one can be of a result."""

    def __init__(self, found: TuneResult, base: str) -> None:
        self._found = found
        self._name = short_policy_name(base)
        self._is_base = found.chosen.policy == LabPolicy(base)
        self._scoring = found.scorings.held_out

    # Sessions

    def session_wins(self) -> tuple[int, int, int]:
        """In how many held-out sessions the policy is better than the base, worse, and neither. All count the same."""
        mine = self._scoring.session_scores(self._found.held_out) if self._found.held_out else []
        theirs = self._scoring.session_scores(self._scoring.base) if mine else []
        pairs = [(one.rank, other.rank) for one, other in zip(mine, theirs, strict=True)]
        better, worse = sum(one < other for one, other in pairs), sum(one > other for one, other in pairs)
        return better, worse, len(pairs) - better - worse

    def _session_words(self) -> str:
        better, worse, same = self.session_wins()
        chance = chance_of(better, worse)
        seen = (
            f"Session by session it is better than {self._name} in {better:,} of {better + worse + same:,}, "
            f"worse in {worse:,}"
        )
        is_chance = f"; chance alone does that in {percent(chance)} of cases" if better + worse else ""
        doubt = ", so it may be no better" if chance >= UNLIKELY else ""
        return f"{seen}{is_chance}{doubt}."

    # The interval

    @cached_property
    def objective_difference(self) -> HeldOutDifference | None:
        """The difference in the objective, as a share of the base's; None with fewer than two held-out sessions, and
        where the objective has no finite value or is 0 under the base."""
        whole = abs(self._scoring.value_of(self._weighed_base())) if len(self._found.held_out) > 1 else 0.0
        if not whole or not isfinite(whole):
            return None
        return self._difference(lambda rows: self._scoring.value_of(rows) / whole)

    @cached_property
    def missed_difference(self) -> HeldOutDifference | None:
        """The difference in requests with a miss, in 100 requests; None with fewer than two held-out sessions."""
        return self._difference(_missed_in_100) if len(self._found.held_out) > 1 else None

    def _weighed_base(self) -> Sequence[Figures]:
        return self._scoring.weigh_rows(self._scoring.base)

    def _difference(self, figure: Callable[[Sequence[Figures]], float]) -> HeldOutDifference | None:
        mine, theirs = self._scoring.weigh_rows(self._found.held_out), self._weighed_base()
        order = sorted(range(len(mine)), key=lambda at: self._found.parts.held_out[at].digest)

        def difference(drawn: Sequence[int]) -> float:
            at = [order[each] for each in drawn]
            return figure([mine[each] for each in at]) - figure([theirs[each] for each in at])

        value = difference(range(len(mine)))
        low, high = bootstrap_interval(len(mine), difference)
        return HeldOutDifference(value, low, high) if all(map(isfinite, (value, low, high))) else None

    def _interval_words(self) -> str:
        many = len(self._found.held_out)
        if many == 1:
            return "One session was held out: there is no interval over sessions."
        sentences = []
        if (spent := self.objective_difference) is not None:
            value, low, high = (_change(each) for each in (spent.value, spent.low, spent.high))
            same = "no difference, as the interval includes 0" if spent.may_be_none else ""
            sentences.append(_sentence(f"The objective is {value} than with {self._name}", f"{low} to {high}", same))
        if (missed := self.missed_difference) is not None:
            value, low, high = (f"{each:+.1f}" for each in (missed.value, missed.low, missed.high))
            same = "no difference" if missed.may_be_none else ""
            sentences.append(_sentence(f"Requests with a miss in 100: {value}", f"{low} to {high}", same))
        few = f"{many} sessions are few: such an interval is too narrow." if many < _ENOUGH else ""
        return " ".join(filter(None, (*sentences, few)))

    # Seeds

    def seeds_agreeing(self) -> tuple[int, int]:
        """How many searches ended at the chosen policy, and how many at one that sets the same knobs."""
        chosen, ends = self._found.chosen.policy, [each.best.policy for each in self._found.ends]
        return ends.count(chosen), [_knob_names(each) for each in ends].count(_knob_names(chosen))

    def _seed_words(self) -> str:
        many = len(self._found.ends)
        if many < 2:
            return "One seed was searched with; --seeds 3 shows whether others find the same."
        policy, knobs = self.seeds_agreeing()
        same = f"{policy} of {many} seeds end at this policy, {knobs} of {many} at one that sets the same knobs"
        doubt = "" if knobs == many else ": the sessions do not decide between them"
        return f"{same}{doubt}."

    # All of it

    def evidence_words(self) -> list[str]:
        """A sentence or two about the sessions, the interval and the seeds."""
        is_compared = bool(self._found.held_out) and not self._is_base
        held_out = [self._session_words(), self._interval_words()] if is_compared else []
        return list(filter(None, (*held_out, self._seed_words() if self._found.ends else "")))

    def evidence_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        policy, knobs = self.seeds_agreeing()
        return {
            "sessions": dict(zip(("better", "worse", "same"), self.session_wins(), strict=True)),
            "interval": {
                "sessions": len(self._found.held_out),
                "objective": _difference_json(self.objective_difference),
                "missed_in_100": _difference_json(self.missed_difference),
            },
            "seeds": {
                "searches": [
                    {"seed": each.seed, "policy": each.best.policy.ref, "set": list(each.best.policy.knobs)}
                    for each in self._found.ends
                ],
                "same_policy": policy,
                "same_knobs": knobs,
            },
        }


def _knob_names(policy: LabPolicy) -> tuple[str, frozenset[str]]:
    return policy.ref, frozenset(each.partition("=")[0] for each in policy.knobs)


def _missed_in_100(rows: Sequence[Figures]) -> float:
    requests = sum(row["requests"] for row in rows)
    return 100 * sum(row["missed_requests"] for row in rows) / requests if requests else 0.0


def _change(share: float) -> str:
    return f"{percent(abs(share))} {'smaller' if share < 0 else 'larger'}"


def _sentence(what: str, interval: str, same: str) -> str:
    return f"{what} (95 % interval over sessions: {interval}{f'; {same}' if same else ''})."


def _difference_json(found: HeldOutDifference | None) -> dict[str, Any] | None:
    return None if found is None else structs.asdict(found) | {"may_be_none": found.may_be_none}
