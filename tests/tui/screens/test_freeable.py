"""The largest that can be masked: what is proposed, and what is not."""

from __future__ import annotations

from hypothesis import given, settings

from support import logs
from support.talk import COUNTER
from tui.inspector.host import BODIES, Model
from workbench.context.budget import Limits
from workbench.context.planner import plan
from workbench.context.policy import Policy
from workbench.log.events import Event
from workbench.tui.inspector.overrides import why_not
from workbench.tui.screens.freeable import largest_items


@settings(max_examples=40)
@given(logs.logs(), logs.policies(), logs.limits)
def test_what_is_proposed_can_be_masked_and_is_not_what_was_asked_last(
    log: list[Event], policy: Policy, limits: Limits
) -> None:
    made = plan(log, policy, limits, COUNTER)
    found = largest_items(made)
    turn = max((row.turn for row in made.items), default=0)
    assert len(found) <= 10
    assert [row.tokens for row in found] == sorted((row.tokens for row in found), reverse=True)
    for row in found:
        assert not why_not("mask", row)
        assert not row.pinned
        assert row.state in ("sent", "truncated")
        assert row.kind == "tool_result" or row.turn < turn, "not what was said in the current turn"


def test_results_that_the_model_has_not_answered_are_not_proposed() -> None:
    answered, last = Model(BODIES[:10]).plan(), Model(BODIES[:9]).plan()
    assert [row.seq for row in largest_items(answered)] == [9]
    assert largest_items(last) == []
