"""Turns on the screen: said, queued, interrupted, asked about, tried again."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import pytest

from support.waiting import GIVE_UP
from tui.compaction.watching import bodies, on_talk
from tui.play import Script, answer, call, opened, until
from workbench.log.events import AssistantMessage, Compaction, Override, ToolResult, UserMessage
from workbench.models.failures import ModelFailure
from workbench.models.reply_parts import TextPiece
from workbench.session.open_session import OpenSession
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")


async def test_what_is_said_is_answered_named_and_on_the_disk(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(answer("Hello yourself.", completion=7))
    script.play(monkeypatch)
    async with opened(services) as on:
        on.model.send("Hello\nthere")
        await on.settled()
        assert on.said == [("you", "Hello\nthere"), ("ai", "Hello yourself.")]
        assert on.status.response == 7
        assert on.title == "Hello there"
        assert on.live is None
        assert on.activity.kind == "idle"
        assert on.shown.plan.items[-2].text == "Hello yourself."
    assert script.requests[0]["messages"][-1] == {"role": "user", "content": "Hello\nthere"}
    [info] = services.store.list()
    assert info.title == "Hello there"
    async with opened(services) as on:
        assert on.said == [("you", "Hello\nthere"), ("ai", "Hello yourself.")]


async def test_an_answer_is_seen_while_it_comes(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    Script([TextPiece("half"), gate, *answer(" whole")]).play(monkeypatch)
    async with opened(services) as on:
        on.model.send("go")
        await until(lambda: on.live is not None)
        assert on.live.text == "half"
        assert on.activity.kind == "answering"
        gate.set()
        await on.settled()
        assert on.said[-1] == ("ai", "half whole")


async def test_a_thousand_parts_reach_the_screen_in_a_few_updates(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script([*(TextPiece(f"{at} ") for at in range(1_000)), *answer("end")]).play(monkeypatch)
    async with opened(services) as on:
        on.model.send("go")
        await on.settled()
        assert on.said[-1][1] == "".join(f"{at} " for at in range(1_000)) + "end"
        assert len([name for name, _ in on.seen if name == "live"]) < 500


async def test_an_interrupted_answer_is_kept_and_marked(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    Script([TextPiece("as far as"), gate]).play(monkeypatch)
    async with opened(services) as on:
        on.model.send("go")
        await until(lambda: on.live is not None)
        on.model.interrupt()
        await on.settled()
        gate.set()
        last = on.transcript[len(on.transcript) - 1]
        assert (last.kind, last.text, last.finish) == ("ai", "as far as", "cancelled")
        assert on.activity.kind == "idle"


async def test_messages_wait_their_turn_and_can_be_taken_back(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    Script([gate, *answer("one")], answer("two")).play(monkeypatch)
    async with opened(services) as on:
        on.model.send("first")
        await until(lambda: on.activity.kind == "asking")
        for text in ("second", "third"):
            on.model.send(text)
        await until(lambda: on.queue == ("second", "third"))
        on.model.withdraw(1, "third")
        await until(lambda: on.queue == ("second",))
        gate.set()
        await on.settled()
        assert on.said == [("you", "first"), ("ai", "one"), ("you", "second"), ("ai", "two")]
        assert on.queue == ()


async def test_after_an_interruption_the_waiting_message_goes_next(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    Script([TextPiece("long"), gate], answer("short")).play(monkeypatch)
    async with opened(services) as on:
        on.model.send("first")
        await until(lambda: on.live is not None)
        on.model.send("second")
        await until(lambda: on.queue == ("second",))
        on.model.interrupt()
        await until(lambda: ("ai", "short") in on.said)
        gate.set()
        assert [kind for kind, _ in on.said] == ["you", "ai", "you", "ai"]


@pytest.mark.parametrize(
    ("given", "written"),
    [("once", True), ("session write_file:**", True), ("always write_file:note.txt", True), ("no", False)],
)
async def test_a_tool_that_writes_is_asked_about(
    services: Services, project: Path, monkeypatch: pytest.MonkeyPatch, given: str, written: bool
) -> None:
    Script(call("write_file", '{"path": "note.txt", "content": "a line"}'), answer("Done.")).play(monkeypatch)
    async with opened(services) as on:
        on.model.send("write it")
        await until(lambda: on.question is not None)
        question = on.question
        assert question.default == "no"
        assert "note.txt" in question.detail
        assert "+ a line" in question.detail
        assert [choice.answer for choice in question.choices][:2] == ["once", "no"]
        assert on.live.calls[0].state == "asking"
        on.model.answer(question.number, given)
        await on.settled()
        assert on.question is None
        assert (project / "note.txt").exists() == written
        assert on.said[-1] == ("ai", "Done.")


async def test_what_was_allowed_for_the_session_is_not_asked_again(
    services: Services, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (call("write_file", f'{{"path": "{name}", "content": "x"}}') for name in ("a.txt", "b.txt"))
    Script(first, second, answer("Done.")).play(monkeypatch)
    async with opened(services) as on:
        on.model.send("write them")
        await until(lambda: on.question is not None)
        on.model.answer(on.question.number, "session write_file:**")
        await on.settled()
        assert on.said[-1] == ("ai", "Done.")
        assert (project / "b.txt").exists()


@pytest.mark.parametrize(("typed", "written"), [("y", True), ("yes", True), ("f", True), ("n", False), ("no", False)])
async def test_an_answer_that_is_typed_as_a_message_is_never_said_to_the_model(
    services: Services, project: Path, monkeypatch: pytest.MonkeyPatch, typed: str, written: bool
) -> None:
    script = Script(call("write_file", '{"path": "note.txt", "content": "a line"}'), answer("Done."))
    script.play(monkeypatch)
    async with opened(services) as on:
        on.model.send("write it")
        await until(lambda: on.question is not None)
        on.model.send(typed)
        await on.settled()
        assert (project / "note.txt").exists() == written
        assert [text for kind, text in on.said if kind == "you"] == ["write it"]
        assert on.queue == ()
    assert len(script.requests) == 2


async def test_the_time_of_a_tool_is_its_own_without_the_wait_for_permission(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(call("run_command", '{"command": "true"}'), answer("Done.")).play(monkeypatch)
    clock = itertools.count(1_000_000, 60_000)
    monkeypatch.setattr("workbench.log.rows.now_in_ms", lambda: next(clock))
    async with opened(services) as on:
        on.model.send("run it")
        await until(lambda: on.question is not None)
        on.model.answer(on.question.number, "once")
        await on.settled()
        seconds = next(
            entry.call.seconds for entry in map(on.transcript.__getitem__, range(len(on.transcript))) if entry.call
        )
        assert 0 <= seconds < 60, "the log's clock goes a minute with each event"


async def test_an_interruption_takes_the_question_away(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(call("run_command", '{"command": "true"}'), answer("Done.")).play(monkeypatch)
    async with opened(services) as on:
        on.model.send("run it")
        await until(lambda: on.question is not None)
        on.model.interrupt()
        await on.settled()
        assert on.question is None
        assert on.transcript[len(on.transcript) - 1].call.result == "[cancelled by the user before it returned]"


async def test_the_output_of_a_running_command_is_seen(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(call("run_command", '{"command": "echo early; cat wait"}'), answer("Done.")).play(monkeypatch)
    import os

    os.mkfifo("wait")
    async with opened(services) as on:
        on.model.send("run it")
        await until(lambda: on.question is not None)
        on.model.answer(on.question.number, "once")
        await until(lambda: on.live is not None and any("early" in one.output for one in on.live.calls))
        assert on.activity.kind == "tools"
        Path("wait").write_text("late")
        await on.settled()
        assert on.said[-1] == ("ai", "Done.")


async def test_a_failure_can_be_tried_again_without_saying_it_twice(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script([ModelFailure("bad_request", "the request was refused.")], answer("Now it works."))
    script.play(monkeypatch)
    async with opened(services) as on:
        on.model.send("go")
        await on.settled()
        assert on.said[-1][0] == "failure"
        assert "the request was refused." in on.said[-1][1]
        on.model.retry()
        await on.settled()
        assert [kind for kind, _ in on.said] == ["you", "failure", "ai"]
    assert script.requests[0]["messages"] == script.requests[1]["messages"]


async def test_a_failure_holds_the_queue(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    Script([gate, ModelFailure("bad_request", "refused.")], answer("a"), answer("b")).play(monkeypatch)
    async with opened(services) as on:
        on.model.send("first")
        await until(lambda: on.activity.kind == "asking")
        on.model.send("second")
        await until(lambda: on.queue == ("second",))
        gate.set()
        await on.settled()
        assert on.queue == ("second",)
        on.model.send("third")
        await on.settled()
        assert [text for kind, text in on.said if kind == "you"] == ["first", "second", "third"]


async def test_an_answer_that_did_not_please_leaves_the_context(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = Script(answer("bad"), answer("good"))
    script.play(monkeypatch)
    async with opened(services) as on:
        on.model.retry()
        await on.settled()
        assert "no messages yet" in on.told
        on.model.send("go")
        await on.settled()
        on.model.retry()
        await on.settled()
        assert [text for kind, text in on.said if kind == "ai"] == ["bad", "good"]
        assert on.transcript.entry_state(on.transcript[on.transcript.index_of(bad_at(services))]).state == "excluded"
    assert all("bad" not in str(message) for message in script.requests[1]["messages"])


def bad_at(services: Services) -> int:
    with services.store.session(services.store.list()[0].id, write=False) as session:
        events = session.events()
    assert any(isinstance(event.body, Override) for event in events)
    return next(event.seq for event in events if isinstance(event.body, AssistantMessage))


async def test_a_message_is_edited_in_a_fork(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(answer("A"), answer("B"), answer("C")).play(monkeypatch)
    async with opened(services) as on:
        for text in ("one", "two"):
            on.model.send(text)
            await on.settled()
        two = next(entry for entry in map(on.transcript.__getitem__, range(len(on.transcript))) if entry.text == "two")
        on.model.edit_and_resend(two.seq, "zwei")
        await on.settled()
        assert on.said == [("you", "one"), ("ai", "A"), ("you", "zwei"), ("ai", "C")]
        assert on.title == "one (fork)"
    assert sorted(info.title for info in services.store.list()) == ["one", "one (fork)"]


async def test_a_message_of_another_session_is_not_edited(services: Services) -> None:
    other, here = (services.store.create([UserMessage(text)], title=text) for text in ("other", "here"))
    for session in (other, here):
        session.close()
    async with opened(services, here.id) as on:
        assert on.opened == here.id
        on.model.edit_and_resend(2, "changed", other.id)
        await on.settled()
        assert "another session was opened meanwhile" in on.told
        assert on.title == "here"
    assert len(services.store.list()) == 2


async def test_what_cannot_begin_is_told(services: Services, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "approvals.toml").write_text("always = 3")
    Script(answer("A")).play(monkeypatch)
    async with opened(services) as on:
        on.model.send("go")
        await on.settled()
        assert "approvals.toml: always: expected a list of patterns" in on.told
        assert on.activity.kind == "idle"
        assert on.unsent == ["go"], "it is in the input again"


async def test_a_message_whose_turn_is_stopped_before_it_begins_is_back(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, gate = threading.Event(), threading.Event()

    def slowly(text: str, folder: Path) -> str:
        reading.set()
        assert gate.wait(GIVE_UP)
        return text

    monkeypatch.setattr("workbench.session.turns.with_files", slowly)
    async with opened(services) as on:
        on.model.send("go")
        await until(reading.is_set)
        on.model.interrupt()
        gate.set()
        await on.settled()
        assert on.unsent == ["go"]
        assert ("you", "go") not in on.said


async def test_quitting_in_the_middle_keeps_what_came(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    Script([TextPiece("as far as"), gate]).play(monkeypatch)
    async with opened(services) as on:
        on.model.send("go")
        await until(lambda: on.live is not None)
    gate.set()
    with services.store.session(services.store.list()[0].id, write=False) as session:
        bodies = [event.body for event in session.events()]
    assert isinstance(bodies[-1], AssistantMessage)
    assert bodies[-1].finish == "cancelled"
    assert not any(isinstance(body, ToolResult) for body in bodies)
    assert sum(isinstance(body, UserMessage) for body in bodies) == 1


async def test_a_turn_that_is_stopped_before_its_first_step_is_over(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("one"), answer("two")).play(monkeypatch)
    async with opened(services) as on:
        turns = on.model._worker().turns

        async def send_and_stop() -> None:
            await turns.send("first")
            turns.interrupt()

        await on.model.call_session(lambda _: send_and_stop)
        await on.settled()
        assert on.queue == ("first",)
        on.model.send("second")
        await on.settled()
        assert on.said == [("you", "first"), ("ai", "one"), ("you", "second"), ("ai", "two")]


async def test_another_knob_in_place_of_an_answer_means_not_to_compact_now(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("Done, and this is how it was done. " * 100)).play(monkeypatch)
    async with on_talk(services, "compaction.threshold=0.35") as on:
        on.model.send("go on")
        await until(lambda: on.question is not None)
        assert on.question.kind == "compact"
        number = on.question.number
        on.model.set_knob("masking.keep_last=7")
        on.model.answer(number, "yes")  # too late
        await on.settled()
        assert "masking.keep_last=7" in await on.ask(lambda opened: opened.knobs)
        assert not await bodies(on, Compaction)


async def test_an_update_of_the_panel_that_is_stopped_at_once_does_not_stop_later_ones(
    services: Services,
) -> None:
    async with opened(services) as on:
        compactions = on.model._worker().compactions

        def update_and_stop(open_now: OpenSession) -> None:
            compactions.show(open_now)
            assert compactions._updating is not None
            compactions._updating.cancel()  # as `close` does, before the first step

        await on.ask(update_and_stop)
        await on.settled()
        before = on.compaction
        on.model.change_state(compaction=None)
        await on.ask(compactions.show)
        await on.settled()
        assert on.compaction == before
