"""The curve: never wider or higher than its room, the threshold and every compaction on it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.tui.compaction.plot import EMPTY, LINE, MADE, OVER, UNDONE, draw_plot, plot_columns, top_of
from workbench.views.compaction_values import CompactionMark, Curve

GROWING = Curve(
    (*tuple(range(4000, 84000, 4000)), 12000, 16000),
    (CompactionMark(19, False),),
    turns=21,
    limit=80_000,
    window=100_000,
)


def drawn(curve: Curve, width: int, height: int) -> list[str]:
    return [line.plain for line in draw_plot(curve, width, height)]


curves = st.builds(
    lambda sizes, marks, limit: Curve(
        tuple(sizes),
        tuple(CompactionMark(at % max(len(sizes), 1), undone) for at, undone in marks),
        len(sizes),
        limit,
        10**6,
    ),
    st.lists(st.integers(0, 10**6), max_size=200),
    st.lists(st.tuples(st.integers(0, 199), st.booleans()), max_size=5),
    st.integers(0, 10**6),
)


@given(curves, st.integers(0, 130), st.integers(0, 20))
def test_it_always_fits_into_its_room(curve: Curve, width: int, height: int) -> None:
    lines = drawn(curve, width, height)
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)


@given(curves, st.integers(30, 130), st.integers(2, 12))
def test_a_few_compactions_are_never_lost_however_long_the_session(curve: Curve, width: int, height: int) -> None:
    if len(curve.sizes) < 2:
        return
    wanted = dict(curve.marks)
    signs = [column.mark for column in plot_columns(curve, width) if column.mark]
    if len(curve.sizes) + len(wanted) <= width:
        assert len(signs) == len(wanted)
    assert bool(signs) == bool(wanted)
    assert set(signs) <= {MADE, UNDONE}


def test_it_says_how_much_and_when_in_thirty_columns_and_in_a_hundred_and_twenty() -> None:
    wide = drawn(GROWING, 120, 8)
    assert wide[0].startswith("80.0k ┄")
    assert wide[-2].startswith("    0 │")
    assert MADE in wide[-2]
    assert wide[-1] == "21 turns · ◆ 1 compacted · tokens by turn, 16,000 now"
    narrow = drawn(GROWING, 30, 5)
    assert LINE in narrow[0]
    assert MADE in narrow[-2]
    assert narrow[-1].startswith("21 turns")


def test_one_line_is_enough_for_the_shape() -> None:
    assert drawn(GROWING._replace(marks=()), 22, 1) == ["▁▁▁▁▂▂▂▃▃▄▄▄▅▅▆▆▆▇▇█▁▁"]


def test_a_threshold_far_above_is_told_and_not_drawn() -> None:
    curve = Curve((1_000, 2_000, 3_000), (), 3, 900_000, 1_000_000)
    assert top_of(max(curve.sizes), curve.limit) == 3_000
    lines = drawn(curve, 60, 6)
    assert not any(LINE in line for line in lines[:-1])
    assert lines[-1] == "3 turns · compacts above this scale, at 900,000"


def test_what_lies_above_the_threshold_has_another_sign() -> None:
    lines = drawn(Curve((1_000, 9_000), (), 2, 4_000, 10_000), 40, 9)
    assert any(OVER in line for line in lines)
    assert not any(OVER in line for line in drawn(Curve((1_000, 3_900), (), 2, 4_000, 10_000), 40, 9))


def test_undone_compactions_and_many_of_them() -> None:
    curve = Curve((5, 9, 2, 6), (CompactionMark(1, True),), 4, 0, 10)
    assert any(UNDONE in line for line in drawn(curve, 40, 4)[:-1])
    many = Curve(tuple(range(1, 400)), tuple(CompactionMark(at, False) for at in range(0, 399, 5)), 399, 0, 10)
    lines = drawn(many, 40, 5)
    assert not any(MADE in line for line in lines[:-1]), "they would hide the curve"
    assert "◆ 80 compacted" in lines[-1]


def test_before_the_first_request_it_says_so() -> None:
    assert drawn(Curve((100,)), 80, 5) == [EMPTY]
    assert drawn(Curve((100,)), 20, 5) == [EMPTY[:20]]
    assert drawn(Curve((100,)), 0, 5) == []
