"""How a session is opened: what is said meanwhile, a long one in stages, by name, one that another holds, a file."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.waiting import GIVE_UP, patiently
from tui.play import Script, Watcher, answer, opened, until
from workbench.config.errors import WorkbenchError
from workbench.log.events import ToolCall, UserMessage
from workbench.log.store import Store
from workbench.session import opening, outside_changes
from workbench.session.model import SessionModel
from workbench.session.open_session import OpenSession
from workbench.sources.options import Options
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")


async def test_what_is_asked_before_anything_is_open_is_answered_once_it_is(services: Services) -> None:
    model = SessionModel(services, Options(), asyncio.get_running_loop())
    try:
        name = model.call_with_session(lambda opened: opened.name)
        model.start("")
        async with patiently():
            assert await name == "new session"
    finally:
        await model.close()


async def test_what_is_said_while_a_session_opens_is_said_in_it(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("here")).play(monkeypatch)
    gate, first = threading.Event(), opening.open_first_session

    def slowly(*arguments: Any) -> OpenSession:
        assert gate.wait(GIVE_UP)
        return first(*arguments)

    monkeypatch.setattr(opening, "open_first_session", slowly)
    watcher = Watcher(services)
    watcher.model.send("anybody there?")
    gate.set()
    try:
        await watcher.settled()
        assert watcher.said == [("you", "anybody there?"), ("ai", "here")]
    finally:
        await watcher.model.close()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """A log of a few events counts as long, and is planned only once this is open."""
    gate, make = threading.Event(), opening._opened

    def slowly(*arguments: Any) -> OpenSession:
        assert gate.wait(GIVE_UP)
        return make(*arguments)

    monkeypatch.setattr(opening, "LONG", 40)
    monkeypatch.setattr(opening, "GLANCED", 3)
    monkeypatch.setattr(opening, "_opened", slowly)
    return gate


async def test_the_end_of_a_long_session_is_shown_before_it_is_planned(
    services: Services, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("here")).play(monkeypatch)
    services.store.create([UserMessage(f"message {number}") for number in range(50)], title="long").close()
    watcher = Watcher(services, "long")
    try:
        await until(lambda: len(watcher.transcript) > 0)
        assert watcher.said == [("you", f"message {number}") for number in (47, 48, 49)]
        assert (watcher.title, watcher.status.ready) == ("long", "loading")
        watcher.model.decide("exclude", 1, 1)
        await until(lambda: "still being read" in watcher.told)
        name = watcher.model.call_with_session(lambda opened: opened.name)
        watcher.model.send("one more")
        await until(lambda: watcher.queue == ("one more",))
        assert not name.work.done(), "it is answered once there is something to ask"
        watcher.model.send("not this one")
        await until(lambda: len(watcher.queue) == 2)
        watcher.model.withdraw(1, "not this one")
        await until(lambda: watcher.queue == ("one more",))
        gate.set()
        await watcher.settled()
        assert watcher.said[49:] == [("you", "message 49"), ("you", "one more"), ("ai", "here")]
        sent = [row for row in watcher.shown.plan.items.sent_items() if row.role == "user"]
        assert name.work.result() == "long"
        assert len(sent) == 51  # the plan that was sent had all that came before
    finally:
        gate.set()
        await watcher.model.close()


async def test_nothing_of_the_session_before_is_left_while_a_long_one_is_read(
    services: Services, talk: Path, gate: threading.Event
) -> None:
    services.store.create([UserMessage("x")] * 50, title="long").close()
    gate.set()
    async with opened(services, str(talk)) as on:
        before = on.compaction
        on.send("a message to the file")
        await until(lambda: on.question is not None)
        gate.clear()
        on.model.open_session("long")
        await until(lambda: on.title == "long" and on.compaction is None)
        await until(lambda: on.question is None and on.unsent == ["a message to the file"])

        async def end_progress() -> None:
            on.model._worker().compactions.show_idle()

        await on.model.call_session(lambda _: end_progress)
        await until(lambda: on.model.is_clear)
        assert on.model.state.compaction is None
        on.model.compact_as_previewed(None, True)  # type: ignore[arg-type]  # there is none of this session
        await until(lambda: "nothing is open yet" in on.told)
        gate.set()
        await on.settled()
        assert on.compaction is not None
        assert on.compaction.curve != before.curve


async def test_a_draft_is_counted_once_a_long_session_is_planned(services: Services, gate: threading.Event) -> None:
    services.store.create([UserMessage("short")], title="short").close()
    services.store.create([UserMessage("x")] * 50, title="long").close()
    gate.set()
    async with opened(services, "short") as on:
        gate.clear()
        on.model.open_session("long")
        await until(lambda: on.title == "long")
        await on.model.draft("half a thought")
        assert on.draft_cost.tokens == 0
        gate.set()
        await on.settled()
        await until(lambda: on.draft_cost.tokens > 0)
        assert on.draft_cost.total > on.shown.plan.size
        assert on.told == ""


async def test_what_cannot_be_opened_after_a_glance_leaves_what_is_open(
    services: Services, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.store.create([UserMessage("short")], title="short").close()
    services.store.create([UserMessage("x")] * 50, title="long").close()
    gate.set()
    async with opened(services, "short") as on:

        def refuse(*arguments: Any) -> OpenSession:
            raise WorkbenchError("it cannot be planned")

        monkeypatch.setattr(opening, "_opened", refuse)
        panel = on.compaction
        on.model.open_session("long")
        await on.settled()
        assert "it cannot be planned" in on.told
        assert (on.title, on.said) == ("short", [("you", "short")])
        assert on.compaction == panel
        on.model.decide("pin", 2, 2)
        await on.settled()
        assert on.transcript.entry_state(on.transcript[0]).pinned


async def test_another_session_is_opened_by_name(services: Services) -> None:
    for title in ("old", "new"):
        services.store.create([UserMessage(title)], title=title).close()
    async with opened(services, "new") as on:
        assert on.title == "new"
        on.model.open_session("old")
        await on.settled()
        assert on.said == [("you", "old")]
        on.model.new_session()
        await on.settled()
        assert on.said == []
        on.model.open_session("neither")
        await on.settled()
        assert "neither: no such file" in on.told
        assert on.activity.kind == "idle"


async def test_the_first_thing_that_cannot_be_opened_ends_the_program(services: Services) -> None:
    async with opened(services, "nowhere") as on:
        assert "nowhere: no such file" in str(on.fatal)


async def test_a_session_that_another_holds_is_read_only_until_it_is_free(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_changes, "LOOK_AT_STORE", 0.01)
    with Store.open() as elsewhere:
        held = elsewhere.create([UserMessage("theirs")], title="held")
        async with opened(services, "held") as on:
            assert "is open in" in on.read_only
            assert on.refusal == on.read_only
            for act in (
                partial(on.model.send, "mine"),
                partial(on.model.revert, "undo"),
                partial(on.model.rename, "mine"),
            ):
                act()
                await on.settled()
            assert on.said == [("you", "theirs")]
            assert on.told.count("is open in") == 3
            held.append(UserMessage("more of theirs"))
            await until(lambda: on.said[-1] == ("you", "more of theirs"))
            held.close()
            await until(lambda: on.read_only == "")
            assert "you can write here now" in on.told
            on.model.rename("mine")
            await on.settled()
            assert on.title == "mine"


@pytest.mark.parametrize("held", [True, False])
async def test_a_call_in_a_session_that_goes_on_may_still_get_its_result(services: Services, held: bool) -> None:
    with Store.open() as elsewhere:
        session = elsewhere.create([UserMessage("look"), ToolCall("c1", "ls", "{}", "r1")], title="called")
        if not held:
            session.close()
        async with opened(services, "called") as on:
            assert on.shown.plan.verdict.status == "waiting"
            assert [item.kind for item in on.shown.plan.items if item.seq is None] == []


async def test_a_file_is_looked_at_and_becomes_a_session_by_a_message(
    services: Services, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Script(answer("It does.")).play(monkeypatch)
    async with opened(services, str(talk)) as on:
        assert "a file is read-only" in on.read_only
        assert on.refusal == ""
        assert [kind for kind, _ in on.said] == ["system", "you", "ai", "tool", "ai", "you"]
        on.model.switch_policy("layers")
        await on.settled()
        assert on.shown.plan.policy == "layers"
        on.model.send("Does it?")
        await until(lambda: on.question is not None)
        on.model.answer(on.question.number, "no")
        await on.settled()
        assert services.store.list() == []
        on.model.send("Does it?")
        await until(lambda: on.question is not None)
        on.model.answer(on.question.number, "yes")
        await on.settled()
        assert on.said[-2:] == [("you", "Does it?"), ("ai", "It does.")]
        assert on.read_only == ""
    [info] = services.store.list()
    assert info.title == "talk.json"
