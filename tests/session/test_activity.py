"""Whichever session of a folder is active is followed."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live.test_finder import put
from session.test_following import claude, lines
from tui.play import Watcher, opened, until
from workbench.config.errors import WorkbenchError
from workbench.config.folders import work_folder
from workbench.live.finder import AgentSession
from workbench.log.events import UserMessage
from workbench.log.store import Store
from workbench.session import activity, outside_changes
from workbench.session.activity import PAST, QUIET, YOURS, session_to_follow
from workbench.sources.services import Services
from workbench.views.values import WatchedSession

CLAUDE, PI = "Claude Code · bake", "pi · knead"


def listed(name: str, modified: int) -> AgentSession:
    return AgentSession("pi", f"/{name}", "/p", name, "", modified)


@given(st.lists(st.integers(0, 20_000), max_size=5), st.integers(0, 4), st.integers(0, 30_000))
def test_one_changes_over_only_to_what_changed_last_and_never_from_what_is_not_quiet(
    times: list[int], at: int, now: int
) -> None:
    found = sorted((listed(str(n), each) for n, each in enumerate(times)), key=lambda each: -each.modified)
    present = found[at] if at < len(found) else None
    other = session_to_follow(found, present.ref if present else "gone", now)
    assert other is None or other is found[0]
    if present is not None and (present is found[0] or now - present.modified < QUIET):
        assert other is None
    if present is not None and other is None and present is not found[0]:
        assert now - present.modified < QUIET


class TwoAgents:
    """Files of Claude Code and of pi, which grow in turn."""

    def __init__(self, home: Path, project: Path) -> None:
        self.claude = home / ".claude/projects/-x/c.jsonl"
        self.pi = home / ".pi/agent/sessions/-x/p.jsonl"
        self._where = {"cwd": str(project)}
        put(self.claude, lines(*self._turn(1)).decode())
        first: dict[str, Any] = {"type": "session", "version": 3, "id": "s", **self._where}
        put(self.pi, "\n".join(map(json.dumps, (first, self._message("knead")))) + "\n")
        self.date(self.claude, 60)
        self.date(self.pi, 90)

    def _turn(self, number: int) -> list[dict[str, Any]]:
        return [{**each, **self._where} for each in claude(number, "bake", input_tokens=100 * number, output_tokens=1)]

    def _message(self, text: str) -> dict[str, Any]:
        return {"type": "message", "message": {"role": "user", "content": text}}

    def date(self, path: Path, ago: float) -> None:
        """Say that a file was changed so many seconds ago."""
        os.utime(path, (time.time() - ago,) * 2)

    def claude_goes_on(self, number: int, ago: float) -> None:
        with self.claude.open("ab") as file:
            file.write(lines(*self._turn(number)))
        self.date(self.claude, ago)

    def pi_goes_on(self, ago: float) -> None:
        with self.pi.open("ab") as file:
            file.write(lines(self._message("more")))
        self.date(self.pi, ago)


@pytest.fixture
def agents(tmp_path: Path, project: Path) -> TwoAgents:
    return TwoAgents(tmp_path / "home", project)


async def look(on: Watcher, hindrance: str = "") -> str:
    """Change over if it is time; returns the name of what is followed."""
    other = await on.model.find_active(hindrance)
    if other is not None:
        await on.model.change_over(other)
    await on.settled()
    return str(on.watched.name)


async def test_two_agents_in_turn(services: Services, agents: TwoAgents) -> None:
    async with opened(services, f"{agents.claude}#1", follow=True) as on:
        assert await look(on) == CLAUDE
        assert on.watched == WatchedSession(CLAUDE)
        agents.pi_goes_on(ago=1)
        assert await look(on) == PI
        assert on.told == f"now following {PI}: it changed last in this folder"
        assert ("you", "knead") in on.said
        assert on.following == "following"
        agents.date(agents.pi, ago=-600)
        agents.claude_goes_on(2, ago=-601)  # pi wrote just now: nobody can read what changes every moment
        assert await look(on) == PI
        assert on.watched == WatchedSession(PI)
        agents.date(agents.pi, ago=10)
        assert await look(on) == CLAUDE
        assert len(on.shown.requests) == 2
        agents.claude_goes_on(3, ago=0)
        await until(lambda: len(on.shown.requests) == 3)


async def test_what_the_user_does_is_not_interrupted_and_it_says_so(services: Services, agents: TwoAgents) -> None:
    agents.claude_goes_on(2, ago=30)
    async with opened(services, f"{agents.claude}#1", follow=True) as on:
        agents.pi_goes_on(ago=1)
        assert await look(on, "a window is open") == CLAUDE
        assert on.watched == WatchedSession(CLAUDE, False, PI, "a window is open")
        on.model.travel(0)
        await until(lambda: on.shown.at == 0)
        assert await look(on) == CLAUDE
        assert on.watched == WatchedSession(CLAUDE, False, PI, PAST)
        on.model.travel(1)
        await until(lambda: on.shown.at == 1)
        on.model.toggle_pin()
        assert await look(on) == CLAUDE
        assert on.watched == WatchedSession(CLAUDE, True, PI, "")
        on.model.toggle_pin()
        assert await look(on) == PI


async def test_one_that_the_user_opened_stays(services: Services, agents: TwoAgents) -> None:
    async with opened(services, f"{agents.claude}#1", follow=True) as on:
        await look(on)
        await on.model.open_session(f"{agents.pi}#1")
        agents.claude_goes_on(2, ago=0)
        assert await look(on) == PI
        assert on.watched.pinned


async def test_a_session_of_a_program_with_a_store_is_followed_until_the_user_goes_on_in_it(
    services: Services, agents: TwoAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "QUIET", 0)
    monkeypatch.setattr(outside_changes, "LOOK_AT_STORE", 0.01)
    async with opened(services, f"{agents.claude}#1", follow=True) as on:
        with Store.open() as elsewhere:
            session = elsewhere.create([UserMessage("from the library")], title="bot", folder=work_folder())
            assert await look(on) == "Workbench · bot"
            assert on.said == [("you", "from the library")]
            session.close()
        await until(lambda: on.read_only == "")
        on.model.rename("mine")
        await on.settled()
        agents.pi_goes_on(ago=-10)
        assert await look(on) == "Workbench · mine"
        assert on.watched == WatchedSession("Workbench · mine", False, PI, YOURS)


async def test_one_that_cannot_be_opened_is_tried_again_when_it_has_changed(
    services: Services, agents: TwoAgents
) -> None:
    async with opened(services, f"{agents.claude}#1", follow=True) as on:
        assert await look(on) == CLAUDE
        agents.pi_goes_on(ago=5)
        other = await on.model.find_active("")
        assert other is not None
        content, times = agents.pi.read_bytes(), agents.pi.stat()
        agents.pi.unlink()
        with pytest.raises(WorkbenchError):
            await on.model.change_over(other)
        agents.pi.write_bytes(content)
        os.utime(agents.pi, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert await look(on) == CLAUDE
        agents.pi_goes_on(ago=1)
        assert await look(on) == PI
