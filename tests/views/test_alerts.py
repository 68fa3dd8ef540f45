"""What happened in a session since the last look."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from workbench.views.alerts import NEARLY_FULL, AlertFigures, AlertWatch


def kinds(watch: AlertWatch, figures: AlertFigures) -> list[str]:
    return [alert.kind for alert in watch.new_alerts([figures])]


@given(st.lists(st.one_of(st.none(), st.floats(0, 1.2)), max_size=30))
def test_each_crossing_is_told_once(shares: list[float | None]) -> None:
    watch = AlertWatch()
    told = sum(kinds(watch, AlertFigures("s", "s", share)).count("full") for share in shares)
    known = [share >= NEARLY_FULL for share in shares if share is not None]
    if shares and shares[0] is None:  # nothing was known at the first look: what comes then is news
        known = [False, *known]
    assert told == sum(after and not before for before, after in pairwise(known))


def test_what_was_so_at_the_first_look_is_no_news() -> None:
    watch = AlertWatch()
    assert kinds(watch, AlertFigures("s", "s", 0.9, 2, 3)) == []
    assert kinds(watch, AlertFigures("s", "s", 0.95, 2, 3)) == []
    assert kinds(watch, AlertFigures("s", "s", 0.2, 3, 3)) == ["compaction"]
    assert kinds(watch, AlertFigures("s", "s", 0.2, 3, 5)) == ["error"]
    assert kinds(watch, AlertFigures("other", "other", 0.2, 9, 9)) == []
    [alert] = watch.new_alerts([AlertFigures("s", "Codex · fix", 0.81, 3, 5)])
    assert (alert.session, alert.text) == ("Codex · fix", "81 % of the window is used")
