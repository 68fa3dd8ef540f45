"""The preview: what a compaction would replace, keep, free and cost, before any model is asked."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from msgspec import Struct

from workbench.compaction.cache import cache_effect, paid_back
from workbench.compaction.fact_phrases import one_short_line
from workbench.compaction.prompts import RECALL_TOOLS, summary_preface
from workbench.compaction.requests import SummaryRequests, SummarySource
from workbench.compaction.source import previous_summary, source_blocks
from workbench.compaction.summariser import cost_of
from workbench.compaction.summary_sizes import fixed_tokens, summary_cap
from workbench.compaction.triggers import exact_percent
from workbench.compaction.values import CompactionPreview, CompactionRefused, SelectedRange, SummaryAudit, Trigger
from workbench.config.text import counted, percent
from workbench.context.control import CONTROL, in_effect
from workbench.context.items import Item
from workbench.context.plan import ContextPlan
from workbench.context.policy import CompactionPolicy
from workbench.context.setup import Setup
from workbench.log.events import Compaction, Event, SlotContent, Usage
from workbench.models.catalogue import Catalogue

NAMED, MOST_NAMED = 40, 5
"""Characters of a lost fact in a line, and how many are named there."""
SHORTEST = 4
"""A summary that frees too little is requested shorter, down to the cap divided by this."""


class PreviewInputs(Struct, frozen=True):
    """The setups and functions that a preview needs."""

    setup: Setup
    """The session's."""
    lay_out: Callable[[SelectedRange, int], SummaryRequests]
    """Gives the requests for a summary of at most so many tokens."""
    catalogue: Catalogue
    model: str
    """The summarising model; empty for the digest."""
    unable: str = ""
    """Why it is the digest, if nobody asked for that."""

    @property
    def policy(self) -> CompactionPolicy:
        """The knobs of compaction."""
        return self.setup.loaded.policy.compaction


class RequestFigures(NamedTuple):
    """The requests that a summary would need."""

    model: str
    """Empty: the digest, which needs no model."""
    tokens: int
    parts: int
    cost: float | None
    """Dollars, at most; None if the price is not known."""
    cap: int
    """The most tokens the summary may have."""
    unable: str = ""
    """Why no model is asked, if that was not wanted."""


def summary_source(selected: SelectedRange, policy: CompactionPolicy) -> SummarySource:
    """What the summariser reads of a range: a block for each item, and the summary to update."""
    return SummarySource(tuple(source_blocks(selected)), previous_text(selected, policy))


def previous_text(selected: SelectedRange, policy: CompactionPolicy) -> str:
    """The summaries that the new one updates; empty if the policy starts over from the log."""
    return previous_summary(selected) if policy.update or selected.merges else ""


def source_tokens(selected: SelectedRange, plan: ContextPlan) -> int:
    """The tokens that the summary is made from."""
    replaced = {event.id for event in selected.previous}
    summaries = sum(item.tokens for item in plan.items.summaries if item.id in replaced)
    return summaries + sum(map(_read_tokens, selected.items))


def _read_tokens(item: Item) -> int:
    return item.tokens if item.in_request else item.original_tokens


def size_before(plan: ContextPlan, selected: SelectedRange) -> int:
    """The size that a compaction is compared with.

    If iteration groups of the turn were dropped, it is that of the request with what was dropped of the range: dropping
    must not make it seem useless to summarise them.
    """
    if not plan.items.dropped_groups:
        return plan.uncut_size
    return plan.uncut_size + sum(item.original_tokens for item in selected.items if item.state == "dropped")


def event_of(selected: SelectedRange, summary: str, policy: CompactionPolicy, recall: bool) -> Compaction:
    """The event without its metadata, which costs nothing in the plan."""
    framed = summary_preface(policy.preface, selected.first, selected.last, recall)
    return Compaction(
        selected.first, selected.last, summary, selected.kept, policy.place, framed, policy.acknowledgement
    )


def can_recall(events: Sequence[Event]) -> bool:
    """Whether the model has the tools to read what was summarised."""
    slots = in_effect([event for event in events if type(event.body) in CONTROL]).slots
    offered = {event.body.name for event in slots if isinstance(event.body, SlotContent) and event.body.slot == "tools"}
    return offered.issuperset(RECALL_TOOLS)


def too_little(policy: CompactionPolicy, before: int, after: int) -> str:
    """How much is freed, in words with figures, if that is less than the policy requires; else empty."""
    share, bound = Fraction(before - after, max(before, 1)), Fraction(str(policy.min_freed))
    if share > 0 and share >= bound:
        return ""
    shares = f"{exact_percent(share, bound)} < {exact_percent(bound)}"
    return f"would free {before - after:,} of {before:,} tokens = {shares}"


def frees_too_little(policy: CompactionPolicy, before: int, after: ContextPlan, trigger: Trigger) -> str:
    """Like `too_little`, for a whole request. One that was too long and now fits has freed enough."""
    if trigger == "overflow" and not after.overflows and after.uncut_size < before:
        return ""
    return too_little(policy, before, after.uncut_size)


class WorthwhileSummary(NamedTuple):
    """A summary that is worth making."""

    cap: int
    """The most tokens with which enough is freed."""
    after: ContextPlan
    """The plan with a summary of that length."""
    too_little_freed: str = ""
    """That it frees too little, in words with figures; only for a compaction by hand."""


def worthwhile_summary(
    setup: Setup,
    plan: ContextPlan,
    selected: SelectedRange,
    recall: bool,
    plan_with: Callable[[Compaction], ContextPlan],
    trigger: Trigger,
) -> WorthwhileSummary:
    """The longest summary that frees enough.

    Raises CompactionRefused if there is none. That is no failure: it happens while the turns that stay fill the room,
    which will pass. A compaction by hand is not refused: the user sees how little it frees. Offers on the screen come
    from here too, so that no offer is then refused.
    """
    policy, before = setup.loaded.policy.compaction, size_before(plan, selected)
    cap = summary_cap(policy, setup.limits, source_tokens(selected, plan), fixed_tokens(plan))

    def of_length(tokens: int) -> WorthwhileSummary:
        after = plan_with(event_of(selected, " word" * tokens, policy, recall))
        return WorthwhileSummary(tokens, after, frees_too_little(policy, before, after, trigger))

    longest = of_length(cap)
    if not longest.too_little_freed:
        return longest
    shortest = of_length(-(-cap // SHORTEST))
    if shortest.too_little_freed and trigger == "manual":
        return longest
    if shortest.too_little_freed:
        least = counted(shortest.cap, "token")
        raise CompactionRefused("nothing", f"nothing to compact: even a summary of {least} {shortest.too_little_freed}")
    most = before - max(1, ceil(before * Fraction(str(policy.min_freed))))
    between = of_length(max(shortest.cap, cap - (longest.after.uncut_size - most)))
    return shortest if between.too_little_freed else between


def preview_of(
    inputs: PreviewInputs,
    events: Sequence[Event],
    plan: ContextPlan,
    plan_with: Callable[[Compaction], ContextPlan],
    selected: SelectedRange,
    trigger: Trigger,
    why: str,
) -> CompactionPreview:
    """All figures of a compaction that could be made now; `plan_with` plans the log with one more event.

    Raises CompactionRefused if it would free too little, unless it is by hand.
    """
    recall = can_recall(events)
    cap, after, little = worthwhile_summary(inputs.setup, plan, selected, recall, plan_with, trigger)
    asked = request_figures(inputs, selected, cap)
    inside = events[bisect_left(events, selected.first, key=_seq) : bisect_right(events, selected.last, key=_seq)]
    return CompactionPreview(
        trigger,
        why or selected.why,
        selected,
        plan.size,
        size_before(plan, selected),
        source_tokens(selected, plan),
        cap,
        asked.model,
        asked.tokens,
        asked.parts,
        asked.cost,
        cache_effect(plan, after, inputs.setup.info, asked.cost),
        len(inside),
        inside[0].at if inside else 0,
        inside[-1].at if inside else 0,
        little,
        recall,
        asked.unable,
    )


def _seq(event: Event) -> int:
    return event.seq


def request_figures(inputs: PreviewInputs, selected: SelectedRange, cap: int) -> RequestFigures:
    """What would be asked. No model if there is none, or if no request fits: then the digest takes over."""
    if not inputs.model:
        return RequestFigures("", 0, 0, 0.0, cap, inputs.unable)
    try:
        layout = inputs.lay_out(selected, cap)
    except CompactionRefused as refused:
        return RequestFigures("", 0, 0, 0.0, cap, f"{refused}, so this is the digest")
    asked = [Usage(inputs.model, each.plan.totals.tokens, completion=each.cap) for each in layout.requests]
    if len(layout.requests) > 1:
        # Merging reads every part once, each as long as it may be.
        asked.append(Usage(inputs.model, sum(each.cap for each in layout.requests) + cap, completion=cap))
    tokens, cost = sum(usage.estimate for usage in asked), cost_of(asked, inputs.catalogue)
    return RequestFigures(inputs.model, tokens, len(layout.requests), cost, cap)


# In words


def preview_rows(preview: CompactionPreview, *, own: bool = False) -> list[tuple[str, str]]:
    """What a compaction would do, as labels and values. `own`: the user writes the summary."""
    selected, cache = preview.selected, preview.cache
    return [
        ("summarises", f"{summarised_words(selected, preview.source_tokens)}: {selected.why}"),
        ("keeps", f"{counted(len(selected.kept), 'event')} of that range, with {selected.kept_tokens:,} tokens"),
        ("frees", f"{_freed(preview)}{_share(preview)}{_little(preview)}"),
        ("asks", "no model: the summary is yours" if own else model_and_cost(_asked(preview))),
        ("prompt cache", f"kept up to token {cache.first_changed:,}, invalidates {cache.rewritten:,} cached tokens"),
        ("pays back", paid_back(preview)),
    ]


def _freed(preview: CompactionPreview) -> str:
    saved = preview.cache.saved_per_request
    if saved < 0:
        return f"nothing: the request becomes about {-saved:,} tokens larger than its {preview.tokens_before:,}"
    return f"about {saved:,} of {preview.tokens_before:,} tokens"


def _little(preview: CompactionPreview) -> str:
    return ", less than compaction.min_freed asks for" if preview.too_little_freed else ""


def _share(preview: CompactionPreview) -> str:
    saved = preview.cache.saved_per_request
    return f" ({percent(saved / preview.tokens_before)} of what is used)" if saved > 0 else ""


def summarised_words(selected: SelectedRange, tokens: int) -> str:
    """What a summary is made from: how many items and summaries, their cost, and where they are."""
    earlier = len(selected.previous)
    summaries = f" and {counted(earlier, 'earlier summary', 'earlier summaries')}" if earlier else ""
    what = f"{counted(len(selected.items), 'item')}{summaries}"
    return f"{what} with {tokens:,} tokens, events {selected.first:,} to {selected.last:,}"


def loss_words(audit: SummaryAudit) -> str:
    """How many facts a summary keeps, and which it loses, in one line; counted like the list of lost facts."""
    lost, facts, lesser = audit.lost, len(audit.kept) + len(audit.lost), counted(audit.unlisted, "lesser fact")
    forgotten = f"loses {counted(len(audit.forgotten), 'fact')} of the previous summary" if audit.forgotten else ""
    if not facts:
        found = f"loses {lesser}" if audit.unlisted else "none found in what is summarised"
    elif not lost:
        kept = f"keeps all {facts:,}" if facts > 1 else "keeps the only one"
        found = f"{kept}, loses {lesser}" if audit.unlisted else kept
    else:
        named = [one_short_line(fact.text, NAMED) for fact in lost[:MOST_NAMED]]
        more = len(lost) - len(named)
        listed = ", ".join([*named, *([f"{more:,} more"] if more else [])])
        found = f"keeps {len(audit.kept):,} of {facts:,}, loses {len(lost):,}: {listed}"
        found += f"; {lesser} besides" if audit.unlisted else ""
    return f"{found}; {forgotten}" if forgotten else found


def _asked(preview: CompactionPreview) -> RequestFigures:
    asked = preview.model, preview.request_tokens, preview.parts, preview.cost
    return RequestFigures(*asked, preview.summary_cap, preview.unable)


def model_and_cost(figures: RequestFigures) -> str:
    """The model that is asked for a summary, and the cost."""
    asked = figures.unable or "no model: the digest is made from the text alone, and costs nothing"
    if figures.model:
        cost = "price unknown" if figures.cost is None else f"at most ${figures.cost:.4f}"
        asked = f"{figures.model}: {figures.tokens:,} tokens in {counted(figures.parts, 'request')}, {cost}"
    return f"{asked}; a summary of at most {figures.cap:,} tokens"
