"""The server as a process: asked by the client of the package `mcp`, with nothing but the protocol on its output."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_server.sessions import AFTER, BEFORE, SECRET, home_session
from workbench.agent.mcp import McpServer, McpTools
from workbench.agent.tools.base import ToolContext
from workbench.cli.main import main
from workbench.mcp_server.tools import SCHEMAS

pytestmark = pytest.mark.xdist_group("mcp")

SERVE = (sys.executable, "-m", "workbench", "mcp", "serve")
SILENT_IMPORTS = ("mcp", "litellm", "textual", "workbench.sources.services", "workbench.traces.formats", "psutil")
"""What an agent need not wait for when it starts its servers."""


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return home_session(tmp_path / "home", tmp_path, "mine", [*BEFORE, *AFTER])


def _said(*messages: dict[str, Any], folder: Path, options: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """The lines of its output for these messages, all of which must be JSON."""
    lines = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in messages)
    done = subprocess.run([*SERVE, *options], cwd=folder, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _call(tool: str, number: int = 1, meta: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
    parameters = {"name": tool, "arguments": arguments, "_meta": meta or {}}
    return {"id": number, "method": "tools/call", "params": parameters}


async def test_a_client_of_the_package_lists_the_tools_and_calls_them(session: Path, tmp_path: Path) -> None:
    places = {name: value for name, value in os.environ.items() if name == "HOME" or name.startswith("WORKBENCH_")}
    server = McpServer("own", (*SERVE, "--session", str(session)), env=places)
    async with McpTools([server], tmp_path) as tools:
        assert tools.problems == []
        assert [tool.name for tool in tools.tools] == [f"own__{name}" for name in SCHEMAS]
        assert {tool.kind for tool in tools.tools} == {"read"}
        called = {tool.name: tool for tool in tools.tools}
        now = await called["own__context_now"].run({}, ToolContext())
        assert "last request: 900 tokens" in now.text
        wrong = await called["own__recall"].run({"id": "77777"}, ToolContext())
        assert wrong.is_error
        again = await called["own__find"].run({"text": SECRET}, ToolContext())
        assert not again.is_error
        assert "summarised" in again.text


def test_the_session_of_the_folder_is_found_and_named(session: Path, tmp_path: Path) -> None:
    [answer] = _said(_call("context_now", meta={"claudecode/toolUseId": "ask1"}), folder=tmp_path)
    told = answer["result"]["content"][0]["text"]
    assert told.startswith("session: Claude Code mine ")
    assert "(this call is in its file)" in told.splitlines()[0]


def test_without_a_session_the_server_says_so_and_goes_on(tmp_path: Path) -> None:
    answers = _said(_call("context_now"), {"id": 2, "method": "ping"}, folder=tmp_path)
    assert answers[0]["result"]["isError"] is True
    assert "no session of" in answers[0]["result"]["content"][0]["text"]
    assert answers[1] == {"jsonrpc": "2.0", "id": 2, "result": {}}


def test_a_session_that_is_named_wrongly_is_an_answer_too(tmp_path: Path) -> None:
    options = ("--session", "no-such-session")
    answers = _said(_call("context_now"), {"id": 2, "method": "ping"}, folder=tmp_path, options=options)
    assert "no-such-session" in answers[0]["result"]["content"][0]["text"]
    assert len(answers) == 2


def test_the_server_starts_without_what_only_its_answers_need(tmp_path: Path) -> None:
    code = f"""
import io, sys
from workbench.cli.main import main
sys.stdin = io.TextIOWrapper(io.BytesIO(b'{{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}'))
main(["mcp", "serve"])
print([name for name in {SILENT_IMPORTS!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["id"] == 1
    assert done.stderr == "[]\n"


def test_an_audit_that_fails_never_ends_with_the_code_that_stops_a_compaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"hook_event_name": "PreCompact", "transcript_path": str(tmp_path / "gone.jsonl"), "session_id": "s"}
    for text in ("", "[]", "{}", json.dumps(given)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert main(["mcp", "audit"]) == 1
        out, errors = capsys.readouterr()
        assert out == ""
        assert errors.startswith("workbench: ")
