"""The present log under another policy: worked out beside the session, which does not hear of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.compaction.forecast import forecast, next_step
from workbench.compaction.record import record
from workbench.compaction.triggers import decide
from workbench.context.items import State
from workbench.context.plan import ContextPlan
from workbench.context.setup import Setup
from workbench.log.events import Event
from workbench.session.open_session import OpenSession
from workbench.session.options import Options
from workbench.session.recorded import RecordedSession, make_setup
from workbench.session.source import Source

if TYPE_CHECKING:
    from workbench.session.services import Services


class SessionSnapshot(NamedTuple):
    """What is planned again: taken in the session's thread, used in any."""

    name: str
    events: Sequence[Event]
    model: str
    policy: str
    knobs: tuple[str, ...]
    live: bool
    is_file: bool
    tokens: int
    """Of the request as it would be now."""
    growth: float | None
    """Tokens a turn."""
    recorded: RecordedSession | None = None


def snapshot(opened: OpenSession) -> SessionSnapshot:
    """What is open now."""
    live = opened.session is not None and opened.session.is_written
    return SessionSnapshot(
        opened.name,
        tuple(opened.events),
        opened.setup.model,
        opened.policy,
        opened.knobs,
        live,
        opened.session is None,
        opened.plan.size,
        opened.ledger.growth,
        opened.recorded,
    )


def set_up(services: Services, options: Options, asked: SessionSnapshot, policy: str, knobs: Sequence[str]) -> Setup:
    """A setup for the same model under a policy; raises WorkbenchError where that cannot be read."""
    source = Source(asked.name, [*asked.events], asked.model, policy, asked.live, asked.is_file)
    return make_setup(services, options, source, policy, knobs, asked.recorded)


def planned(setup: Setup, asked: SessionSnapshot) -> ContextPlan:
    """What the model would see."""
    return setup.plan(asked.events, live=asked.live)


class PolicyOutcome(NamedTuple):
    """One policy's row in the comparison."""

    policy: str
    tokens: int
    original: int
    window: int
    states: dict[State, int]
    """How many items are in each state."""
    status: str
    why: str
    """The verdict, in a sentence."""
    next: str
    """When it would compact, in words."""
    soon: int | None
    """In about how many turns."""
    about: str


def outcome(setup: Setup, asked: SessionSnapshot, policy: str) -> PolicyOutcome:
    """Plan the log, and look at what came of it and what comes next."""
    plan = planned(setup, asked)
    rules = setup.loaded.policy
    knobs, found = rules.compaction, record(asked.events)
    following = forecast(plan, asked.events, found, knobs, growth=asked.growth)
    decision = decide(plan, asked.events, found, knobs, headless=False, turn_over=True)
    return PolicyOutcome(
        policy,
        plan.size,
        plan.totals.original_tokens,
        plan.limits.window,
        dict(Counter(row.state for row in plan.rows)),
        plan.verdict.status,
        plan.verdict.why,
        next_step(following, decision, knobs, plan.limits.window),
        following.turns,
        rules.description,
    )
