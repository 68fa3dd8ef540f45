"""The lab's lines: one for each policy, with their signs, the requests and the marks on them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.tui.compaction.plot import HERE, LINE, MADE
from workbench.tui.screens.lab_plot import MISSED, LabLine, LabPicture, draw_lab_plot

SIZES = st.lists(st.integers(0, 300_000), min_size=1, max_size=300)


@given(sizes=SIZES, limit=st.integers(0, 400_000), at=st.integers(0, 299), width=st.integers(0, 150), data=st.data())
def test_a_plot_is_as_large_as_its_room_and_every_line_has_its_sign_on_it(
    sizes: list[int], limit: int, at: int, width: int, data: st.DataObject
) -> None:
    height = data.draw(st.integers(0, 40))
    lines = [LabLine(sign, "", [size // (each + 1) for size in sizes]) for each, sign in enumerate("123")]
    picture = LabPicture(lines, 1, limit, min(at, len(sizes) - 1))
    drawn = [line.plain for line in draw_lab_plot(picture, width, height)]
    assert len(drawn) in (0, height)
    assert all(len(line) <= width for line in drawn)
    if width >= 60 and height >= 8:
        plotted = "".join(line[7:] for line in drawn[:-1])
        assert all(sign in plotted for sign in "123")
        assert plotted.count(HERE) == 1
        assert any(LINE in line for line in drawn[:-1]) or not 0 < limit <= max(sizes)


@given(many=st.integers(1, 500), width=st.integers(1, 150))
def test_every_request_has_a_column_and_the_nearest_to_that_is_one_of_those_in_it(many: int, width: int) -> None:
    picture = LabPicture([LabLine("1", "", [1] * many)])
    columns = [picture.column(at, width) for at in range(many)]
    assert columns == sorted(columns)
    assert all(0 <= column < width for column in columns)
    for at, column in enumerate(columns):
        assert columns[picture.place(column, width)] == columns[at]


def test_what_was_compacted_and_missed_is_marked_where_it_was() -> None:
    sizes = [10_000 * at for at in range(1, 11)]
    chosen = LabLine("2", "", sizes, frozenset({4}), frozenset({7}))
    other = LabLine("1", "", [size // 3 for size in sizes], frozenset(), frozenset({2}))
    drawn = [line.plain for line in draw_lab_plot(LabPicture([other, chosen], 1, 100_000, 0), 80, 12)]
    assert "".join(drawn[:-1]).count(MADE) == 1
    assert "".join(drawn[:-1]).count(MISSED) == 1, "of the chosen one alone"
    assert drawn[-1] == f"tokens by request · {LINE}{LINE} window of 100,000 · × missed under 2 · ◆ compacted"
    column = next(line.index(MISSED) for line in drawn if MISSED in line)
    assert column == 7 + LabPicture([chosen]).column(7, 73)
