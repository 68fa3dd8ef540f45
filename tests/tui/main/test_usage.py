"""How full the window is, in one line; the same parts in the same order at any width."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import requirement
from tui.compaction.views import log, nested, seen
from tui.inspector.sample import SAMPLE, plan_of
from workbench.config.values import replace
from workbench.context.budget import Limits
from workbench.context.plan import Totals
from workbench.sources.requests import RequestMark
from workbench.tui.main.usage import usage_line
from workbench.views.context_view import ContextView
from workbench.views.values import Activity, Status

FULL = Status(84_210, 1_047_576, "catalogue", 850, 0.0421, 0.71, "gpt-4.1", "workbench")
COMPACTION = replace(seen(log(nested())), next="compacts at 838,060 (80 %), not soon")
IDLE = Activity()
REQUESTS = (RequestMark(4, 1, reported=700), RequestMark(9, 1, purpose="sub-agent", agent="explorer"))


def view(tokens: int, window: int = 1_047_576, **more: object) -> ContextView:
    plan = plan_of(SAMPLE, totals=Totals(tokens, tokens, 0, tokens), limits=Limits(window, "option", 0, 0))
    return replace(ContextView(plan, "workbench", "", 10), **more)  # type: ignore[arg-type]  # fields of the view


def line(shown: ContextView, width: int = 200, status: Status = FULL, activity: Activity = IDLE) -> str:
    return usage_line(shown, COMPACTION, status, activity, width).plain


@requirement("codex", "shown", "used tokens, window and percentage are always in view")
@pytest.mark.parametrize(
    ("width", "said"),
    [
        (
            200,
            "84,210 of 1,047,576 tokens · 8.0 % OK · compacts at 838,060 (80 %), not soon · ● gpt-4.1 · "
            "policy workbench · $0.0421 · cached 71 % · last answer 850",
        ),
        (100, "84,210 of 1,047,576 tokens · 8.0 % OK · compacts at 838,060 (80 %), not soon · ● gpt-4.1"),
        (60, "84,210 of 1,047,576 tokens · 8.0 % OK · ● gpt-4.1"),
        (40, "84,210 of 1,047,576 tokens · 8.0 % OK"),
    ],
)
def test_the_usage_line_has_the_important_figures_first(width: int, said: str) -> None:
    assert line(view(84_210), width).startswith(said)


@requirement("confirm", "shown", "utilisation is green below 70 %, yellow from 70 %, red from 90 %")
@pytest.mark.parametrize(
    ("tokens", "words", "colour"),
    [
        (6_999, "70 % OK", "$success"),
        (7_000, "70 % high", "$warning"),
        (9_000, "90 % full", "$error"),
        (12_000, "120 % does not fit", "$error"),
    ],
)
def test_fullness_is_shown_in_words_and_colour(tokens: int, words: str, colour: str) -> None:
    made = usage_line(view(tokens, 10_000), COMPACTION, FULL, Activity(), 100)
    assert f" · {words}" in made.plain
    at = made.plain.index(words)
    assert any(colour in str(span.style) for span in made.spans if span.start <= at < span.end)


@pytest.mark.parametrize(
    ("ready", "who"), [("rehearsal", "◌ no AI, F7"), ("no key", "○ no key, F7"), ("ready", "● rehearsal")]
)
def test_in_80_columns_it_is_said_when_the_context_is_compacted(ready: Any, who: str) -> None:
    status = FULL._replace(ready=ready, model="rehearsal", max_output=None)
    full = replace(COMPACTION, next="compacts at 12,001 (75 %), in about 12 turns")
    made = usage_line(view(3_972, 16_000), full, status, IDLE, 78).plain
    assert made == f"3,972 of 16,000 tokens · 25 % OK · compacts at 12,001 (75 %) · {who}"


def test_a_past_request_has_its_own_share_from_the_cache() -> None:
    marks = (RequestMark(4, 1, reported=5_420, cached=1_152), RequestMark(9, 1, reported=5_000), RequestMark(12, 1))
    assert "cached 71 %" in line(view(700, requests=marks))
    assert "cached 21 %" in line(view(700, requests=marks, at=0))
    assert "last answer" not in line(view(700, requests=marks, at=0)), "that is the newest one's"
    assert "cached 0 %" in line(view(700, requests=marks, at=1))
    assert "cached" not in line(view(700, requests=marks, at=2)), "nobody wrote it down"


def test_another_agents_request_says_what_it_is() -> None:
    recorded = view(700, 10_000, requests=REQUESTS, at=0, view="recorded")
    assert line(recorded).startswith("request 1, recorded · ~700 of 10,000 tokens · 7.0 % OK · ")
    reported = replace(recorded, plan=replace(recorded.plan, reported=700))
    assert line(reported).startswith("request 1, recorded · 700 of 10,000 tokens · 7.0 % OK · ")
    assert "compacts" not in line(recorded), "that is no threshold of the agent's"
    side = replace(recorded, at=1)
    assert line(side).startswith("request 2, recorded (sub-agent explorer), estimated · ")
    assert line(replace(recorded, at=None)).startswith("the next request, if it went on · ")
    tried = replace(recorded, view="what-if", policy="codex", reported=650)
    assert line(tried).startswith("what-if codex for request 1 · ~700 of 10,000 tokens · 7.0 % OK · recorded 650 · ")


def test_a_what_if_says_how_to_leave_it_and_has_no_cost_of_what_was_recorded() -> None:
    recorded = view(700, 10_000, requests=REQUESTS, at=0, view="recorded")
    assert "in all" in line(recorded), "it is the session's, not that of the one request"
    tried = line(replace(recorded, view="what-if", policy="codex", reported=650))
    assert "P leaves it: choose recorded" in tried
    assert "$" not in tried
    assert "cached" not in tried
    assert "P leaves it" not in line(recorded)


def test_a_size_that_is_an_estimate_is_never_called_exact() -> None:
    marks = (RequestMark(4, 1, request=3, seq=3), RequestMark(9, 1, reported=700, request=8, seq=8))
    told = line(view(700, 10_000, requests=marks, at=0, view="recorded"))
    assert "estimated" in told
    assert "the request is in the file" in told
    assert "exact" not in told
    reported = view(700, 10_000, requests=marks, at=1, view="recorded")
    assert " · exact · " in line(replace(reported, plan=replace(reported.plan, reported=700)))


def test_what_goes_on_and_what_is_in_the_way_are_told() -> None:
    assert " · answering · " in line(view(700), activity=Activity("answering"))
    assert "○ gpt-4.1: no key, F7" in line(view(700), status=FULL._replace(ready="no key"))
    assert "answer up to 1,100" in line(view(700), 80, FULL._replace(max_output=1_100))
    opening = usage_line(None, None, Status(ready="loading"), Activity("loading", "reading…"), 60)
    assert opening.plain == "reading…"


@given(st.integers(0, 3_000_000), st.integers(1, 250))
def test_it_is_never_wider_than_the_line(tokens: int, width: int) -> None:
    assert usage_line(view(tokens), COMPACTION, FULL, Activity("tools"), width).cell_length <= width
