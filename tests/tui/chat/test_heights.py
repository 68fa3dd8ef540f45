"""Where entries begin, whatever was measured in whatever order."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.tui.chat.heights import EntryHeights

CHANGES = st.lists(st.tuples(st.integers(0, 10_000), st.integers(1, 50)), max_size=40)


@settings(max_examples=40)
@given(st.integers(0, 70), st.integers(0, 40), CHANGES)
def test_places_are_always_the_sums_of_the_heights(count: int, more: int, changes: list[tuple[int, int]]) -> None:
    heights = EntryHeights(count, 4)
    expected = [4] * count
    for number, (index, height) in enumerate(changes):
        if number == len(changes) // 2:
            heights.grow(count + more)
            expected += [4] * more
        if expected:
            heights.set_height(index % len(expected), height)
            expected[index % len(expected)] = height
    tops = [0, *accumulate(expected)]
    assert len(heights) == len(expected)
    assert heights.total == tops[-1]
    assert [heights.top(index) for index in range(len(tops))] == tops
    places = [(index, line) for index, height in enumerate(expected) for line in range(height)]
    assert [heights.at(line) for line in range(heights.total)] == places


def test_past_the_end_is_told_as_such() -> None:
    heights = EntryHeights(2, 3)
    assert heights.at(6) == (2, 0)
    assert heights.at(9) == (2, 3)
    assert heights.at(-1) == (0, 0)
    assert EntryHeights(0, 3).at(5) == (0, 5)
