"""The current log under another policy, computed without changing the session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.compaction.forecast import forecast_compaction, next_step
from workbench.compaction.record import read_record
from workbench.compaction.triggers import decide_compaction
from workbench.context.items import Item, State
from workbench.context.load import plugin_policies, preset_names, user_policies
from workbench.context.plan import ContextPlan
from workbench.context.policy_names import RECORDED
from workbench.context.setup import Setup
from workbench.log.events import Event
from workbench.session.open_session import OpenSession
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.source import Source
from workbench.sources.source_setups import make_setup
from workbench.tui.screens.what_if_bar import plan_part_sizes

if TYPE_CHECKING:
    from workbench.sources.services import Services


def what_if_policies(now: str, *, is_recorded: bool = False) -> list[str]:
    """The policies to choose from: the current one, then the presets, those of plug-ins, and the user's own.

    `is_recorded`: for another agent's session, `recorded` comes first.
    """
    own = [str(path) for path in user_policies()]
    back = [RECORDED] if is_recorded else []
    return list(dict.fromkeys([now, *back, *preset_names(), *plugin_policies(), *own]))


class SessionSnapshot(NamedTuple):
    """What is needed to plan again; made in the session's thread, used in any."""

    name: str
    events: Sequence[Event]
    model: str
    policy: str
    knobs: tuple[str, ...]
    live: bool
    is_file: bool
    tokens: int
    """Tokens of the next request."""
    growth: float | None
    """Growth in tokens per turn."""
    recorded: RecordedSession | None = None


def session_snapshot(opened: OpenSession) -> SessionSnapshot:
    live = opened.session is not None and (opened.session.is_written or opened.writable)
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


def what_if_setup(
    services: Services, options: Options, asked: SessionSnapshot, policy: str, knobs: Sequence[str]
) -> Setup:
    """A setup for the same model under a policy; raises WorkbenchError if the policy cannot be read."""
    source = Source(asked.name, [*asked.events], asked.model, policy, asked.live, asked.is_file)
    return make_setup(services, options, source, policy, knobs, asked.recorded)


def plan_snapshot(setup: Setup, asked: SessionSnapshot) -> ContextPlan:
    """The plan under a setup."""
    return setup.plan(asked.events, live=asked.live)


class PolicyOutcome(NamedTuple):
    """One policy's row in the comparison."""

    policy: str
    tokens: int
    original: int
    window: int
    states: dict[State, int]
    """The number of items in each state."""
    status: str
    why: str
    """The verdict, in a sentence."""
    next: str
    """When it would compact, in words."""
    soon: int | None
    """The approximate number of turns until then."""
    about: str
    parts: tuple[int, ...]
    """Tokens of each part of its bar."""


def policy_outcome(setup: Setup, asked: SessionSnapshot, policy: str) -> PolicyOutcome:
    """Plan the log under a policy, and forecast its next compaction."""
    plan = plan_snapshot(setup, asked)
    rules = setup.loaded.policy
    knobs, found = rules.compaction, read_record(asked.events)
    following = forecast_compaction(plan, asked.events, found, knobs, growth=asked.growth)
    decision = decide_compaction(plan, asked.events, found, knobs, headless=False, turn_over=True)
    return PolicyOutcome(
        policy,
        plan.size,
        plan.totals.original_tokens,
        plan.limits.window,
        dict(Counter(row.state for row in plan.items)),
        plan.verdict.status,
        plan.verdict.why,
        next_step(following, decision, knobs, plan.limits.window),
        following.turns,
        rules.description,
        plan_part_sizes(plan),
    )


class ItemPair(NamedTuple):
    """One item that two policies treat differently; None: that plan has no such row."""

    first: Item | None
    second: Item | None

    @property
    def item(self) -> Item:
        """The item in either plan."""
        found = self.first or self.second
        assert found is not None
        return found


def differing_items(first: ContextPlan, second: ContextPlan) -> list[ItemPair]:
    """The items whose treatment differs, in the order of the log; items that only the second plan has come last."""
    others = {row.id: row for row in second.items}
    pairs = [ItemPair(row, others.pop(row.id, None)) for row in first.items]
    pairs += [ItemPair(None, row) for row in others.values()]
    return [pair for pair in pairs if _treated(pair.first) != _treated(pair.second)]


def _treated(row: Item | None) -> tuple[str, int, str | None] | None:
    """How an item is treated, for comparison. Two items that are not sent are equal."""
    return None if row is None or row.state == "aside" else (row.state, row.tokens, row.text)
