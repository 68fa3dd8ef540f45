"""Which session a message goes to: the one that was open when it was typed, or none."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from support.waiting import GIVE_UP
from tui.play import Script, Watcher, answer, opened, until
from tui.recorded.long_run import as_file, run
from workbench.log.events import UserMessage
from workbench.models.failures import ModelFailure
from workbench.session import opening
from workbench.session.adopting import adoption_changes
from workbench.session.message_place import ASKED, MEANWHILE
from workbench.session.open_session import OpenSession
from workbench.sources.options import Options
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")

REFUSED = ModelFailure("bad_request", "refused.")


def from_user(on: Watcher) -> list[str]:
    return [text for kind, text in on.said if kind == "you"]


async def fail_with_waiting(on: Watcher, gate: threading.Event, *waiting: str) -> None:
    """Send a message that the model fails to answer, and others that wait meanwhile."""
    on.model.send("first")
    await until(lambda: on.activity.kind == "asking")
    for number, text in enumerate(waiting, 1):
        on.model.send(text)
        await until(lambda number=number: len(on.queue) == number)  # type: ignore[misc]
    gate.set()
    await on.settled()
    assert on.queue == waiting


async def test_what_waits_after_a_failure_is_not_sent_to_the_next_session(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    Script([gate, REFUSED], answer("hello")).play(monkeypatch)
    async with opened(services) as on:
        await fail_with_waiting(on, gate, "a secret of this session", "and another")
        on.model.new_session()
        await on.settled()
        assert on.queue == ()
        assert on.unsent == ["a secret of this session\n\nand another"]
        assert "not sent" in on.told
        on.model.send("hello B")
        await on.settled()
        assert from_user(on) == ["hello B"]
        on.model.new_session()
        await on.settled()
        assert len(on.unsent) == 1, "it is given back once"


async def test_what_waits_after_a_failure_is_not_sent_before_an_edited_message(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    Script([gate, REFUSED], answer("fine")).play(monkeypatch)
    async with opened(services) as on:
        await fail_with_waiting(on, gate, "second")
        first = next(on.transcript[at] for at in range(len(on.transcript)) if on.transcript[at].kind == "you")
        on.model.edit_and_resend(first.seq, "first, edited")
        await on.settled()
        assert from_user(on) == ["first, edited"]
        assert on.unsent == ["second"]


async def test_what_waits_stays_where_nothing_else_can_be_opened(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    Script([gate, REFUSED]).play(monkeypatch)
    async with opened(services) as on:
        await fail_with_waiting(on, gate, "second")
        on.model.open_session("neither")
        await on.settled()
        assert "neither: no such file" in on.told
        assert (on.queue, on.unsent) == (("second",), [])


@pytest.fixture
def replanning(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Another policy is in use only once this is set."""
    gate, plan = threading.Event(), opening.replan_session

    def slowly(*arguments: Any) -> Any:
        assert gate.wait(GIVE_UP)
        return plan(*arguments)

    monkeypatch.setattr(opening, "replan_session", slowly)
    return gate


@pytest.mark.parametrize("withdrawn", [("one", "two"), ("one",), ()])
async def test_messages_wait_for_a_new_plan_of_a_long_log(
    services: Services, replanning: threading.Event, monkeypatch: pytest.MonkeyPatch, withdrawn: tuple[str, ...]
) -> None:
    script = Script()
    script.play(monkeypatch)
    async with opened(services) as on:
        on.model.switch_policy("layers")
        await until(lambda: on.model._worker().turns.free.locked())
        on.model.send("one")
        await until(lambda: on.queue == ("one",))
        on.model.send("two")
        await until(lambda: on.queue == ("one", "two"))
        for text in withdrawn:
            on.model.withdraw(0, text)
        left = [text for text in ("one", "two") if text not in withdrawn]
        await until(lambda: list(on.queue) == left)
        replanning.set()
        await on.settled()
        assert from_user(on) == left
        assert (on.queue, on.activity.kind, on.told) == ((), "idle", "")
    assert len(script.requests) == len(left)


async def ask_whether(on: Watcher, text: str) -> None:
    """Send a message to an open file, and wait for the question whether to make a session of it."""
    on.send(text)
    await until(lambda: on.question is not None)
    assert on.question.kind == "import"


async def test_the_question_about_a_file_ends_with_the_file(
    services: Services, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("fine")).play(monkeypatch)
    services.store.create([UserMessage("short")], title="short").close()
    async with opened(services, str(talk)) as on:
        await ask_whether(on, "for the file")
        number = on.question.number
        on.model.open_session("short")
        await on.settled()
        assert on.question is None
        await until(lambda: on.unsent == ["for the file"])
        assert MEANWHILE in on.told
        on.model.answer(number, "yes")  # too late
        on.model.send("y")
        await on.settled()
        assert (on.title, from_user(on)) == ("short", ["short", "y"])
    assert len(services.store.list()) == 1


async def test_an_answer_that_comes_while_something_else_is_opened_is_too_late(
    services: Services, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, make = threading.Event(), opening.open_source

    def slowly(*arguments: Any) -> OpenSession:
        assert gate.wait(GIVE_UP)
        return make(*arguments)

    services.store.create([UserMessage("short")], title="short").close()
    async with opened(services, str(talk)) as on:
        await ask_whether(on, "for the file")
        monkeypatch.setattr(opening, "open_source", slowly)
        on.model.open_session("short")
        await until(lambda: on.activity.text == "opening…")
        on.model.answer(on.question.number, "yes")
        await until(lambda: on.question is None)
        gate.set()
        await on.settled()
        assert (on.title, from_user(on)) == ("short", ["short"])
        await until(lambda: on.unsent == ["for the file"])
        assert MEANWHILE in on.told
    assert len(services.store.list()) == 1


async def test_nothing_is_asked_about_a_file_that_was_left_before_its_plan_was_there(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()

    def slowly(*arguments: Any) -> Any:
        assert gate.wait(GIVE_UP)
        return adoption_changes(*arguments)

    monkeypatch.setattr("workbench.session.message_place.adoption_changes", slowly)
    services.store.create([UserMessage("short")], title="short").close()
    async with opened(services, as_file(tmp_path, run(3))) as on:
        on.send("for the file")
        await until(lambda: on.activity.text == "planning…")
        on.model.open_session("short")
        await until(lambda: on.title == "short")
        gate.set()
        await until(lambda: on.unsent == ["for the file"])
        await on.settled()
        assert on.question is None
        assert not any(value for name, value in on.seen if name == "question")


async def test_a_file_is_asked_about_once(services: Services, talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(answer("fine")).play(monkeypatch)
    async with opened(services, str(talk)) as on:
        await ask_whether(on, "one")
        number = on.question.number
        on.send("two")
        await until(lambda: on.unsent == ["two"])
        assert ASKED in on.told
        assert on.question.number == number
        on.model.answer(number, "yes")
        await on.settled()
        assert from_user(on)[-2:] == ["must support Python 3.11", "one"]
        assert on.unsent == ["two"]
    assert len(services.store.list()) == 1


@pytest.mark.parametrize("typed", [True, False])
async def test_after_a_no_the_message_is_back(services: Services, talk: Path, typed: bool) -> None:
    async with opened(services, str(talk)) as on:
        await ask_whether(on, "for the file")
        if typed:
            on.model.send("n")
        else:
            on.model.answer(on.question.number, "no")
        await until(lambda: on.unsent == ["for the file"])
        await on.settled()
        assert (on.question, on.told) == (None, "")
    assert not services.store.list()


async def test_a_file_that_grows_meanwhile_is_still_the_same(
    services: Services, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("fine")).play(monkeypatch)
    async with opened(services, str(talk)) as on:
        await ask_whether(on, "for the file")
        talk.write_text(json.dumps([*json.loads(talk.read_text()), {"role": "assistant", "content": "grown"}]))
        made = opening.open_source(services, Options(follow=True), str(talk))
        assert await on.model.call_session(lambda session: session.current.show_new_contents, made)
        on.model.answer(on.question.number, "yes")
        await on.settled()
        assert on.said[-3:] == [("ai", "grown"), ("you", "for the file"), ("ai", "fine")]
    assert len(services.store.list()) == 1
