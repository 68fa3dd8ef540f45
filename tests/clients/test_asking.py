"""Real agents ask about their own context, set up as in examples/: they are told the figures of their own session."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clients.clients import BY_NAME, WITHIN, Client
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

EXAMPLES = Path(__file__).parents[2] / "examples"
PLUGIN = EXAMPLES / "claude-code-plugin"
CLAUDE_TOOL = "mcp__plugin_workbench_workbench__"
CODEX_TOOL = "mcp__workbench."
COMPACTED = "This context was compacted. Before that it had"
COMPACTS_AT = 11_000
"""Tokens: with a large result Codex is above it."""


def _script(*calls: tuple[str, dict[str, str]]) -> Script:
    """A rehearsal: these calls one after the other, then an answer. Requests for summaries take no step."""
    steps = [{"calls": [{"tool": tool, "arguments": arguments}]} for tool, arguments in calls]
    return Script([*steps, {"reply": "done"}], summaries=False)


def _client(name: str) -> Client:
    client = BY_NAME[name]
    if client.found() is None:
        pytest.skip(f"{client.binary} is not installed ({client.package})")
    return client


def _run(words: list[str], environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(Path(sys.executable).parent), environment["PATH"]))
    done = subprocess.run(
        words,
        cwd=folder,
        env={**environment, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done


def _places(tmp_path: Path) -> tuple[Path, Path]:
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    return home, folder


def _lines(home: Path, pattern: str) -> tuple[Path, list[dict[str, Any]]]:
    [path] = home.glob(pattern)
    return path, [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _audit(home: Path) -> dict[str, Any]:
    [path] = [each for each in home.rglob("*.json") if each.parent.name == "audits"]
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def _was_sent(server: RehearsalServer, words: str) -> bool:
    """Whether a request to the model has these words."""
    return any(words in str(request.body) for request in server.requests)


@pytest.mark.long
async def test_claude_code_is_told_its_own_figures_and_what_its_compaction_took(tmp_path: Path) -> None:
    client, (home, folder) = _client("claude"), _places(tmp_path)
    script = _script(
        ("WaitForMcpServers", {}),
        ("Bash", {"command": "seq 1 900", "description": "count"}),
        (f"{CLAUDE_TOOL}context_now", {}),
    )
    asked = [client.found() or "", "--plugin-dir", str(PLUGIN), "--allowedTools", "Bash", f"{CLAUDE_TOOL}context_now"]
    async with RehearsalServer(script) as server:
        environment = client.prepare(home, server.url)
        for words in (["-p", "how full is it"], ["-p", "/compact", "--continue"], ["-p", "go on", "--continue"]):
            await asyncio.to_thread(_run, [asked[0], *words, *asked[1:]], environment, folder)
    path, lines = _lines(home, ".claude/projects/*/*.jsonl")
    [told] = _results(lines, "last request: ")
    assert f"session: Claude Code {path.stem} " in told
    assert int(re.findall(r"last request: ([\d,]+) tokens", told)[0].replace(",", "")) in _reported(lines)
    assert _was_sent(server, COMPACTED)
    audit = _audit(home)
    assert (audit["agent"], audit["trigger"], audit["session"]) == ("Claude Code", "manual", path.stem)
    assert "Bash" in [item["who"] for item in audit["items"]]
    assert "rehearsal model" in audit["compaction"]["summary"]


def _results(lines: list[dict[str, Any]], words: str) -> list[str]:
    contents = [line["message"]["content"] for line in lines if line.get("type") == "user"]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    texts = [json.dumps(each["content"], ensure_ascii=False) for each in blocks if each["type"] == "tool_result"]
    return [text for text in texts if words in text]


def _reported(lines: list[dict[str, Any]]) -> set[int]:
    used = [line["message"]["usage"] for line in lines if line.get("type") == "assistant"]
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return {sum(each.get(name) or 0 for name in names) for each in used}


@pytest.mark.long
async def test_codex_is_told_its_own_figures_and_what_its_compaction_took(tmp_path: Path) -> None:
    client, (home, folder) = _client("codex"), _places(tmp_path)
    script = _script(
        ("exec_command", {"cmd": "seq 1 3000"}),
        (f"{CODEX_TOOL}context_now", {}),
        (f"{CODEX_TOOL}what_was_removed", {}),
    )
    async with RehearsalServer(script) as server:
        environment = client.prepare(home, server.url)
        config = home / ".codex" / "config.toml"
        example = (EXAMPLES / "codex" / "config.toml").read_text("utf-8")
        limit = f"model_auto_compact_token_limit = {COMPACTS_AT}\n"
        config.write_text("\n".join((limit, config.read_text("utf-8"), example)), "utf-8")
        program, command, *rest = client.words("how full is it")
        # Its user reviews hooks once; nobody can here.
        words = [program, command, "--dangerously-bypass-hook-trust", *rest]
        await asyncio.to_thread(_run, words, environment, folder)
    path, lines = _lines(home, ".codex/sessions/*/*/*/*.jsonl")
    outputs = [str(line["payload"].get("output")) for line in lines if "output" in line["payload"]]
    now, removed = (next(each for each in outputs if words in each) for words in ("last request: ", "1 compaction"))
    session = lines[0]["payload"]["id"]
    assert f"session: Codex {session} " in now
    reported = {int(each) for each in re.findall(r'"input_tokens": ?(\d+)', path.read_text("utf-8"))}
    assert int(re.findall(r"last request: ([\d,]+) tokens", now)[0].replace(",", "")) in reported
    assert "exec_command, summarised" in removed
    assert _was_sent(server, COMPACTED)
    audit = _audit(home)
    assert (audit["agent"], audit["trigger"], audit["session"]) == ("Codex", "auto", session)
    assert "rehearsal model" in audit["compaction"]["summary"]
