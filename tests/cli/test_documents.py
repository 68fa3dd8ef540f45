"""What the documents behind the presets ask for, where only the whole program can show it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.calls import Call
from support.requirements import requirement
from support.talk import turns
from workbench.log.events import Reasoning, Snapshot, ToolCall, ToolResult, UserMessage
from workbench.log.store import Store

pytestmark = [pytest.mark.xdist_group("litellm"), pytest.mark.usefixtures("project")]


# codex


@requirement("codex", "log", "an item has an id, a type, a role, its content and its tokens")
@requirement("codex", "log", "an item has the time at which it was added")
@requirement("codex", "log", "messages, calls, outputs, reasoning and snapshots are told apart")
@requirement("codex", "log", "snapshots are kept, apart from the conversation")
def test_items_are_told_apart_and_snapshots_are_never_sent(call: Call) -> None:
    said = [
        *turns(1),
        UserMessage("go"),
        Reasoning("hm", "r"),
        ToolCall("c", "ls", "{}", "r"),
        ToolResult("c", "a.py", "ls"),
        Snapshot("0" * 40, "/src"),
    ]
    with Store.open() as store, store.create(said) as made:
        session = made.id
    items = call("plan", session, "--policy", "codex", "--json").json["items"]
    assert all(item.keys() >= {"id", "kind", "role", "text", "tokens"} for item in items)
    assert {item["kind"] for item in items} == {"message", "tool_call", "tool_result", "reasoning", "aside"}
    assert [item["state"] for item in items] == ["sent"] * 3 + ["aside", "sent", "sent", "aside"]
    assert items[-1]["kind"] == "aside"
    assert all(json.loads(line)["at"] > 0 for line in call("export", session).out.splitlines())


@requirement("codex", "log", "a session has an id, the times it was made and last used, and is kept in SQLite")
def test_a_session_is_kept_with_its_times(call: Call, tmp_path: Path) -> None:
    assert call("ask", "hello").code == 0
    [session] = call("sessions", "--json").json["sessions"]
    assert session["id"]
    assert 0 < session["created"] <= session["updated"]
    [file] = (tmp_path / "data").glob("*.db")
    assert file.read_bytes().startswith(b"SQLite format 3\0")


@requirement("codex", "budget", "what may be used is the window less the reserve, and shown with what is used")
@requirement("codex", "shown", "the threshold is shown with how far the conversation is from it")
def test_used_available_and_threshold_are_shown(call: Call) -> None:
    with Store.open() as store, store.create(turns(4, 100)) as made:
        session = made.id
    narrow = ("--policy", "codex", "--model", "unheard-of", "--set", "budget.max_input_tokens=10000")
    found = call("plan", session, "--json", *narrow).json
    budget = found["budget"]
    assert (found["window"], budget["reserve"]) == (10_000, 1_000)
    assert found["totals"]["tokens"] + budget["free"] == 9_000
    told = call("compactions", session, *narrow).out
    assert f"{found['totals']['tokens']:,} of 10,000 tokens" in told
    assert "compacts at 7,001 (70 %)" in told


# layers


@requirement(
    "layers",
    "others",
    "a session says what happens when a gateway's client disconnects",
    decided="there are no gateways; a setting that does nothing is refused by name",
)
def test_settings_of_gateways_are_refused_by_name(call: Call, tmp_path: Path, transcript: Path) -> None:
    policy = tmp_path / "gateway.toml"
    policy.write_text('extends = "layers"\n[session]\non_disconnect = "pause"\n')
    refused = call("plan", transcript, "--policy", policy)
    assert refused.code == 2
    assert "gateway.toml: session: no such section" in refused.err


# window


@requirement("window", "others", "each conversation starts fresh, and nothing of another is in it")
def test_each_conversation_starts_fresh(call: Call) -> None:
    assert call("ask", "the port is 9001").code == 0
    assert call("ask", "hello").code == 0
    newest, *_ = call("sessions", "--json").json["sessions"]
    request = call("plan", newest["id"], "--request").out
    assert "hello" in request
    assert "9001" not in request


# confirm


@requirement("confirm", "shown", "a caller that asked for an answer can read the utilisation with it")
def test_utilisation_comes_with_the_answer(call: Call) -> None:
    lines = [json.loads(line) for line in call("ask", "hello", "--policy", "confirm", "--stream").out.splitlines()]
    [planned] = [line for line in lines if line.get("step") == "planned"]
    [usage] = [line for line in lines if line.get("kind") == "usage"]
    assert 0 < planned["tokens"] == usage["prompt"] < planned["window"]
    assert usage["completion"] > 0
