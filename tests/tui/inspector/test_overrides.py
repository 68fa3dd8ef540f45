"""What the user wants of rows becomes overrides, or a reason why not."""

from __future__ import annotations

import pytest

from tui.inspector.host import BODIES, CUT, SUMMARISED, Model, setup
from tui.inspector.sample import item
from workbench.config.errors import WrongCall
from workbench.context.items import Edit, Item
from workbench.log.events import Override, OverrideAction, ToolResult, UserMessage
from workbench.tui.inspector.overrides import (
    MOST_RUNS,
    OverridePreview,
    Verb,
    preview_overrides,
    propose_overrides,
    why_not,
)


def rows(model: Model, *seqs: int) -> list[Item]:
    return [row for row in model.plan().items if row.seq in seqs]


def choice(model: Model, verb: Verb, *seqs: int) -> tuple[tuple[Override, ...], str]:
    queries = model.shown().queries
    assert queries is not None
    made = propose_overrides(verb, rows(model, *seqs), queries)
    return made.decisions, made.verb


def previewed(model: Model, verb: Verb, *seqs: int) -> OverridePreview:
    shown = model.shown()
    assert shown.queries is not None
    return preview_overrides(shown.plan, propose_overrides(verb, rows(model, *seqs), shown.queries), shown.queries)


@pytest.mark.parametrize(
    ("verb", "done", "action", "back"),
    [("pin", "pin", "pin", "unpin"), ("mask", "mask", "mask", "unmask"), ("exclude", "exclude", "exclude", "include")],
)
def test_what_is_done_already_is_taken_back(
    verb: Verb, done: OverrideAction, action: OverrideAction, back: OverrideAction
) -> None:
    assert choice(Model(), verb, 21) == ((Override(action, 21, 21),), action)
    model = Model([*BODIES, Override(done, 21, 21)])
    assert choice(model, verb, 21) == ((Override(back, 21, 21),), back)


def test_of_a_range_only_what_is_left_to_do_is_done() -> None:
    model = Model([*BODIES, Override("pin", 6, 6)])
    assert choice(model, "pin", 4, 6, 7) == ((Override("pin", 4, 4), Override("pin", 7, 7)), "pin")


@pytest.mark.parametrize(("seq", "action"), [(12, "unmask"), (9, "pin")])
def test_restoring_makes_a_row_whole(seq: int, action: OverrideAction) -> None:
    assert choice(Model(), "restore", seq) == ((Override(action, seq, seq),), "restore")
    model = Model()
    for decision in choice(model, "restore", seq)[0]:
        model.append(decision)
    (row,) = rows(model, seq)
    assert (row.state, row.text) == ("sent", row.original)


@pytest.mark.parametrize(("done", "action"), [("exclude", "include"), ("pin", "unpin")])
def test_restoring_takes_the_users_own_decision_back(done: OverrideAction, action: OverrideAction) -> None:
    model = Model([*BODIES, Override(done, 21, 21)])
    assert choice(model, "restore", 21)[0] == (Override(action, 21, 21),)


@pytest.mark.parametrize(
    ("verb", "row", "reason"),
    [
        ("pin", item(1)._replace(seq=None), "the policy added this row"),
        ("pin", item(1, kind="summary")._replace(seq=None), "undo its compaction"),
        ("pin", item(1, state="aside"), "never sent"),
        ("exclude", item(1, state="summarised"), "undo the compaction to send it again"),
        ("mask", item(1, kind="tool_call"), "a call is never masked"),
        ("mask", item(1, slot="memory", turn=0), "memory is never masked"),
        ("restore", item(1), "it is sent whole"),
        ("pin", item(1, state="dropped", edits=(Edit("normalise", "dropped", 1, 0, "orphan"),)), "can never be sent"),
    ],
)
def test_what_has_no_effect_says_why(verb: Verb, row: Item, reason: str) -> None:
    assert reason in why_not(verb, row)
    queries = Model().shown().queries
    assert queries is not None
    with pytest.raises(WrongCall, match=reason):
        propose_overrides(verb, [row], queries)


def test_nothing_chosen_is_told() -> None:
    queries = Model().shown().queries
    assert queries is not None
    with pytest.raises(WrongCall, match="there is no row here"):
        propose_overrides("pin", [], queries)


def test_too_many_pieces_are_refused() -> None:
    bodies = [each for _ in range(MOST_RUNS + 1) for each in (UserMessage("a"), ToolResult("x", "b"))]
    model = Model(bodies)
    with pytest.raises(WrongCall, match=f"expected at most {MOST_RUNS}"):
        choice(model, "pin", *range(1, len(bodies), 2))


def test_a_preview_says_what_a_decision_does() -> None:
    made = previewed(Model(), "pin", 9)
    assert made.effect.freed == 579 - 7_281
    assert made.effect.first_changed is not None
    assert not made.nothing
    assert made.fits
    assert previewed(Model(), "exclude", 9).effect.freed > 579, "the call goes with its result"


def test_a_pin_on_what_is_whole_changes_no_token_but_is_something() -> None:
    made = previewed(Model(), "pin", 21)
    assert made.effect == (0, None, 0)
    assert not made.nothing


def test_what_would_change_nothing_says_so() -> None:
    waiting = Model(BODIES[:27])
    assert previewed(waiting, "exclude", 27).nothing, "the latest user message is whole until it is answered"
    assert previewed(waiting, "mask", 27).nothing
    assert not previewed(Model(), "exclude", 27).nothing


def test_what_would_not_fit_says_so() -> None:
    assert not previewed(Model(BODIES, setup("workbench", *CUT, window=4_000)), "pin", 9).fits


def test_summarised_rows_are_left_alone() -> None:
    with pytest.raises(WrongCall, match="undo the compaction"):
        choice(Model(SUMMARISED), "pin", 9)
