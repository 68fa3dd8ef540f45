"""Tokens of requests that are not in the log: a system prompt, tools and thinking that are billed and in no file.

They are the same under every policy: the reported tokens of a request minus our count of what was sent. So a policy
that changes nothing sends what was recorded, even if they grew during the session or the model changed. Only where the
provider counts far fewer tokens than we do (`LEAST`), the request has the size that we count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.context.setup import Setup
from workbench.log.events import Event
from workbench.sources.recorded import RecordedSession
from workbench.sources.request_plans import RequestPlans
from workbench.sources.requests import RequestMark
from workbench.wire.requests import RequestBodies

LEAST = 0.75
"""If the provider counts less than this share of our count, the agent left something out that no file mentions;
then our count is used unchanged."""


class Unattributed(NamedTuple):
    """How our count of one request becomes the provider's."""

    tokens: int = 0
    """Tokens that are not in the log."""
    share: float = 1.0
    """The share of our count that the provider counts, where that is less than 1."""

    def request_size(self, counted: int) -> int:
        """The size of a request that we count as `counted` tokens."""
        return self.tokens + round(counted * self.share)


def unattributed_tokens(
    recorded: RecordedSession, marks: Sequence[RequestMark], setup: Setup, events: Sequence[Event]
) -> list[Unattributed]:
    """For each request; one without a report gets the values of the one before. `setup`: counts the tokens."""
    # Thinking is not in the replayed requests, because agents send some of it again: what it takes stays as reported.
    plans = RequestPlans(events, RequestBodies(events), lambda _: setup, sizes=True, thinking=False)
    found, known = [], Unattributed(recorded.calibration(setup.model).fixed)
    for mark in marks:
        if mark.reported is not None:
            known = _from_report(plans.plan(mark).totals.tokens, mark.reported)
        found.append(known)
    return found


def _from_report(counted: int, reported: int) -> Unattributed:
    if reported >= counted:
        return Unattributed(reported - counted)
    share = reported / counted
    return Unattributed(0, share if share >= LEAST else 1.0)
