"""`workbench ask`: a turn without a screen."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.calls import Call
from support.local_servers import SAID, serving
from support.requirements import requirement
from workbench.cli.printing import token_line
from workbench.log.codec import decode_event
from workbench.log.events import AssistantMessage, Body, Failure, Setting, SlotContent, ToolResult, Usage, UserMessage
from workbench.session.tools import OFF
from workbench.sources.services import Services

pytestmark = pytest.mark.xdist_group("litellm")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("print('a')\n")
    (folder / "AGENTS.md").write_text("Be kind.\n")
    (folder / "pyproject.toml").write_text("")
    monkeypatch.chdir(folder)
    return folder


def log_of(call: Call, session: str) -> list[Body]:
    """The events of a session."""
    return [decode_event(line).body for line in call("export", session).out.splitlines()]


def test_the_answer_streams_to_standard_output(call: Call) -> None:
    outcome = call("ask", "read a.py")
    assert outcome.code == 0
    assert "print('a')" in outcome.out
    assert "stand-in without AI" in outcome.out
    assert outcome.out.splitlines()[0] == "I read a.py.", "what follows the calls is on a line of its own"
    assert "· read_file" in outcome.err


def test_bytes_that_are_no_utf_8_in_a_message_are_replaced(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"read a.py, \xe9"), encoding="utf-8", errors="strict")
    monkeypatch.setattr("sys.stdin", typed)
    outcome = call("ask", "-", "--json")
    assert outcome.code == 0
    assert "read a.py, \N{REPLACEMENT CHARACTER}" in outcome.out


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names are text")
def test_a_folder_whose_name_is_not_text_can_be_worked_in(
    call: Call, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert call("ask", "hello").code == 0
    [session] = call("sessions", "--here", "--json").json["sessions"]
    assert session["folder"] == f"{project}/caf\ufffd"
    assert call("ask", "--session", session["id"], "and again").code == 0


@requirement(
    "confirm", "shown", "after each answer a line shows used tokens, window, percentage and the answer's tokens"
)
@requirement(
    "confirm",
    "others",
    "a chat bot's answers end in a footer with the usage",
    decided="there is no chat bot; what `ask` prints ends so",
)
def test_a_line_after_the_answer_says_how_full_the_window_is(call: Call) -> None:
    outcome = call("ask", "read a.py", "--window", "5000")
    lines = outcome.err.splitlines()
    [session] = call("sessions", "--json").json["sessions"]
    usage = [body for body in log_of(call, session["id"]) if isinstance(body, Usage)][-1]
    assert usage.prompt is not None
    share = f"{usage.prompt / 5000:.1%}"
    assert f"[tokens: {usage.prompt:,} / 5,000 ({share}) | response: {usage.completion:,} tokens]" in lines
    assert sum(line.startswith("[tokens: ") for line in lines) == 1, "one line for a turn of two requests"
    assert "\x1b" not in outcome.err, "no terminal, no colours"
    assert "[tokens: " not in call("ask", "hello", "--json").err


@requirement("confirm", "shown", "that line is coloured in the same way")
@pytest.mark.parametrize(("prompt", "colour"), [(69_999, "32"), (70_000, "33"), (89_999, "33"), (90_000, "31")])
def test_the_window_fills_up_in_green_yellow_and_red(prompt: int, colour: str) -> None:
    line = token_line(Usage("m", 1, prompt, completion=850), 100_000, colour=True)
    figures = f"{prompt:,} / 100,000 ({prompt / 100_000:.1%})"
    assert line == f"[tokens: \x1b[{colour}m{figures}\x1b[0m | response: 850 tokens]"


@requirement("codex", "instructions", "the user who runs the agent is informed that instructions were cut")
def test_instructions_that_were_cut_are_reported(call: Call, project: Path) -> None:
    (project / "AGENTS.md").write_text("Be kind.\n" * 5_000)
    told = re.compile(r"truncated: kept first \d+ of 45000 bytes of .*/AGENTS\.md$")
    outcome = call("ask", "hello", "--policy", "codex")
    assert [line for line in outcome.err.splitlines() if told.search(line)]
    [session] = call("sessions", "--json").json["sessions"]
    assert told.fullmatch(call("plan", session["id"], "--json").json["warnings"][0])
    assert re.search(r"^warning  truncated: kept first", call("plan", session["id"]).out, re.MULTILINE)


@requirement("codex", "shown", "the user is informed about each compaction, with its figures")
def test_a_compaction_is_shown_with_its_figures(call: Call, project: Path) -> None:
    (project / "long.txt").write_text("\n".join(f"line {at} of the long file" for at in range(300)))
    narrow = ("--policy", "codex", "--window", "4000", "--reserve", "500")
    told = call("ask", "read long.txt", *narrow).err
    assert "· the earlier conversation is summarised" in told
    assert re.search(r"· compacted by rehearsal: events \d+ to \d+, [\d,]+ to [\d,]+ tokens \(.* > 70 %\)", told)


def test_a_shorter_answer_is_told_and_nothing_is_compacted(call: Call, project: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (project / name).write_text(" ".join(["word"] * 780))
    narrow = ("--policy", "confirm", "--window", "3000")
    call("ask", "read a.txt", *narrow)
    [session] = call("sessions", "--json").json["sessions"]
    for message in ("read b.txt", "hello"):
        told = call("ask", message, "--session", session["id"], *narrow)
        assert told.code == 0
        assert re.search(r"· the answer may have \d{3} tokens at most, not 750: the request takes the rest", told.err)
        assert "compacted" not in told.err
    passing = call("ask", "and now", "--session", session["id"], "--window", "2900", "--stream", "--policy", "confirm")
    planned = [json.loads(line) for line in passing.out.splitlines() if '"planned"' in line]
    assert all(150 <= line["max_output"] < 750 for line in planned)


def test_json_is_one_event_per_line_as_in_the_log(call: Call) -> None:
    outcome = call("ask", "read a.py", "--json")
    events = [decode_event(line) for line in outcome.out.splitlines()]
    bodies = [event.body for event in events]
    assert UserMessage("read a.py") in bodies
    assert [body for body in bodies if isinstance(body, SlotContent) and body.slot == "instructions"]
    assert isinstance(bodies[-2], AssistantMessage)
    [session] = call("sessions", "--json").json["sessions"]
    assert [json.loads(line) for line in call("export", session["id"]).out.splitlines()] == [
        json.loads(line) for line in outcome.out.splitlines()
    ]


def test_a_stream_has_the_events_and_between_them_what_passes_by(call: Call) -> None:
    lines = [json.loads(line) for line in call("ask", "read a.py", "--stream").out.splitlines()]
    passing = [line for line in lines if "step" in line]
    events = [decode_event(line) for line in lines if "step" not in line]
    assert [event.seq for event in events] == list(range(events[0].seq, events[0].seq + len(events)))
    assert {line["step"] for line in passing} == {"planned", "text", "call", "usage", "finished"}
    assert [line["fits"] for line in passing if line["step"] == "planned"] == [True, True]
    assert [line["tool"] for line in passing if line["step"] == "call" and line["tool"]] == ["read_file"]
    said = "".join(line["text"] for line in passing if line["step"] == "text")
    answers = [event.body.content for event in events if isinstance(event.body, AssistantMessage)]
    assert said == "".join(map(str, answers))


def test_tools_can_be_left_out_for_one_run(call: Call) -> None:
    left_out = ("--without", "read_file", "--without", "w*_file", "--without", "peek_*")
    events = [decode_event(line).body for line in call("ask", "read a.py", *left_out, "--json").out.splitlines()]
    offered = {body.name for body in events if isinstance(body, SlotContent) and body.slot == "tools"}
    assert offered == {"list_files", "search_text", "run_command", "edit_file"}
    unknown = call("ask", "hello", "--without", "no_such_tool")
    assert unknown.code == 2
    assert "--without no_such_tool: no such tool; expected one of read_file, " in unknown.err


@requirement("codex", "instructions", "the loaded instructions belong to the session")
def test_a_session_goes_on_and_its_slots_are_written_once(call: Call, project: Path) -> None:
    call("ask", "read a.py")
    [session] = call("sessions", "--json").json["sessions"]
    again = call("ask", "list .", "--session", session["id"], "--json").out
    assert "slot" not in {json.loads(line)["kind"] for line in again.splitlines()}
    (project / "AGENTS.md").write_text("Be brief.\n")
    changed = call("ask", "list .", "--session", session["id"], "--json").out
    assert [line["text"] for line in map(json.loads, changed.splitlines()) if line["kind"] == "slot"] == ["Be brief.\n"]
    items = call("plan", session["id"], "--json").json["items"]
    assert [item["text"] for item in items if item["slot"] == "instructions"] == ["Be brief.\n"]


def test_what_was_said_before_a_session_went_on_in_another_can_be_read_there(call: Call) -> None:
    told = [json.loads(line) for line in call("ask", "the port is 9001", "--json").out.splitlines()]
    said = next(event["id"] for event in told if event["kind"] == "user")
    (old,) = call("sessions", "--json").json["sessions"]
    new = call("continue", old["id"], "--digest", "--json").json["session"]
    answer = call("ask", "--session", new, "--json", f'call peek_head with {{"id": "{said}"}}')
    results = [line for line in map(json.loads, answer.out.splitlines()) if line["kind"] == "tool_result"]
    assert [result["content"] for result in results] == ["the port is 9001"]


def test_writing_has_to_be_allowed(call: Call, project: Path) -> None:
    refused = call("ask", "write b.txt: hello")
    assert refused.code == 0
    assert not (project / "b.txt").exists()
    assert "· refused or failed" in refused.err
    call("ask", "write b.txt: hello", "--allow", "write_file:*.txt")
    assert (project / "b.txt").exists()


@pytest.mark.parametrize(
    "rest",
    [
        r"${x:=$'\x60touch F\x60'}${x@P}",
        '"' + r"${x:=$'\x60touch F\x60'}${x@P}" + '"',
        r"${x:-${y:=$'\x24\x28touch F\x29'}}${y@P}",
        r"${_[${x:=$'\x60touch F\x60'}${x@P}]}",
        r"${x[$'\x24\x28touch F\x29']}",
        r"${PWD:$'a[\x24\x28touch F\x29]'}",
    ],
)
def test_no_expansion_is_smuggled_past_the_beginning_of_a_command(
    call: Call, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: str
) -> None:
    monkeypatch.setenv("SHELL", "/bin/bash")
    (tmp_path / "pytest").symlink_to("/bin/true")  # the real one takes seconds to find no tests
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    request = json.dumps({"command": f"pytest {rest}"})
    subprocess.run(["/bin/bash", "-c", f"pytest {rest}"], capture_output=True, check=False)
    assert (project / "F").exists(), "under bash it does run"
    (project / "F").unlink()
    told = call("ask", f"call run_command with {request}", "--allow", "run_command:pytest *", "--json")
    assert not (project / "F").exists()
    [result] = [line for line in map(json.loads, told.out.splitlines()) if line["kind"] == "tool_result"]
    assert "not allowed, and there is nobody to ask" in result["content"]


def test_a_command_that_its_beginning_allows_gets_its_words(call: Call) -> None:
    request = json.dumps({"command": "printf '%s,' -k 'a and b'"})
    told = call("ask", f"call run_command with {request}", "--allow", "run_command:printf *", "--json")
    [result] = [line for line in map(json.loads, told.out.splitlines()) if line["kind"] == "tool_result"]
    assert result["content"] == "-k,a and b,\n[exit status 0]"


def test_a_call_that_is_refused_leaves_no_snapshot(call: Call, project: Path) -> None:
    git = ["git", "-C", str(project)]
    subprocess.run([*git, "init", "-q"], check=True)
    snapshots = [*git, "for-each-ref", "refs/workbench"]
    call("ask", "write b.txt: hello")
    assert subprocess.check_output(snapshots) == b""
    assert os.listdir(project / ".git/objects/info") == [], "git was not even started"
    call("ask", "write b.txt: hello", "--allow", "write_file")
    assert len(subprocess.check_output(snapshots).splitlines()) == 1


KEY = "sk-very-secret-1234"


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere")
def test_a_command_finds_no_key_in_the_process_that_started_it(project: Path) -> None:
    command = "base64 -w0 /proc/$PPID/environ; echo; env | base64 -w0"
    words = ["ask", f"run {command}", "--allow", "run_command", "--json"]
    env = {**os.environ, "OPENAI_API_KEY": KEY, "GREETING": "hello"}
    done = subprocess.run([sys.executable, "-m", "workbench", *words], env=env, capture_output=True, check=True)
    [result] = [line for line in map(json.loads, done.stdout.splitlines()) if line["kind"] == "tool_result"]
    ours, inherited = (base64.b64decode(line) for line in result["content"].splitlines()[:2])
    for block in (ours, inherited):
        assert b"GREETING=hello" in block
        assert KEY.encode() not in block


def test_a_key_that_a_tool_comes_across_is_neither_logged_nor_sent(
    call: Call, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (project / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('[hooks]\nafter_tool = ["cat > got"]\n')
    for request in ("read .env", "run cat .env", f"search for {KEY[:6]} in ."):
        told = call("ask", request, "--allow", "run_command", "--stream")
        assert told.code == 0
        assert KEY not in told.out + told.err
        assert "OPENAI_API_KEY=[key]" in (project / "got").read_text()


def test_a_hook_of_the_config_may_veto(call: Call, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('[hooks]\nbefore_tool = ["echo not today >&2; exit 2"]\n')
    events = [decode_event(line).body for line in call("ask", "read a.py", "--json").out.splitlines()]
    [result] = [body for body in events if isinstance(body, ToolResult)]
    assert result.is_error
    assert str(result.content).startswith("refused by a hook")


def test_a_hook_that_fails_is_told_and_stands_among_the_events(call: Call, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('[hooks]\nafter_model = ["exit 7"]\n')
    told = call("ask", "read a.py")
    assert (told.code, told.err.count("· hook after_model: exit 7: exit status 7")) == (0, 2)
    events = [decode_event(line) for line in call("ask", "read a.py", "--json").out.splitlines()]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.body.category for event in events if isinstance(event.body, Failure)] == ["hook", "hook"]


def test_what_fails_is_told_and_has_its_exit_code(call: Call, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text("[requests]\ntries = 1\n")
    assert call("ask", " ").code == 2
    too_large = call("ask", "word " * 900, "--window", "600")
    assert too_large.code == 3
    nobody = call(
        "ask", "hello", "-m", "openai/x", "--api-base", "http://127.0.0.1:9/v1", "--set", "turn.max_iterations=1"
    )
    assert nobody.code == 1
    assert "connection" in nobody.err


@pytest.mark.parametrize(
    ("said", "finish", "code", "told"),
    [
        ("a long st", "length", 0, "the model may write no more at once"),
        ("you should", "content_filter", 0, "declined to answer"),
        ("", "content_filter", 1, "declined to answer"),
    ],
)
def test_an_answer_that_ended_too_soon_is_told(call: Call, said: str, finish: str, code: int, told: str) -> None:
    with serving({SAID: (said, finish)}) as house:
        ended = call("ask", "hello", "-m", "openai/x", "--api-base", f"{house.url}/v1")
    assert (ended.code, told in ended.err) == (code, True)


SERVER = """
import json, sys
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS = [{"name": "note", "inputSchema": TEXT}, {"name": "wipe", "inputSchema": {"type": "object"}}]
for asked in map(json.loads, sys.stdin):
    match asked["method"]:
        case "initialize":
            known = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}}
            told = {"result": {**known, "serverInfo": {"name": "notes", "version": "1"}}}
        case "tools/list":
            told = {"result": {"tools": TOOLS}}
        case "tools/call":
            text = "noted: " + asked["params"]["arguments"]["text"]
            told = {"result": {"content": [{"type": "text", "text": text}]}}
        case _:
            told = {"error": {"code": -32601, "message": "Method not found"}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)
"""
"""Without the official package, which takes a second to be imported."""


def test_the_tools_of_an_mcp_server_are_offered_and_called(call: Call, tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    (tmp_path / "config").mkdir()
    command = json.dumps([sys.executable, str(script)])
    config = f"[mcp.notes]\ncommand = {command}\n[mcp.gone]\ncommand = ['/no/such/program']\n"
    (tmp_path / "config" / "config.toml").write_text(config)
    outcome = call("ask", 'call notes__note with {"text": "milk"}', "--allow", "notes__note", "--json")
    bodies = [decode_event(line).body for line in outcome.out.splitlines()]
    assert [body.content for body in bodies if isinstance(body, ToolResult)] == ["noted: milk"]
    assert "mcp.gone" in outcome.err


def test_the_tools_of_the_servers_are_listed_with_their_tokens(call: Call, tmp_path: Path) -> None:
    assert call("mcp").out.startswith("no MCP servers")
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    (tmp_path / "config").mkdir(exist_ok=True)
    command = json.dumps([sys.executable, str(script)])
    config = f"[mcp.notes]\ncommand = {command}\noff = ['wipe']\n[mcp.gone]\ncommand = ['/no/such/program']\n"
    (tmp_path / "config" / "config.toml").write_text(config)
    found = call("mcp", "--json").json
    [notes, gone] = found["servers"]
    tools = [(tool["name"], tool["own_name"], tool["off"]) for tool in notes["tools"]]
    assert tools == [("notes__note", "note", False), ("notes__wipe", "wipe", True)]
    assert all(tool["tokens"] > 0 for tool in notes["tools"])
    assert gone["tools"] == []
    assert found["problems"][0].startswith("mcp.gone: cannot be started")
    shown = call("mcp").out
    assert "off, as mcp.notes.off says" in shown
    assert "tools offered: 1, about " in shown
    left_out = call("ask", "hello", "--without", "notes__*", "--json")
    names = [json.loads(line).get("name", "") for line in left_out.out.splitlines()]
    assert "read_file" in names
    assert not any(name.startswith("notes__") for name in names)


@pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="the extra `local` is not installed")
def test_the_embedded_model_answers(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.agent.serving.LOCAL_WINDOW", 256)  # its answer is at most a quarter of that
    events = [decode_event(line).body for line in call("ask", "Say hello.", "-m", "local", "--json").out.splitlines()]
    answers = [body for body in events if isinstance(body, AssistantMessage)]
    assert len(answers) == 1
    assert answers[0].content
    assert not [body for body in events if isinstance(body, SlotContent) and body.slot == "tools"]


def test_a_tool_that_was_switched_off_in_a_session_is_not_offered_by_ask(call: Call, services: Services) -> None:
    with services.store.create([Setting(OFF, ["write_file"]), UserMessage("hi")]) as session:
        pass
    outcome = call("ask", "hello", "--session", session.id, "--without", "edit_file")
    assert outcome.code == 0, outcome.err
    with services.store.session(session.id, write=False) as session:
        offered = {
            event.body.name
            for event in session.events()
            if isinstance(event.body, SlotContent) and event.body.slot == "tools"
        }
    assert "read_file" in offered
    assert not offered & {"write_file", "edit_file"}
