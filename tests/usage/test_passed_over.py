"""Most lines of a file are passed over by their first bytes; no report is lost by it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from usage.homes import claude_reply, codex_call, codex_count, codex_model
from workbench.usage import claude_report_lines, codex_report_lines
from workbench.usage.claude_usage import add_claude_lines, new_claude_session
from workbench.usage.codex_usage import add_codex_lines, new_codex_session
from workbench.usage.usage_lines import GrowingLines, ReportSigns


def chosen_lines(data: bytes, signs: ReportSigns) -> Iterator[bytearray]:
    return GrowingLines(BytesIO(data)).lines_with_reports(signs)


def claude_part(draw: Callable[[st.SearchStrategy[Any]], Any], number: int) -> tuple[bytes, bool]:
    """A line, and whether it is a reply of the model's with a report."""
    long = "x" * draw(st.sampled_from([0, 100, 9_000, 20_000]))
    reply = claude_reply(f"m{number}", number % 60, 10, 5, content=[{"type": "text", "text": long}])
    said = {"role": "user", "content": long, "usage": {"input_tokens": 5}}
    task = {"usage": {"input_tokens": 9, "output_tokens": 9}, "text": long}
    kind = draw(st.sampled_from(["reply", "late type", "said", "input", "progress", "sub-agent", "sub-agent's result"]))
    if kind == "said":
        line = {"cwd": "/x", "type": "user", "message": said, "toolUseResult": task}
    elif kind == "input":  # a call whose arguments look like a line of the user's
        block = {"type": "tool_use", "id": "c", "name": "Echo", "input": {"type": "user", "message": said}}
        line = {**reply, "message": {**reply["message"], "content": [block]}}
    elif kind == "progress":
        line = {"type": "progress", "data": {"type": "bash_progress", "output": long}}
    elif kind == "late type":  # as Claude Code writes it
        message = {"model": "claude-sonnet-4-5", "id": f"m{number}", "type": "message", **reply["message"]}
        line = {"cwd": "/x", "message": message, "requestId": "r", "type": "assistant"}
    elif kind == "sub-agent":
        line = {"cwd": "/x", "type": "progress", "data": {"message": reply, "type": "agent_progress"}}
    elif kind == "sub-agent's result":
        inner = {"type": "user", "message": said, "toolUseResult": task}
        line = {"cwd": "/x", "type": "progress", "data": {"message": inner, "type": "agent_progress"}}
    else:
        line = reply
    spaces = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    return json.dumps(line, separators=spaces).encode(), kind in ("reply", "late type", "input", "sub-agent")


@given(st.data())
def test_lines_are_passed_over_only_if_they_have_no_report(data: st.DataObject) -> None:
    parts = [claude_part(data.draw, number) for number in range(data.draw(st.integers(0, 6)))]
    used = new_claude_session("Claude Code", "/x/s.jsonl")
    add_claude_lines(used, chosen_lines(b"".join(line + b"\n" for line, _ in parts), claude_report_lines.SIGNS))
    assert [each.key.split()[0] for each in used.requests] == [
        f"m{number}" for number, (_, counts) in enumerate(parts) if counts
    ]


def test_the_limits_of_codex_are_the_last_that_can_be_read() -> None:
    limits = [{"primary": {"used_percent": used, "window_minutes": 300, "resets_at": 1_800_000_000}} for used in (5, 7)]
    odd: list[Any] = [{"primary": "none"}, None, {"primary": None}]
    lines = [codex_count(at, 110 * at, 100, 10, rate_limits=limit) for at, limit in enumerate([*limits, *odd], 1)]
    for spaces in ((",", ":"), (", ", ": ")):
        used = new_codex_session("Codex", "/x/s.jsonl")
        data = b"".join(json.dumps(line, separators=spaces).encode() + b"\n" for line in lines)
        add_codex_lines(used, chosen_lines(data, codex_report_lines.SIGNS))
        assert [(each.minutes, each.used) for each in used.limits] == [(300, 7.0)]
        assert len(used.requests) == len(lines)


def codex_part(draw: Callable[[st.SearchStrategy[Any]], Any], number: int) -> tuple[bytes, int]:
    """A line, and the tokens that it reports."""
    output = {"output": '"token_count" "turn_context"' + "x" * draw(st.sampled_from([0, 9_000]))}
    lines = {
        "count": codex_count(number, 110 * number, 100 + number, 10),
        "call": codex_call("exec"),
        "model": codex_model(),
        "result": {"timestamp": "", "type": "response_item", "payload": {"type": "function_call_output", **output}},
        "message": {"timestamp": "", "type": "event_msg", "payload": {"type": "agent_message", **output}},
    }
    kind = draw(st.sampled_from([*lines]))
    spaces = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    return json.dumps(lines[kind], separators=spaces).encode(), 100 + number if kind == "count" else 0


@given(st.data())
def test_lines_of_codex_are_passed_over_only_if_they_have_no_report(data: st.DataObject) -> None:
    parts = [codex_part(data.draw, number) for number in range(1, data.draw(st.integers(1, 8)))]
    used = new_codex_session("Codex", "/x/s.jsonl")
    add_codex_lines(used, chosen_lines(b"".join(line + b"\n" for line, _ in parts), codex_report_lines.SIGNS))
    assert [each.prompt for each in used.requests] == [prompt for _, prompt in parts if prompt]
