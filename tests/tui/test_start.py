"""Starting and ending in a real terminal."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.terminal import Terminal
from support.waiting import GIVE_UP, patiently
from tui.play import until
from workbench.config.errors import WrongCall
from workbench.config.folders import work_folder
from workbench.config.settings import load_settings
from workbench.log.events import UserMessage
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.tui import start
from workbench.tui.app import OpeningScreen, WorkbenchApp
from workbench.tui.chat.composer import Composer
from workbench.tui.commands.registry import WorkbenchScreen
from workbench.tui.main.screen import MainScreen

QUIT = "\x11"
"""ctrl+q"""


def test_without_a_terminal_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(WrongCall, match=r"`workbench plan talk\.json` needs none"):
        start.show_full_screen("talk.json", Options())
    with pytest.raises(WrongCall, match="`workbench plan SOURCE` needs none"):
        start.show_full_screen("", Options())


def test_before_the_first_frame_nothing_heavy_is_imported_and_nothing_is_planned(talk: Path) -> None:
    script = f"""
import asyncio, sys
from contextlib import ExitStack
from workbench.cli import main as _main, screen as _screen
from workbench.config.settings import load_settings
from workbench.sources.options import Options
from workbench.tui import start
from workbench.tui.app import WorkbenchApp

HEAVY = {{"litellm", "openai", "mcp", "splintr", "tiktoken", "tokenizers", "xllamacpp", "sqlite3"}}
OURS = {{f"workbench.{{each}}" for each in ("agent", "compaction", "context", "log", "models", "traces")}}

def load(stack):
    print(sorted((HEAVY | OURS) & set(sys.modules)), flush=True)
    return start.load_main_screen({str(talk)!r}, Options(), stack)

async def main():
    with ExitStack() as stack:
        app = WorkbenchApp(load_settings(), lambda: load(stack))
        async with app.run_test() as pilot:
            await pilot.press("h", "i")
            while not hasattr(app.screen, "model") or app.screen.model.state.shown is None:
                await pilot.pause()
            print(app.screen.model.state.shown.plan.verdict.status)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=GIVE_UP, check=False)
    assert done.stdout.splitlines() == ["[]", "fits"], done.stderr


async def test_what_is_typed_before_the_panes_are_there_is_not_lost() -> None:
    gate = threading.Event()

    def load(stack: ExitStack) -> Callable[[], MainScreen]:
        gate.wait(GIVE_UP)
        services = stack.enter_context(Services())
        return lambda: WorkbenchScreen(services, Options())

    with ExitStack() as stack:
        app = WorkbenchApp(load_settings(), lambda: load(stack))
        async with app.run_test() as pilot:
            await pilot.press("h", "i", "left")
            await until(lambda: isinstance(app.screen, OpeningScreen) and app.screen.typed == "hi")
            gate.set()
            await until(lambda: [each.text for each in app.screen.query(Composer)] == ["hi"])
            main = app.screen
            assert isinstance(main, MainScreen)
            async with patiently():
                await main.model.settled()


@pytest.mark.wide  # test_ending.py has one that is closed while a command runs
def test_when_the_terminal_is_gone_the_program_ends(talk: Path) -> None:
    terminal = Terminal("open", str(talk))
    terminal.wait_for("The fixture opens")
    terminal.vanish()  # raises if the program goes on


@pytest.mark.parametrize(
    "colours",
    [{"TERM": "linux", "TEXTUAL_COLOR_SYSTEM": "standard"}, pytest.param({"NO_COLOR": "1"}, marks=pytest.mark.wide)],
)
def test_without_arguments_the_folders_last_session_opens_in_few_colours_too(colours: dict[str, str]) -> None:
    with Services() as services:
        said = [UserMessage("the only thing ever said")]
        services.store.create(said, title="A talk", folder=work_folder()).close()
    terminal = Terminal(**colours)
    terminal.wait_for("the only thing")
    terminal.press(QUIT)
    assert terminal.end() == 0
    assert b"A talk" in terminal.seen
    assert b"38;2;" not in terminal.seen


def test_without_anything_a_new_session_opens_and_is_not_kept() -> None:
    terminal = Terminal()
    terminal.wait_for("no model configured")
    terminal.press(QUIT)
    assert terminal.end() == 0
    with Services() as services:
        assert services.store.list() == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "talk.json: line 1: expected JSON"),
        ('[{"role": "wizard"}]', "talk.json: line 1: found a list that begins with an object with 'role'"),
    ],
)
def test_a_bad_file_is_one_line_and_no_screen(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "talk.json"
    path.write_text(text, "utf-8")
    terminal = Terminal("open", str(path))
    assert terminal.end() == 2
    assert complaint.encode() in terminal.seen
    assert b"\x1b" not in terminal.seen
    assert len(terminal.seen.splitlines()) == 1


def test_a_bad_large_file_is_read_behind_the_screen_and_told_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([{"role": "user", "content": "x" * start.LARGE}, {"role": "wizard"}]), "utf-8")
    terminal = Terminal("open", str(path))
    terminal.wait_for("reading")
    assert terminal.end() == 2
    assert b"expected" in terminal.seen.splitlines()[-1]
    assert b"Traceback" not in terminal.seen


def test_quitting_does_not_wait_for_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps([{"role": "user", "content": f"message {n} " * 40} for n in range(30_000)]), "utf-8")
    terminal = Terminal("open", str(path))
    terminal.wait_for("reading")
    terminal.press(QUIT)
    assert terminal.end() == 0
    assert b"30,000" not in terminal.seen
    assert b"Traceback" not in terminal.seen
