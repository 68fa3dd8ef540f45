"""Compactions that nobody asked for, in the session model without a screen: made, asked about, stopped."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any

import pytest

from support.requirements import requirement
from support.talk import turns
from tui.compaction.long_talk import SUMMARY, stored
from tui.compaction.watching import Scripted, bodies, on_talk, view
from tui.play import answer, opened, until
from workbench.log.events import Compaction, Failure, Setting, Usage
from workbench.models.reply_parts import TextPiece
from workbench.session.questions import make_session
from workbench.session.reports import token_figures
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")

AUTO = ("compaction.mode=auto", "compaction.threshold=0.35")
ASK = ("compaction.threshold=0.35",)
NO_THRESHOLD = ("compaction.mode=auto", "compaction.threshold=0")
LONG = "Done, and this is how it was done. " * 100
"""An answer with which the context is over the threshold."""


async def test_mode_auto_compacts_after_a_turn_and_says_so(services: Services, script: Scripted) -> None:
    made = script(answer(LONG), answer(SUMMARY))
    async with on_talk(services, *AUTO) as on:
        on.model.send("go on")
        await until(lambda: view(on).last is not None)
        await on.settled()
        assert len(made.requests) == 2
        [body] = await bodies(on, Compaction)
        assert body.summary == SUMMARY
        assert body.meta["trigger"] == "threshold"
        assert view(on).last is not None
        assert view(on).running is None
        assert on.activity.kind == "idle"
        assert "facts kept; F9 undoes it" in on.told


@requirement("codex", "summary", "compacting goes on in the background, with its progress shown")
@requirement("sliding", "trigger", "compacting is asynchronous: the next turn does not wait")
async def test_the_next_turn_does_not_wait_for_a_compaction(services: Services, script: Scripted) -> None:
    gate = threading.Event()
    script(answer(LONG), [gate, *answer(SUMMARY)], answer("And this."))
    async with on_talk(services, *AUTO) as on:
        on.model.send("go on")
        await until(lambda: on.activity.text == "asking scripted" and view(on).running is not None)
        assert (on.activity.kind, on.activity.text) == ("compacting", "asking scripted")
        on.model.send("and that?")
        await until(lambda: on.said[-1] == ("ai", "And this."))
        assert view(on).running is not None
        gate.set()
        await until(lambda: view(on).last is not None)
        await on.settled()
        assert len(await bodies(on, Compaction)) == 1
        assert view(on).running is None


@requirement("confirm", "trigger", "after each answer over the threshold the user is asked, and no is the default")
@requirement("confirm", "trigger", "a user who declines is asked again after the next answer")
async def test_confirm_asks_in_place_with_the_figures_and_no_is_the_default(
    services: Services, script: Scripted
) -> None:
    made = script(answer(LONG), answer("Two."), answer(SUMMARY))
    async with on_talk(services, *ASK) as on:
        on.model.send("first")
        await until(lambda: on.question is not None)
        question = on.question
        assert question.kind == "compact"
        assert question.title.startswith("Context usage at ")
        assert question.title.endswith("Compact conversation?")
        assert question.default == "no"
        assert "threshold: " in question.detail
        assert on.activity.kind == "waiting"
        on.model.answer(question.number, "no")
        await until(lambda: on.question is None)
        await on.settled()
        assert not await bodies(on, Compaction)
        on.model.send("second")
        await until(lambda: on.question is not None and on.question.number > question.number)
        assert on.said[-1] == ("ai", "Two."), "it is asked again after the next reply"
        on.model.answer(on.question.number, "yes")
        await until(lambda: view(on).last is not None)
        await on.settled()
        assert len(await bodies(on, Compaction)) == 1
        assert len(made.requests) == 3


@requirement("confirm", "trigger", "instead of answering one may keep chatting")
async def test_a_message_in_place_of_an_answer_means_not_now(services: Services, script: Scripted) -> None:
    script(answer(LONG), answer("Two."))
    async with on_talk(services, *ASK) as on:
        on.model.send("first")
        await until(lambda: on.question is not None)
        number = on.question.number
        on.model.send("second")
        await until(lambda: on.said[-1] == ("ai", "Two."))
        await until(lambda: on.question is not None and on.question.number > number)
        assert not await bodies(on, Compaction)


async def test_what_cannot_be_sent_is_asked_about_at_every_message(services: Services, script: Scripted) -> None:
    script()
    with services.store.create([Setting("model", "scripted"), *turns(8, 450)]) as session:
        talk = session.id
    async with opened(services, talk, window=6_000, policy="confirm") as on:
        on.model.send("refused")
        await until(lambda: on.question is not None)
        assert [choice.label for choice in on.question.choices][1] == "no, ask again at the next message"
        number = on.question.number
        on.model.answer(number, "no")
        await until(lambda: on.question is None)
        await on.settled()
        kind, text = on.said[-1]
        assert (kind, text.rpartition("; ")[2]) == ("failure", "/compact may make room")
        on.model.send("first")
        await until(lambda: on.question is not None and on.question.number > number)
        on.model.send("second")
        await until(lambda: on.queue == ("second",))
        assert on.question is not None, "the turn waits for its answer"
        on.model.answer(on.question.number, "yes")
        await until(lambda: on.said[-2:] == [("you", "second"), ("ai", "nothing more to say")])
        await on.settled()
        assert len(await bodies(on, Compaction)) == 1


async def test_what_is_left_for_the_answer_is_the_same_wherever_it_is_told(
    services: Services, script: Scripted
) -> None:
    made = script(answer("One."))
    knobs = ("compaction.threshold=0",)
    async with opened(services, stored(services, 5), policy="confirm", window=5_000, knobs=knobs) as on:
        on.model.send("go on")
        await until(lambda: on.said[-1] == ("ai", "One."))
        await on.settled()
        left = on.shown.plan.max_output
        assert left is not None
        assert (on.status.max_output, on.shown.plan.budget.reserve) == (left, left)
        told = dict(await on.ask(partial(token_figures, view=on.compaction)))
        assert told["window"] == f"5,000 (option), {left:,} of 1,250 kept for the answer"
        assert left < made.requests[0]["max_tokens"], "the answer itself takes room in the next request"


@requirement(
    "codex",
    "summary",
    "a compaction takes 2 to 5 seconds",
    decided="it takes as long as the model does, during the work, and can be stopped",
)
async def test_escape_stops_a_compaction_and_leaves_no_trace(services: Services, script: Scripted) -> None:
    gate = threading.Event()
    script(answer(LONG), [TextPiece("half"), gate])
    async with on_talk(services, *AUTO) as on:
        on.model.send("go on")
        await until(lambda: (now := view(on).running) is not None and now.progress.characters > 0)
        on.model.interrupt()
        await on.settled()
        gate.set()
        assert not await bodies(on, Compaction)
        assert not await bodies(on, Failure)
        assert view(on).running is None
        assert on.activity.kind == "idle"


async def test_a_turn_that_would_not_fit_is_compacted_on_the_way(services: Services, script: Scripted) -> None:
    script(answer(SUMMARY), answer("It fits now."))
    ref = stored(services, 8)
    async with opened(services, ref, window=7_000, reserve=500, knobs=NO_THRESHOLD) as on:
        on.model.send("one word more " * 200)
        await until(lambda: on.said[-1] == ("ai", "It fits now."))
        await on.settled()
        assert len(await bodies(on, Compaction)) == 1
        assert view(on).running is None
        assert any(notice.title == "compacted by itself" for notice in on.notices)
        assert len(await bodies(on, Usage)) == 9


async def test_a_turn_that_is_stopped_while_it_compacts_leaves_no_progress_behind(
    services: Services, script: Scripted
) -> None:
    gate = threading.Event()
    script([TextPiece("half"), gate])
    async with opened(services, stored(services, 8), window=7_000, reserve=500, knobs=NO_THRESHOLD) as on:
        on.model.send("one word more " * 200)
        await until(lambda: (now := view(on).running) is not None and now.progress.characters > 0)
        on.model.interrupt()
        await on.settled()
        gate.set()
        assert view(on).running is None
        assert not await bodies(on, Compaction)
        assert on.activity.kind == "idle"


async def test_two_questions_at_a_time_are_asked_one_after_the_other(services: Services, script: Scripted) -> None:
    async with on_talk(services) as on:

        async def ask(work: Any, name: str) -> str:
            said: str = await work.questions.ask_user(lambda number: make_session(number, name, ""))
            return said

        first = asyncio.ensure_future(on.model.call_session(lambda work: partial(ask, work, "one")))
        await until(lambda: on.question is not None)
        second = asyncio.ensure_future(on.model.call_session(lambda work: partial(ask, work, "two")))
        await until(lambda: "two" in on.question.title)
        on.model.answer(on.question.number, "no")
        await until(lambda: on.question is not None and "one" in on.question.title)
        on.model.answer(on.question.number, "yes")
        assert [*await asyncio.gather(first, second)] == ["yes", "no"]
        await until(lambda: on.question is None)


async def test_the_mode_can_be_changed_and_waits_for_a_compaction_that_runs(
    services: Services, script: Scripted
) -> None:
    gate = threading.Event()
    script(answer(LONG), [gate, *answer(SUMMARY)])
    async with on_talk(services, *AUTO) as on:
        on.model.send("go on")
        await until(lambda: (now := view(on).running) is not None and now.progress.stage == "summarising")
        on.model.set_knob("compaction.mode=manual")
        gate.set()
        await until(lambda: view(on).mode == "manual")
        await on.settled()
        assert view(on).last is not None
        assert view(on).tokens == on.shown.plan.totals.tokens < 6_000, "the compaction is in the new plan as well"
