"""The size of a request without its rows: always that of the rows and of what is around them."""

from __future__ import annotations

import pytest

from support.logs import number
from support.talk import COUNTER, ROOMY, iteration, turns, words
from workbench.context.outline import Outline
from workbench.context.planner import Planner
from workbench.context.policy import HistoryPolicy, Policy
from workbench.log.events import UserMessage


def outline_of(policy: Policy) -> Outline:
    """Of a turn with many calls, and of turns after it."""
    calls = [each for at in range(6) for each in iteration(f"c{at}", words(100))]
    return Planner(policy, ROOMY, COUNTER, events=number([UserMessage("ask"), *calls, *turns(4, 100)])).outline()


@pytest.mark.parametrize("notice", [True, False])
@pytest.mark.parametrize("most", [90, 350, 700, 0])
def test_wherever_history_is_cut_the_size_is_that_of_the_rows(most: int, notice: bool) -> None:
    found = outline_of(Policy(history=HistoryPolicy("fit", most, notice=notice)))
    rows = found.plan().items.sent_items()
    assert found.tokens == found.framing_tokens + sum(row.tokens for row in rows)
