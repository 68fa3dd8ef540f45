"""Arguments are checked, and what is wrong with them is said so that a model can mend it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.agent.tools.base import ToolFailure, object_schema
from workbench.agent.tools.schema import read_arguments, schema_problems

SCHEMA = object_schema(
    ("path",),
    path={"type": "string", "minLength": 1},
    limit={"type": "integer", "minimum": 1, "maximum": 9},
    share={"type": "number", "maximum": 0.5},
    deep={"type": "boolean"},
    mode={"type": "string", "enum": ["a", "b"]},
    names={"type": "array", "items": {"type": "string"}},
    more={"type": "object", "properties": {"x": {"type": ["integer", "null"]}}, "required": ["x"]},
)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"path": 7}, "path: expected text, got 7"),
        ({}, "path: missing; expected text"),
        ({"path": None}, "path: expected text, got None"),
        ({"path": ""}, "path: expected from 1 characters up, got 0"),
        ({"path": "a", "limit": "3"}, "limit: expected a whole number, got '3'"),
        ({"path": "a", "limit": True}, "limit: expected a whole number, got True"),
        ({"path": "a", "limit": 0}, "limit: expected a number from 1 up, got 0"),
        ({"path": "a", "limit": 10}, "limit: expected a number up to 9, got 10"),
        ({"path": "a", "share": 0.6}, "share: expected a number up to 0.5, got 0.6"),
        ({"path": "a", "deep": "yes"}, "deep: expected true or false, got 'yes'"),
        ({"path": "a", "mode": "c"}, "mode: expected one of a, b, got 'c'"),
        ({"path": "a", "names": "x"}, "names: expected a list, got 'x'"),
        ({"path": "a", "names": ["x", 1]}, "names[1]: expected text, got 1"),
        ({"path": "a", "more": {}}, "more.x: missing; expected a value"),
        ({"path": "a", "more": {"x": "1"}}, "more.x: expected a whole number or null, got '1'"),
        ({"path": "a", "Limit": 1}, "Limit: no such argument; did you mean limit?"),
        ({"path": "a", "zzz": 1}, "zzz: no such argument; expected path, limit, share, deep, mode, names, more"),
    ],
)
def test_each_wrong_argument_is_named(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        read_arguments(json.dumps(arguments), SCHEMA)
    assert str(failure.value) == problem


@pytest.mark.parametrize("text", ["{", "[]", '"path"', "7", "[" * 100_000])
def test_what_is_no_object_is_said(text: str) -> None:
    with pytest.raises(ToolFailure, match=r"^arguments: expected a JSON object"):
        read_arguments(text, SCHEMA)


def test_several_problems_are_told_at_once() -> None:
    with pytest.raises(ToolFailure, match=r"path: missing.*; limit: expected"):
        read_arguments('{"limit": "x"}', SCHEMA)


def test_null_for_an_optional_argument_is_as_if_it_was_left_out() -> None:
    assert read_arguments('{"path": "a", "limit": null}', SCHEMA) == {"path": "a"}


def test_null_stays_where_it_has_a_meaning() -> None:
    schema = object_schema((), x={"type": ["integer", "null"]}, y={"anyOf": []})
    assert read_arguments('{"x": null, "y": null}', schema) == {"x": None, "y": None}


def test_no_arguments_at_all_are_an_empty_object() -> None:
    assert read_arguments("", object_schema(())) == {}


def test_a_type_we_do_not_know_is_left_to_others() -> None:
    assert schema_problems({"x": 1}, {"properties": {"x": {"type": "decimal"}}}) == []


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["path", "limit", "share", "deep", "mode", "names", "more", "?"]), anything))
def test_whatever_a_model_writes_is_accepted_or_told_in_words(arguments: dict[str, Any]) -> None:
    try:
        found = read_arguments(json.dumps(arguments), SCHEMA)
    except ToolFailure as failure:
        said = str(failure)
    else:
        said = "accepted"
        assert isinstance(found["path"], str)
        assert 1 <= found.get("limit", 1) <= 9
        assert set(found) <= set(SCHEMA["properties"])
    assert said
