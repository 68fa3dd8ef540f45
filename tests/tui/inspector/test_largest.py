"""The largest that can be masked: what is proposed, what it frees, and that it is one decision."""

from __future__ import annotations

from hypothesis import given, settings

from support import logs
from support.talk import COUNTER
from tui.inspector.host import BODIES, Host, Model, decisions, press, screen_of, settle, setup
from workbench.context.budget import Limits
from workbench.context.planner import plan
from workbench.context.policy import Policy
from workbench.log.events import Event, Override
from workbench.tui.inspector.largest import LargestScreen, largest
from workbench.tui.inspector.overrides import why_not
from workbench.tui.messages import Decide


def whole(*more: Override) -> Host:
    return Host(Model([*BODIES, *more], setup("workbench", "truncation.max_tokens=2000", window=20_000)))


@settings(max_examples=40)
@given(logs.logs(), logs.policies(), logs.limits)
def test_what_is_proposed_can_be_masked_and_is_not_what_was_asked_last(
    log: list[Event], policy: Policy, limits: Limits
) -> None:
    made = plan(log, policy, limits, COUNTER)
    found = largest(made)
    turn = max((row.turn for row in made.rows), default=0)
    assert len(found) <= 10
    assert [row.tokens for row in found] == sorted((row.tokens for row in found), reverse=True)
    for row in found:
        assert not why_not("mask", row)
        assert not row.pinned
        assert row.state in ("sent", "truncated")
        assert row.kind == "tool_result" or row.turn < turn, "not what was said in the current turn"


async def test_the_chosen_ones_are_masked_as_one_decision_after_their_figure_was_shown() -> None:
    app = whole(Override("pin", 18, 18))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        assert isinstance(app.screen, LargestScreen)
        assert [row.seq for row in app.screen.list.items] == [9, 21, 15, 12], "not the pinned one"
        text = screen_of(app)
        assert "mask 4 items: frees 2,7" in text
        assert "of the window), invalidates " in text
        assert " of the request, " in text
        await press(pilot, "space")
        assert "mask 3 items: frees 8" in screen_of(app)
        await press(pilot, "enter")
        assert decisions(app) == [("mask", 12, 12), ("mask", 15, 15), ("mask", 21, 21)]
        assert "masked 3 items, which frees 8" in " ".join(note.message for note in app._notifications)
        assert [each.joined for each in app.asked if isinstance(each, Decide)] == [False, True, True]


def test_results_that_the_model_has_not_answered_are_not_proposed() -> None:
    answered, last = Model(BODIES[:10]).plan(), Model(BODIES[:9]).plan()
    assert [row.seq for row in largest(answered)] == [9]
    assert largest(last) == []


async def test_none_chosen_is_nothing_done_and_escape_leaves_them() -> None:
    app = whole()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "L", "a")
        assert "none is chosen" in screen_of(app)
        await press(pilot, "enter")
        assert type(app.screen) is LargestScreen
        await press(pilot, "a", "end", "k", "escape")
        assert type(app.screen) is not LargestScreen
        assert decisions(app) == []


async def test_where_there_is_nothing_to_mask_it_says_so() -> None:
    app = Host(Model(BODIES[:4]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        assert "nothing to mask" in screen_of(app)
        await press(pilot, "enter", "space", "escape")
        assert decisions(app) == []


async def test_only_what_frees_a_hundredth_of_the_window_is_chosen_beforehand() -> None:
    app = Host(Model(BODIES, setup("workbench", "truncation.max_tokens=2000", window=40_000)))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "L")
        assert isinstance(app.screen, LargestScreen)
        chosen = app.screen.list.chosen
        assert chosen == {at for at, row in enumerate(app.screen.list.items) if row.tokens >= 400}
        assert 0 < len(chosen) < len(app.screen.list.items)
        assert "The largest items that can be masked" in screen_of(app)
