"""How the panes share the screen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.tui.main.layout import LARGEST, SMALLEST, SPLIT_COLUMNS, SPLIT_LINES, PaneLayout
from workbench.tui.widgets.main_screen_api import PANES, PaneName

PANE = st.sampled_from(PANES)
STEP = st.one_of(
    st.tuples(st.just("go"), PANE),
    st.tuples(st.just("hide"), PANE),
    st.tuples(st.just("side"), st.none()),
    st.tuples(st.just("size"), st.tuples(st.integers(-9, 9), st.integers(-9, 9))),
)


def moved(arrangement: PaneLayout, step: tuple[str, object]) -> PaneLayout:
    what, value = step
    if what == "size":
        assert isinstance(value, tuple)
        return arrangement.resized(*value)
    if what == "side":
        return arrangement.toggled_side()
    name: PaneName = next(pane for pane in PANES if pane == value)
    return arrangement.with_active(name) if what == "go" else arrangement.toggled(name)


@given(st.lists(STEP, max_size=30), st.integers(20, 300), st.integers(5, 100), st.sampled_from([None, True, False]))
def test_whatever_is_done_a_pane_is_seen_and_it_is_the_active_one(
    steps: list[tuple[str, object]], width: int, height: int, split: bool | None
) -> None:
    arrangement = PaneLayout(split=split)
    for step in steps:
        arrangement = moved(arrangement, step)
        fitted = arrangement.fitted(width, height)
        assert fitted.active in fitted.visible
        assert fitted.narrow == (width < SPLIT_COLUMNS)
        assert len(fitted.visible) == 1 if not fitted.is_split else fitted.visible
        assert SMALLEST <= fitted.chat_share <= LARGEST
        assert SMALLEST <= fitted.context_share <= LARGEST


def test_a_hidden_pane_comes_back_when_one_goes_there() -> None:
    arrangement = PaneLayout(split=True).toggled("context").toggled("compaction")
    assert arrangement.visible == {"chat"}
    assert arrangement.toggled("chat").visible == {"chat"}
    assert arrangement.with_active("context").visible == {"chat", "context"}
    assert arrangement.toggled("context").visible == {"chat", "context"}


def test_a_low_terminal_shows_the_compaction_only_while_it_is_active() -> None:
    assert PaneLayout(split=True).fitted(160, 15).visible == {"chat", "context"}
    assert PaneLayout(split=True, active="compaction").fitted(160, 15).visible == set(PANES)


def test_all_panes_are_shown_from_100_columns_and_28_lines_on() -> None:
    assert (SPLIT_COLUMNS, SPLIT_LINES) == (100, 28)
    assert PaneLayout().fitted(100, 28).visible == set(PANES)
    assert PaneLayout().fitted(99, 28).visible == {"chat"}
    assert PaneLayout().fitted(100, 27).visible == {"chat"}
    assert PaneLayout().fitted(200, 24).visible == {"chat"}


def test_the_choice_of_the_user_counts_wherever_there_are_enough_columns() -> None:
    assert PaneLayout(split=False).fitted(200, 60).visible == {"chat"}
    assert PaneLayout(split=True).fitted(100, 24).visible == set(PANES)
    assert PaneLayout(split=True).fitted(99, 60).visible == {"chat"}
