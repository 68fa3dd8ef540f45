"""What requests have beside the log: a system prompt, tools and thinking that are billed and in no file.

It is the same under every policy: what the report of each request has beyond our count of what was sent. So a policy
that changes nothing sends what was recorded, also where it grew on the way, or the session went to another model.
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
"""Where a provider counts less than this share of what we do, the agent left something out that no file tells of."""


class Unattributed(NamedTuple):
    """How our count of one request becomes the provider's."""

    tokens: int = 0
    """Beside the log."""
    share: float = 1.0
    """So much of our count the provider counts, where that is less."""

    def size(self, counted: int) -> int:
        """Of the request."""
        return self.tokens + round(counted * self.share)


def unattributed(
    recorded: RecordedSession, marks: Sequence[RequestMark], setup: Setup, events: Sequence[Event]
) -> list[Unattributed]:
    """Of each request; `setup` counts as for all policies. Of one without a report it is what the one before had."""
    plans = RequestPlans(events, RequestBodies(events), lambda _: setup, sizes=True)
    found, known = [], Unattributed(recorded.calibration(setup.model).fixed)
    for mark in marks:
        if mark.reported is not None:
            known = _told(plans.plan(mark).totals.tokens, mark.reported)
        found.append(known)
    return found


def _told(counted: int, reported: int) -> Unattributed:
    if reported >= counted:
        return Unattributed(reported - counted)
    share = reported / counted
    return Unattributed(0, share if share >= LEAST else 1.0)
