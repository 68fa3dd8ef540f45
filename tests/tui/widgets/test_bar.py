"""The budget's bar: widths are in proportion and add up, whatever the figures."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.inspector.sample import BUDGET
from workbench.context.budget import Budget
from workbench.tui.widgets.bar import MARK, SEGMENTS, SENT, apportion, budget_amounts, budget_legend, draw_bar

figures = st.integers(0, 2_000_000)
budgets = st.builds(Budget, *[figures] * 10, st.integers(-500_000, 2_000_000))


@given(st.lists(figures, min_size=1, max_size=11), st.integers(0, 300))
def test_widths_add_up_to_the_bar(parts: list[int], width: int) -> None:
    assert sum(apportion(parts, width)) == (width if any(parts) else 0)


@given(st.lists(figures, min_size=1, max_size=11), st.integers(11, 300))
def test_every_part_that_is_there_can_be_seen(parts: list[int], width: int) -> None:
    assert all((cells > 0) == (part > 0) for part, cells in zip(parts, apportion(parts, width), strict=True))


@given(st.lists(figures, min_size=2, max_size=11), st.integers(0, 300))
def test_a_larger_part_is_never_narrower(parts: list[int], width: int) -> None:
    given_cells = apportion(parts, width)
    pairs = sorted(zip(parts, given_cells, strict=True))
    for (small, narrow), (large, wide) in pairwise(pairs):
        assert small == large or narrow <= wide


@given(st.lists(st.integers(1, 2_000_000), min_size=1, max_size=11), st.integers(50, 300))
def test_widths_are_near_their_share(parts: list[int], width: int) -> None:
    total = sum(parts)
    for part, cells in zip(parts, apportion(parts, width), strict=True):
        # Cells that small parts got beyond their share are taken from the large ones, in proportion.
        assert abs(cells - part * width / total) <= len(parts) + 1


@given(budgets, st.integers(1, 250))
def test_the_drawn_bar_is_as_wide_as_it_should(budget: Budget, width: int) -> None:
    drawn = draw_bar(budget, max(budget.window, 1), width)
    assert drawn.cell_length == (width if any(budget_amounts(budget)) else 0)


@given(budgets, st.integers(4, 250))
def test_the_legend_is_one_line(budget: Budget, width: int) -> None:
    line = budget_legend(budget, width)
    assert "\n" not in line.plain
    assert line.cell_length <= width


def test_parts_have_characters_of_their_own() -> None:
    assert len({part.char for part in SEGMENTS}) == len(SEGMENTS)


def test_what_must_stay_empty_is_at_the_right_end() -> None:
    drawn = draw_bar(BUDGET, BUDGET.window, 78).plain
    assert drawn.startswith("▓")
    assert drawn.rstrip("░").rstrip("╱").endswith("·")


def test_what_sticks_out_of_the_window_is_marked() -> None:
    over = BUDGET._replace(history=9_000, free=-3_120)
    drawn = draw_bar(over, 10_000, 100)
    marked = [span for span in drawn.spans if str(span.style) == "reverse $error"]
    assert sum(span.end - span.start for span in marked) == 100 - 100 * 10_000 // 13_120
    assert max(span.end for span in marked) == 100
    assert "over by 3,120" in budget_legend(over, 200).plain


def test_the_legend_uses_the_room_it_has() -> None:
    wide, narrow = budget_legend(BUDGET, 200).plain, budget_legend(BUDGET, 78).plain
    assert "▒ instructions 40" in wide
    assert "reserve 2,000" in wide
    assert "hist 5.0k" in narrow
    assert all(part.char in narrow for part, amount in zip(SEGMENTS, budget_amounts(BUDGET), strict=True) if amount)


def test_the_policys_threshold_stands_on_the_bar_where_it_is() -> None:
    drawn = draw_bar(BUDGET, 10_000, 100, 9_000).plain
    assert drawn.index(MARK) == 90
    assert "compacts" in budget_legend(BUDGET, 200, 9_000).plain
    assert MARK not in draw_bar(BUDGET, 10_000, 100).plain


@given(budgets, st.integers(1, 250), st.integers(0, 3_000_000))
def test_the_bar_is_true_at_every_width(budget: Budget, width: int, compact_at: int) -> None:
    """So many cells are filled as the share says, one at least, and no mark or name covers them."""
    drawn = draw_bar(budget, max(budget.window, 1), width, compact_at).plain
    parts = budget_amounts(budget)
    if not any(parts):
        assert not drawn
        return
    chars = {part.char for part in SEGMENTS[:SENT]}
    filled = len(drawn) - len(drawn.lstrip("".join(chars)))
    share = sum(parts[:SENT]) / sum(parts)
    assert filled == (min(width, max(1, round(width * share))) if share else 0)
    assert not chars & set(drawn[filled:]), "what is sent is in one piece"
    assert len(drawn) == width


@given(st.integers(1, 900_000), st.integers(0, 900_000), st.integers(1, 250))
def test_what_was_counted_too_high_is_said_and_not_drawn(sent: int, too_high: int, width: int) -> None:
    budget = Budget(*[0] * 12)._replace(history=sent + too_high, unattributed=-too_high, free=1_000_000 - sent)
    drawn = draw_bar(budget, 1_000_000, width).plain
    assert len(drawn) - len(drawn.lstrip("█")) == max(1, round(width * sent / 1_000_000))
    assert (f"− counted too high {too_high:,}" in budget_legend(budget, 200).plain) == (too_high > 0)


@pytest.mark.parametrize(("history", "colour"), [(4_000, ""), (7_500, "$warning"), (9_300, "$error")])
def test_the_bars_colour_follows_how_full_it_is(history: int, colour: str) -> None:
    budget = Budget(*[0] * 12)._replace(history=history, free=10_000 - history)
    drawn = draw_bar(budget, 10_000, 100, 8_000)
    loud = {str(span.style) for span in drawn.spans if span.start < history // 100}
    assert loud == ({colour} if colour else {"$slot-history"})
    assert set(drawn.plain[: history // 100]) == {"█"}
