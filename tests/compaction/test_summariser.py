"""The summariser: requests that always fit, split at the borders of units and merged, through the real gateway."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.drafts import MODEL, WINDOW, compactor, drafted, says, setup, work
from support.logs import number
from support.provider import Answer, Provider, piece, text, usage
from support.requirements import requirement
from support.talk import COUNTER, words
from support.validity import problems
from workbench.compaction.progress import CompactionProgress
from workbench.compaction.prompts import load_prompt
from workbench.compaction.requests import (
    LEAST_ROOM,
    SummarySource,
    merge_groups,
    shorten_to_tokens,
    split_into_requests,
    without_stages,
)
from workbench.compaction.source import SourceBlock
from workbench.compaction.summariser import Summariser, SummariserAccess, setup_for
from workbench.compaction.values import CompactionRefused
from workbench.config.values import replace
from workbench.context.plan import ContextPlan
from workbench.context.render import render_messages
from workbench.context.setup import Setup
from workbench.log.events import Compaction
from workbench.models.catalogue import Catalogue
from workbench.models.endpoints import Endpoint
from workbench.models.gateway import Gateway
from workbench.models.retry import RetrySchedule

pytestmark = pytest.mark.xdist_group("litellm")

CODEX = load_prompt("codex")


def narrow(window: int) -> Setup:
    """A summariser with a window of so many tokens, all of them for the request."""
    made = without_stages(setup())
    return replace(made, limits=replace(made.limits, window=window, reserve=0, margin=0))


def record(plan: ContextPlan) -> str:
    """What stands in the frame of a request."""
    text = str(render_messages(plan)[-1]["content"])
    return text.partition("<record>\n")[2].rpartition("\n</record>")[0]


def source(*sizes: int, previous: str = "") -> SummarySource:
    """Blocks of so many words, two to a unit."""
    return SummarySource(
        tuple(SourceBlock(f"[b{at} user]", words(size), at // 2, f"b{at}") for at, size in enumerate(sizes)), previous
    )


@requirement(
    "confirm", "summary", "the summary is made by a request of its own, which holds the prompt and the history"
)
def test_what_fits_is_one_request_of_two_messages() -> None:
    layout = split_into_requests(source(5, 5, previous="before"), CODEX, narrow(5_000), 100)
    [request] = layout.requests
    assert layout.previous == ""
    assert request.plan.verdict.fits
    said = render_messages(request.plan)
    assert [message["role"] for message in said] == ["system", "user"]
    assert said[0]["content"] == CODEX.text
    assert "before" in said[1]["content"]
    assert problems(said) == []


def test_what_does_not_fit_is_split_between_units_and_the_earlier_summary_is_merged() -> None:
    given_source = source(*[300] * 8, previous="before")
    layout = split_into_requests(given_source, CODEX, narrow(1_700), 100)
    assert len(layout.requests) > 1
    assert layout.previous == "before"
    assert "\n\n".join(record(each.plan) for each in layout.requests) == "\n\n".join(
        b.text for b in given_source.blocks
    )
    assert all(record(each.plan).count("[b") % 2 == 0 for each in layout.requests), "two blocks to a unit"


def test_a_unit_that_fits_nowhere_is_cut_by_the_stage_that_cuts_results() -> None:
    layout = split_into_requests(source(20, 3_000), CODEX, narrow(1_000), 100)
    [request] = layout.requests
    assert request.plan.verdict.fits
    text = record(request.plan)
    assert words(20) in text, "the small one stays whole"
    assert "[truncated: kept first+last ~" in text
    assert "[id b1]" in text


@requirement(
    "confirm",
    "summary",
    "the whole history is sent to be summarised, however long",
    decided="that request is planned like any other: it is split and merged where it would not fit",
)
@given(
    st.lists(st.integers(1, 900), min_size=1, max_size=14),
    st.integers(300, 6_000),
    st.integers(1, 500),
    st.sampled_from(["", "an earlier summary " * 20]),
)
def test_every_request_fits_and_nothing_is_left_out(sizes: list[int], window: int, cap: int, previous: str) -> None:
    wanted = source(*sizes, previous=previous)
    refused: CompactionRefused | None = None
    try:
        layout = split_into_requests(wanted, CODEX, narrow(window), cap)
    except CompactionRefused as error:
        refused = error
    if refused:
        assert refused.kind == "does_not_fit"
        assert window < 2_000, "there is room for the prompt and a part"
        return
    assert all(each.plan.verdict.fits for each in layout.requests)
    seen = "\n\n".join(record(each.plan) for each in layout.requests)
    assert [f"[b{at} user]" in seen for at in range(len(sizes))] == [True] * len(sizes)
    assert (
        not previous
        or layout.previous == previous
        or "earlier_summary>" in str(render_messages(layout.requests[0].plan)[1])
    )


@given(st.lists(st.integers(1, 2_000), min_size=2, max_size=20), st.integers(1_000, 5_000))
def test_merging_always_comes_to_an_end(sizes: list[int], window: int) -> None:
    texts = [words(size, "part") for size in sizes]
    groups = merge_groups(texts, narrow(window), 100)
    assert len(groups) < len(texts)
    assert sum(len(group.texts) for group in groups) == len(texts)
    assert all(group.request.plan.verdict.fits for group in groups if group.request)


@pytest.mark.parametrize("tags", [9, 10, 60])
def test_summaries_that_grow_because_their_tags_are_made_harmless_fit_too(tags: int) -> None:
    text = "<record>" * tags + " word" * 900
    [group] = merge_groups([text, text], narrow(1_000), 100)
    assert group.request is not None
    assert group.request.plan.verdict.fits


def test_a_window_too_small_for_the_prompt_is_said_with_its_numbers() -> None:
    with pytest.raises(CompactionRefused, match=r"it has \d+ tokens before any conversation, and 300 fit") as refused:
        split_into_requests(source(500), CODEX, narrow(300), 100)
    assert refused.value.kind == "does_not_fit"
    with pytest.raises(CompactionRefused, match="does not fit"):
        merge_groups(["a", "b"], narrow(LEAST_ROOM), 100)


def test_a_short_text_is_not_cut() -> None:
    assert shorten_to_tokens("alpha", 10, COUNTER, "x") == "alpha"
    assert COUNTER.count(shorten_to_tokens(words(500), 60, COUNTER, "x")).tokens <= 60


# With a model


async def written(
    url: str, made: Setup, wanted: SummarySource, cap: int = 100
) -> tuple[str, Summariser, list[CompactionProgress]]:
    told: list[CompactionProgress] = []
    means = SummariserAccess(Gateway(Endpoint(url, "key", "openai")), schedule=RetrySchedule(tries=1))
    writer = Summariser(made, means, told.append)
    layout = split_into_requests(wanted, CODEX, without_stages(made), cap)
    return await writer.write_summary(layout, lambda: wanted, CODEX, cap), writer, told


async def test_parts_are_summarised_in_order_and_merged_with_the_earlier_summary() -> None:
    answers = [says(f"part {at}") for at in (1, 2, 3)]
    async with Provider(*answers, says("all of it")) as provider:
        wanted = source(*[350] * 6, previous="before")
        text, _, told = await written(provider.url, narrow(1_300), wanted)
        merged = provider.requests[-1].body["messages"][1]["content"]
    assert text == "all of it"
    assert [line for line in merged.split("\n") if line in ("before", "part 1", "part 2", "part 3")] == [
        "before",
        "part 1",
        "part 2",
        "part 3",
    ]
    assert [(step.stage, step.part, step.parts) for step in told if not step.characters] == [
        ("summarising", 1, 3),
        ("summarising", 2, 3),
        ("summarising", 3, 3),
        ("merging", 1, 1),
    ]
    assert told[-1] == CompactionProgress("merging", 1, 1, len("all of it"), MODEL)


async def test_merging_goes_on_in_rounds_until_one_is_left() -> None:
    async with Provider(says(words(400, "fact"))) as provider:
        text, writer, told = await written(provider.url, narrow(1_400), source(*[900] * 14), 400)
        sizes = [len(each.body["messages"][1]["content"]) for each in provider.requests]
    assert text == words(400, "fact")
    assert {step.parts for step in told if step.stage == "merging"} > {1}
    assert len(writer.usages) == len(sizes)


async def test_the_length_is_bounded_in_words_and_by_the_provider() -> None:
    async with Provider(says("short")) as provider:
        await written(provider.url, without_stages(setup()), source(50), 300)
        body = provider.requests[0].body
    assert body["max_tokens"] == 2 * 300 + 2_000
    assert "at most 300 tokens" in body["messages"][1]["content"]
    assert "tools" not in body


async def test_a_model_that_thinks_is_not_cut_off_while_it_does() -> None:
    made = setup()
    made = replace(made, info=replace(made.info, capabilities=frozenset({"reasoning"})))
    async with Provider(says("<think>what did they say?</think>\n", "They spoke.")) as provider:
        text, _, _ = await written(provider.url, made, source(50))
        assert "max_tokens" not in provider.requests[0].body
    assert text == "They spoke."


async def test_what_was_spent_is_known_also_when_nothing_came_of_it() -> None:
    async with Provider(Answer([*text(" "), piece({}, "stop"), usage(700, 9)])) as provider:
        means = SummariserAccess(Gateway(Endpoint(provider.url, "key", "openai")), schedule=RetrySchedule(tries=1))
        writer = Summariser(setup(), means, lambda _: None)
        with pytest.raises(CompactionRefused, match="scripted wrote nothing"):
            await writer.write_summary(
                split_into_requests(source(50), CODEX, without_stages(setup()), 100), lambda: source(50), CODEX, 100
            )
    assert [(each.prompt, each.completion) for each in writer.usages] == [(700, 9)]


@requirement(
    "codex",
    "summary",
    "the sample summarises user messages alone",
    decided="the whole conversation, as the document's text says",
)
@requirement(
    "sliding",
    "summary",
    "its sample shows the summariser text alone",
    decided="calls and results as well: its own prompt asks about them",
)
async def test_tool_calls_and_results_reach_the_summariser_as_the_stages_left_them() -> None:
    events = number(work(6, lines=400))
    sets = ("truncation.max_tokens=300", "masking.keep_first=1", "masking.keep_last=3", "masking.batch_tokens=0")
    made = setup(sets=(*sets, "masking.batch_ratio=0"))
    async with Provider(says("They fixed bugs.")) as provider:
        await drafted(compactor(provider.url, made), events)
        said = provider.requests[0].body["messages"][1]["content"]
    sent = {row.seq: row for row in made.plan(events).items if row.turn <= 4}
    assert {row.state for row in sent.values() if row.kind == "tool_result"} == {"truncated", "masked"}
    for row in sent.values():
        assert f"[{row.id} " in said
        assert (row.text or "") in said


async def test_an_earlier_summary_is_updated_and_not_written_from_nothing() -> None:
    events = number([*work(3), Compaction(1, 4, "Port 9001 was chosen."), *work(4, first=4)])
    async with Provider(says("Port 9001, then others.")) as provider:
        draft = await drafted(compactor(provider.url), events)
        text = provider.requests[0].body["messages"][1]["content"]
    assert "<earlier_summary>\nPort 9001 was chosen.\n</earlier_summary>" in text
    assert "Update the earlier summary" in text
    assert "src/app1.py" not in text, "what the summary stands for is not read again"
    assert [event.seq for event in draft.preview.selected.previous] == [13]


@requirement("sliding", "summary", "the session's own model summarises; no other needs to be configured")
def test_the_session_model_summarises_unless_the_policy_names_another() -> None:
    own = setup(model="gpt-4o", window=None)
    assert setup_for(own, Catalogue()) is own
    other = setup_for(setup(model="gpt-4o", sets=["compaction.model=gpt-3.5-turbo"]), Catalogue())
    assert other.model == "gpt-3.5-turbo"
    assert other.limits.window == Catalogue().find_model("gpt-3.5-turbo").window != WINDOW
    assert other.counter.name == "cl100k_base"
