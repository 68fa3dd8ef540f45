"""The sessions: found, looked into, opened, renamed, forked, deleted."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from proxy.conftest import Recording, answered, claude, said, user
from tui.play import program, settle, shown, until
from tui.screens.looking import listed, look, narrowed, seen, values
from workbench.config.folders import work_folder
from workbench.live.processes import AgentProcess
from workbench.log.events import AssistantMessage, Body, Event, ToolCall, ToolResult, UserMessage
from workbench.sources.services import Services
from workbench.tui.main.screen import MainScreen
from workbench.tui.widgets.finder import MOST, Finder

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def talks(services: Services) -> dict[str, str]:
    """Three sessions, by title; the last is the newest."""
    found = {}
    for title, text in (("bread", "how long does rye rise?"), ("soup", "[b]more\x1b[31m salt"), ("tea", "green")):
        bodies: list[Body] = [
            UserMessage(text),
            ToolCall("c1", "run_command", "{}", reply="r"),
            ToolResult("c1", "done", "run_command"),
            ToolCall("c2", "a\u2028b\x85c", "{}", reply="r"),
            AssistantMessage(f"about {title}", reply="r"),
        ]
        with services.store.create(bodies, title=title) as session:
            found[title] = session.id
    return found


async def test_sessions_are_listed_opened_renamed_forked_deleted_and_begun(
    services: Services, talks: dict[str, str]
) -> None:
    async with program(services) as (pilot, screen):
        finder = await look(pilot, screen, "sessions")
        await the_last_changed_comes_first_and_the_marked_one_is_told_of(pilot, finder, talks)
        await a_row_that_is_about_to_go_is_not_told_of(pilot, finder, services, talks)
        await what_was_typed_last_is_taken_also_before_the_list_has_followed(screen, finder)
        await titles_and_words_are_found_and_enter_goes_to_the_words(pilot, screen, talks)
        for title in ("soup", "bread"):
            await the_open_one_and_any_other_are_renamed(pilot, screen, services, talks[title], title)
        await look(pilot, screen, "sessions")
        await a_fork_is_a_session_of_its_own(pilot, services, talks)
        await one_is_deleted_after_a_yes_and_the_open_one_never(pilot, services)
        await pilot.press("ctrl+n")
        await until(lambda: screen.model.state.title == "new session")


async def the_last_changed_comes_first_and_the_marked_one_is_told_of(
    pilot: Pilot[Any], finder: Finder[Any], talks: dict[str, str]
) -> None:
    assert values(finder) == [talks["tea"], talks["soup"], talks["bread"]]
    await seen(pilot, "● tea", "about tea", "you  green", "run_command  done")
    await settle(pilot)  # details that are loaded again after the first frame would end the next line
    await finder._show_details("no longer there").wait()
    await seen(pilot, "about tea")
    await pilot.press("down")
    await seen(pilot, "[b]more", "about soup")
    assert "\x1b" not in shown(pilot.app)
    await seen(pilot, "a b c()")


async def a_row_that_is_about_to_go_is_not_told_of(
    pilot: Pilot[Any], finder: Finder[Any], services: Services, talks: dict[str, str]
) -> None:
    gate, came = threading.Event(), threading.Event()
    plain = services.store.first_events

    def first_events(names: Sequence[str]) -> dict[str, Event]:
        came.set()
        gate.wait()
        return plain(names)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(services.store, "first_events", first_events)
        finder.field.value = "rye"
        await until(came.is_set)
        finder.reload_details()
        await until(lambda: not any(worker.group == "details" and worker.is_running for worker in pilot.app.workers))
        gate.set()
        await finder.settled()
    assert values(finder) == [talks["bread"]]


async def what_was_typed_last_is_taken_also_before_the_list_has_followed(
    screen: MainScreen, finder: Finder[Any]
) -> None:
    finder.field.value = "soup"
    finder.action_take()
    await until(lambda: screen.model.state.title == "soup")


async def titles_and_words_are_found_and_enter_goes_to_the_words(
    pilot: Pilot[Any], screen: MainScreen, talks: dict[str, str]
) -> None:
    await look(pilot, screen, "sessions")
    assert values(await narrowed(pilot, "sou")) == [talks["soup"]]
    assert values(await narrowed(pilot, "nothing of the kind")) == []
    await seen(pilot, "No session has this in its title")
    await pilot.press("enter")
    assert values(await narrowed(pilot, "rye rise")) == [talks["bread"]]
    await seen(pilot, "▸ you  how long does rye rise?")
    await pilot.press("enter")
    await until(lambda: pilot.app.screen is screen)
    await until(lambda: screen.model.state.title == "bread")
    await settle(pilot)
    await seen(pilot, "how long does rye rise?")


async def the_open_one_and_any_other_are_renamed(
    pilot: Pilot[Any], screen: MainScreen, services: Services, ref: str, title: str
) -> None:
    await look(pilot, screen, "sessions")
    await narrowed(pilot, title)
    await pilot.press("ctrl+r")
    await until(lambda: pilot.app.screen.query("#asking-wrong").first().is_mounted)
    field = pilot.app.screen.query_one(Input)
    field.value = " "
    await pilot.press("enter")
    await seen(pilot, "expected a title")
    field.value = f"more {title}"
    await pilot.press("enter")
    await until(lambda: services.store.info(ref).title == f"more {title}")
    await listed(pilot)
    await pilot.press("escape")
    await settle(pilot)
    assert screen.model.state.title == ("more bread" if title == "bread" else "bread"), "bread is open"


async def a_fork_is_a_session_of_its_own(pilot: Pilot[Any], services: Services, talks: dict[str, str]) -> None:
    await narrowed(pilot, "soup")
    await pilot.press("ctrl+f")
    await seen(pilot, "forked: the copy")
    assert len(values(await listed(pilot))) == 2
    assert [info.forked_from[0] for info in services.store.list() if info.forked_from] == [talks["soup"]]


async def one_is_deleted_after_a_yes_and_the_open_one_never(pilot: Pilot[Any], services: Services) -> None:
    await narrowed(pilot, "bread")
    await pilot.press("ctrl+d")
    await seen(pilot, "This session is open")
    await narrowed(pilot, "tea")
    for key, left in (("n", 4), ("y", 3)):
        await pilot.press("ctrl+d")
        await seen(pilot, "This cannot be undone")
        await pilot.press(key)
        finder = await listed(pilot)
        await until(lambda left=left: len(services.store.list()) == left)  # type: ignore[misc]  # a default is bound now
    await until(lambda: not values(finder))


async def test_a_key_shows_this_folders_sessions_or_all(
    services: Services, talks: dict[str, str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was said elsewhere is not in the way; folder and branch stand beside the title."""
    monkeypatch.setenv("HOME", str(project.parent))
    (project / ".git" / "HEAD").write_text("ref: refs/heads/fix-login")
    with services.store.create([UserMessage("cake?")], title="cake", folder=work_folder()) as session:
        here = session.id
    async with program(services, (160, 30)) as (pilot, screen):
        finder = await look(pilot, screen, "sessions")
        assert values(finder) == [here]
        await seen(pilot, "of ~/project", "~/project (fix-login)")
        assert values(await narrowed(pilot, "rye")) == []
        await seen(pilot, "none of this folder; Tab looks in all folders")
        await pilot.press("tab")
        await finder.settled()
        assert values(finder) == [talks["bread"]]
        await narrowed(pilot, "")
        assert values(finder) == [here, talks["tea"], talks["soup"], talks["bread"]]
        await seen(pilot, "of all folders")
        await pilot.press("tab")
        await finder.settled()
        assert values(finder) == [here]


async def test_other_agents_sessions_stand_below_and_open_as_they_were_recorded(
    services: Services, talks: dict[str, str], project: Path, tmp_path: Path
) -> None:
    path = tmp_path / "home" / ".claude" / "projects" / "p" / "1.jsonl"
    path.parent.mkdir(parents=True)
    said = {"role": "user", "content": "[b]why?\x1b[31m"}
    path.write_text(json.dumps({"type": "user", "uuid": "u", "sessionId": "s", "cwd": str(project), "message": said}))
    async with program(services, (160, 30)) as (pilot, screen):
        finder = await look(pilot, screen, "sessions")
        await until(lambda: f"{path}#1" in values(finder))
        assert values(finder) == [talks["tea"], talks["soup"], talks["bread"], f"{path}#1"]
        await seen(pilot, "Claude Code: [b]why?")
        await pilot.press("tab")
        await until(lambda: values(finder) == [f"{path}#1"])
        await seen(pilot, "projects/p/1.jsonl", "as it was recorded")
        for key, done in (("ctrl+r", "renamed"), ("ctrl+f", "forked"), ("ctrl+d", "deleted")):
            await pilot.press(key)
            await seen(pilot, f"Another agent's session cannot be {done} here.")
        await pilot.press("enter")
        await until(lambda: "1.jsonl" in screen.model.state.title)
        await settle(pilot)
        await seen(pilot, "[b]why?", "read-only")


async def test_what_passed_the_proxy_and_what_runs_say_whose_they_are(
    services: Services, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(services.store, client="oa.py", folder=work_folder())
    recording.pass_through("/v1/messages", claude(user("[b]look")), answered(said("done")))
    recording.sessions.close()
    told = {"role": "user", "content": "why?"}
    path = tmp_path / "home" / ".claude" / "projects" / "p" / "1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"type": "user", "uuid": "u", "sessionId": "s", "cwd": str(project), "message": told}))
    process = AgentProcess("Claude Code", str(project), 0)
    monkeypatch.setattr("workbench.sources.all_agents.running_agents", lambda: [process])
    async with program(services, (160, 30)) as (pilot, screen):
        await look(pilot, screen, "sessions")
        await seen(pilot, "oa.py: [b]look", "oa.py, recorded by the proxy", "● Claude Code: why?  running")


async def test_what_another_process_has_is_told_in_place(services: Services, talks: dict[str, str]) -> None:
    with Services() as other, other.store.session(talks["soup"]):
        async with program(services) as (pilot, screen):
            await look(pilot, screen, "sessions")
            await narrowed(pilot, "soup")
            await pilot.press("ctrl+d")
            await seen(pilot, "This cannot be undone")
            await pilot.press("y")
            await seen(pilot, "is open in")


async def test_of_thousands_of_sessions_a_bounded_number_is_shown_all_are_found_and_help_names_the_keys(
    services: Services,
) -> None:
    for number in range(MOST + 60):
        services.store.create([UserMessage(f"word{number}")], title=f"talk {number}").close()
    async with program(services) as (pilot, screen):
        finder = await look(pilot, screen, "sessions")
        assert finder.found.option_count == MOST
        await seen(pilot, "type to find the others")
        await narrowed(pilot, "talk 7")
        await seen(pilot, "talk 7 ")
        await narrowed(pilot, "word12 ")
        await seen(pilot, "talk 12")
        await narrowed(pilot, "zzz")
        await pilot.press("f1")
        await seen(pilot, "keys: sessions", "Ctrl+D", "delete")
        await pilot.press("escape", "escape")
        await until(lambda: pilot.app.screen is screen)


async def test_a_path_opens_a_file_and_a_folder_lists_what_is_in_it(
    services: Services, talks: dict[str, str], project: Path, tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    (runs / "deep").mkdir(parents=True)
    (runs / ".hidden").write_text("")
    path = runs / "talk.json"
    path.write_text(json.dumps([{"role": "user", "content": "why?"}, {"role": "assistant", "content": "because"}]))
    async with program(services, (160, 30)) as (pilot, screen):
        await look(pilot, screen, "sessions")
        assert values(await narrowed(pilot, str(tmp_path / "ru")))[:1] == [f"{runs}/"]
        await pilot.press("enter")
        finder = await listed(pilot)
        assert values(finder) == [f"{runs}/deep/", str(path)]
        assert values(await narrowed(pilot, f"{path}#1")) == [f"{path}#1"]
        assert values(await narrowed(pilot, f"{runs}/none")) == []
        await seen(pilot, "no file is called so")
        await narrowed(pilot, str(path))
        await seen(pilot, "Enter opens this file")
        await pilot.press("enter")
        await until(lambda: "talk.json" in screen.model.state.title)
