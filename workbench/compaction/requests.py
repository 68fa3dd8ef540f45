"""The requests of a summary: planned like any other request, and split so that each fits.

A request is two events, the prompt in the system slot and the framed record as a user message, with the same planner
and the same renderer as a turn. There is no second path to the wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from workbench.compaction.prompts import SummaryPrompt, merge_message, merge_prompt, summary_message
from workbench.compaction.source import SourceBlock
from workbench.compaction.values import CompactionRefused
from workbench.config.values import replace
from workbench.context.plan import ContextPlan
from workbench.context.policy import NO_LIMIT, HistoryPolicy, MaskingPolicy, TruncationPolicy, TurnPolicy
from workbench.context.setup import Setup
from workbench.context.stages.truncate import TruncationRule, truncate_result
from workbench.log.events import Event, SlotContent, UserMessage
from workbench.models.tokens import TokenCounter

LEAST_ROOM = 200
"""Tokens of conversation that a request must have room for; with less nothing can be summarised."""
LEAST_CAP = 60
"""No part of a summary is requested shorter than this."""
GAP = 2
"""Tokens between two blocks, at most."""
LABEL = 8
"""Tokens that merging puts before a summary, with the gap."""
TRIES = 4
"""Joined texts may cost a little more than their parts: then the parts get smaller, this often at most."""
TOGETHER = 50
"""The heads of this many blocks are counted together; each is assumed to have their mean."""
MANY = 999
"""A placeholder for the number of parts while it is not known: no other has more digits."""


class SizedText(NamedTuple):
    """A block, or a summary to merge."""

    text: str
    tokens: int
    id: str
    """For the marker, if it is too large and has to be cut."""
    unit: int = 0
    """Texts with the same unit stay in one request."""


class SummarySource(NamedTuple):
    """What a summary is made of."""

    blocks: tuple[SourceBlock, ...]
    previous: str = ""
    """The summary to update; empty if there is none."""


class SummaryRequest(NamedTuple):
    plan: ContextPlan
    cap: int
    """The most tokens the answer should have."""


class SummaryRequests(NamedTuple):
    """How a source is read: in one request, or in several whose answers are merged."""

    requests: tuple[SummaryRequest, ...]
    previous: str
    """The earlier summary, if it was not in the request and has to be merged."""


def without_stages(setup: Setup) -> Setup:
    """The setup without its stages: they have cut what is summarised already, and would cut the record itself.

    The reserve is whole: a summary that is cut off is useless.

    Its counts are separate, so that the texts of a request, which are used once, are not kept with the session's.
    """
    policy = replace(
        setup.loaded.policy,
        truncation=TruncationPolicy(),
        masking=MaskingPolicy(),
        history=HistoryPolicy(),
        turn=TurnPolicy(),
    )
    limits = replace(setup.limits, least=NO_LIMIT)
    return replace(setup, loaded=replace(setup.loaded, policy=policy), limits=limits, counter=setup.counter.apart())


def summary_request_plan(setup: Setup, prompt: SummaryPrompt, text: str) -> ContextPlan:
    """A request as a plan."""
    system = Event(1, "summary.prompt", 0, SlotContent("system", prompt.name, prompt.text))
    return setup.planner([system, Event(2, "summary.record", 0, UserMessage(text))]).plan()


def split_into_requests(source: SummarySource, prompt: SummaryPrompt, setup: Setup, cap: int) -> SummaryRequests:
    """Requests that fit and contain the whole source. Raises CompactionRefused if not even a part fits.

    `setup` is a bare one. The source is split between units, and a unit that fits nowhere is cut.
    """
    sized = _sized(source.blocks, setup.counter)
    # A text that is far too long is not read again as a whole; joined, blocks cost a little less than alone.
    if sum(block.tokens - GAP for block in sized) <= setup.limits.capacity:
        whole = summary_request_plan(
            setup, prompt, summary_message([block.text for block in sized], cap, previous=source.previous)
        )
        if whole.verdict.fits:
            return SummaryRequests((SummaryRequest(whole, cap),), "")
    units = [tuple(group) for _, group in groupby(sized, key=lambda block: block.unit)]
    room = _room(setup, prompt, summary_message([""], cap, part=MANY, parts=MANY))
    for _ in range(TRIES):
        parts = _fill(units, room, setup.counter)
        caps = [_part_cap(part, cap) for part in parts]
        requests = tuple(
            SummaryRequest(_planned_part(setup, prompt, part, most, number, len(parts)), most)
            for number, (part, most) in enumerate(zip(parts, caps, strict=True), 1)
        )
        over = max(-request.plan.budget.free for request in requests)
        if over <= 0:
            return SummaryRequests(requests, source.previous)
        room -= over + GAP
    raise CompactionRefused("does_not_fit", f"the summary request does not fit: {requests[0].plan.verdict.why}")


def _sized(blocks: Sequence[SourceBlock], counter: TokenCounter) -> list[SizedText]:
    """Blocks with their costs: the content of an item was counted when the log was planned."""
    found: list[SizedText] = []
    for at in range(0, len(blocks), TOGETHER):
        some = blocks[at : at + TOGETHER]
        heads = counter.count("\n\n".join(block.head for block in some)).tokens
        head = -(-heads // len(some)) + 1
        sizes = (head + counter.count(block.content).tokens for block in some)
        found += [SizedText(block.text, size, block.id, block.unit) for block, size in zip(some, sizes, strict=True)]
    return found


def _planned_part(
    setup: Setup, prompt: SummaryPrompt, part: Sequence[SizedText], cap: int, number: int, parts: int
) -> ContextPlan:
    """One of several requests. Its blocks were counted one by one, and the whole is not counted again."""
    text = summary_message([block.text for block in part], cap, part=number, parts=parts)
    frame = setup.counter.count(summary_message([""], cap, part=number, parts=parts)).tokens
    setup.counter.suppose(text, frame + sum(block.tokens + GAP for block in part))
    return summary_request_plan(setup, prompt, text)


def _room(setup: Setup, prompt: SummaryPrompt, empty: str) -> int:
    """Tokens left for the conversation in a request that is otherwise complete."""
    plan = summary_request_plan(setup, prompt, empty)
    room = plan.budget.free - GAP
    if room < LEAST_ROOM:
        need = f"{plan.totals.tokens:,} tokens before any conversation, and {plan.limits.capacity:,} fit"
        raise CompactionRefused("does_not_fit", f"the summary request does not fit: it has {need}")
    return room


def _fill(
    units: Iterable[Sequence[SizedText]], room: int, counter: TokenCounter, gap: int = GAP
) -> list[list[SizedText]]:
    """The content of each part: as many whole units as fit."""
    parts: list[list[SizedText]] = [[]]
    left = room
    for unit in units:
        size = sum(block.tokens for block in unit) + gap * len(unit)
        if size > room:
            unit = _shortened(unit, room, gap, counter)
            size = sum(block.tokens for block in unit) + gap * len(unit)
        if size > left and parts[-1]:
            parts.append([])
            left = room
        parts[-1] += unit
        left -= size
    return parts


def _shortened(unit: Sequence[SizedText], room: int, gap: int, counter: TokenCounter) -> list[SizedText]:
    """The texts of a unit that fits nowhere: the largest are cut, all to the same size."""
    cap, left = room, room
    for at, size in enumerate(sorted(block.tokens + gap for block in unit)):
        cap = left // (len(unit) - at)
        if size > cap:
            break
        left -= size
    texts = [shorten_to_tokens(block.text, max(1, cap - GAP), counter, block.id) for block in unit]
    return [SizedText(text, counter.count(text).tokens, block.id) for text, block in zip(texts, unit, strict=True)]


def shorten_to_tokens(text: str, cap: int, counter: TokenCounter, item_id: str) -> str:
    """A text of at most so many tokens, cut in its middle by the stage that cuts tool results."""
    cut = truncate_result(
        text, counter.count(text).tokens, TruncationRule("both", cap, 0, 0, 0, 0, False), counter, item_id
    )
    return text if cut is None else cut.text


def _part_cap(part: Sequence[SizedText], cap: int) -> int:
    """A part's summary is at most half of the part, so that merging has less to read."""
    return max(LEAST_CAP, min(cap, sum(block.tokens for block in part) // 2))


# Merging


class MergeGroup(NamedTuple):
    """Summaries that are merged in one request; one alone stays as it is."""

    texts: tuple[str, ...]
    request: SummaryRequest | None


def merge_groups(summaries: Sequence[str], setup: Setup, cap: int) -> list[MergeGroup]:
    """Summaries in groups that fit, in order.

    Each is cut to half of the room, so any two fit together, and the groups are fewer than the summaries.
    """
    prompt = merge_prompt()
    room = _room(setup, prompt, merge_message([""], cap))
    while room >= LEAST_ROOM:
        texts = [shorten_to_tokens(text, room // 2 - LABEL, setup.counter, "part") for text in summaries]
        sized = ((SizedText(text, setup.counter.count(text).tokens, "part"),) for text in texts)
        groups = [tuple(each.text for each in group) for group in _fill(sized, room, setup.counter, LABEL)]
        made = [MergeGroup(group, _merge_request(group, setup, prompt, cap)) for group in groups]
        over = max(-group.request.plan.budget.free if group.request else 0 for group in made)
        if over <= 0:
            return made
        room -= over + GAP
    raise CompactionRefused("does_not_fit", f"{len(summaries):,} parts of a summary do not fit to be merged")


def _merge_request(texts: Sequence[str], setup: Setup, prompt: SummaryPrompt, cap: int) -> SummaryRequest | None:
    return (
        SummaryRequest(summary_request_plan(setup, prompt, merge_message(texts, cap)), cap) if len(texts) > 1 else None
    )
