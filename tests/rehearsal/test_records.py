"""Compactions inside a turn: the model goes on with the user's request, which lies before the record."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench
from workbench.compaction.continuation import PREFACE
from workbench.compaction.prompts import FRAME
from workbench.context.load import load_policy
from workbench.context.policy_names import PRESETS
from workbench.rehearsal.records import is_record
from workbench.rehearsal.rules import answer_by_rule
from workbench.wire.answers import WrittenCall
from workbench.wire.checked_requests import CheckedMessage, CheckedRequest
from workbench.wire.dialects import DEFAULT

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOL = {"type": "function", "function": {"name": "read_file", "description": "Reads a file.", "parameters": SCHEMA}}
DIGEST = "Digest of 9 items (e1 to e9), made without a model: lines taken from the record.\n\n"


def asked(*, steps: int) -> str:
    return ", then ".join(f"read src/{number}.txt" for number in range(steps))


def chat_message(text: str, calls: tuple[WrittenCall, ...]) -> dict[str, Any]:
    made = [
        {"id": each.call_id, "type": "function", "function": {"name": each.tool, "arguments": each.arguments}}
        for each in calls
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}


@pytest.mark.parametrize("policy", [name for name in PRESETS if name not in ("layers", "recorded")])
@pytest.mark.parametrize("summary", ["", "The assistant read some files."], ids=["digest", "of a model"])
def test_the_whole_request_is_done_with_compactions_in_between(policy: str, summary: str) -> None:
    context = workbench.Context(policy, window=5_000, tools=[TOOL])
    context.add(asked(steps=20))
    read: list[str] = []
    compactions = 0
    for _ in range(40):
        answer = answer_by_rule(DEFAULT.new_speaker().read_request(context.request()))
        calls = tuple(WrittenCall(each.tool, each.arguments, f"c{len(read)}") for each in answer.calls)
        context.add(chat_message(answer.text, calls))
        if not calls:
            break
        for call in calls:
            path = json.loads(call.arguments)["path"]
            read.append(path)
            context.add({"role": "tool", "tool_call_id": call.call_id, "content": f"{path} has " + "words " * 400})
        if context.due:
            compactions += bool(context.compact_now((lambda _: summary) if summary else None))
    assert compactions
    assert read == [f"src/{number}.txt" for number in range(20)]


@pytest.mark.parametrize("frame", [FRAME, PREFACE, *(load_policy(name).policy.compaction.preface for name in PRESETS)])
def test_the_frame_of_every_preset_is_known(frame: str) -> None:
    assert not frame or is_record(f"{frame}What was done.")


@pytest.mark.parametrize("said", ["read a.py", "Record of the meeting: read a.py", "make a digest of a.py"])
def test_what_users_write_is_no_record(said: str) -> None:
    assert not is_record(said)


def paths(*messages: CheckedMessage) -> list[str]:
    return [json.loads(each.arguments)["path"] for each in answer_by_rule(CheckedRequest(messages, (TOOL,))).calls]


def test_a_digest_says_which_files_were_read() -> None:
    wish = CheckedMessage("user", asked(steps=4))
    listed = "## Files touched\n(3 more left out)\n- src/0.txt (read) [e3]\n- src/1.txt (read) [e5]"
    assert paths(wish, CheckedMessage("user", f"{FRAME}{DIGEST}{listed}")) == ["src/2.txt"]


def test_a_call_after_the_record_counts_before_the_files_of_an_earlier_turn() -> None:
    wish = CheckedMessage("user", asked(steps=4))
    record = CheckedMessage("user", f"{FRAME}{DIGEST}## Files touched\n- src/3.txt (read) [e3]")
    call = WrittenCall("read_file", '{"path": "src/0.txt"}', "1")
    done = CheckedMessage("assistant", "", (call,)), CheckedMessage("tool", "text", call_id="1")
    assert paths(wish, record, *done) == ["src/1.txt"]


@given(st.text(max_size=300), st.integers(1, 5))
def test_a_record_never_makes_the_model_begin_again(text: str, steps: int) -> None:
    """Without a sign of what was done, it ends the turn: to begin again could go on for ever."""
    assert "src/0.txt" not in paths(CheckedMessage("user", asked(steps=steps)), CheckedMessage("user", FRAME + text))
