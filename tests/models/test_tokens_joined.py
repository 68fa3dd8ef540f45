"""Counting a text with its middle cut out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.models.tokens import counter_named

PIECES = st.sampled_from(["word ", "x=1;\n", "測試，", "  ", "\n", "/", "🙂", "don't ", "12345", "[a]", "\t", "aaaa"])


@given(st.lists(PIECES, min_size=1, max_size=12), st.data(), st.sampled_from(["o200k_base", "cl100k_base", "claude"]))
def test_a_joined_count_is_the_count_of_the_joined_text(parts: list[str], data: st.DataObject, name: str) -> None:
    text = "".join(parts) * 400
    counted = counter_named(name)
    counted.count(text)
    end = data.draw(st.integers(0, len(text)))
    start = data.draw(st.integers(end, len(text)))
    middle = "\n[truncated: kept first+last ~10 of ~20 tokens (both)] [id e00001]\n"
    whole = counted.count(text[:end] + middle + text[start:])
    found = counted.joined(text, end, middle, start)
    if found.exact and whole.exact:
        assert found.tokens == whole.tokens
