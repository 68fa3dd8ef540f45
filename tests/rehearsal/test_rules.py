"""What the stand-in answers by rule."""

from __future__ import annotations

import json
from typing import Any

import pytest

from workbench.rehearsal.rehearsal_model import RehearsalModel
from workbench.rehearsal.rules import answer_by_rule
from workbench.wire.answers import WrittenCall
from workbench.wire.checked_requests import CheckedMessage, CheckedRequest
from workbench.wire.dialects import DIALECTS


def tool(name: str, *parameters: str, **types: str) -> dict[str, Any]:
    properties = {name: {"type": "string"} for name in parameters} | {k: {"type": v} for k, v in types.items()}
    schema = {"type": "object", "properties": properties, "required": [*parameters, *types]}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}


TOOLS = (
    tool("read_file", "path"),
    tool("list_files", "path"),
    tool("search_text", "pattern", "path"),
    tool("run_command", "command"),
    tool("write_file", "path", "content"),
    tool("edit_file", "path", "old", "new"),
)


def ask(text: str, tools: tuple[dict[str, Any], ...] = TOOLS) -> CheckedRequest:
    return CheckedRequest((CheckedMessage("user", text),), tools)


def meant(calls: tuple[WrittenCall, ...]) -> list[tuple[str, Any]]:
    return [(call.tool, json.loads(call.arguments)) for call in calls]


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ("read a.py", [("read_file", {"path": "a.py"})]),
        ("list", [("list_files", {"path": "."})]),
        ("search for X in src", [("search_text", {"pattern": "X", "path": "src"})]),
        ("run make", [("run_command", {"command": "make"})]),
        ("write a.txt: hi", [("write_file", {"path": "a.txt", "content": "hi"})]),
        ("replace 'a' with 'b' in x.py", [("edit_file", {"path": "x.py", "old": "a", "new": "b"})]),
        ('call list_files {"path": "x"}', [("list_files", {"path": "x"})]),
        ("read a.py and list src", [("read_file", {"path": "a.py"}), ("list_files", {"path": "src"})]),
        ("read a.py, then list src", [("read_file", {"path": "a.py"})]),
    ],
)
def test_a_request_leads_to_calls_of_the_tools_on_offer(said: str, calls: list[tuple[str, Any]]) -> None:
    answer = answer_by_rule(ask(said))
    assert meant(answer.calls) == calls
    assert answer.reason == "tool_calls"
    assert answer.text


@pytest.mark.parametrize(
    ("said", "offered", "call"),
    [
        ("read a.py", tool("P-read_file", "path"), ("P-read_file", {"path": "a.py"})),
        ("run ls", tool("box_bash", "command"), ("box_bash", {"command": "ls"})),
        ("read a.py", tool("thread", "path"), None),
        ("list src", tool("todo_list", "path"), None),
        ("read a.py", tool("fs__view_file", "filename"), ("fs__view_file", {"filename": "a.py"})),
        ("run ls -l 'a b'", tool("shell", command="array"), ("shell", {"command": ["ls", "-l", "a b"]})),
        ("run echo 'a", tool("shell", command="array"), ("shell", {"command": ["echo 'a"]})),
        ("search for x", tool("grep", "needle"), ("grep", {"needle": "x"})),
        ("read a.py", {"name": "read", "parameters": {}}, ("read", {"path": "a.py"})),
        ("read a.py", tool("Read", "file_path"), ("Read", {"file_path": "a.py"})),
        ("read a.py", tool("read", "filePath"), ("read", {"filePath": "a.py"})),
        ("read a.py", tool("read_file", "absolute_path"), ("read_file", {"absolute_path": "a.py"})),
        ("read a.py", tool("read_many_files", paths="array"), ("read_many_files", {"paths": ["a.py"]})),
        ("read a.py", tool("view", "path"), ("view", {"path": "a.py"})),
        ("list src", tool("LS", "path"), ("LS", {"path": "src"})),
        ("list src", tool("Glob", "pattern", "path"), ("Glob", {"pattern": "*", "path": "src"})),
        ("list src", tool("list_directory", "dir_path"), ("list_directory", {"dir_path": "src"})),
        ("search for x in src", tool("Grep", "pattern", "path"), ("Grep", {"pattern": "x", "path": "src"})),
        (
            "search for x in src",
            tool("search_file_content", "pattern", "dir_path"),
            ("search_file_content", {"pattern": "x", "dir_path": "src"}),
        ),
        ("run make", tool("Bash", "command"), ("Bash", {"command": "make"})),
        ("run make", tool("exec_command", "cmd"), ("exec_command", {"cmd": "make"})),
        (
            "run make",
            tool("run_shell_command", "command", is_background="boolean"),
            ("run_shell_command", {"command": "make", "is_background": False}),
        ),
        ("run a | b", tool("shell", command="array"), ("shell", {"command": ["bash", "-lc", "a | b"]})),
        ("write a.txt: hi", tool("Write", "file_path", "content"), ("Write", {"file_path": "a.txt", "content": "hi"})),
        (
            "replace 'a' with 'b' in x.py",
            tool("Edit", "file_path", "old_string", "new_string"),
            ("Edit", {"file_path": "x.py", "old_string": "a", "new_string": "b"}),
        ),
        (
            "replace 'a' with 'b' in x.py",
            tool("str_replace_editor", "command", "path"),
            ("str_replace_editor", {"command": "str_replace", "path": "x.py", "old_str": "a", "new_str": "b"}),
        ),
        (
            "write a.txt: hi",
            {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"},
            ("str_replace_based_edit_tool", {"command": "create", "path": "a.txt", "file_text": "hi"}),
        ),
        (
            "replace 'a' with 'b' in x.py",
            tool("apply_patch", "input"),
            ("apply_patch", {"input": "*** Begin Patch\n*** Update File: x.py\n@@\n-a\n+b\n*** End Patch\n"}),
        ),
        ("read a b.py, please", tool("bash", "command"), None),
        ("read 'a b.py'", tool("bash", "command"), ("bash", {"command": "cat 'a b.py'"})),
        ("list", tool("bash", "command"), ("bash", {"command": "ls"})),
        ("search for x in src", tool("bash", "command"), ("bash", {"command": "grep -rn -e x src"})),
        ("write a.txt: it's", tool("bash", "command"), ("bash", {"command": "printf %s 'it'\"'\"'s' > a.txt"})),
    ],
)
def test_other_names_for_tools_and_parameters_are_found(said: str, offered: Any, call: tuple[str, Any] | None) -> None:
    assert meant(answer_by_rule(ask(said, (offered,))).calls) == ([call] if call else [])


@pytest.mark.parametrize(
    ("told", "path"),
    [
        ("<environment_context>\n  <cwd>/work/it</cwd>\n</environment_context>", "/work/it/a.py"),
        (" - Primary working directory: /work/it", "/work/it/a.py"),
        ("Current working directory is /work/it.", "/work/it/a.py"),
        ("I'm currently working in the directory: /work/it", "/work/it/a.py"),
        ("Nobody says where.", "a.py"),
    ],
)
def test_a_path_is_absolute_where_the_tool_insists_and_the_folder_is_known(told: str, path: str) -> None:
    offered = tool("Read", "file_path")
    offered["function"]["description"] = "`file_path` must be an absolute path."
    request = CheckedRequest((CheckedMessage("system", told), *ask("read a.py").messages), (offered,))
    assert meant(answer_by_rule(request).calls) == [("Read", {"file_path": path})]
    plain = CheckedRequest(request.messages, (tool("Read", "file_path"),))
    assert meant(answer_by_rule(plain).calls) == [("Read", {"file_path": "a.py"})]


def test_freeform_tools_get_text_in_chat_too() -> None:
    offered = {"type": "custom", "custom": {"name": "apply_patch", "description": "freeform"}}
    body = {"messages": [{"role": "user", "content": "write a.txt: hi"}], "tools": [offered, tool("Read", "path")]}
    request = DIALECTS["chat"].new_speaker().read_request(body)
    played = RehearsalModel().play(request)
    [call] = DIALECTS["chat"].new_speaker().full_answer(played, request, "1")["choices"][0]["message"]["tool_calls"]
    assert (call["type"], call["custom"]["name"]) == ("custom", "apply_patch")
    assert call["custom"]["input"].startswith("*** Begin Patch\n*** Add File: a.txt\n+hi")
    streamed = b"".join(event.data for event in DIALECTS["chat"].new_speaker().stream(played, request, "1"))
    assert b'"custom":{"name":"apply_patch"' in streamed
    result = {"role": "tool", "tool_call_id": call["id"], "content": "Done"}
    turn = [*body["messages"], {"role": "assistant", "content": None, "tool_calls": [call]}, result]
    assert (
        "`apply_patch`" in answer_by_rule(DIALECTS["chat"].new_speaker().read_request({**body, "messages": turn})).text
    )


@pytest.mark.parametrize("said", ["read a.py", "call nothing {}", "call read_file {broken}"])
def test_a_request_no_tool_can_do_is_answered_in_words(said: str) -> None:
    answer = answer_by_rule(ask(said, (tool("lookup", "id"),)))
    assert not answer.calls
    assert "No tool on offer" in answer.text
    assert "lookup" in answer.text


def test_what_can_be_done_is_done_and_the_rest_is_named() -> None:
    answer = answer_by_rule(ask("read a.py and run make", TOOLS[:1]))
    assert meant(answer.calls) == [("read_file", {"path": "a.py"})]
    assert "No tool on offer can run make." in answer.text


@pytest.mark.parametrize("said", ["Hello!", "", "Write me a poem about rain"])
def test_anything_else_says_that_there_is_no_ai_and_what_it_can_do(said: str) -> None:
    answer = answer_by_rule(ask(said))
    assert "without AI" in answer.text
    assert '"read README.md"' in answer.text
    assert "Tools on offer: read_file" in answer.text
    assert "No tools are on offer" in answer_by_rule(ask(said, ())).text


def talk(said: str, *groups: list[tuple[str, dict[str, Any], str]]) -> CheckedRequest:
    """A turn with groups of calls and their results."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": said}]
    for number, group in enumerate(groups):
        calls = [
            {"id": f"{number}.{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for at, (name, given, _) in enumerate(group)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": f"{number}.{at}", "content": g[2]} for at, g in enumerate(group)]
    return DIALECTS["chat"].new_speaker().read_request({"messages": messages, "tools": list(TOOLS)})


def test_results_are_described_with_tool_size_and_first_lines() -> None:
    answer = answer_by_rule(talk("read a.py", [("read_file", {"path": "a.py"}, "one\ntwo\nthree\nfour\n")]))
    assert not answer.calls
    assert "`read_file` a.py gave 4 lines, 18 characters. It begins:\n    one\n    two\n    three" in answer.text
    assert "four" not in answer.text
    assert "without AI" in answer.text


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ("Error: no such file", "failed: Error: no such file"),
        ("\n", "gave nothing"),
        ("none.txt: no such file", "failed: none.txt: no such file"),
        ("boom\n[exit status 2]", "ended with code 2"),
        ("one\nif broken: exit code 2\ntwo", "gave 3 lines"),
        ("exit code 0\nfine", "gave 2 lines"),
        ("a\n[truncated: kept first ~1 of ~9 tokens (head)]", "did not reach me whole: [truncated: kept first"),
    ],
)
def test_errors_emptiness_and_cuts_are_seen(result: str, said: str) -> None:
    assert said in answer_by_rule(talk("run x", [("run_command", {"command": "x"}, result)])).text


def test_a_result_marked_as_an_error_is_one_whatever_it_says() -> None:
    calls = (WrittenCall("read_file", "not json", "1"),)
    turn = (
        CheckedMessage("user", "x"),
        CheckedMessage("assistant", "", calls),
        CheckedMessage("tool", "", call_id="1", is_error=True),
    )
    assert "`read_file` failed: it gave no reason" in answer_by_rule(CheckedRequest(turn)).text


def test_then_waits_for_the_results_and_goes_on_even_where_earlier_groups_were_dropped() -> None:
    said = "read a.py, then list src, then run make"
    first, second = ("read_file", {"path": "a.py"}, "text"), ("list_files", {"path": "src"}, "files")
    third = ("run_command", {"command": "make"}, "done")
    assert meant(answer_by_rule(talk(said, [first])).calls) == [second[:2]]
    assert meant(answer_by_rule(talk(said, [first], [second])).calls) == [third[:2]]
    assert meant(answer_by_rule(talk(said, [second])).calls) == [third[:2]]
    assert not answer_by_rule(talk(said, [third])).calls


def test_explaining_describes_what_the_conversation_holds() -> None:
    before = talk("read a.py", [("read_file", {"path": "a.py"}, "one")])
    later = CheckedRequest(
        (*before.messages, CheckedMessage("assistant", "Done."), CheckedMessage("user", "Explain what you saw")),
        TOOLS,
    )
    assert "`read_file` a.py gave 1 line, 3 characters" in answer_by_rule(later).text
    assert "no results of tools" in answer_by_rule(ask("explain it to me")).text
