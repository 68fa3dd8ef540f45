"""A what-if has one meaning: `plan --nth N --policy P` and the lab have the same request."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.replay.test_unattributed import answered, lab
from support.recordings import file_cases
from workbench.context.policy_names import RECORDED
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.replay.what_if import find_any_plan
from workbench.log.events import Compaction, Override, Usage
from workbench.sources.found_plans import find_plan
from workbench.sources.options import Options
from workbench.sources.services import Services


def plan_sizes(made: LabSource, policy: str, numbers: list[int]) -> list[int]:
    """The sizes of these requests of the conversation as `workbench plan` shows them."""
    listed = [made.recorded.marks.index(made.marks[number - 1]) + 1 for number in numbers]
    asked = Options(policy=policy)
    return [find_any_plan(made.services, made.source, asked, nth).plan.size for nth in listed]


@pytest.mark.parametrize(
    "policy", ["codex", *(pytest.param(each, marks=pytest.mark.wide) for each in ("layers", "sliding"))]
)
@pytest.mark.parametrize("file", file_cases())
def test_in_every_recording_plan_and_the_lab_have_the_same_request(file: Path, policy: str) -> None:
    with Services() as services:
        for source in (each for each in services.sources(str(file))[:3] if each.recorded):
            made = LabSource(services, Options(), source)
            count = len(made.marks)
            numbers = sorted({number for number in (count // 2, count) if number})
            run = made.run_policy(policy)
            assert plan_sizes(made, policy, numbers) == [run.points[number - 1].tokens for number in numbers]


@pytest.mark.parametrize("decision", [Override("mask", 4, 4, "cleared"), Compaction(1, 5, "All was well.")])
def test_what_the_agent_decided_itself_is_undone_in_both(decision: Override | Compaction) -> None:
    said = answered([("gpt-4o", None)] * 4)
    made = lab(*said[:8], decision, *said[8:])
    then, now = made.run_policy(RECORDED), made.run_policy("confirm")
    assert then.points[-1].tokens < now.points[-1].tokens
    assert plan_sizes(made, "confirm", [4]) == [now.points[-1].tokens]
    assert plan_sizes(made, RECORDED, [4]) == [then.points[-1].tokens]


def test_the_next_request_goes_on_from_what_the_agent_decided() -> None:
    said = [each for each in answered([("gpt-4o", None)] * 3) if not isinstance(each, Usage)]
    source = lab(*said, Compaction(1, 5, "All was well.")).source
    with Services() as services:
        asked, end = Options(policy="confirm"), len(source.events)
        ours, plain = (find(services, source, asked, None, end).plan for find in (find_any_plan, find_plan))
    assert ours.size == plain.size
    assert any(row.state == "summarised" for row in ours.items)


def test_requests_in_any_order_are_the_same() -> None:
    made = lab(*answered([("gpt-4o", None)] * 5))
    forward = {number: made.plan_request(number, "layers").size for number in (1, 3, 5)}
    assert {number: made.plan_request(number, "layers").size for number in (5, 1, 3)} == forward
    assert made.plan_request(3, "confirm").size == made.run_policy("confirm").points[2].tokens
