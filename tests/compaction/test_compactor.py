"""The compactor_module: drafts that can be edited, events with their metadata, and refusals with their numbers."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.drafts import MODEL, appended, compactor, drafted, says, setup, work
from support.logs import number
from support.provider import Provider
from support.requirements import requirement
from support.talk import iterations, words
from workbench.compaction import compactor as compactor_module
from workbench.compaction import facts, requests
from workbench.compaction import progress as progress_module
from workbench.compaction.compactor import NO_MODEL, TOO_WEAK, Compactor, draft_meta
from workbench.compaction.preview import SHORTEST
from workbench.compaction.progress import CompactionProgress, ReportProgress, Stage
from workbench.compaction.prompts import load_prompt
from workbench.compaction.record import read_record
from workbench.compaction.summariser import run_with_progress
from workbench.compaction.values import CompactionRefused, Trigger
from workbench.config.values import replace
from workbench.context.conversation import Conversation
from workbench.context.policy_names import PRESETS
from workbench.log.codec import decode_event, encode_event
from workbench.log.events import AssistantMessage, Compaction, Event, Failure, Override, Revert, UserMessage

pytestmark = pytest.mark.xdist_group("litellm")

META = {
    *("trigger", "why", "model", "made_by", "prompt_hash", "seconds", "cost", "tokens_before", "tokens_after"),
    *("source_tokens", "summary_tokens", "ratio", "score", "facts_kept", "facts_lost", "events", "first_at", "last_at"),
    *("first_turn", "last_turn", "kept_tokens", "forgotten"),
}


@requirement("codex", "summary", "a compaction records original tokens, compacted tokens, ratio and summary")
@requirement("sliding", "log", "a compaction is a new event, appended behind what it stands for")
@requirement("sliding", "log", "it records the first and last event's times, and how many events it stands for")
@requirement("sliding", "log", "it records original tokens, compacted tokens and their ratio")
@requirement("sliding", "log", "it records the first and the last turn of its range")
async def test_a_draft_by_the_model_becomes_an_event_with_its_metadata() -> None:
    events = number(work(8))
    async with Provider(says("Port 9001 was ", "chosen for src/app1.py.")) as provider:
        made = compactor(provider.url)
        draft = await drafted(made, events)
    body = made.body(draft)
    policy = made.setup.loaded.policy.compaction
    assert body.summary == "Port 9001 was chosen for src/app1.py."
    assert (body.first, body.last, body.kept) == (1, 24, draft.preview.selected.kept)
    assert (body.preface, body.place, body.acknowledgement) == (policy.preface, "start", "")
    assert body.meta.keys() >= META
    assert json.loads(json.dumps(body.meta)) == body.meta
    assert (body.meta["made_by"], body.meta["prompt_hash"]) == (MODEL, load_prompt("workbench").hash)
    assert (body.meta["first_turn"], body.meta["last_turn"], body.meta["events"]) == (1, 6, 24)
    assert body.meta["ratio"] == pytest.approx(draft.preview.source_tokens / draft.summary_tokens, abs=0.001)
    assert decode_event(encode_event(Event(33, "x", 1, body))).body == body


@pytest.mark.parametrize("policy", PRESETS)
async def test_every_preset_compacts_and_the_plan_is_as_the_draft_says(policy: str) -> None:
    events = number(work(12))
    made = compactor(made=setup(policy))
    draft = await drafted(made, events, digest=True)
    log = appended(events, made.body(draft))
    after = made.setup.plan(log)
    assert after.totals.tokens == draft.tokens_after
    assert after.verdict.fits
    before = made.setup.plan(events)
    assert made.setup.plan([*log, Event(len(log) + 1, "r", 0, Revert(len(log)))]) == before


async def test_editing_makes_audit_and_figures_again() -> None:
    events = number(work(8))
    made = compactor()
    draft = await drafted(made, events, digest=True)
    short = made.edited(events, draft, "Only port 9001 matters.")
    assert (short.summary, short.made_by, short.preview) == ("Only port 9001 matters.", "digest", draft.preview)
    assert short.tokens_after < draft.tokens_after
    assert short.audit.score < draft.audit.score
    assert short.tokens_after == made.setup.plan(appended(events, made.body(short))).totals.tokens


async def test_the_turns_of_an_update_are_those_of_its_whole_range() -> None:
    made = compactor()
    events = number(work(6))
    first = made.body(await drafted(made, events, digest=True))
    log = number([*work(6), first, *work(4, first=7)])
    again = made.body(await drafted(made, log, digest=True))
    assert (first.meta["first_turn"], first.meta["last_turn"]) == (1, 4)
    assert (again.meta["first_turn"], again.meta["last_turn"]) == (1, 8)


async def test_lost_things_are_put_back_with_one_call() -> None:
    events = number(work(8))
    made = compactor()
    draft = made.edited(events, await drafted(made, events, digest=True), "Nothing of note.")
    assert draft.audit.lost
    one = made.with_lost(events, draft, draft.audit.lost[:1])
    assert draft.audit.lost[0] in one.audit.kept
    every = made.with_lost(events, draft)
    assert every.audit.lost == ()
    assert every.audit.score == 1.0


@given(st.integers(1, 8), st.integers(0, 3), st.integers(5, 99))
def test_what_is_offered_is_never_refused_for_freeing_too_little(count: int, standing: int, percent: int) -> None:
    """The summary is asked for shorter, where that is enough; otherwise nobody is offered anything."""
    bodies = work(count)
    bodies += [Compaction(1, 4 * standing, "so far"), *work(1, first=count + 1)] if 0 < standing <= count else []
    events, made = number(bodies), compactor(made=setup(sets=[f"compaction.min_freed={percent / 100}"]))
    try:
        preview = made.preview(events, "threshold", digest=True)
    except CompactionRefused:
        return
    draft = asyncio.run(made.draft(events, preview, digest=True))
    assert draft.text_tokens <= preview.summary_cap
    assert draft.freed >= percent / 100 * preview.tokens_before
    assert made.body(draft)


async def test_where_no_summary_could_free_enough_nobody_is_asked_and_nothing_has_failed() -> None:
    """The turn that stays fills the room. That passes, so it must not open the circuit breaker."""
    events = number([UserMessage(words(9)), AssistantMessage(words(90)), UserMessage(words(900))])
    figures = r"even a summary of \d+ tokens would free -?\d+ of 1,\d+ tokens = .*% < 10 %$"
    async with Provider(says("a summary")) as provider:
        made = compactor(provider.url, setup("confirm"))
        for digest in (False, True):
            with pytest.raises(CompactionRefused, match=figures) as refused:
                await drafted(made, events, "threshold", digest=digest)
            assert refused.value.kind == "nothing"
        assert not provider.requests
    failed = [Failure("compaction", f"{refused.value.kind}: {refused.value}")] * 5
    assert read_record(number(failed)).failures_in_a_row == 0


async def test_by_hand_too_little_is_said_and_not_refused() -> None:
    events = number([UserMessage(words(9)), AssistantMessage(words(90)), UserMessage(words(900))])
    async with Provider(says("They spoke.")) as provider:
        made = compactor(provider.url, setup("confirm"))
        preview = made.preview(events, "manual")
        draft = await made.draft(events, preview)
    assert re.fullmatch(r"would free -?\d+ of 1,\d+ tokens = .*% < 10 %", preview.too_little_freed)
    assert draft.made_by == MODEL
    assert made.body(draft).summary == "They spoke."


async def test_by_hand_a_summary_that_frees_too_little_gives_way_to_a_shorter_digest() -> None:
    events = number(work(8))
    sets = ["compaction.min_freed=0.6", "compaction.summary_tokens=1200", "compaction.summary_ratio=0"]
    async with Provider(says(words(1_000))) as provider:
        draft = await drafted(compactor(provider.url, setup(sets=sets)), events)
    assert draft.too_little_freed == "" or draft.made_by == "digest"


async def test_where_a_summary_would_free_too_little_a_shorter_one_is_asked_for() -> None:
    events = number(work(8))
    sizes = ("compaction.summary_tokens=1200", "compaction.summary_ratio=0")
    usual = compactor("http://127.0.0.1:9/v1", setup(sets=sizes)).preview(events, "manual")
    async with Provider(says(words(1_000))) as provider:
        wanting = compactor(provider.url, setup(sets=["compaction.min_freed=0.55", *sizes]))
        draft = await drafted(wanting, events)
    assert usual.summary_cap / SHORTEST < draft.preview.summary_cap < usual.summary_cap
    assert draft.made_by == MODEL
    assert draft.text_tokens <= draft.preview.summary_cap
    assert draft.freed >= 0.55 * draft.preview.tokens_before


async def test_a_summary_with_which_the_request_would_still_not_fit_gives_way_to_the_digest() -> None:
    talk = [body for _ in range(7) for body in (UserMessage(words(420)), AssistantMessage(words(1_000)))]
    async with Provider(says(words(880))) as provider:
        made = compactor(provider.url, setup("confirm", window=4_000))
        draft = await drafted(made, number([*talk, *(Override("pin", at, at) for at in range(1, len(talk), 2))]))
    assert draft.problems[0].startswith("does_not_fit: the request would still have ")
    assert draft.made_by == "digest"
    assert draft.tokens_after <= made.setup.limits.capacity


async def test_an_emptied_draft_must_not_stand() -> None:
    events = number(work(8))
    made = compactor()
    draft = await drafted(made, events, "threshold", digest=True)
    with pytest.raises(CompactionRefused, match="the summary is empty"):
        made.body(made.edited(events, draft, " \n"))
    long = made.edited(events, draft, words(5_000))
    with pytest.raises(CompactionRefused, match="would free -"):
        made.body(long)
    by_hand = made.edited(events, await drafted(made, events, digest=True), words(5_000))
    assert by_hand.too_little_freed.startswith("would free -")
    assert made.body(by_hand)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (compactor(), NO_MODEL),
        (compactor("http://127.0.0.1:9/v1", setup(model="local", window=20_000)), TOO_WEAK),
        (compactor("http://127.0.0.1:9/v1", setup(sets=["compaction.model=local"])), TOO_WEAK),
        (compactor("http://127.0.0.1:9/v1", setup(model="")), NO_MODEL),
    ],
)
async def test_without_a_model_that_can_summarise_the_digest_says_why(made: Compactor, problem: str) -> None:
    draft = await drafted(made, number(work(8)))
    assert (draft.made_by, draft.problems, draft.preview.model, draft.cost) == ("digest", (problem,), "", 0.0)


async def test_a_prompt_that_cannot_be_read_does_not_end_the_session() -> None:
    made = compactor("http://127.0.0.1:9/v1", setup(sets=["compaction.prompt=file:/gone.md"]))
    draft = await drafted(made, number(work(8)))
    assert draft.made_by == "digest"
    assert "gone.md: cannot be read" in draft.problems[0]


async def test_progress_is_told_in_order_and_from_the_callers_thread() -> None:
    told: list[CompactionProgress] = []
    threads: set[int] = set()

    def tell(step: CompactionProgress) -> None:
        told.append(step)
        threads.add(threading.get_ident())

    async with Provider(says("They ", "fixed bugs.")) as provider:
        await drafted(compactor(provider.url), number(work(8)), progress=tell)
    stages = dict.fromkeys(step.stage for step in told)
    assert list(stages) == ["summarising", "collecting", "auditing"]
    assert max(step.characters for step in told) == len("They fixed bugs.")
    assert threads == {threading.get_ident()}


async def test_progress_goes_forward_and_every_count_comes_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "EVERY", 7)
    told: list[CompactionProgress] = []
    async with Provider(says("They ", "fixed bugs.")) as provider:
        made, events = compactor(provider.url), number(work(8))
        preview = made.preview(events, "manual", progress=told.append)
        await made.draft(events, preview, progress=told.append)
    order = list(get_args(Stage))
    assert [order.index(step.stage) for step in told] == sorted(order.index(step.stage) for step in told)
    counts = {stage: [step.part for step in told if step.stage == stage] for stage in ("selecting", "collecting")}
    rows, items = len(made.setup.plan(events).items), len(preview.selected.items)
    assert counts == {"selecting": [*range(0, rows, 7), rows], "collecting": [*range(0, items, 7), items]}
    assert told[-1].stage == "auditing"


async def test_whoever_stops_waiting_stops_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "EVERY", 1)
    ended: asyncio.Queue[BaseException] = asyncio.Queue()
    stopped, loop = threading.Event(), asyncio.get_running_loop()

    def work_on(tell: ReportProgress) -> None:
        try:
            for at, _ in enumerate(progress_module.with_progress(range(1_000), 1_000, "collecting", tell)):
                if at == 10:
                    stopped.wait()
        except BaseException as error:
            loop.call_soon_threadsafe(ended.put_nowait, error)
            raise

    begun = asyncio.Event()
    waiting = asyncio.create_task(run_with_progress(work_on, lambda _: begun.set()))
    await begun.wait()
    waiting.cancel()
    await asyncio.wait([waiting])
    stopped.set()
    assert type(await ended.get()).__name__ == "_NobodyWaits"


async def test_a_word_that_was_on_its_way_is_not_told_after_the_end() -> None:
    said: list[CompactionProgress] = []
    going, go, spoken = asyncio.Event(), threading.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work_on(tell: ReportProgress) -> None:
        loop.call_soon_threadsafe(going.set)
        go.wait()
        tell(CompactionProgress("selecting"))
        spoken.set()

    waiting = asyncio.create_task(run_with_progress(work_on, said.append))
    await going.wait()
    waiting.cancel()
    go.set()
    spoken.wait()
    await asyncio.wait([waiting])
    await asyncio.sleep(0)
    assert said == []


async def test_selection_digest_and_audit_leave_the_loop_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []
    for name in ("audit_summary", "make_digest", "summary_source"):
        real = getattr(compactor_module, name)

        def spy(*args: object, _real: object = real, **more: object) -> object:
            threads.append(threading.current_thread().name)
            return _real(*args, **more)  # type: ignore[operator]  # it is the real function

        monkeypatch.setattr(compactor_module, name, spy)
    async with Provider(says(" ")) as provider:
        made = compactor(provider.url)
        events = number(work(8))
        preview = await asyncio.to_thread(made.preview, events, "manual")
        await made.draft(events, preview)
    assert len(threads) == 3
    assert threading.current_thread().name not in threads


@given(st.integers(3, 14), st.integers(1, 60), st.sampled_from(PRESETS))
def test_a_draft_always_frees_its_share_or_says_that_it_does_not(turns: int, lines: int, policy: str) -> None:
    made = compactor(made=setup(policy))
    events = number(work(turns, lines))
    try:
        draft = asyncio.run(drafted(made, events, digest=True))
    except CompactionRefused:
        return
    body = made.body(draft)
    after = made.setup.plan(appended(events, body)).totals.tokens
    before = draft.preview.tokens_before
    assert (before - after >= 0.1 * before) is (draft.too_little_freed == "")
    assert draft.text_tokens <= draft.preview.summary_cap


def test_metadata_of_an_empty_cut_is_still_whole() -> None:
    preview = compactor().preview(number(work(8)), "manual", digest=True)
    draft = asyncio.run(compactor().draft(number(work(8)), preview, digest=True))
    bare = replace(draft, preview=replace(preview, selected=preview.selected._replace(items=())))
    assert (draft_meta(bare)["first_turn"], draft_meta(bare)["last_turn"]) == (0, 0)
    assert isinstance(compactor().body(draft), Compaction)


@pytest.mark.parametrize("trigger", ["manual", "threshold", "tokens"])
def test_a_conversation_that_is_one_long_turn_can_be_compacted_too(trigger: Trigger) -> None:
    events = number([UserMessage("Fix it. Never touch setup.py."), *iterations([words(400)] * 12)])
    made = compactor(made=setup("codex"))
    with pytest.raises(CompactionRefused, match="nothing to compact"):
        made.preview(events, "turns")
    selected = made.preview(events, trigger).selected
    assert {item.kind for item in selected.items} == {"tool_call", "tool_result"}
    assert selected.last < events[-1].seq, "the last iteration stays"


async def test_a_log_that_is_planned_is_not_planned_from_its_beginning_for_a_compaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor is it read for facts more than once, also where the summary is edited: a long log takes seconds each time."""
    events, made = number(work(8)), compactor()
    planner = made.setup.planner(events)
    planned: list[int] = []
    collected: list[int] = []
    of, collect = Conversation.__init__, facts.collect_facts

    def counted(self: Conversation, *arguments: Any) -> None:
        planned.append(1)
        of(self, *arguments)

    def collecting(*arguments: Any) -> Any:
        collected.append(1)
        return collect(*arguments)

    monkeypatch.setattr(Conversation, "__init__", counted)
    monkeypatch.setattr(compactor_module, "collect_facts", collecting)
    preview = made.preview(events, "manual", digest=True, planner=planner.at_this_moment())
    draft = await made.draft(events, preview, digest=True)
    draft = made.edited(events, draft, draft.summary + "\nOne line more.")
    assert (len(planned), len(collected)) == (0, 1)
    body = made.body(draft)
    planner.extend([Event(len(events) + 1, "compaction", 0, body)])
    assert not planned
    assert planner.plan().size == draft.tokens_after == made.setup.plan(appended(events, body)).size


async def test_the_requests_that_a_preview_tells_of_are_those_that_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out: list[int] = []
    lay_out = requests.split_into_requests

    def counted(*arguments: Any) -> Any:
        laid_out.append(1)
        return lay_out(*arguments)

    monkeypatch.setattr(compactor_module, "split_into_requests", counted)
    async with Provider(says("Port 9001 was chosen.")) as provider:
        made = compactor(provider.url)
        draft = await drafted(made, number(work(8)))
        assert (draft.preview.parts, len(provider.requests)) == (1, 1)
    assert len(laid_out) == 1
