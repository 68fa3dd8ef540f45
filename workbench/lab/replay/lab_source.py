"""Replays a session under every policy.

What the session's own agent removed or summarised counts only under `recorded`. Any other policy gets the whole past to
decide about, and its compactions are made where it would have made them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import NamedTuple

from workbench.config.garbage import collector_paused
from workbench.context.plan import ContextPlan
from workbench.context.policy_names import RECORDED
from workbench.lab.replay.policy_replay import FactUse, PolicyReplay, RecordedFindings
from workbench.lab.replay.recorded_cache import RecordedCache
from workbench.lab.replay.replayed_session import ReplayedSession
from workbench.lab.values import PolicyRun
from workbench.lab.waste.costs import WasteMeter, WasteReport


class _AsRecorded(NamedTuple):
    run: PolicyRun
    waste: WasteReport
    findings: RecordedFindings


class LabSource(ReplayedSession):
    """A session that can be replayed."""

    @cached_property
    def _planned(self) -> dict[tuple[str, tuple[str, ...]], PolicyReplay]:
        """The replay of the request that was planned last, which later requests continue."""
        return {}

    def run_policy(self, policy: str, knobs: Sequence[str] = ()) -> PolicyRun:
        """Replay all requests under one policy; `recorded` is what was sent."""
        with collector_paused():
            return self._as_recorded.run if policy == RECORDED else self._replay(policy, knobs).replay_session()

    def run_masked(self, number: int, masked: Collection[int]) -> PolicyRun:
        """Replay what was sent, with some events masked from a request (numbered from 1) on."""
        with collector_paused():
            setup, findings = self.setup(RECORDED), self._as_recorded.findings
            return PolicyReplay(self, setup, self.source.events, findings, masked=(number, masked)).replay_session()

    def plan_request(self, number: int, policy: str, knobs: Sequence[str] = ()) -> ContextPlan:
        """Plan one request (numbered from 1) under a policy, after all that the policy did before it."""
        planned = self._planned  # `forget_plan` puts another in its place
        asked = (policy, tuple(knobs))
        replay = planned.get(asked)
        if replay is None or replay.number > number:
            replay = self._replay(policy, knobs)
        planned.clear()
        planned[asked] = replay
        return replay.plan(number)

    def forget_plan(self) -> None:
        """Begin again with the next planned request. Call it when a policy's file has changed."""
        self._planned = {}

    def _replay(self, policy: str, knobs: Sequence[str]) -> PolicyReplay:
        if policy == RECORDED:
            return PolicyReplay(self, self.setup(policy), self.source.events)
        return PolicyReplay(self, self.setup(policy, knobs), self.without_decisions, self._as_recorded.findings)

    @property
    def waste(self) -> WasteReport:
        """What its requests carried without need."""
        return self._as_recorded.waste

    @property
    def known_otherwise(self) -> frozenset[FactUse]:
        """Facts that its model used without having them in the request."""
        return self._as_recorded.findings.known_otherwise

    @property
    def recorded_cache(self) -> RecordedCache:
        """What its reports show of the provider's cache."""
        return self._as_recorded.findings.cache

    @cached_property
    def _as_recorded(self) -> _AsRecorded:
        setup, meter = self.setup(RECORDED), WasteMeter(self.source.events)
        replay = PolicyReplay(self, setup, self.source.events, meter=meter)
        made = replay.replay_session()
        waste = meter.waste_report(setup.info, lambda text: setup.counter.count(text).tokens)
        return _AsRecorded(made, waste, replay.recorded_findings())
