"""What a session would have saved if the items without effect had been masked: the lab's replay of it."""

from __future__ import annotations

from typing import NamedTuple

from workbench.config.text import counted, percent
from workbench.context.policy_names import RECORDED
from workbench.context.stages.mask import LEAST_TOKENS
from workbench.explain.explaining import ExplainJob
from workbench.explain.values import Explanation
from workbench.lab.replay.lab_source import LabSource
from workbench.log.events import ToolCall
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import Source


class MaskingSaving(NamedTuple):
    """What was sent, against the same with items masked from the explained request on."""

    events: int
    """How many events are masked."""
    requests: int
    """How many requests are smaller."""
    tokens: int
    share: float
    """Of all tokens that the session sent."""
    cost: float | None
    """Dollars; below 0 if a cache that is written again costs more than is saved. None: no price is known."""
    missed: int
    """Requests whose answers used something that would have been masked."""


def masking_saving(
    services: Services, options: Options, source: Source, job: ExplainJob, found: Explanation
) -> MaskingSaving | None:
    """Replay the session twice; None if there is nothing to mask, or if it is not a request of the conversation."""
    large = (each.unit for each in found.dead_weight if each.unit.tokens >= LEAST_TOKENS)
    events = {seq for seq in job.events_of(large) if not isinstance(source.events[seq - 1].body, ToolCall)}
    if not events:
        return None
    lab = LabSource(services, options, source)
    number = lab.number_of(job.job.number)
    if number is None:
        return None
    sent, masked = lab.run_policy(RECORDED), lab.run_masked(number, events)
    smaller = [now.tokens < before.tokens for before, now in zip(sent.points, masked.points, strict=True)]
    cost = None if sent.cost is None or masked.cost is None else sent.cost - masked.cost
    tokens = sent.tokens - masked.tokens
    return MaskingSaving(
        masked.masked, sum(smaller), tokens, tokens / max(1, sent.tokens), cost, masked.missed_requests
    )


def saving_words(saving: MaskingSaving) -> str:
    """The saving in a sentence."""
    price = "" if saving.cost is None else f", and it would have cost ${abs(saving.cost):.4f} "
    price += "" if saving.cost is None else "less" if saving.cost >= 0 else "more, to write the cache again"
    missed = f"; {counted(saving.missed, 'request')} would have missed something" if saving.missed else ""
    return (
        f"if they had been masked from here on, {counted(saving.requests, 'request')} of the session would have been "
        f"smaller by {saving.tokens:,} tokens in all ({percent(saving.share)}){price}{missed}"
    )
