"""A file of Claude Code is read the same whether its lines are surveyed before or not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from workbench.traces import claude_code
from workbench.traces.building import Recording
from workbench.traces.claude_survey import ClaudeSurvey
from workbench.traces.reading import read_json

NAMES = st.sampled_from(["", "a", "b", "c", "d", "e", "f"])
PARENTS = st.none() | NAMES
EDITS = [{"type": "clear_tool_uses_20250919", "cleared_tool_uses": 1, "cleared_input_tokens": 5}]
CONTENTS = st.sampled_from(
    [
        "hello",
        [{"type": "text", "text": "hello"}],
        [{"type": "tool_use", "id": "c1", "name": "Read", "input": {}}],
        [{"type": "tool_result", "tool_use_id": "c1", "content": "out"}],
    ]
)
MESSAGES: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"content": CONTENTS},
    optional={
        "id": st.sampled_from(["m1", "m2"]),
        "context_management": st.sampled_from([None, {"applied_edits": []}, {"applied_edits": EDITS}]),
    },
)
LINES = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "user", "assistant", "assistant", "progress", "summary", "api-request"])},
    optional={
        "uuid": NAMES,
        "parentUuid": PARENTS,
        "sessionId": st.sampled_from(["s", "t"]),
        "isSidechain": st.sampled_from([False, False, True]),
        "message": MESSAGES,
    },
)
FILL = {"type": "progress"}


def told(message: dict[str, Any], at: int) -> dict[str, Any]:
    return {"type": "user", "uuid": f"n{at}", "parentUuid": f"n{at - 1}" if at else None, "message": message}


def read(lines: list[dict[str, Any]]) -> list[Recording]:
    text = "\n".join(map(json.dumps, [*lines, FILL]))
    return claude_code.read(read_json("a file", text.encode()), "")


def not_at_once(lines: Iterator[Any], survey: ClaudeSurvey) -> Iterator[Any]:
    survey.is_plain = False
    return iter(())


def as_surveyed(lines: list[dict[str, Any]]) -> list[Recording]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claude_code, "lines_without_survey", not_at_once)
        return read(lines)


@settings(max_examples=500)
@given(before=st.sampled_from([0, 50]), named=st.lists(MESSAGES, max_size=4), lines=st.lists(LINES, max_size=6))
def test_a_survey_changes_nothing_for_lines_that_are_read_as_they_come(
    before: int, named: list[dict[str, Any]], lines: list[dict[str, Any]]
) -> None:
    """`before`: so many other lines, so that what comes later is not seen when the file begins."""
    whole = [*[FILL] * before, *map(told, named, range(len(named))), *lines]
    found, expected = read(whole), as_surveyed(whole)
    assert found == expected
    assert [each.times for each in found] == [each.times for each in expected]
    assert [(each.sub_agent, each.strange) for each in found] == [(each.sub_agent, each.strange) for each in expected]


@given(messages=st.lists(MESSAGES, min_size=1, max_size=8), is_named=st.booleans())
def test_lines_in_order_are_read_once(messages: list[dict[str, Any]], is_named: bool) -> None:
    lines = [told(message, at) for at, message in enumerate(messages)]
    if not is_named:
        lines = [{key: value for key, value in line.items() if key != "parentUuid"} for line in lines]
    if any(edit for line in lines if (edit := (line["message"].get("context_management") or {}).get("applied_edits"))):
        event("with edits of the provider")
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claude_code, "surveyed_lines", pytest.fail)
        read(lines)
