"""Long lists are printed item by item, and the result is the same."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workbench.config.text import print_json, print_streamed_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), values, max_size=4), st.lists(values, max_size=4))
def test_a_streamed_object_is_printed_like_any_other(value: dict[str, Any], items: list[Any]) -> None:
    whole, streamed = io.StringIO(), io.StringIO()
    with redirect_stdout(whole):
        print_json(value | {"items": items})
    with redirect_stdout(streamed):
        print_streamed_json((value | {"items": iter(items)}).items())
    assert streamed.getvalue() == whole.getvalue()


def test_what_was_printed_is_written_out_before_the_command_goes_on() -> None:
    raw = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(io.BufferedWriter(raw))):
        print_streamed_json([("items", iter([1]))])
        assert raw.getvalue().endswith(b"]\n}\n")
