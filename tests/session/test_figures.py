"""Figures of a session."""

from __future__ import annotations

import pytest

from support.deciding import sized
from support.requirements import requirement
from workbench.config.values import replace
from workbench.context.budget import Limits
from workbench.session.figures import turns_that_fit


@requirement(
    "codex",
    "counting",
    "turns remaining are what is left of the window divided by the average turn",
    decided="divided by the growth per turn: input is sent again each turn, and an average would count it twice",
)
@pytest.mark.parametrize(
    ("tokens", "growth", "turns"), [(10_000, 3_000.0, 30), (98_000, 3_000.0, 0), (120_000, 3_000.0, 0)]
)
def test_as_many_turns_fit_as_the_room_for_a_request_holds(tokens: int, growth: float, turns: int) -> None:
    plan = replace(sized(tokens, 128_000), limits=Limits(128_000, "option", 16_000, 12_000))
    assert turns_that_fit(plan, growth) == turns


@requirement("codex", "counting", "without an average no number of remaining turns is made up")
@pytest.mark.parametrize("growth", [None, 0.0, -500.0])
def test_how_many_turns_fit_is_unknown_without_growth(growth: float | None) -> None:
    assert turns_that_fit(sized(1_000, 128_000), growth) is None
