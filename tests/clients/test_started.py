"""Real agents as `workbench proxy --` starts them, with no address in their own settings: their requests pass the
proxy, and `workbench agents` lists the session once, though most agents write it down, too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clients.clients import BY_NAME, PROMPT, plain_environment
from clients.test_rehearsing import LINE
from proxy.commands import until_recorded

WITHIN = 300
"""Seconds, for the agent and the proxy."""
COMMANDS: dict[str, tuple[str, ...]] = {
    "claude": ("claude", "-p", PROMPT, "--allowedTools", "Read", "Bash"),
    "codex": ("codex", "exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", PROMPT),
    "gemini": ("gemini", "--yolo", "--skip-trust", "-p", PROMPT),
    "qwen": ("qwen", "--yolo", "--auth-type", "openai", "-p", PROMPT),
    "pi": ("pi", "--offline", "-p", "--provider", "openai", "--model", "gpt-5", PROMPT),
    "pi-messages": ("pi", "--offline", "-p", "--provider", "anthropic", "--model", "claude-sonnet-4-5", PROMPT),
    "pi-google": ("pi", "--offline", "-p", "--provider", "google", "--model", "gemini-2.5-pro", PROMPT),
    "opencode": ("opencode", "run", "--model", "anthropic/claude-sonnet-4-5", PROMPT),
    "opencode-openai": ("opencode", "run", "--model", "openai/gpt-5.2", PROMPT),
    "copilot": ("copilot", "--allow-all-tools", "-p", PROMPT),
    "kimi": ("kimi", "-p", PROMPT),
    "aider": ("aider", "--model", "openai/gpt-4o", *BY_NAME["aider"].command[2:-1], PROMPT),
    "llm": ("llm", "-m", "gpt-4o", PROMPT),
    "mini-swe-agent": ("mini", *BY_NAME["mini-swe-agent"].words()[1:]),
}
WITHOUT_TOOLS = {"aider", "llm"}
SETTINGS = {"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", "DISABLE_AUTOUPDATER": "1"}
"""What agents need to start without questions; no addresses and no keys."""


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_an_agent_that_the_proxy_started_is_listed_once(name: str, tmp_path: Path) -> None:
    _start_and_list(name, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode"])
def test_an_agent_behind_the_forward_proxy_is_listed_once(name: str, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    _start_and_list(name, tmp_path, "--tls")


def _start_and_list(name: str, tmp_path: Path, *more: str) -> None:
    command = COMMANDS[name]
    found = BY_NAME.get(name, BY_NAME["pi"])
    if found.found() is None:
        pytest.skip(f"{command[0]} is not installed ({found.package})")
    for each in ("home", "folder"):
        (tmp_path / each).mkdir()
    (tmp_path / "folder" / "a.txt").write_text(f"{LINE}\n", encoding="utf-8")
    started = _workbench(tmp_path, "proxy", *more, "--to", "rehearsal", "--", *command)
    until_recorded(tmp_path / "data")
    assert started.returncode == 0, started.stderr
    [listed] = json.loads(_workbench(tmp_path, "agents", "--json").stdout)["sessions"]
    assert (listed["recorded_by"], listed["folder"]) == ("proxy", str(tmp_path / "folder"))
    assert PROMPT in listed["title"]
    recorded = [each["purpose"] for each in _requests(tmp_path, listed["source"]) if each["exact"]]
    assert recorded.count("turn") >= (1 if name in WITHOUT_TOOLS else 3)


def _requests(tmp_path: Path, session: str) -> list[dict[str, Any]]:
    asked = _workbench(tmp_path, "requests", session, "--json")
    assert asked.returncode == 0, asked.stderr
    found: list[dict[str, Any]] = json.loads(asked.stdout)["requests"]
    return found


def _workbench(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **plain_environment(tmp_path / "home"),
        **SETTINGS,
        "WORKBENCH_DATA_DIR": str(tmp_path / "data"),
        "WORKBENCH_CONFIG_DIR": str(tmp_path / "config"),
    }
    return subprocess.run(
        [sys.executable, "-m", "workbench", *words],
        cwd=tmp_path / "folder",
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )
