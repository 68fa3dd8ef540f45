"""What requests have beside the log: a system prompt, tools and thinking that are billed and in no file.

It is the same under every policy: what the report of each request has beyond our count of what was sent. So a policy
that changes nothing sends what was recorded, also where it grew on the way, or the session went to another model.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.context.setup import Setup
from workbench.log.events import Event
from workbench.session.recorded import RecordedSession
from workbench.session.request_plans import RequestPlans
from workbench.session.requests import RequestMark
from workbench.wire.requests import RequestBodies


def unattributed(
    recorded: RecordedSession, marks: Sequence[RequestMark], setup: Setup, events: Sequence[Event]
) -> list[int]:
    """Of each request; `setup` counts as for all policies. Of one without a report it is what the one before had."""
    plans = RequestPlans(events, RequestBodies(events), lambda _: setup, sizes=True)
    rest, found = recorded.calibration(setup.model).fixed, []
    for mark in marks:
        if mark.reported is not None:
            rest = max(0, mark.reported - plans.plan(mark).totals.tokens)
        found.append(rest)
    return found
