"""How the panes share the screen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workbench.tui.main.layout import BESIDE, LARGEST, SMALLEST, SPLIT, PaneLayout
from workbench.tui.widgets.host import PANES, PaneName

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
        assert fitted.narrow == (width < BESIDE)
        assert len(fitted.visible) == 1 if not fitted.is_split else fitted.visible
        assert SMALLEST <= fitted.chat_share <= LARGEST
        assert SMALLEST <= fitted.context_share <= LARGEST


def test_a_hidden_pane_comes_back_when_one_goes_there() -> None:
    arrangement = PaneLayout(split=True).toggled("context").toggled("compaction")
    assert arrangement.visible == {"chat"}
    assert arrangement.toggled("chat").visible == {"chat"}
    assert arrangement.with_active("context").visible == {"chat", "context"}
    assert arrangement.toggled("context").visible == {"chat", "context"}


def test_a_low_terminal_has_no_room_for_two_panes_over_each_other() -> None:
    assert PaneLayout().fitted(160, 15).visible == {"chat", "context"}
    assert PaneLayout(active="compaction").fitted(160, 15).visible == set(PANES)


def test_a_wide_terminal_shows_all_panes_unless_the_user_chose_otherwise() -> None:
    assert PaneLayout().fitted(SPLIT, 40).visible == set(PANES)
    assert PaneLayout().fitted(SPLIT - 1, 40).visible == {"chat"}
    assert PaneLayout(split=True).fitted(SPLIT - 1, 40).visible == set(PANES)
    assert PaneLayout(split=False).fitted(200, 60).visible == {"chat"}
    assert PaneLayout(split=True).fitted(BESIDE - 1, 40).visible == {"chat"}
