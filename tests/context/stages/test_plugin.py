"""Stages of plug-ins: their edits are shown with the reason, and none of them can break a request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.installed import installed
from support.logs import limits, logs, number, policies
from support.random_cases import few_cases
from support.talk import COUNTER, ROOMY, iterations, planned, rows_of
from support.validity import problems
from workbench.config.plugins import PROBLEMS
from workbench.config.values import replace
from workbench.context.budget import Limits
from workbench.context.planner import Planner, plan
from workbench.context.policy import MaskingPolicy, Policy, StagesPolicy
from workbench.context.render import render_messages
from workbench.context.stages.plugin import LeaveOut, broken_rule
from workbench.context.steps import PlanSteps
from workbench.log.events import Body, Event, Override, UserMessage

NAMES = ("tidy", "unruly", "shouting", "parting", "deaf")
STAGE_SETS = st.lists(st.sampled_from([*NAMES, "fail", "missing"]), min_size=1, max_size=3, unique=True).map(tuple)
LOG: list[Body] = [UserMessage("go"), *iterations(["one two three " * 20, "four"])]


@pytest.fixture(autouse=True, scope="module")
def _stages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    targets = {name: f"support.plugin_parts:{name}_stage" for name in NAMES}
    wrong = {"fail": "support.plugin_parts:fail", "mask": targets["tidy"], "three": "support.plugin_parts:WRONG_TYPE"}
    entries = {**targets, **wrong}
    with installed(tmp_path_factory.mktemp("site"), {"stages": entries}, "staged"):
        yield


def using(*names: str, policy: Policy = Policy()) -> Policy:  # noqa: B008 - frozen
    """The policy with these stages."""
    return replace(policy, stages=StagesPolicy(names))


def test_an_edit_of_a_stage_has_its_name_and_its_reason() -> None:
    made = planned(LOG, using("shouting"))
    first = rows_of(made, "tool_result")[0]
    assert (first.state, first.text) == ("masked", f"{first.original_tokens} tokens of read_file")
    [edit] = first.edits
    assert (edit.stage, edit.state, edit.after) == ("shouting", "masked", COUNTER.count(first.text or "").tokens)
    assert edit.why == f"results are kept elsewhere; {first.original_tokens} tokens replaced by {edit.after}"
    assert made.warnings == ()


def test_stages_run_in_order_and_see_what_those_before_left() -> None:
    alone = planned(LOG, using("shouting"))
    policy = using("shouting", policy=Policy(masking=MaskingPolicy(keep_first=0, keep_last=1)))
    masked_before = planned(LOG, policy)
    assert [row.edits[0].stage for row in rows_of(alone, "tool_result")] == ["shouting", "shouting"]
    assert [row.edits[0].stage for row in rows_of(masked_before, "tool_result")] == ["mask", "shouting"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("fail", "it raised RuntimeError: a mistake"),
        ("parting", "a call and its result have to be left out together"),
        ("deaf", "the latest user message, running calls and what the user decided about have to stay"),
        ("missing", "no installed package has it"),
        ("mask", "no installed package has it"),
        ("three", "no installed package has it"),
    ],
)
def test_a_stage_that_fails_or_breaks_a_rule_changes_nothing_and_the_plan_says_why(name: str, why: str) -> None:
    made = planned(LOG, using(name))
    assert list(made.items) == list(planned(LOG, Policy()).items)
    [warning] = made.warnings
    assert warning.startswith(f"stage {name} was skipped: ")
    assert why in warning
    assert "\n" not in warning


def test_what_is_wrong_with_a_stage_is_noted_once_with_its_package(tmp_path: Path) -> None:
    parts = "support.plugin_parts"
    entries = {"failing": f"{parts}:fail", "mask": f"{parts}:tidy_stage", "number": f"{parts}:WRONG_TYPE"}
    with installed(tmp_path, {"stages": entries}, "torn"):
        for _ in range(3):
            planned(LOG, using("failing"))
        noted = [str(each) for each in PROBLEMS.listed() if each.entry.distribution == "torn"]
    raised = "plug-in failing of torn 1.2 (workbench.stages): raised RuntimeError: a mistake of the plug-in"
    assert noted.count(raised) == 1
    assert any("plug-in mask of torn" in each and "own stages has this name" in each for each in noted)
    assert any("plug-in number of torn" in each and "expected a function" in each for each in noted)


def test_what_the_user_decided_is_not_for_a_stage() -> None:
    pinned: list[Body] = [*LOG, Override("pin", 3, 3)]
    rows = rows_of(planned(pinned, using("shouting")), "tool_result")
    assert [row.state for row in rows] == ["sent", "masked"]
    with_next: list[Body] = [*LOG, UserMessage("next"), Override("include", 1, 1)]
    assert "was skipped" in planned(with_next, using("deaf")).warnings[0]


def test_a_conversation_cannot_be_left_out_as_a_whole() -> None:
    made = Planner(using(), ROOMY, COUNTER, events=number([UserMessage("go")]))
    assert made.plan().verdict.fits
    assert broken_rule({}, ()) == ""
    assert "expected decisions" in broken_rule(["x"], ())
    assert "no item with this id" in broken_rule({"x": LeaveOut("y")}, ())


# For all logs


@given(logs(), policies(), limits, STAGE_SETS)
def test_no_stage_breaks_a_request(log: list[Event], policy: Policy, budget: Limits, names: tuple[str, ...]) -> None:
    made = plan(log, using(*names, policy=policy), budget, COUNTER)
    assert problems(render_messages(made)) == []
    assert made.verdict.fits == (made.budget.free >= 0)
    rows = list(made.items)
    assert made.totals.items == sum(row.tokens for row in rows)
    assert all(row.state == "sent" or row.edits for row in rows)
    assert list(made.items.sent_items()) == [row for row in rows if row.in_request]


@given(logs(), policies(), STAGE_SETS)
def test_the_latest_user_message_stays_as_it_was(log: list[Event], policy: Policy, names: tuple[str, ...]) -> None:
    users = [event.id for event in log if isinstance(event.body, UserMessage)]
    plain, staged = (plan(log, each, ROOMY, COUNTER) for each in (policy, using(*names, policy=policy)))
    if users:
        [before], [after] = ([row for row in made.items if row.id == users[-1]] for made in (plain, staged))
        assert (after.state, after.text) == (before.state, before.text)


@few_cases()
@given(logs(most=12), policies(), limits, STAGE_SETS, st.booleans())
def test_with_stages_incremental_planning_equals_planning_from_scratch(
    log: list[Event], policy: Policy, budget: Limits, names: tuple[str, ...], live: bool
) -> None:
    staged, steps = using(*names, policy=policy), PlanSteps()
    growing = Planner(staged, budget, COUNTER, live=live)
    earlier = []
    for end, event in enumerate(log, 1):
        growing.append_event(event)
        made = steps.step(growing).plan
        assert made == growing.plan() == plan(log[:end], staged, budget, COUNTER, live=live)
        earlier.append((made, list(made.items)))
    assert all(list(made.items) == rows for made, rows in earlier), "a plan does not change when the session goes on"
