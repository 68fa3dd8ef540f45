"""A decision about a row is asked first, with what it frees; then it is one override, or none."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event as Flag

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.waiting import GIVE_UP
from tui.inspector.host import BODIES, SUMMARISED, Host, Model, decisions, go_to, host, lines_of, press, settle
from workbench.config.errors import WrongCall
from workbench.config.values import replace
from workbench.context.compare import Effect
from workbench.context.plan import ContextPlan
from workbench.log.events import AssistantMessage, Body, Override
from workbench.tui.inspector.foot_lines import hidden_line, question_line
from workbench.tui.inspector.overrides import OverridePreview, ProposedOverrides
from workbench.views.context_view import SessionQueries

WIDE = (120, 40)


class Handing:
    """Hands every question on."""

    def __init__(self, own: SessionQueries | None) -> None:
        assert own is not None
        self._own = own
        self.event, self.spans, self.since, self.effects = own.event, own.spans, own.since, own.effects

    def what_if(self, decisions: Sequence[Override]) -> ContextPlan:
        return self._own.what_if(decisions)


async def test_a_decision_is_asked_first_with_what_it_does() -> None:
    app = host()
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        await go_to(pilot, 21)
        await press(pilot, "m")
        assert app.told.startswith("mask event 21? · frees 336 tokens (")
        assert " % of what is used) · invalidates 459 cached tokens, from token " in app.told
        assert app.told.endswith(" on · Enter apply  Esc cancel")
        assert app.asked == []
        await press(pilot, "escape")
        assert app.asked == []
        assert "mask event" not in app.told
        await press(pilot, "m", "enter")
        assert decisions(app) == [("mask", 21, 21)]
        assert app.pane.rows.item is not None
        assert (app.pane.rows.item.seq, app.pane.rows.item.state) == (21, "masked")
        assert not app.pane.detailed


@given(
    width=st.integers(40, 200),
    seq=st.integers(1, 99_999),
    freed=st.integers(-9_999_999, 9_999_999),
    changed=st.none() | st.integers(0, 9_999_999),
    rewritten=st.integers(0, 9_999_999),
    fits=st.booleans(),
    size=st.integers(0, 9_999_999),
)
def test_the_keys_that_answer_are_never_left_out(
    width: int, seq: int, freed: int, changed: int | None, rewritten: int, fits: bool, size: int
) -> None:
    choice = ProposedOverrides((Override("exclude", seq, seq),), 1, "exclude")
    line = question_line(OverridePreview(choice, Effect(freed, changed, rewritten), fits, False, size), width)
    assert line.cell_length <= width
    assert "Enter" in line.plain
    assert "Esc" in line.plain


def test_what_is_hidden_is_counted_in_the_right_number() -> None:
    told = hidden_line({"snapshot": 1, "error": 2, "usage": 3, "thinking": 2}, False, 120)
    assert told.plain.startswith("8 hidden: 3 usage, 2 errors, 2 thinking, 1 snapshot · ")


def test_beside_the_chat_it_says_what_is_freed_and_rewritten_as_well() -> None:
    choice = ProposedOverrides((Override("exclude", 95, 95),), 1, "exclude")
    line = question_line(OverridePreview(choice, Effect(1_619, 2_860, 422), True, False, 3_282), 64)
    assert line.plain == "exclude event 95? · frees 1,619 · invalidates 422 · Enter Esc"
    line = question_line(OverridePreview(choice, Effect(1_615, 1_200, 2_765), True, False, 3_965), 62)
    assert line.plain == "exclude 95? · frees 1,615 · invalidates 2,765 · Enter Esc"


@pytest.mark.parametrize(
    ("key", "first", "back"),
    [("p", "pin", "unpin"), ("m", "mask", "unmask"), ("x", "exclude", "include"), ("r", "", "")],
)
async def test_every_decision_has_its_key_and_is_taken_back_by_it(key: str, first: str, back: str) -> None:
    app = host()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await go_to(pilot, 21 if key != "r" else 12)
        await press(pilot, key, "enter")
        await settle(pilot)
        if key == "r":
            assert decisions(app) == [("unmask", 12, 12)]
            return
        await press(pilot, key, "enter")
        assert decisions(app) == [(first, 21, 21), (back, 21, 21)]


async def test_a_range_is_decided_about_in_as_few_overrides_as_there_can_be() -> None:
    app = host()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await go_to(pilot, 27)
        await press(pilot, "shift+down", "p")
        assert app.told.startswith("pin 2 items? · frees nothing · ")
        await press(pilot, "enter")
        assert decisions(app) == [("pin", 27, 28)]
        assert app.pane.rows.start is None
        assert sum("⚑" in line for line in lines_of(app.pane.rows)) == 2


@pytest.mark.parametrize(
    ("bodies", "seq", "key", "said"),
    [
        (BODIES, 10, "m", "! a call is never masked: mask its result, or exclude both"),
        (BODIES[:27], 27, "x", "! to exclude this would change nothing"),
        (BODIES, 29, "p", "! this is never sent, whatever is done to it"),
        (BODIES, 4, "r", "! it is sent whole: there is nothing to restore"),
        (SUMMARISED, 9, "p", "! it is summarised; undo the compaction to send it again"),
    ],
)
async def test_what_has_no_effect_says_so_and_is_not_done(
    bodies: Sequence[Body], seq: int, key: str, said: str
) -> None:
    app = host(Model(bodies))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "full_stop")
        await go_to(pilot, seq)
        await press(pilot, key)
        assert app.told == said
        await press(pilot, "escape")
        assert not app.told.startswith("!")
        assert decisions(app) == []


async def test_what_cannot_be_changed_says_why() -> None:
    model = Model()
    app = Host(model, replace(model.shown(), fixed="talk.json is a file: it can be looked at only"))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "p")
        assert app.told == "! talk.json is a file: it can be looked at only"
        app.shown = replace(model.shown(), queries=None)
        await settle(pilot)
        await press(pilot, "p")
        assert app.told.startswith("! expected at most")


async def test_the_question_keeps_up_with_the_session() -> None:
    app = host()
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        await go_to(pilot, 9)
        await press(pilot, "p")
        before = app.told
        app.grow(AssistantMessage("much more was said " * 50, "z"))
        await settle(pilot)
        assert app.told.startswith("pin event 9? · adds 6,702 tokens")
        assert app.told != before
        await press(pilot, "enter")
        assert decisions(app) == [("pin", 9, 9)]


async def test_a_preview_that_fails_is_told() -> None:
    class Broken(Handing):
        def what_if(self, decisions: Sequence[Override]) -> ContextPlan:
            raise WrongCall("the policy is gone")

    model = Model()
    shown = model.shown()
    app = Host(model, replace(shown, queries=Broken(shown.queries)))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await go_to(pilot, 9)
        await press(pilot, "p")
        assert app.told == "! the policy is gone"


async def test_while_it_is_worked_out_the_rows_can_be_walked() -> None:
    go = Flag()

    class Slow(Handing):
        def what_if(self, decisions: Sequence[Override]) -> ContextPlan:
            assert go.wait(GIVE_UP)
            return super().what_if(decisions)

    model = Model()
    shown = model.shown()
    app = Host(model, replace(shown, queries=Slow(shown.queries)))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await go_to(pilot, 9)
        await pilot.press("p")
        assert app.told == "working out the effect…"
        await pilot.press("down", "down")
        assert app.pane.rows.cursor == 8
        go.set()
        await settle(pilot)
        assert app.told.startswith("pin event 9?")
