"""What is asked for, and what was found: the values that the command line and the screen show."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

from workbench.explain.actions import ALIKE
from workbench.explain.intervals import ChangedCount, MeasuredEffect
from workbench.explain.request_units import Grain, RequestUnit
from workbench.sources.replay_answers import ReplayAnswer

Method = Literal["halving", "subsets"]
Verdict = Literal["needed", "one of several", "no effect", "no effect alone", "unclear", "not tested"]
"""
needed: without it alone, the answer is another one
one of several: without it and the others of its set the answer is another one; one of them is enough
no effect: the answer is the same without all such units together
no effect alone: the search ended before it was tested together with the others
unclear: the search found it, and more tries did not confirm it
"""


class ExplainWish(Struct, frozen=True):
    """What the user wants to know, and at what price."""

    number: int | None = None
    """The request's number in `workbench requests`; None: the last one that the log has in full."""
    grain: Grain = "items"
    method: Method = "halving"
    tries: int = 3
    """How often the unchanged request is sent, and each finding confirmed."""
    budget: float = 1.0
    """The most that it may cost, in dollars."""
    most: int = 200
    """The most requests that are sent."""
    alike: float = ALIKE
    to: str = ""
    send_key: bool = False
    fresh: bool = False
    """Whether answers that are kept from before are asked for again."""


class LikelihoodDrop(Struct, frozen=True):
    """By how much the log-probability of the recorded answer falls without a unit."""

    value: float
    low: float
    high: float
    """The interval: how far repeated measurements were apart."""
    tries: int


class UnitEffect(Struct, frozen=True):
    """How much a unit mattered to the answer."""

    unit: RequestUnit
    verdict: Verdict
    effect: MeasuredEffect | None = None
    """None if it was not measured."""
    partners: tuple[int, ...] = ()
    """The other units of its set."""
    instead: str = ""
    """What the model did without it, in one line of foreign text; empty if it did the same."""
    times: int = 0
    """How many of the tries without it ended so."""
    asked_again: bool = False
    """Whether the model made the same call again that was left out."""
    drop: LikelihoodDrop | None = None
    """How much less likely the recorded answer became; None if answers were asked for instead."""


class Explanation(Struct, frozen=True):
    """What the answer to a request depended on."""

    effects: tuple[UnitEffect, ...]
    """One per unit, in the order of the request."""
    unchanged: ChangedCount
    """The answers to the unchanged request that were different: the noise."""
    reference: ReplayAnswer | None
    """The answer that is explained; None if no answer came."""
    is_recorded: bool
    """Whether that is the recorded answer."""
    complete: bool
    ended: str
    """Why it ended early; empty if it did not."""
    sent: int
    """The requests that were sent, also those that failed."""
    failed: int
    kept: int
    """The answers that were kept from before."""
    cost: float | None
    """None if one of the answers has no price."""
    seconds: float
    """From the first request to the end."""
    waited: float
    """Of these, the seconds spent on requests."""

    @property
    def by_importance(self) -> list[UnitEffect]:
        """Those that matter. First what turns the action alone, and of these the results of tools, which can be
        injected."""
        ranks = {"needed": 0, "one of several": 1, "unclear": 2}
        found = [each for each in self.effects if each.verdict in ranks]
        return sorted(found, key=lambda each: (ranks[each.verdict], not each.unit.is_foreign, each.unit.number))

    @property
    def dead_weight(self) -> list[UnitEffect]:
        """Those without effect, the largest first."""
        found = [each for each in self.effects if each.verdict == "no effect"]
        return sorted(found, key=lambda each: (-each.unit.tokens, each.unit.number))

    @property
    def dead_tokens(self) -> int:
        """The tokens without effect."""
        return sum(each.unit.tokens for each in self.dead_weight)


class UnitFinding(NamedTuple):
    """What was found about a unit, in words that may hold foreign text."""

    paths: tuple[str, ...]
    verdict: Verdict
    interval: str
    """Empty if the effect was not measured."""
    figure: str
    """The effect with its interval and the number of answers; empty if it was not measured."""
    sentence: str


class RequestFindings(NamedTuple):
    """What was found about a request, to be shown again later."""

    model: str
    """Whose answers these were."""
    units: tuple[UnitFinding, ...]
