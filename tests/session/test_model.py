"""What can be done with a session: decided on, switched, looked at as it was, forked."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from pathlib import Path

import pytest

from support.waiting import GIVE_UP
from tui.play import Script, answer, opened, until
from workbench.log.errors import NotFound
from workbench.log.events import Setting, UserMessage
from workbench.session.calls import SessionThread
from workbench.sources.services import Services
from workbench.sources.source import knobs_of, setting_in
from workbench.tui.commands.session import session_id

pytestmark = pytest.mark.usefixtures("project")


def log_of(services: Services, at: int = 0) -> list[object]:
    with services.store.session(services.store.list()[at].id, write=False) as session:
        return [event.body for event in session.events()]


async def test_a_new_session_shows_what_would_be_sent(services: Services, project: Path) -> None:
    (project / "AGENTS.md").write_text("Be brief.")
    async with opened(services) as on:
        slots = [row.slot for row in on.shown.plan.items]
        assert {"system", "instructions", "tools"} <= set(slots)
        assert on.said == []
        assert on.status.model == "rehearsal"
        assert on.status.ready == "rehearsal"
        assert "rehearsal answers by rule, without AI" in on.welcome.model
        assert "press F7" in on.welcome.advice
        assert on.told == ""


async def test_a_session_in_which_nothing_was_said_is_not_kept(services: Services) -> None:
    async with opened(services) as on:
        made = await on.ask(session_id)
        assert services.store.info(made).events
        assert services.store.list() == []
    with pytest.raises(NotFound):
        services.store.info(made)


async def test_a_decision_is_undone_and_redone_exactly(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(answer("A")).play(monkeypatch)
    async with opened(services) as on:
        on.model.send("go")
        await on.settled()
        before = on.shown.plan.items
        ai = on.transcript[len(on.transcript) - 1]
        for act, state in (
            (partial(on.model.decide, "exclude", ai.seq, ai.seq), "excluded"),
            (partial(on.model.revert, "undo"), "sent"),
        ):
            act()
            await on.settled()
            assert on.transcript.entry_state(ai).state == state
        assert on.shown.plan.items == before
        on.model.revert("redo")
        await on.settled()
        assert on.transcript.entry_state(ai).state == "excluded"
        on.model.revert("redo")
        await on.settled()
        assert "nothing to redo" in on.told
        on.model.decide("pin", 1, 999)
        await on.settled()
        assert "expected numbers from 1 to" in on.told


async def test_a_decision_during_a_turn_is_taken_at_once(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    Script(answer("A"), [gate, *answer("B")]).play(monkeypatch)
    async with opened(services) as on:
        on.model.send("one")
        await on.settled()
        ai = on.transcript[len(on.transcript) - 1]
        on.model.send("two")
        await until(lambda: on.activity.kind == "asking")
        on.model.decide("exclude", ai.seq, ai.seq)
        await until(lambda: on.transcript.entry_state(ai).state == "excluded")
        gate.set()
        await on.settled()
        assert on.said[-1] == ("ai", "B")


async def test_policy_model_and_knobs_are_switched_and_written_down(services: Services) -> None:
    services.store.create([UserMessage("hello")], title="talk").close()
    async with opened(services) as on:
        on.model.switch_policy("layers")
        await on.settled()
        assert (on.shown.policy, on.shown.plan.policy, on.status.policy) == ("layers", "layers", "layers")
        on.model.set_knob("masking.keep_last=3")
        await on.settled()
        on.model.switch_model("gpt-4o")
        await on.settled()
        assert on.shown.plan.model == "gpt-4o"
        await until(lambda: on.status.ready == "no key")
        for wrong in ("masking.keep_last", "masking.keep_lost=3"):
            on.model.set_knob(wrong)
            await on.settled()
        assert "expected KNOB=VALUE" in on.told
        assert "keep_lost" in on.told
        on.model.switch_policy("nonsense")
        await on.settled()
        assert on.shown.policy == "layers"
    bodies = log_of(services)
    assert [body for body in bodies if isinstance(body, Setting) and body.key != "title"] == [
        Setting("policy", "layers"),
        Setting("knobs", ["masking.keep_last=3"]),
        Setting("model", "gpt-4o"),
    ]
    async with opened(services) as on:
        assert await on.ask(lambda opened: opened.knobs) == ("masking.keep_last=3",)
        assert on.shown.policy == "layers"


async def test_a_switch_during_a_turn_holds_from_the_next(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    script = Script([gate, *answer("A")], answer("B"))
    script.play(monkeypatch)
    async with opened(services) as on:
        on.model.send("one")
        await until(lambda: on.activity.kind == "asking")
        on.model.switch_model("gpt-4o")
        await until(lambda: "from the next turn on" in on.told)
        on.model.open_session("other")
        await until(lambda: "still working" in on.told)
        gate.set()
        await on.settled()
        on.model.send("two")
        await on.settled()
    assert [request["model"] for request in script.requests] == ["rehearsal", "gpt-4o"]


async def test_the_context_is_seen_as_it_was(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(answer("A"), answer("B"))
    script.play(monkeypatch)
    async with opened(services) as on:
        for text in ("one", "two"):
            on.model.send(text)
            await on.settled()
        now = on.shown
        assert len(now.requests) == 2
        on.model.travel(1)
        await on.settled()
        assert on.shown.at == 1
        assert on.shown.fixed
        sent = [row.text for row in on.shown.plan.items if row.slot in ("history", "turn") and row.in_request]
        assert sent == ["one", "A", "two"]
        assert [row.text for row in on.shown.before.items.sent_items()][-1] == "one"
        on.model.travel(0)
        await on.settled()
        assert (on.shown.at, on.shown.before) == (0, None)
        on.model.rename("renamed meanwhile")
        await on.settled()
        assert on.shown.at == 0
        on.model.interrupt()
        await on.settled()
        assert on.shown.at is None
        assert on.shown.plan.totals == now.plan.totals
        on.model.travel(7_777)
        await on.settled()
        assert on.shown.at is None


async def test_a_compaction_that_does_not_run_cannot_be_stopped(services: Services) -> None:
    async with opened(services) as on:
        on.model.stop_compacting()
        await on.settled()
        assert "no compaction is running" in on.told


async def test_the_last_draft_is_counted(services: Services) -> None:
    async with opened(services) as on:
        for text in ("h", "he", "hello " * 100):
            on.model.draft(text)
        await on.settled()
        cost = on.draft_cost
        assert cost.tokens in (100, 101)
        assert cost.total > on.status.tokens + cost.tokens
        assert cost.room + cost.total == on.shown.plan.limits.capacity
        on.model.draft("")
        await on.settled()
        assert on.draft_cost.tokens == 0
        assert on.model.count("hello") == 1


async def test_a_draft_is_counted_again_when_there_is_more_before_it(services: Services) -> None:
    async with opened(services) as on:
        empty = on.status.tokens
        on.model.draft("half a thought")
        await on.settled()
        before = on.draft_cost
        on.model.send("list .")
        await until(lambda: bool(on.said) and on.said[-1][0] == "ai")
        await on.settled()
        added = before.total - empty
        await until(lambda: on.draft_cost.total == on.status.tokens + added)
        assert on.draft_cost.tokens == before.tokens
        assert on.draft_cost.total > before.total


async def test_a_fork_has_its_own_name_and_leaves_the_other_alone(services: Services) -> None:
    services.store.create([UserMessage("one"), UserMessage("two")], title="talk").close()
    async with opened(services) as on:
        on.model.fork(2)
        await on.settled()
        assert on.said == [("you", "one")]
        assert on.title == "talk (fork)"
        on.model.rename("branch")
        await on.settled()
    assert sorted(info.title for info in services.store.list()) == ["branch", "talk"]


async def test_a_file_is_forked_into_a_session(services: Services, talk: Path) -> None:
    async with opened(services, str(talk)) as on:
        on.model.fork(2)
        await on.settled()
        assert [kind for kind, _ in on.said] == ["system", "you"]
        assert await on.ask(lambda opened: setting_in(opened.events, "title")) == "talk.json"


async def test_what_the_command_line_set_is_for_this_run_alone(services: Services) -> None:
    with services.store.create([Setting("knobs", ["masking.batch_tokens=7"]), UserMessage("hi")]) as session:
        pass
    async with opened(services, session.id, knobs=("masking.keep_last=3",)) as on:
        on.model.set_knob("masking.keep_first=1")
        await on.settled()
        policy = await on.ask(lambda now: now.setup.loaded.policy.masking)
        assert (policy.batch_tokens, policy.keep_last, policy.keep_first) == (7, 3, 1)
        log = await on.ask(lambda now: list(now.events))
    assert knobs_of(log) == ("masking.batch_tokens=7", "masking.keep_first=1")


def test_what_still_waits_in_the_session_s_thread_is_cancelled_when_it_ends() -> None:
    thread = SessionThread(print)
    waits, cleaned_up = threading.Event(), threading.Event()

    async def wait() -> None:
        try:
            waits.set()
            await asyncio.get_running_loop().create_future()
        finally:
            cleaned_up.set()

    asyncio.run_coroutine_threadsafe(wait(), thread.loop)
    assert waits.wait(GIVE_UP)
    thread.stop()
    assert cleaned_up.wait(GIVE_UP)
