"""`workbench demo`: a session like any other, of which nothing stays."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.terminal import Terminal
from support.waiting import WaitLimit
from tui.play import full_screen, main_screen, program, settle, shown, told, until
from workbench.config.paths import data_dir
from workbench.log.events import UserMessage
from workbench.sources.services import Services
from workbench.tui import demo
from workbench.tui.messages import Send

pytestmark = pytest.mark.xdist_group("litellm")


async def test_it_opens_as_a_session_that_can_go_on_and_its_project_is_where_it_was_left() -> None:
    with demo.demo_folders() as ref, Services() as services:
        folder = Path.cwd()
        assert "ROUND_HALF_UP" in (folder / "bakery" / "pricing.py").read_text()
        done = subprocess.run(["python3", "-m", "unittest"], capture_output=True, text=True, check=False)
        assert "Ran 131 tests" in done.stderr
        assert done.returncode == 0
        async with program(services, (120, 40), ref) as (pilot, screen):
            assert screen.model.state.read_only == ""
            screen.send_or_run(Send("read AGENTS.md"))
            await settle(pilot)
            await until(lambda: "That is what the tools gave" in shown(pilot.app))
            assert any(
                isinstance(event.body, UserMessage) for event in services.store.session(ref, write=False).last(8)
            )
    assert not folder.exists()


def test_it_leaves_nothing_behind_and_takes_nothing_away() -> None:
    before, data = Path.cwd(), data_dir()
    with Services() as services:
        services.store.create([UserMessage("mine")], title="mine").close()
    with demo.demo_folders(), Services() as services:
        assert [info.title for info in services.store.list()] == ["A penny short: order 1042"]
        assert data_dir() != data
    assert Path.cwd() == before
    assert data_dir() == data
    with Services() as services:
        assert [info.title for info in services.store.list()] == ["mine"]


def test_without_a_data_folder_of_ones_own_none_is_set_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORKBENCH_DATA_DIR")
    with demo.demo_folders():
        assert "WORKBENCH_DATA_DIR" in os.environ
    assert "WORKBENCH_DATA_DIR" not in os.environ


def test_it_runs_in_a_real_terminal() -> None:
    terminal = Terminal("demo")
    terminal.wait_for("A penny short")
    terminal.wait_for("half up")
    terminal.press("\x11")
    assert terminal.end() == 0
    assert b"Traceback" not in terminal.seen
    assert not data_dir().exists()


def test_it_opens_from_within_and_quitting_it_comes_back(talk: Path) -> None:
    """In a real terminal: the session that was open is there again, and nothing of the demo is."""
    terminal = Terminal("open", str(talk))
    terminal.wait_for("The fixture opens")
    terminal.press("/demo\r")
    terminal.wait_for("A penny short")
    terminal.wait_for("Ctrl+Q goes back")
    terminal.rest()
    before = len(terminal.seen)
    terminal.press("\x11")
    limit = WaitLimit()
    while b"The fixture opens" not in terminal.seen[before:] and not limit.is_over:
        terminal.watch(0.1)
    terminal.rest()
    assert terminal.process.poll() is None, "the program goes on"
    terminal.press("\x11")
    assert terminal.end() == 0
    assert b"Traceback" not in terminal.seen
    with Services() as services:
        assert services.store.list() == []


async def test_it_is_not_opened_from_itself() -> None:
    with demo.demo_folders() as ref, Services() as services:
        app = full_screen(services, ref)
        async with app.run_test(notifications=True) as pilot:
            await settle(pilot)
            screen = main_screen(app)
            screen.demo = ""
            screen.send_or_run(Send("/demo"))
            await settle(pilot)
            assert "this is the demo; Ctrl+Q leaves it" in told(app)
