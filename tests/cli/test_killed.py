"""An answer that was coming in when the program was killed: kept, marked, and good to go on from."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.calls import Call
from support.terminal import Terminal
from tui.play import until
from workbench.log import drafts
from workbench.log.events import AssistantMessage, UserMessage
from workbench.log.store import Store

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("project")]
CUT = "The fixture opens the database twice."
PROGRAM = f"""
import asyncio
from workbench.cli.main import main
from workbench.models.engine import engine

async def answer(call):
    yield {{"choices": [{{"delta": {{"content": {CUT!r}}}}}]}}
    await asyncio.Event().wait()

engine().provide_answering("openai", answer)
"""
"""The start of a program whose model never ends its answer: no litellm, which takes seconds to import."""


def start_ask() -> subprocess.Popen[bytes]:
    program = f"{PROGRAM}main(['ask', 'why?'])"
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def start_screen() -> subprocess.Popen[bytes]:
    terminal = Terminal(command=[sys.executable, "-c", f"{PROGRAM}main([])"])
    terminal.wait_for(" tokens ")  # it is open
    terminal.press("why?")
    terminal.wait_for("why?")
    terminal.press("\r")
    terminal.wait_for("twice.")
    return terminal.process


def kept() -> bool:
    """Whether all that came is on disk."""
    with Store.open() as store, store._database.read_transaction() as db:
        found = [drafts.draft_events(db, key) for (key,) in db.execute("SELECT key FROM sessions")]
    return any(isinstance(body, AssistantMessage) and body.content == CUT for bodies in found for body in bodies)


@pytest.mark.parametrize("start", [start_ask, pytest.param(start_screen, marks=pytest.mark.wide)])
async def test_it_is_kept_shown_as_cut_and_sent_once(
    start: Callable[[], subprocess.Popen[bytes]], call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('model = "openai/m"\n[models."openai/m"]\nwindow = 8000\n')
    process = await asyncio.to_thread(start)
    await until(kept)
    process.kill()
    process.wait()

    [info] = call("sessions", "--json").json["sessions"]
    plan = call("plan", info["id"], "--json").json
    assert [row["state"] for row in plan["items"] if CUT in row["text"]] == ["sent"]
    with Store.open() as store, store.session(info["id"]) as session:
        said = [event.body for event in session.events()]
        assert [body for body in said if isinstance(body, UserMessage)] == [UserMessage("why?")]
        [cut] = [body for body in said if isinstance(body, AssistantMessage)]
        assert (cut.content, cut.finish, cut.model) == (CUT, "killed", "openai/m")

    sent = call("plan", info["id"], "--request").json["messages"]
    assert [(each["role"], each["content"]) for each in sent[-2:]] == [("user", "why?"), ("assistant", CUT)]
