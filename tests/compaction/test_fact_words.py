"""Words: leaving the plain ones out at once loses nothing that matters, and never goes back over what it read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.compaction import fact_words

PIECES = ("a", "Word", "fooBar", "load_policy()", "src/app.py", "v1.2.3", "12:30", "ffff123", "E1234", "é", "“", "=")
SIGNS = (*" \n\t.:!?)(,;'\"`/\\-_", "…", "\u00a0", "\u2028", "\u3000", "\x1c")
LONG = 1_000_000


@given(st.lists(st.sampled_from((*PIECES, *SIGNS)) | st.text(max_size=4), max_size=30).map("".join))
def test_only_words_that_say_nothing_are_left_out(text: str) -> None:
    every, odd = fact_words.split_words(text), fact_words.odd_words(text) - {""}
    assert odd <= every
    assert not [word for word in every - odd if fact_words.facts_in_word(word)]


def test_plain_words_and_numbers_are_left_out() -> None:
    assert fact_words.odd_words("The tests ran at 12:30, and src/app.py failed.\n") == {"src/app.py", ""}


def test_a_name_is_found_by_its_parts_too() -> None:
    assert fact_words.word_parts(["Context.load_policy", "(key=value)"]) == {
        *("context.load_policy", "context", "load_policy"),
        *("key=value", "key", "value"),
    }


@pytest.mark.parametrize("piece", ["a", "1", ".", " ", "a.", "a ", "a. ", "1:", "aA", ")", "_ "])
def test_a_megabyte_of_one_thing_does_not_take_for_ever(piece: str) -> None:
    """A pattern that goes back over what it read would take hours here, not the suite's time limit."""
    assert len(fact_words.odd_words(piece * (LONG // len(piece)))) <= 2
