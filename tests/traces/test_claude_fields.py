"""A line of Claude Code says the same whether its fields are decoded at once or read from its whole value."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from workbench.traces.claude_fields import (
    SessionLine,
    SessionMessage,
    SurveyedLine,
    SurveyedMessage,
    line_of_value,
    session_lines,
    surveyed_lines,
)
from workbench.traces.reading import read_json

TEXTS = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=5)
ODD = st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS, max_size=2) | st.dictionaries(TEXTS, TEXTS)
MANY = ["{}"] * 40
"""So many lines that the rest is not kept in memory."""


def objects(*keys: str, **others: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={**dict.fromkeys(keys, TEXTS | ODD), **others})


MESSAGES = objects("id", "model", "stop_reason", "content", "usage", "context_management", "role")
LINES = objects(
    *("type", "subtype", "uuid", "parentUuid", "sessionId", "session_id", "agentId", "attributionAgent", "requestRef"),
    *("isSidechain", "parent_tool_use_id", "timestamp", "isMeta", "isApiErrorMessage", " text", " value", "else"),
    message=MESSAGES | ODD,
)


def fields(line: SurveyedLine) -> dict[str, Any]:
    found = msgspec.structs.asdict(line)
    return {name: value for name, value in found.items() if name not in ("text", "value")}


def test_lines_cost_the_garbage_collector_nothing() -> None:
    for kind in (SurveyedLine, SurveyedMessage, SessionLine, SessionMessage):
        assert not kind.__struct_config__.gc


@given(values=st.lists(LINES | ODD, min_size=1, max_size=4), as_ascii=st.booleans())
def test_fields_are_the_same_decoded_or_read_from_the_value(values: list[Any], as_ascii: bool) -> None:
    lines = [json.dumps(value, ensure_ascii=as_ascii) for value in values]
    entries = read_json("a file", "\n".join(MANY + lines)).values
    expected = [line_of_value(json.loads(line)) for line in lines]
    found, surveyed = [*session_lines(entries)][40:], [*surveyed_lines(entries)][40:]
    assert [fields(line) for line in found] == [fields(line) for line in expected]
    assert [line.whole for line in found] == [json.loads(line) for line in lines]
    for line, other in zip(surveyed, expected, strict=True):
        assert {**fields(other), **fields(line), "message": None} == {**fields(other), "message": None}
        assert (line.message is None) == (other.message is None)


def test_a_field_that_is_not_read_may_hold_anything() -> None:
    [*_, line] = session_lines(read_json("a file", "\n".join([*MANY, f'{{"uuid": "a", "n": {"9" * 5_000}}}'])).values)
    assert isinstance(line, SessionLine)
    assert line.whole == {"uuid": "a", "n": "9" * 5_000}
