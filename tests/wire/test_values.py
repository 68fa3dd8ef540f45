"""Values of other programs become values that can be stored."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workbench.log.codec import settle_event
from workbench.log.events import Event, UserMessage
from workbench.wire.answers import WrittenCall
from workbench.wire.checked_requests import input_of
from workbench.wire.values import cleaned, json_text, json_value, other_part, parsed

TEXTS = st.text(st.characters(codec=None), max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(TEXTS, inside, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_any_value_can_be_stored_once_it_is_cleaned(value: Any) -> None:
    message = UserMessage((other_part(value),))
    stored, _ = settle_event(Event(1, "a", 1, message))
    assert stored.body == message
    assert cleaned(cleaned(value)) == cleaned(value)


@given(VALUES)
def test_values_are_written_as_json_that_every_reader_accepts(value: Any) -> None:
    if not isinstance(value, str):
        json.loads(json_text(value), parse_constant=lambda name: 1 / 0)


@given(st.dictionaries(st.text(), st.text() | st.integers(), max_size=3))
def test_json_text_is_what_pythons_module_writes(value: dict[str, Any]) -> None:
    assert json_text(value) == json.dumps(value, ensure_ascii=False)


@given(st.floats() | st.sampled_from([1e308, -1e308]))
def test_only_numbers_that_json_cannot_hold_change(number: float) -> None:
    value = {"x": [number]}
    if math.isfinite(number):
        assert cleaned(value) is value
    else:
        assert cleaned(value) == {"x": [json.dumps(number)]}


def test_a_number_too_large_for_a_float_keeps_its_digits() -> None:
    assert json_value("[1e999, -2E400, 1.5, NaN]") == ["1e999", "-2E400", 1.5, "NaN"]
    assert parsed('{"b": 1e999}') == {"b": "1e999"}
    assert input_of(WrittenCall("ls", '{"b": 1e999}', "c")) == {"b": "1e999"}
