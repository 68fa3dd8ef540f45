"""Copies of plain values: the same as through JSON, and independent of what they were made from."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.library.plain_values import copied

_scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())
_values = st.recursive(
    _scalars, lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)), max_leaves=8
)


@given(_values)
def test_a_copy_is_what_json_makes_of_a_value(value: Any) -> None:
    expected = repr(json.loads(json.dumps(value))) if _is_json(value) else None
    assert _copy_in_words(value) == expected


def _copy_in_words(value: Any) -> str | None:
    """A copy, so that 1, 1.0 and True differ; None if it is refused."""
    try:
        return repr(copied(value))
    except ValueError:
        return None


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return True


def test_a_copy_shares_nothing_that_can_change() -> None:
    value = {"a": [{"b": "c"}], "d": ("e",)}
    made = copied(value)
    assert made == {"a": [{"b": "c"}], "d": ["e"]}
    made["a"][0]["b"] = "changed"
    assert value["a"] == [{"b": "c"}]


@pytest.mark.parametrize("value", ["\udce9", {"\udce9": 1}, [float("nan")], {"x": object()}, {1: "x"}])
def test_what_json_does_not_have_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        copied(value)
