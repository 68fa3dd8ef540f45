"""The dialect of a single message: found quickly for the usual ones, and always the same as by asking each in turn."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workbench.wire.dialects import DIALECTS, dialect_of_message

_texts = st.sampled_from(["", "text", "{}"])
_functions: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(["name", "arguments"]), st.one_of(_texts, st.just({}), st.none()), max_size=2
)
_calls = st.one_of(
    st.none(),
    st.just("x"),
    st.lists(st.one_of(st.just("x"), st.builds(lambda function: {"id": "1", "function": function}, _functions))),
)
_parts = st.lists(
    st.builds(
        lambda kind: {"type": kind, "text": "x"},
        st.sampled_from(["text", "tool_use", "tool_result", "input_text", "image_url"]),
    ),
    max_size=2,
)
_messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"])},
    optional={
        "content": st.one_of(st.none(), _texts, _parts),
        "tool_calls": _calls,
        "tool_call_id": st.one_of(st.none(), st.just(7), _texts),
        "tool_name": st.just("read"),
        "type": st.sampled_from(["", "message", "function_call"]),
        "parts": _parts,
    },
)


@given(_messages)
def test_a_message_has_the_dialect_of_the_first_that_recognises_it(message: dict[str, Any]) -> None:
    plain = message.keys() == {"role", "content"} and isinstance(message["content"], str)
    asked = (each for each in DIALECTS.values() if each.recognises_message(message))
    assert dialect_of_message(message) is (None if plain else next(asked, None))
