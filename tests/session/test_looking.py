"""Whoever looks at a session keeps nobody from writing it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from proxy.conftest import Recording, answered, claude, said, user
from tui.play import opened, until
from workbench.config.folders import work_folder
from workbench.log.drafts import Draft
from workbench.log.events import AssistantMessage, Override, UserMessage
from workbench.log.store import Store
from workbench.session import outside_changes
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")

AGENT = """
import sys
import workbench
try:
    with workbench.Context(model="gpt-4o", store="bot") as context:
        print("writes", flush=True)
        for line in sys.stdin:
            context.add(line.strip())
            print("added", flush=True)
except workbench.WorkbenchError as error:
    print(error, flush=True)
"""


class LibraryAgent:
    """A process that keeps its context in the program's store."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", AGENT]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first_line = self._next_line()

    def _next_line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def add(self, text: str) -> None:
        """Returns once it is in the store."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()
        assert self._next_line() == "added"

    def end(self) -> None:
        """Its program comes to its end."""
        self._process.communicate()


async def test_an_agent_writes_its_session_again_while_a_screen_shows_it(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_changes, "LOOK_AT_STORE", 0.01)
    agent = LibraryAgent()
    agent.add("one")
    async with opened(services, "bot") as on:
        assert "is open in process" in on.read_only
        agent.end()
        await until(lambda: on.read_only == "")
        assert "you can write here now" in on.told
        agent = LibraryAgent()
        assert agent.first_line == "writes"
        agent.add("two")
        await until(lambda: on.said == [("you", "one"), ("you", "two")])
        await until(lambda: "is open in process" in on.read_only)
        agent.end()
        await until(lambda: on.read_only == "")
        on.model.rename("bot")  # the user does something, and the session is theirs
        await on.settled()
        refused = LibraryAgent()
        refused.end()
        assert refused.first_line.startswith(f"Session bot is open in process {os.getpid()} ")
        assert "view" not in refused.first_line


async def test_what_is_decided_comes_after_what_another_process_has_just_appended(services: Services) -> None:
    services.store.create([UserMessage("one")], title="shared").close()
    async with opened(services, "shared") as on:
        with Store.open() as elsewhere, elsewhere.session("shared") as session:
            session.append(UserMessage("two"))
        on.model.decide("pin", 2, 2)
        await on.settled()
        assert on.said == [("you", "one"), ("you", "two")]
        events = await on.ask(lambda opened: [type(event.body) for event in opened.events])
        assert events[-3:] == [UserMessage, UserMessage, Override]
        assert on.told == ""


async def test_a_session_of_the_proxy_is_resumed_while_a_screen_shows_it(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_changes, "CHECK_SECONDS", 0.01)
    first = [user("look")]
    with Store.open() as elsewhere:
        recording = Recording(elsewhere, client="Claude Code", folder=work_folder())
        recording.pass_through("/v1/messages", claude(*first), answered(said("done")))
        name = elsewhere.list()[0].id
        async with opened(services, name) as on:
            await until(lambda: on.following == "following")
            recording.sessions.close()
            await until(lambda: on.read_only == "")
            assert on.following == ""
            with elsewhere.session(name) as again:
                assert again.is_writer
                await until(lambda: "is open in process" in on.read_only)


async def test_the_answer_of_a_writer_that_was_killed_is_shown_and_nobody_is_locked_out(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_changes, "LOOK_AT_STORE", 0.01)
    with Store.open() as elsewhere:
        session = elsewhere.create([UserMessage("go")], title="killed")
        async with opened(services, "killed") as on:
            session.keep_draft(Draft("r1", "m", "", "half an ans"))
            session.close()
            await until(lambda: ("ai", "half an ans") in on.said)
            with elsewhere.session("killed") as again:
                assert again.is_writer
                assert isinstance(again.events()[-1].body, AssistantMessage)
