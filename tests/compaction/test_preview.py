"""The preview: what would be summarised, kept and freed, what it costs, and what it does to the prompt cache."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.drafts import appended, compactor, drafted, setup, work
from support.logs import number
from support.talk import ROOMY, planned, preset, summary_of, words
from workbench.compaction.cache import cache_effect, paid_back
from workbench.compaction.preview import can_recall, event_of, loss_words, preview_rows, summary_source
from workbench.compaction.prompts import RECALL_TOOLS
from workbench.compaction.summary_sizes import UNCAPPED, summary_cap
from workbench.compaction.values import CompactionRefused, Fact, SummaryAudit
from workbench.config.values import replace
from workbench.context import compare
from workbench.context.policy import CompactionPolicy
from workbench.log.events import AssistantMessage, Body, Compaction, Event, Setting, SlotContent, UserMessage
from workbench.models.catalogue import Catalogue
from workbench.models.framing import REPLY_PRIMING

NOWHERE = "http://127.0.0.1:9/v1"
"""A model that is never asked."""
PRICES = replace(
    Catalogue().find_model("nobody-knows-this"),
    input_price=10.0,
    output_price=30.0,
    cached_price=1.0,
    cache_write_price=12.5,
)


def recall_slots() -> list[Body]:
    return [SlotContent("tools", name, f'{{"function": {{"name": "{name}"}}}}') for name in RECALL_TOOLS]


def test_a_preview_says_what_would_be_summarised_kept_and_freed() -> None:
    events = number(work(8))
    made = compactor()
    preview = made.preview(events, "manual", digest=True)
    plan = made.setup.plan(events)
    selected = preview.selected
    assert preview.tokens_before == plan.totals.tokens
    assert preview.source_tokens == sum(item.tokens for item in selected.items)
    assert (selected.first, selected.last, preview.events) == (1, 24, 24)
    assert (preview.first_at, preview.last_at) == (events[0].at, events[23].at)
    assert preview.why == selected.why
    assert (preview.model, preview.request_tokens, preview.parts, preview.cost) == ("", 0, 0, 0.0)
    policy = made.setup.loaded.policy.compaction
    body = event_of(selected, " word" * preview.summary_cap, policy, preview.recall)
    again = compare.plan_effect(plan, made.setup.plan([*events, Event(len(events) + 1, "c", 0, body)]))
    cache = preview.cache
    assert (again.freed, again.first_changed, again.rewritten) == (
        *(cache.saved_per_request, cache.first_changed, cache.rewritten),
    ), "the context pane says the same of the same change"


def test_the_request_to_the_summariser_is_planned_and_priced_before_it_is_made() -> None:
    made = compactor(NOWHERE, setup(model="gpt-4o"), catalogue=Catalogue())
    preview = made.preview(number(work(8)), "threshold", "84 of 100")
    info = Catalogue().find_model("gpt-4o")
    assert info.input_price
    assert info.output_price
    assert (preview.model, preview.parts, preview.trigger, preview.why) == ("gpt-4o", 1, "threshold", "84 of 100")
    assert preview.request_tokens > preview.source_tokens
    assert preview.cost == pytest.approx(
        preview.request_tokens * info.input_price + preview.summary_cap * info.output_price
    )
    split = compactor(NOWHERE, setup(model="gpt-4o", window=2_000))
    parts = split.preview(number(work(8)), "manual")
    assert parts.parts > 1
    unknown = compactor(NOWHERE)
    assert unknown.preview(number(work(8)), "manual").cost is None


async def test_a_request_that_cannot_fit_leaves_the_digest() -> None:
    made, events = compactor(NOWHERE, setup(window=600)), number(work(8))
    preview = made.preview(events, "manual")
    assert (preview.model, preview.request_tokens, preview.parts, preview.cost) == ("", 0, 0, 0.0)
    assert preview.unable.startswith("the summary request does not fit: ")
    assert preview.unable.endswith(", so this is the digest")
    asked = dict(preview_rows(preview))["asks"]
    assert asked == f"{preview.unable}; a summary of at most {preview.summary_cap:,} tokens"
    draft = await made.draft(events, preview)
    assert (draft.made_by, draft.cost) == ("digest", 0.0)
    assert preview.unable == f"{draft.problems[0].removeprefix('does_not_fit: ')}, so this is the digest"


def test_nothing_to_compact_is_refused() -> None:
    with pytest.raises(CompactionRefused) as refused:
        compactor().preview(number([UserMessage("hello")]), "manual")
    assert refused.value.kind == "nothing"


@pytest.mark.parametrize(
    ("policy", "source", "cap"),
    [
        (CompactionPolicy(), 100_000, UNCAPPED),
        (CompactionPolicy(summary_tokens=500), 100_000, 500),
        (CompactionPolicy(summary_tokens=2_000, summary_ratio=0.001), 100_000, 1_000),
        (CompactionPolicy(summary_ratio=0.001), 100_000, 1_000),
        (CompactionPolicy(summary_tokens=500), 300, 150),
        (CompactionPolicy(), 0, 1),
    ],
)
def test_a_summary_is_capped_by_the_policy_and_by_half_of_its_source(
    policy: CompactionPolicy, source: int, cap: int
) -> None:
    assert summary_cap(policy, ROOMY, source) == cap


async def test_the_draft_is_as_large_as_the_plan_will_be() -> None:
    events = number([*work(3), Compaction(1, 4, "Port 9001."), *work(4, first=4)])
    made = compactor()
    draft = await drafted(made, events, digest=True)
    after = made.setup.plan(appended(events, made.body(draft)))
    assert draft.tokens_after == after.totals.tokens


def test_the_blocks_keep_to_their_units_in_order() -> None:
    selected = compactor().preview(number(work(5)), "manual", digest=True).selected
    blocks = summary_source(selected, CompactionPolicy()).blocks
    units = [block.unit for block in blocks]
    assert units == sorted(units)
    assert min(units) >= 0
    assert {item.id for item in selected.items} <= {block.id for block in blocks}


def test_the_model_is_told_of_the_originals_only_where_it_can_read_them() -> None:
    plain, able = number(work(8)), number([*recall_slots(), *work(8)])
    assert not can_recall(plain)
    assert can_recall(able)
    assert not can_recall(number([*recall_slots(), SlotContent("tools", RECALL_TOOLS[0], "")]))
    preview = compactor().preview(able, "manual", digest=True)
    policy = preset("workbench").compaction
    assert "peek_grep" in event_of(preview.selected, "s", policy, preview.recall).preface
    assert "peek" not in event_of(preview.selected, "s", policy, False).preface


# The cache


def test_the_cache_holds_up_to_the_first_row_that_changes() -> None:
    policy = preset("confirm")
    bodies: list[Body] = [SlotContent("system", "x", words(50)), UserMessage(words(100)), AssistantMessage(words(100))]
    before = planned([*bodies, Setting("x", 1), UserMessage(words(7))], policy)
    after = planned([*bodies, summary_of(policy, 2, 3, words(10)), UserMessage(words(7))], policy)
    found = cache_effect(before, after, PRICES, 0.5)
    shared = found.first_changed
    assert 50 <= shared <= 60, "the system prompt and its framing"
    assert found.rewritten == before.totals.tokens - REPLY_PRIMING - shared, "what the cache has and cannot use"
    assert found.saved_per_request == before.totals.tokens - after.totals.tokens
    spent = (after.totals.tokens - shared) * (12.5 - 1.0) + 0.5
    assert found.payback == pytest.approx(spent / (found.saved_per_request * 1.0))


@given(st.integers(-400, 400))
def test_a_request_never_frees_more_than_it_has(unattributed: int) -> None:
    policy = preset("confirm")
    limits = replace(ROOMY, unattributed=unattributed)
    before = planned([UserMessage(words(100)), AssistantMessage(words(100))], policy, limits)
    after = planned([UserMessage(words(5))], policy, limits)
    assert after.size >= 0
    assert cache_effect(before, after, PRICES, 0.5).saved_per_request <= before.size
    assert before.size == max(0, before.totals.tokens + unattributed)


def test_without_a_price_for_cached_tokens_only_the_summary_is_paid_back() -> None:
    policy = preset("confirm")
    before = planned([UserMessage(words(100)), AssistantMessage(words(100))], policy)
    after = planned([UserMessage(words(50))], policy)
    plain = replace(PRICES, cached_price=None, cache_write_price=None)
    saved = before.totals.tokens - after.totals.tokens
    assert cache_effect(before, after, plain, 30.0).payback == pytest.approx(30.0 / (saved * 10.0))
    free = replace(PRICES, input_price=0.0, cached_price=0.0, cache_write_price=0.0)
    assert cache_effect(before, after, free, 0.0).payback == 0.0
    assert cache_effect(before, after, free, 1.0).payback is None
    assert cache_effect(after, before, plain, 1.0).payback is None, "it saves nothing"
    assert cache_effect(before, after, replace(PRICES, input_price=None), 1.0).payback is None
    assert cache_effect(before, after, PRICES, None).payback is None


def test_what_has_no_price_is_paid_back_in_tokens_or_not_at_all() -> None:
    events = number(work(8))
    asked = compactor(NOWHERE).preview(events, "manual")
    saved, read = asked.cache.saved_per_request, asked.request_tokens

    def told(payback: float | None, price: float | None, cost: float | None = 0.0, **more: int) -> str:
        cache = asked.cache._replace(payback=payback, price=price, **more)
        return paid_back(replace(asked, cache=cache, cost=cost))

    in_tokens = f"in tokens, after {read / saved:.1f} requests"
    assert told(2.5, 1.0, 0.1) == "after 2.5 requests"
    assert told(1.0, 1.0, 0.1) == "after 1.0 requests"
    assert told(0.04, 1.0, 0.1) == told(0.99, 1.0, 0.1) == "after less than one request"
    small = replace(asked, request_tokens=1, cost=None)
    assert paid_back(small) == "no price is known; in tokens, after less than one request"
    assert told(0.0, 1.0) == "at once: it costs nothing"
    assert told(0.0, 0.0) == f"the model costs nothing; {in_tokens}"
    assert told(None, 0.0, 0.1) == "never: what it saves is free"
    assert told(None, None, 0.1) == told(None, 1.0, None) == f"no price is known; {in_tokens}"
    assert told(None, 1.0, 0.1, saved_per_request=0) == "never: it frees nothing"
    digest = compactor().preview(events, "manual", digest=True)
    assert paid_back(replace(digest, cache=digest.cache._replace(price=0.0, payback=0.0))).endswith("; at once")


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))
def test_the_shared_beginning_is_never_more_than_either_request(same: int, left: int, right: int) -> None:
    def log(more: str, count: int) -> list[Body]:
        return [
            *(UserMessage(f"same {at}") for at in range(same)),
            *(UserMessage(f"{more} {at}") for at in range(count)),
        ]

    policy = preset("confirm")
    before, after = planned(log("left", left), policy), planned(log("right", right), policy)
    shared = cache_effect(before, after, PRICES, None).first_changed
    assert 0 <= shared <= max(before.totals.tokens, after.totals.tokens)
    assert shared > 0 or same == 0


async def test_a_summary_has_one_size_in_its_draft_in_the_log_and_in_the_request() -> None:
    for policy in ("workbench", "confirm"):
        made = compactor(made=setup(policy))
        events = number(work(8))
        draft = await drafted(made, events, digest=True)
        body = made.body(draft)
        rows = made.setup.plan([*events, Event(len(events) + 1, "c", 0, body)]).items.sent_items()
        assert draft.summary_tokens == sum(row.tokens for row in rows if row.slot == "summaries")
        assert body.meta["summary_tokens"] == draft.summary_tokens > draft.text_tokens


FACTS = st.lists(st.builds(Fact, st.text("abc", min_size=1, max_size=9), st.just("path"), st.just("e1")), max_size=12)


@given(FACTS.map(tuple), FACTS.map(tuple), st.integers(0, 2_000))
def test_the_line_about_facts_counts_as_the_list_of_them_does(
    kept: tuple[Fact, ...], lost: tuple[Fact, ...], unlisted: int
) -> None:
    said = loss_words(SummaryAudit(1.0, kept, lost, unlisted=unlisted))
    if lost:
        assert said.startswith(f"keeps {len(kept):,} of {len(kept) + len(lost):,}, loses {len(lost):,}: ")
        names = said.partition(": ")[2].partition(";")[0].removesuffix(" more")
        counts = [int(each) for each in names.split(", ") if each.isdigit()]
        assert len([each for each in names.split(", ") if not each.isdigit()]) + sum(counts) == len(lost)
    assert (f"{unlisted:,} lesser fact" in said) == bool(unlisted)


@pytest.mark.parametrize(
    ("kept", "lost", "forgotten", "unlisted", "expected"),
    [
        (0, 0, 0, 0, "none found in what is summarised"),
        (0, 0, 1, 0, "none found in what is summarised; loses 1 fact of the previous summary"),
        (0, 0, 0, 1, "loses 1 lesser fact"),
        (0, 0, 2, 3, "loses 3 lesser facts; loses 2 facts of the previous summary"),
        (1, 0, 0, 0, "keeps the only one"),
        (2, 0, 0, 0, "keeps all 2"),
        (2, 0, 0, 1, "keeps all 2, loses 1 lesser fact"),
        (1, 1, 0, 2, "keeps 1 of 2, loses 1: a.py; 2 lesser facts besides"),
        (0, 1, 1, 0, "keeps 0 of 1, loses 1: a.py; loses 1 fact of the previous summary"),
    ],
)
def test_the_line_about_facts_names_everything_that_is_lost(
    kept: int, lost: int, forgotten: int, unlisted: int, expected: str
) -> None:
    fact = Fact("a.py", "path", "e1")
    assert loss_words(SummaryAudit(1.0, (fact,) * kept, (fact,) * lost, (fact,) * forgotten, unlisted)) == expected
