"""Tools: what there is, what it costs, on or off for a session; approvals that were saved."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tui.play import Script, answer, call, program, settle, shown, until
from tui.screens.looking import listed, look, narrowed, seen, values
from workbench.agent.approvals import FILE_NAME, load_saved
from workbench.log.events import Setting
from workbench.models.reply_parts import TextPiece
from workbench.session.open_session import OpenSession
from workbench.session.tools import OFF, session_toolbox, tools_off
from workbench.sources.services import Services
from workbench.sources.source import number_events
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Send

pytestmark = pytest.mark.usefixtures("project")

SERVER = """
import json, sys

tools = [
    {"name": name, "description": about, "inputSchema": {"type": "object"}}
    for name, about in (("find", "Find a note."), ("burn", "Burn a note."))
]
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        version, about = asked["params"]["protocolVersion"], {"name": "notes", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    else:
        result = {"tools": tools}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
"""What a server needs to say for its tools to be listed; one with the real package is in tests/agent/test_mcp.py, and
takes two seconds to start."""


def offered(opened: OpenSession) -> tuple[str, ...]:
    """The tools that the model may call."""
    return session_toolbox(opened).names


async def test_a_tool_is_switched_off_for_this_session_and_stays_off_when_it_is_opened_again(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = call("run_command", '{"command": "echo hello"}')
    script = Script(answer("one"), answer("two"), run, answer("so it is"))
    script.play(monkeypatch)
    async with program(services) as (pilot, screen):
        await a_tool_that_goes_off_between_two_turns_is_no_longer_offered(pilot, screen, script)
        await look(pilot, screen, "tools")
        await seen(
            pilot, "● on", "Read a text file", "looks only; never asks", "peek", "of definitions in every request"
        )
        before = screen.model.state.status.tokens
        await narrowed(pilot, "run_command")
        await pilot.press("enter")
        await seen(pilot, "○ off")
        await until(lambda: screen.model.state.status.tokens < before)
        await pilot.press("escape")
        screen.send_or_run(Send("go"))
        await settle(pilot)
        names = [tool["function"]["name"] for tool in script.requests[2]["tools"]]
        assert "run_command" not in names
        assert "read_file" in names
        assert "run_command" not in await screen.from_session(offered)
    with Services() as again:
        async with program(again) as (pilot, screen):
            assert "run_command" not in await screen.from_session(offered)
            await look(pilot, screen, "tools")
            await narrowed(pilot, "run_command")
            await seen(pilot, "○ off")
            await pilot.press("enter")
            await seen(pilot, "● on")
            assert "run_command" in await screen.from_session(offered)


async def a_tool_that_goes_off_between_two_turns_is_no_longer_offered(
    pilot: Pilot[Any], screen: MainScreen, script: Script
) -> None:
    screen.send_or_run(Send("go"))
    await settle(pilot)
    await screen.model.switch_tool("write_file")
    screen.send_or_run(Send("go on"))
    await settle(pilot)
    first, second = ({tool["function"]["name"] for tool in each["tools"]} for each in script.requests)
    assert first - second == {"write_file"}


async def test_tools_switched_off_during_a_turn_are_off_at_once_and_not_offered_from_the_next_turn_on(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    script = Script([TextPiece("one"), gate, *answer(" two")], answer("three"))
    script.play(monkeypatch)
    async with program(services) as (pilot, screen):
        screen.send_or_run(Send("go"))
        await until(lambda: screen.model.state.live is not None)
        await look(pilot, screen, "tools")
        try:
            for name in ("read_file", "list_files"):
                await narrowed(pilot, name)
                await pilot.press("enter")
                await seen(pilot, "○ off")
            await pilot.press("escape")
        finally:
            gate.set()
        await settle(pilot)
        screen.send_or_run(Send("go on"))
        await settle(pilot)
        first, second = ({tool["function"]["name"] for tool in each["tools"]} for each in script.requests)
        assert first - second == {"read_file", "list_files"}
        settings = await screen.from_session(lambda opened: tools_off(opened.events))
        assert settings == ("list_files", "read_file")


async def test_in_a_file_nothing_is_switched(services: Services, talk: Path) -> None:
    async with program(services, ref=str(talk)) as (pilot, screen):
        await look(pilot, screen, "tools")
        await pilot.press("enter")
        await seen(pilot, "a file is read-only")


async def test_saved_approvals_are_listed_and_taken_back_and_then_asked_for_again(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config" / FILE_NAME
    path.parent.mkdir(exist_ok=True)
    path.write_text('always = ["run_command:git *", "run_command:echo *"]\nnever = ["run_command:rm *"]\n')
    echo = call("run_command", '{"command": "echo hello"}')
    Script(echo, answer("one"), echo, answer("two")).play(monkeypatch)
    async with program(services) as (pilot, screen):
        screen.send_or_run(Send("go"))
        await settle(pilot)
        assert screen.model.state.question is None
        await look(pilot, screen, "tools")
        await narrowed(pilot, "git")
        await seen(pilot, "run_command:git *", "always", "done without asking")
        for key in ("n", "y"):
            await pilot.press("enter")
            await seen(pilot, "Ask again from now on?")
            assert "run_command:git *" in load_saved(path).always
            await pilot.press(key)
            await listed(pilot)
        await until(lambda: "run_command:git *" not in load_saved(path).always)
        assert load_saved(path).always == ("run_command:echo *",)
        assert load_saved(path).never == ("run_command:rm *",)
        await until(lambda: not values(pilot.app.screen))  # type: ignore[arg-type]  # the screen with the list
        await pilot.press("escape")
        await screen.model.forget_approval("run_command:echo *")
        screen.send_or_run(Send("again"))
        await until(lambda: screen.model.state.question is not None)
        await pilot.press("escape")
        await settle(pilot)


async def test_a_broken_file_of_approvals_is_told_until_it_is_mended_and_hides_no_problem_of_a_server(
    tmp_path: Path,
) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "config").mkdir()
    command = f'command = ["{sys.executable}", "{tmp_path / "server.py"}"]'
    (tmp_path / "config" / "config.toml").write_text(f'[mcp.notes]\n{command}\noff = ["dig"]\n')
    (tmp_path / "config" / FILE_NAME).write_text("always = 3\n")
    with Services() as services:
        async with program(services, (240, 40)) as (pilot, screen):
            await look(pilot, screen, "tools")
            await seen(pilot, "no tool called dig", "expected a list of patterns")
            (tmp_path / "config" / FILE_NAME).write_text("")
            await narrowed(pilot, "find")
            await until(lambda: "expected a list of patterns" not in shown(pilot.app))
            assert "no tool called dig" in shown(pilot.app)


async def test_the_tools_of_servers_are_asked_for_and_the_config_has_the_last_word(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "config").mkdir()
    command = f'command = ["{sys.executable}", "{tmp_path / "server.py"}"]'
    (tmp_path / "config" / "config.toml").write_text(f'[mcp.notes]\n{command}\noff = ["burn"]\n')
    with Services() as services:
        async with program(services, (160, 30)) as (pilot, screen):
            await look(pilot, screen, "tools")
            await seen(pilot, "notes__find")
            await narrowed(pilot, "burn")
            await seen(pilot, "○ config", "mcp.notes.off in config.toml")
            await pilot.press("enter")
            await seen(pilot, "the config switches this one off")
            await narrowed(pilot, "find")
            await seen(pilot, "starts programs; asks first")
            await pilot.press("enter")
            await seen(pilot, "○ off")


def test_of_two_settings_the_later_holds_and_nonsense_switches_nothing_off() -> None:
    assert tools_off(number_events([Setting(OFF, ["a"]), Setting(OFF, ["b"])])) == ("b",)
    assert tools_off(number_events([Setting(OFF, 3)])) == ()
