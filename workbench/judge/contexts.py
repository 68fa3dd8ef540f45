"""The contexts to judge: after a compaction that was made, or after one by hand under each policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.compaction.compactor import DIGEST
from workbench.compaction.record import read_details
from workbench.compaction.summariser import run_in_thread
from workbench.compaction.values import CompactionPreview, CompactionRefused
from workbench.config.errors import Refused, WrongCall
from workbench.config.values import replace
from workbench.context.items import Item
from workbench.context.plan import ContextPlan
from workbench.context.policy_names import RECORDED
from workbench.context.setup import Setup
from workbench.judge.context_text import ContextBlock, context_blocks, conversation_items, joined_blocks, whole_events
from workbench.judge.values import JudgedContext, text_hash
from workbench.log.events import Compaction, Event
from workbench.sources.compactors import compactor_for
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import Source
from workbench.sources.source_setups import make_setup, opening_setup
from workbench.wire.event_builder import is_sealed


class JudgedSource(NamedTuple):
    """A conversation, as it was before anything was compacted."""

    name: str
    items: Sequence[Item]
    """Its rows, none of them cut."""
    blocks: Sequence[ContextBlock]
    key: str
    """The hash of its text."""


class PlannedContext(NamedTuple):
    """A context and the events that it no longer has whole."""

    context: JudgedContext
    replaced: frozenset[str]


class CompactionToWrite(NamedTuple):
    """A compaction by hand under a policy, before its summary is written."""

    policy: str
    options: Options
    setup: Setup
    preview: CompactionPreview | None
    """None if the policy never compacts, or has nothing to compact; then its plain request is judged."""
    note: str = ""

    @property
    def key(self) -> str:
        """The same for the same knobs and the same author."""
        policy = replace(self.setup.loaded.policy, name="", description="")
        return text_hash(f"{policy!r} {self.setup.limits.window} {self.preview.model if self.preview else ''}")


def judged_source(services: Services, options: Options, source: Source, events: Sequence[Event]) -> JudgedSource:
    """The conversation of these events, from which the probes are made."""
    asked = replace(options, policy=RECORDED, knobs=(), model="")
    items = conversation_items(services.set_up(asked, source._replace(knobs=())).plan(events))
    blocks = context_blocks(items)
    return JudgedSource(source.name, items, blocks, text_hash(joined_blocks(blocks)))


def find_compaction(events: Sequence[Event], number: int | None) -> Event:
    """A compaction by its place, from 1, or by the number of its event; None: the last one. Raises WrongCall."""
    found = [event for event in events if isinstance(event.body, Compaction)]
    by_event = next((event for event in found if event.seq == number), None)
    if by_event is not None:
        return by_event
    if not found:
        raise WrongCall("--compaction: no compaction is in the log; --policy judges one that could be made")
    if number is None:
        return found[-1]
    if not 1 <= number <= len(found):
        seqs = ", ".join(str(event.seq) for event in found[-5:])
        raise WrongCall(f"--compaction: expected a number from 1 to {len(found)}, or an event ({seqs}), got {number}")
    return found[number - 1]


def compacted_context(services: Services, options: Options, source: Source, event: Event) -> PlannedContext:
    """The context right after a compaction that is in the log."""
    assert isinstance(event.body, Compaction)
    if is_sealed(event.body):
        raise Refused(
            f"compaction {event.seq} cannot be judged: its summary is encrypted, and only its agent can read it"
        )
    asked = replace(options, policy="", knobs=(), model="")
    plan = opening_setup(services, asked, source).plan(source.events[: event.seq])
    made_by = read_details(event.body.meta).made_by or ""
    return plan_context(f"compaction {event.seq}", plan, made_by, event.body.summary)


def plan_context(name: str, plan: ContextPlan, made_by: str = "", summary: str = "", note: str = "") -> PlannedContext:
    """What a model knows with the request of this plan."""
    items = conversation_items(plan)
    context = JudgedContext(name, tuple(context_blocks(items)), plan.totals.tokens, made_by, summary, note)
    return PlannedContext(context, frozenset(item.id for item in items) - whole_events(items))


def replaced_events(source: JudgedSource, contexts: Sequence[PlannedContext]) -> frozenset[str]:
    """The events that at least one of the contexts no longer has whole."""
    known = {item.id for item in source.items}
    return frozenset(event for each in contexts for event in each.replaced if event in known)


# By hand, under a policy


async def plan_compaction(
    services: Services,
    options: Options,
    source: Source,
    policy: str,
    summariser: str,
    recorded: RecordedSession | None = None,
) -> CompactionToWrite:
    """A compaction under a policy.

    `summariser`: the model that is to write the summary; empty: the digest. `recorded`: what another agent's reports
    teach, read once for all policies.
    """
    knobs = (f"compaction.model={summariser}",) if summariser else ()
    asked = replace(options, policy=policy, model="", knobs=() if policy == RECORDED else (*options.knobs, *knobs))
    setup = make_setup(services, asked, source, policy, (*source.knobs, *asked.knobs), recorded)
    if policy == RECORDED or setup.loaded.policy.compaction.mode == "off":
        return CompactionToWrite(policy, asked, setup, None)
    async with compactor_for(services, asked, setup, digest=not summariser) as compactor:
        try:
            made = await run_in_thread(compactor.preview, source.events, "manual", digest=not summariser)
        except CompactionRefused as refused:
            return CompactionToWrite(policy, asked, setup, None, f"nothing was compacted: {refused}")
    return CompactionToWrite(policy, asked, setup, made)


class WrittenSummary(NamedTuple):
    """The context after a compaction by hand, and what its summary cost."""

    planned: PlannedContext
    cost: float | None = 0.0
    problems: tuple[str, ...] = ()


async def write_context(
    services: Services, source: Source, to_write: CompactionToWrite, known: tuple[str, str] | None = None
) -> WrittenSummary:
    """The context after the compaction. `known`: text and author of its summary, if it was written before."""
    setup, preview = to_write.setup, to_write.preview
    name = setup.loaded.policy.name
    if preview is None:
        return WrittenSummary(plan_context(name, setup.plan(source.events), note=to_write.note))
    async with compactor_for(services, to_write.options, setup, digest=not preview.model) as compactor:
        if known is not None:
            digest = await compactor.draft(source.events, preview, digest=True)
            draft = replace(compactor.edited(source.events, digest, known[0]), made_by=known[1])
        else:
            draft = await compactor.draft(source.events, preview, digest=not preview.model)
        body = compactor.body(draft)
    plan = setup.planner(source.events).plan_with(body)
    note = "; ".join(draft.problems) or preview.unable if draft.made_by == DIGEST else ""
    return WrittenSummary(plan_context(name, plan, draft.made_by, draft.summary, note), draft.cost, draft.problems)
