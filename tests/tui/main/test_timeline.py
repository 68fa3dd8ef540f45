"""The requests in a line: a column each, compactions between them, and none lost where there is little room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.session.requests import RequestMark
from workbench.tui.main.timeline import MADE, UNDONE, column_of, time_columns


def requests(count: int) -> list[RequestMark]:
    return [RequestMark(at * 10, 1, reported=100 + at, seq=at * 10 + 1) for at in range(count)]


def test_each_request_has_a_column_and_compactions_stand_where_they_were_made() -> None:
    columns = time_columns(requests(5), [(15, False), (35, True), (99, False)], 250, 80)
    assert [column.mark or column.size for column in columns] == [100, 101, MADE, 102, 103, UNDONE, 104, MADE, 250]
    assert [column.place for column in columns if not column.mark] == [0, 1, 2, 3, 4, 5]


COMPACTIONS = st.lists(st.tuples(st.integers(0, 4_000), st.booleans()), max_size=10)


@given(st.integers(0, 400), COMPACTIONS, st.integers(1, 200))
def test_whatever_the_width_no_compaction_is_lost_and_the_order_is_kept(
    count: int, compactions: list[tuple[int, bool]], width: int
) -> None:
    columns = time_columns(requests(count), compactions, 1, width)
    whole = count + len(compactions) + 1
    assert len(columns) == min(whole, width)
    assert [column.place for column in columns] == sorted(column.place for column in columns)
    if whole <= width:
        assert sum(bool(column.mark) for column in columns) == len(compactions)
    elif compactions:
        assert any(column.mark for column in columns)
    assert max(column.size for column in columns) == max((each.tokens for each in requests(count)), default=1)


@given(st.integers(1, 400), COMPACTIONS, st.integers(1, 200))
def test_every_request_is_found_in_a_column(count: int, compactions: list[tuple[int, bool]], width: int) -> None:
    columns = time_columns(requests(count), compactions, 1, width)
    last = -1
    for place in range(count + 1):
        at = column_of(columns, place)
        assert 0 <= at < len(columns)
        assert at >= last
        assert columns[at].place >= place
        if len(columns) == count + len(compactions) + 1:
            assert (columns[at].place, columns[at].mark) == (place, "")
        last = at
