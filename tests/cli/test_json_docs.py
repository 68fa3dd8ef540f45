"""What `docs/json.md` shows of a command is what the command prints: the same keys, at every depth."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.test_ask import SERVER
from support.calls import Call
from support.installed import installed
from support.local_servers import ollama, patiently, serving
from tui.recorded.long_run import as_file, run
from workbench.agent import snapshots
from workbench.judge.record_file import JudgeRecord
from workbench.judge.values import Grade
from workbench.log.events import UserMessage
from workbench.log.shapes import KINDS
from workbench.log.store import Store

PAGE = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
SHOWN = {
    title: json.loads(block)
    for title, block in re.findall(r"## `([^`\n]*) --json`\n[^#]*?```json\n(.*?)```", PAGE, re.S)
}
LONG = "see lib/deep.py: 12 of 340 lines, error E1234 in parse_header\n" * 200


def keys(value: Any, path: str = "") -> set[str]:
    """The path of every key; the elements of a list share theirs."""
    match value:
        case dict():
            return {f"{path}.{key}" for key in value}.union(
                *(keys(each, f"{path}.{key}") for key, each in value.items())
            )
        case list():
            return set().union(*(keys(each, f"{path}[]") for each in value))
    return set()


def rows(heading: str) -> dict[str, set[str]]:
    """The first column of a section's table, and the words in code of its second."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    found = re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.M)
    return {name: set(re.findall(r"`(\w+)`", text.partition(";")[0])) for name, text in found}


@pytest.fixture
def session(call: Call, tmp_path: Path) -> str:
    """Four turns of an agent, each with a long result."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are careful."}]
    for turn in range(4):
        tool = {"id": f"c{turn}", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a"}'}}
        messages += [
            {"role": "user", "content": f"look at src/file_{turn}.py and do not change VERSION_{turn}"},
            {"role": "assistant", "content": "", "tool_calls": [tool]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": LONG},
            {"role": "assistant", "content": f"file_{turn}.py is right: {turn}00 lines."},
        ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(messages))
    [made] = call("import", path, "--json").json["sessions"]
    return str(made["id"])


def printed(call: Call, title: str, *arguments: str | Path) -> None:
    """Hold the page against a call."""
    outcome = call(*title.split(), *arguments, "--json")
    assert outcome.code == 0, outcome.err
    assert keys(SHOWN[title]) == keys(outcome.json)


def test_every_command_with_json_is_on_the_page() -> None:
    from support.reference import made

    have = {name.removeprefix("workbench ") for name, text in made()["commands.md"].items() if "| `--json` |" in text}
    assert set(SHOWN) - {"watch --all"} | {"ask", "models find"} == have


def test_plans_and_compactions(call: Call, session: str, tmp_path: Path) -> None:
    (tmp_path / "summary.md").write_text("lib/deep.py was looked at; nothing else is said of it.")
    printed(call, "plan", session, "--set", "truncation.max_tokens=200")
    printed(call, "requests", as_file(tmp_path, run(5, others=False)))
    printed(call, "compact", session, "--summary", tmp_path / "summary.md", "--yes")
    printed(call, "compactions", session)
    printed(call, "undo", session)
    printed(call, "continue", session, "--digest")


def test_replays(call: Call, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "list ."}]}
    tool = {"id": "c", "type": "function", "function": {"name": "list_files", "arguments": "{}"}}
    asked["tools"] = [{"type": "function", "function": {"name": "list_files", "parameters": {"type": "object"}}}]
    said = {"choices": [{"message": {"role": "assistant", "content": "so", "tool_calls": [tool]}}]}
    (tmp_path / "r.jsonl").write_text(json.dumps({"request": asked, "response": said}))
    printed(call, "replay", tmp_path / "r.jsonl", "--to", "rehearsal")


def test_explanations(call: Call, tmp_path: Path) -> None:
    tool = {"id": "c", "type": "function", "function": {"name": "list_files", "arguments": "{}"}}
    spare = {"type": "function", "function": {"name": "spare", "parameters": {"type": "object"}}}
    listed = {"type": "function", "function": {"name": "list_files", "parameters": {"type": "object"}}}
    before = [{"role": "user", "content": "word " * 100}, {"role": "assistant", "content": "Well."}]
    messages = [*before, {"role": "user", "content": "list ."}]
    asked = {"model": "gpt-4o", "messages": messages, "tools": [listed, spare]}
    said = {"choices": [{"message": {"role": "assistant", "content": "so", "tool_calls": [tool]}}]}
    (tmp_path / "r.jsonl").write_text(json.dumps({"request": asked, "response": said}))
    printed(call, "explain", tmp_path / "r.jsonl", "--to", "rehearsal")


def test_judgements(call: Call, tmp_path: Path) -> None:
    said = "The connection pool of the payment service holds 48 connections per worker."
    decided = "We decided to keep the list in the file because the server has no database."
    talk = [("user", said), ("assistant", decided), *[("user", "go on"), ("assistant", "word " * 200)] * 5]
    path = tmp_path / "t.json"
    path.write_text(json.dumps([{"role": role, "content": text} for role, text in talk]))
    found = call("judge", path, "--policy", "window", "--json").json
    asked = JudgeRecord(Path(found["record"]).stem)
    probe = next(iter(asked.probes.values()))
    control = asked.answer_of(probe.id, "full", "rehearsal", next(iter(found["prompts"])))
    assert control is not None
    asked.add_grade(Grade(probe.id, control.hash, 0.0, "hand"))  # so that one is thrown out
    found = call("judge", path, "--policy", "window", "--json").json
    shown = json.loads(json.dumps(SHOWN["judge"]))
    for each in (found, shown):
        each["prompts"] = {}
    assert keys(shown) == keys(found)


def test_checks(call: Call, session: str, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    outcome = call("check", session, tmp_path / "broken.json", "--max-tokens", "1", "--json")
    assert keys(SHOWN["check"]) == keys(outcome.json)


def test_sessions(call: Call, session: str, tmp_path: Path) -> None:
    printed(call, "sessions")
    printed(call, "sessions search", "VERSION_1")
    printed(call, "sessions recover")
    printed(call, "import", tmp_path / "t.json")


def test_texts_and_policies(call: Call, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    printed(call, "tokens", tmp_path / "a.txt")
    printed(call, "policies")
    printed(call, "policies show", "codex")


def test_models(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed(call, "models show", "gpt-4o")
    patiently(monkeypatch)
    with serving(ollama("qwen3:latest")) as found, serving({}) as nothing:
        ports = {"ollama": found.port, **dict.fromkeys(("llamacpp", "lmstudio", "vllm"), nothing.port)}
        configure(tmp_path, "[servers]", *(f"{name} = {port}" for name, port in ports.items()))
        printed(call, "models local")
        printed(call, "models")
        assert keys(call("models", "find", "qwen3", "--json").json) == keys(SHOWN["models"])


def configure(tmp_path: Path, *lines: str) -> None:
    (tmp_path / "config").mkdir(exist_ok=True)
    (tmp_path / "config" / "config.toml").write_text("\n".join(lines))


def test_snapshots(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    repo = tmp_path / "repo"
    repo.mkdir()
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    (repo / "a.txt").write_text("old")
    taken = asyncio.run(snapshots.take_snapshot(repo, "before write_file"))
    assert taken is not None
    with Store.open() as store, store.create() as made:
        made.append(UserMessage("go"), taken)
    printed(call, "snapshots", made.id)
    printed(call, "restore", made.id, "--yes")


def test_plugins(call: Call, tmp_path: Path) -> None:
    with installed(tmp_path / "site", {"stages": {"tidy": "support.plugin_parts:tidy_stage"}}):
        printed(call, "plugins")


@pytest.mark.xdist_group("mcp")
def test_mcp(call: Call, tmp_path: Path) -> None:
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    configure(tmp_path, "[mcp.notes]", f"command = {json.dumps([sys.executable, str(server)])}")
    printed(call, "mcp")


@pytest.mark.xdist_group("litellm")
def test_the_steps_of_a_stream(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [json.loads(line) for line in call("ask", "list .", "--stream").out.splitlines()]
    steps: Sequence[dict[str, Any]] = [line for line in lines if "step" in line]
    documented = rows("`ask --json` and `ask --stream`")
    assert {step["step"] for step in steps} >= {"planned", "text", "call", "usage", "finished"}
    for step in steps:
        assert documented[step["step"]] == step.keys() - {"step"}


def test_every_kind_of_event_is_listed() -> None:
    assert rows("`export --format events`").keys() == KINDS.keys()
