"""Starting and ending in a real terminal."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from support.terminal import DEADLINE, Terminal
from workbench.config.errors import WrongCall
from workbench.log.events import UserMessage
from workbench.traces.desk import Desk
from workbench.tui import start

QUIT = "\x11"
"""ctrl+q"""


def test_without_a_terminal_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(WrongCall, match=r"`workbench plan talk\.json` needs none"):
        start.run(Namespace(source="talk.json"))
    with pytest.raises(WrongCall, match="`workbench plan SOURCE` needs none"):
        start.run(Namespace(source=None))


def test_before_the_first_frame_nothing_heavy_is_imported_and_nothing_is_planned(talk: Path) -> None:
    script = f"""
import asyncio, sys
from argparse import Namespace
from workbench.tui import start
from workbench.traces.desk import Desk

HEAVY = {{"litellm", "openai", "mcp", "splintr", "tiktoken", "tokenizers", "xllamacpp"}}
HEAVY |= {{"workbench.agent.loop", "workbench.compaction.coordinator", "workbench.models.gateway"}}
HEAVY |= {{"textual.widgets._data_table", "textual.widgets._markdown"}}

async def main():
    with Desk() as desk:
        options = Namespace(source={str(talk)!r})
        start.check(desk, options)
        from workbench.tui.app import WorkbenchApp
        from workbench.tui.model.session import SessionModel
        begin = SessionModel.start
        def checked(self, ref):
            from workbench.models import catalogue
            print(sorted(HEAVY & set(sys.modules)), catalogue._table.cache_info().currsize, flush=True)
            return begin(self, ref)
        SessionModel.start = checked
        app = WorkbenchApp(desk, options, options.source)
        async with app.run_test() as pilot:
            while app.screen.shown is None:
                await pilot.pause()
            print(app.screen.shown.plan.verdict.status, "litellm" in sys.modules)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert done.stdout.splitlines() == ["[] 0", "fits False"], done.stderr


def test_a_file_opens_in_a_real_terminal_and_q_quits(talk: Path) -> None:
    terminal = Terminal("open", str(talk), "--policy", "layers", "--window", "16000")
    terminal.wait_for("The fixture opens")
    terminal.press(QUIT)
    assert terminal.end() == 0
    assert b"\x1b[31mlogin" not in terminal.seen
    assert b"Traceback" not in terminal.seen


@pytest.mark.parametrize("colours", [{"NO_COLOR": "1"}, {"TERM": "linux", "TEXTUAL_COLOR_SYSTEM": "standard"}])
def test_without_arguments_the_newest_session_opens_in_few_colours_too(colours: dict[str, str]) -> None:
    with Desk() as desk:
        desk.store.create([UserMessage("the only thing ever said")], title="A talk").close()
    terminal = Terminal(**colours)
    terminal.wait_for("the only thing")
    terminal.press(QUIT)
    assert terminal.end() == 0
    assert b"A talk" in terminal.seen
    assert b"38;2;" not in terminal.seen or "NO_COLOR" in colours  # shades of grey are no colours


def test_without_anything_a_new_session_opens_and_is_not_kept() -> None:
    terminal = Terminal()
    terminal.wait_for("no AI, /model")
    terminal.press(QUIT)
    assert terminal.end() == 0
    with Desk() as desk:
        assert desk.store.list() == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("{", "talk.json: line 1: expected JSON"), ('[{"role": "wizard"}]', "talk.json: line 1: expected")],
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
    path.write_text(json.dumps([{"role": "user", "content": f"message {n} " * 40} for n in range(60_000)]), "utf-8")
    terminal = Terminal("open", str(path))
    terminal.wait_for("reading")
    terminal.press(QUIT)
    assert terminal.end() == 0
    assert b"60,000" not in terminal.seen
    assert b"Traceback" not in terminal.seen
