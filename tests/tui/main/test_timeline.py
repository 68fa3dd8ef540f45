"""The requests in a line: a column each, compactions between them, and none lost where there is little room."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workbench.log.events import Hold
from workbench.sources.requests import RequestMark
from workbench.tui.main.timeline import CLEARED, MADE, SIGNS, UNDONE, column_of, squeezed, time_columns


def requests(count: int) -> list[RequestMark]:
    return [RequestMark(at * 10, 1, reported=100 + at, seq=at * 10 + 1) for at in range(count)]


def test_each_request_has_a_column_and_compactions_stand_where_they_were_made() -> None:
    columns = time_columns(requests(5), [(15, MADE), (35, UNDONE), (99, MADE)])
    assert [column.mark or column.size for column in columns] == [100, 101, MADE, 102, 103, UNDONE, 104, MADE, 0]
    assert [column.place for column in columns if not column.mark] == [0, 1, 2, 3, 4, 5]


def sized(*sizes: int, **changes: Any) -> list[RequestMark]:
    return [RequestMark(at * 10, 1, "m", size, seq=at * 10 + 1)._replace(**changes) for at, size in enumerate(sizes)]


def signs(marks: list[RequestMark], changes: list[tuple[int, str]]) -> list[str]:
    return [column.mark or str(column.size) for column in time_columns(marks, changes)]


def test_results_that_were_cleared_have_a_mark_whether_an_event_says_so_or_only_the_sizes() -> None:
    assert signs(sized(100, 200), [(5, CLEARED)]) == ["100", CLEARED, "200", "0"], "cleared, and something new came"
    assert signs(sized(100, 150, 90, 85), []) == ["100", "150", CLEARED, "90", "85", "0"]
    assert signs(sized(100, 50), [(5, MADE)]) == ["100", MADE, "50", "0"], "the compaction says why already"
    assert signs(sized(100, 50, purpose="side"), []) == ["100", "50", "0"]
    other = [*sized(100), *sized(0, 50, model="other")[1:]]
    assert signs(other, []) == ["100", "50", "0"], "another model counts otherwise"


def test_what_was_asked_and_not_sent_is_marked_and_compared_with_nothing() -> None:
    first, answered, replaced, instead, last = sized(90, 900, 800, 95, 100)
    answered = answered._replace(hold=Hold(1, "every", "every", 5, "answered"))
    instead = instead._replace(instead_of=replaced.seq)
    columns = time_columns([first, answered, replaced, instead, last], [])
    assert [column.sent for column in columns] == [True, False, False, True, True, True]
    assert [column.mark for column in columns] == [""] * 6, "nothing was taken out"
    few = squeezed(time_columns([answered, replaced, instead, last, last], []), 3)
    assert [column.sent for column in few] == [False, True, True]


COMPACTIONS = st.lists(st.tuples(st.integers(0, 4_000), st.sampled_from(SIGNS)), max_size=10)


@given(st.integers(0, 400), COMPACTIONS, st.integers(1, 200))
def test_whatever_the_width_no_compaction_is_lost_and_the_order_is_kept(
    count: int, compactions: list[tuple[int, str]], width: int
) -> None:
    columns = squeezed(time_columns(requests(count), compactions), width)
    whole = count + len(compactions) + 1
    assert len(columns) == min(whole, width)
    assert [column.place for column in columns] == sorted(column.place for column in columns)
    if whole <= width:
        assert sum(bool(column.mark) for column in columns) == len(compactions)
    elif compactions:
        assert {MADE, UNDONE, CLEARED} & {column.mark for column in columns}
        assert (MADE in {sign for _, sign in compactions}) == (MADE in {column.mark for column in columns})
    assert max(column.size for column in columns) == max((each.tokens for each in requests(count)), default=0)


@given(st.integers(1, 400), COMPACTIONS, st.integers(1, 200))
def test_every_request_is_found_in_a_column(count: int, compactions: list[tuple[int, str]], width: int) -> None:
    columns = squeezed(time_columns(requests(count), compactions), width)
    last = -1
    for place in range(count + 1):
        at = column_of(columns, place)
        assert 0 <= at < len(columns)
        assert at >= last
        assert columns[at].place >= place
        if len(columns) == count + len(compactions) + 1:
            assert (columns[at].place, columns[at].mark) == (place, "")
        last = at
