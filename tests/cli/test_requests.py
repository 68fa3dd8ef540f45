"""`workbench requests`, and the views of `workbench plan`: what was recorded, what another policy would send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.calls import Call
from support.claude_sessions import agent_lines, write_session

KEYS = [
    "number",
    "seq",
    "purpose",
    "agent",
    "name",
    "model",
    "reported",
    "tokens",
    "unattributed",
    "beside",
    "exact",
    "instead_of",
    "held",
]


def reply(number: int, content: list[dict[str, Any]], tokens: int) -> dict[str, Any]:
    used = {"input": tokens - 100, "output": 9, "cacheRead": 60, "cacheWrite": 40}
    message = {"role": "assistant", "model": "claude-sonnet-4-5", "content": content, "usage": used}
    return {"type": "message", "timestamp": f"2026-11-15T10:0{number}:00Z", "message": message}


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Two requests; the second holds a result that every preset would cut or mask."""
    result = {"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": "all is well\n" * 9_000}
    lines = [
        {"type": "session", "id": "s", "cwd": "/x", "timestamp": "2026-11-15T10:00:00Z"},
        {"type": "message", "timestamp": "2026-11-15T10:00:30Z", "message": {"role": "user", "content": "run it"}},
        reply(1, [{"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "make"}}], 3_000),
        {"type": "message", "timestamp": "2026-11-15T10:01:30Z", "message": result},
        reply(2, [{"type": "text", "text": "It ran."}], 44_000),
    ]
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


def test_requests_are_listed_with_what_was_reported(call: Call, recording: Path) -> None:
    found = call("requests", recording, "--json").json["requests"]
    assert [list(each) for each in found] == [KEYS, KEYS]
    assert [each["number"] for each in found] == [1, 2]
    assert [each["reported"] for each in found] == [3_000, 44_000]
    assert all(each["tokens"] + each["unattributed"] == each["reported"] for each in found)
    assert [(each["purpose"], each["exact"], each["agent"]) for each in found] == [("turn", False, None)] * 2
    table = call("requests", recording).out
    assert "44,000" in table
    assert "claude-sonnet-4-5" in table


def test_a_file_is_shown_as_it_was_recorded(call: Call, recording: Path) -> None:
    found = call("plan", recording, "--json").json
    assert (found["view"], found["policy"], found["request"]) == ("recorded", "recorded", 2)
    assert found["reported"] == 44_000
    assert found["totals"]["tokens"] + found["unattributed"] == 44_000
    assert sum(found["budget"].values()) == found["window"]
    assert {item["state"] for item in found["items"] if item["kind"] != "aside"} == {"sent"}
    assert "It ran." not in [item["text"] for item in found["items"]], "a request is without its answer"
    assert found["calibration"]["samples"] == 2
    said = call("plan", recording).out
    assert "recorded: request 2 of 2; 44,000 tokens reported" in said


def test_any_of_its_requests_can_be_shown(call: Call, recording: Path) -> None:
    found = call("plan", recording, "--nth", "1", "--json").json
    assert (found["request"], found["reported"]) == (1, 3_000)
    assert found["totals"]["tokens"] + found["unattributed"] == 3_000
    assert [item["text"] for item in found["items"] if item["state"] == "sent"] == ["run it"]
    printed = call("plan", recording, "--nth", "1", "--request")
    assert printed.json["messages"] == [{"role": "user", "content": "run it"}]
    beside = found["unattributed"]
    assert printed.err == f"· about {beside:,} of 3,000 tokens are not in the file, nor in this request\n"
    assert f"not in file {beside:,}" in call("plan", recording, "--nth", "1").out
    assert call("plan", recording, "--nth", "3").err == ("workbench: --nth: expected a number from 1 to 2, got 3\n")
    assert call("plan", recording, "--nth", "1", "--at", "2").code == 2


def test_another_policy_is_a_what_if_beside_the_recorded_figure(call: Call, recording: Path) -> None:
    found = call("plan", recording, "--policy", "layers", "--json").json
    assert (found["view"], found["policy"], found["reported"]) == ("what-if", "layers", 44_000)
    assert "truncated" in {item["state"] for item in found["items"]}
    assert found["unattributed"] > 0, "what is not in the file would be sent under any policy"
    assert sum(found["budget"].values()) == found["window"]
    assert (
        "what-if: request 2 of 2 under layers; 44,000 were reported for it"
        in call("plan", recording, "--policy", "layers").out
    )
    assert call("plan", recording, "--window", "9000", "--json").json["view"] == "what-if"
    assert call("plan", recording, "--policy", "recorded", "--json").json["view"] == "recorded"


def test_an_imported_session_plans_exactly_as_its_file_does(call: Call, recording: Path) -> None:
    [session] = call("import", recording, "--json").json["sessions"]
    for more in ((), ("--nth", "1"), ("--policy", "codex")):
        assert call("plan", session["id"], "--json", *more).json == call("plan", recording, "--json", *more).json
    assert call("requests", session["id"], "--json").json == call("requests", recording, "--json").json


def test_an_imported_event_has_the_time_of_the_transcript(call: Call, recording: Path) -> None:
    [session] = call("import", recording, "--json").json["sessions"]
    lines = [json.loads(line) for line in call("export", session["id"]).out.splitlines()]
    by_kind = {line["kind"]: line["at"] for line in lines}
    assert by_kind["user"] == 1_794_736_830_000
    assert by_kind["tool_result"] == 1_794_736_890_000


def test_requests_of_a_session_of_our_own_are_listed_too(call: Call) -> None:
    session = call("ask", "hello", "--model", "rehearsal").err.rpartition("session ")[2].strip()
    [found] = call("requests", session, "--json").json["requests"]
    assert found["reported"] is not None
    assert found["tokens"] + found["unattributed"] == found["reported"]
    shown = call("plan", session, "--nth", "1", "--json").json
    assert (shown["view"], shown["reported"]) == ("recorded", found["reported"])
    assert shown["totals"]["tokens"] + shown["unattributed"] == found["reported"]


def test_where_nothing_was_reported_the_whole_file_is_shown(call: Call, transcript: Path) -> None:
    found = call("plan", transcript, "--json").json
    assert (found["view"], found["reported"], found["request"]) == ("recorded", None, None)
    assert call("requests", transcript, "--json").json["requests"][0]["reported"] is None


def test_a_file_without_any_request_says_so(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text('[{"role": "user", "content": "hi"}]', "utf-8")
    assert call("requests", path).out == "(no requests)\n"
    assert "it holds no request" in call("plan", path, "--nth", "1").err


def test_nothing_to_send_is_refused(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text(json.dumps({"type": "session", "cwd": "/x"}) + "\n" + json.dumps(reply(1, [], 500)), "utf-8")
    outcome = call("plan", path, "--nth", "1", "--request")
    assert (outcome.code, outcome.out) == (3, "")


def test_lines_that_could_not_be_read_are_told_under_the_table(call: Call, recording: Path) -> None:
    recording.write_text(recording.read_text("utf-8") + '\n{"type": "mess', "utf-8")
    assert "warning  skipped: " in call("plan", recording).out


def test_the_status_of_compactions_counts_as_the_reports_have_taught(call: Call, recording: Path) -> None:
    found = call("compactions", recording, "--json").json
    assert found["tokens"] > 3_000, "what is not in the file is in the window all the same"


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A log of requests: nothing of them is missing, whatever the provider counts."""
    asked = {"model": "gpt-4o", "messages": [{"role": "user", "content": "list ."}]}
    answer = {"choices": [{"message": {"role": "assistant", "content": "so"}}]}
    used = {"usage": {"prompt_tokens": 50, "completion_tokens": 1}}
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"request": asked, "response": {**answer, **used}}))
    return path


def test_of_a_request_that_is_whole_nothing_is_missing(call: Call, whole: Path) -> None:
    [found] = call("requests", whole, "--json").json["requests"]
    assert (found["exact"], found["reported"]) == (True, 50)
    assert found["unattributed"] > 0
    table = call("requests", whole).out
    assert f"(+{found['unattributed']})" in table
    assert "the provider counted so many tokens more or fewer than we do" in table
    said = call("plan", whole).out
    assert "the provider counts more tokens than we do" in said
    assert "not in this file" not in said


def test_a_request_has_one_size_however_it_is_asked_for(call: Call, recording: Path) -> None:
    for each in call("requests", recording, "--json").json["requests"]:
        by_number = call("plan", recording, "--nth", each["number"], "--json").json
        by_event = call("plan", recording, "--at", each["seq"] - 1, "--json").json
        for found in (by_number, by_event):
            assert (found["request"], found["reported"]) == (each["number"], each["reported"])
            assert found["totals"]["tokens"] + found["unattributed"] == each["reported"]
            assert found["beside"] == each["beside"]
        assert sum(each["beside"].values()) == each["unattributed"]


def test_the_next_request_has_one_size_too(call: Call, recording: Path) -> None:
    last = call("requests", recording, "--json").json["requests"][-1]["seq"] + 1
    at_the_end = call("plan", recording, "--at", last, "--json").json
    under_it = call("plan", recording, "--at", last, "--policy", "recorded", "--window", "150000", "--json").json
    sizes = {found["totals"]["tokens"] + found["unattributed"] for found in (at_the_end, under_it)}
    assert len(sizes) == 1
    assert at_the_end["request"] is None


def test_commands_say_how_they_are_opened(call: Call, tmp_path: Path) -> None:
    path = write_session(tmp_path, {f"a{at}": agent_lines(f"a{at}", 4 + at / 10) for at in range(7)})
    code, out, err = call("requests", str(path))
    assert code == 0
    assert "sub-agent (a3)" in out
    assert f"· 7 sub-agents: {path}#2 (a0), {path}#3 (a1)" in err
    assert "(a4), ...\n" in err


def test_what_aider_writes_itself_into_a_request_was_not_asked_for(call: Call, tmp_path: Path) -> None:
    """It tells the model of the files as a user would, and answers "Ok." itself."""
    files = [{"role": "user", "content": "I have added these files."}, {"role": "assistant", "content": "Ok."}]
    said = [{"role": "user", "content": "fix it"}, {"role": "assistant", "content": "It is fixed."}]
    more = [{"role": "user", "content": "and test it"}, {"role": "assistant", "content": "All tests pass."}]
    system = {"role": "system", "content": "Act as an expert software developer."}
    lines = [
        {
            "request": {"model": "gpt-4o", "messages": messages},
            "response": {"choices": [{"message": answer}], "usage": {"prompt_tokens": 50, "completion_tokens": 4}},
        }
        for messages, answer in [
            ([system, *files, said[0]], said[1]),
            ([system, *files, *said, more[0]], more[1]),
        ]
    ]
    file = tmp_path / "aider.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    found = call("requests", file, "--json").json["requests"]
    assert [(each["reported"], each["exact"]) for each in found] == [(50, True), (50, True)]
