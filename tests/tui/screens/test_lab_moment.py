"""The next request in the lab: a bar per policy on one scale, and two policies item by item."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import Input

from support.talk import planned as plan_of
from support.talk import preset, turns
from tui.play import program, until
from tui.recorded.long_run import as_file, inspector, run
from tui.screens.looking import narrowed, next_request, seen, values
from workbench.context.items import Edit
from workbench.sources.services import Services
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Send
from workbench.tui.screens.lab_moment import LabMomentScreen
from workbench.tui.screens.policy_diff import PolicyDiffScreen, both_texts, item_treatment
from workbench.tui.screens.what_if import ItemPair, differing_items, plan_snapshot, session_snapshot, what_if_setup
from workbench.tui.screens.what_if_bar import GHOST, MARK, PARTS, plan_part_sizes, policy_bar
from workbench.tui.widgets.reader import BoxedText

pytestmark = pytest.mark.usefixtures("project")


@given(
    parts=st.lists(st.integers(0, 100_000), min_size=len(PARTS), max_size=len(PARTS)),
    other=st.integers(0, 500_000),
    more=st.integers(0, 100_000),
    width=st.integers(0, 120),
)
def test_a_bar_is_as_wide_as_its_room_and_its_signs_are_those_of_its_parts(
    parts: list[int], other: int, more: int, width: int
) -> None:
    scale = sum(parts) + more
    drawn = policy_bar(parts, other, scale, width).plain
    assert len(drawn) == width
    assert set(drawn) <= {part.char for part, tokens in zip(PARTS, parts, strict=True) if tokens} | {GHOST, MARK, " "}


def test_the_ghost_shows_what_the_compared_policy_sends_beyond_it_or_where_it_ends() -> None:
    parts = (10, 0, 0, 0, 20, 0, 0, 0, 30)
    assert policy_bar(parts, 45, 60, 60).plain == "▓" * 10 + "█" * 20 + GHOST * 15 + "·" * 15
    assert policy_bar(parts, 20, 60, 60).plain == "▓" * 10 + "█" * 10 + MARK + "█" * 9 + "·" * 30


def test_the_parts_of_a_bar_are_the_tokens_of_the_plan() -> None:
    for name in ("workbench", "layers", "codex"):
        plan = plan_of(turns(6, 400), preset(name, "masking.keep_last=1", "masking.keep_first=1"))
        parts = plan_part_sizes(plan)
        assert sum(parts[:-1]) == plan.size
        assert sum(parts) >= plan.size


def test_only_items_that_are_treated_differently_are_listed() -> None:
    plan = plan_of(turns(3, 50), preset("workbench"))
    assert differing_items(plan, plan) == []
    changed = plan.items[1]._replace(
        state="masked", tokens=3, text="[masked]", edits=(Edit("mask", "masked", 9, 3, ""),)
    )

    class Other:
        items = (plan.items[0], changed, *list(plan.items)[2:-1])

    found = differing_items(plan, Other())  # type: ignore[arg-type]  # only the rows count
    assert [pair.item.id for pair in found] == [changed.id, plan.items[-1].id]
    assert found[0].second is changed
    assert found[1].second is None
    assert item_treatment(changed) == "m masked 3"
    assert item_treatment(None) == "–"


def test_both_texts_are_under_a_heading_each_and_what_is_not_sent_says_so() -> None:
    row = plan_of(turns(1, 5), preset("workbench")).items[0]
    page = both_texts(("one", "two"), ItemPair(row, row._replace(state="dropped", tokens=0, text=None)))
    said = [line.text for line in page.lines]
    assert said[0] == f"one: {item_treatment(row)}"
    assert "two: d dropped 0" in said
    assert "it is not sent" in said


@pytest.mark.parametrize("size", [(80, 24), pytest.param((160, 50), marks=pytest.mark.wide)])
async def test_policies_are_compared_on_the_next_request(many_results: Services, size: tuple[int, int]) -> None:
    async with program(many_results, size) as (pilot, screen):
        lab = await next_request(pilot, screen)
        await two_policies_are_compared_item_by_item(pilot, screen, lab, many_results)
        lab = await next_request(pilot, screen)
        await any_policy_can_be_what_the_others_are_compared_with(pilot, lab)
        await pilot.resize_terminal(60, 15)
        await narrowed(pilot, "")
        await seen(pilot, "● workbench now", "codex", "Enter use this policy")
        assert lab.found.size.height >= 3


async def two_policies_are_compared_item_by_item(
    pilot: Pilot[Any], screen: MainScreen, lab: LabMomentScreen, services: Services
) -> None:
    await pilot.pause()
    assert "█" in str(lab.found.options[0].prompt)
    await pilot.press("ctrl+d")
    await seen(pilot, "choose another policy to compare")
    await narrowed(pilot, "codex")
    assert GHOST in str(lab.found.options[0].prompt), "workbench sends more here"
    await pilot.press("ctrl+d")
    await until(lambda: isinstance(pilot.app.screen, PolicyDiffScreen))
    diff = pilot.app.screen
    assert isinstance(diff, PolicyDiffScreen)
    await diff.settled()
    asked = await screen.from_session(session_snapshot)
    first, second = (
        plan_snapshot(what_if_setup(services, screen.options, asked, ref, ()), asked) for ref in ("workbench", "codex")
    )
    found = differing_items(first, second)
    assert found
    assert values(diff) == [pair.item.id for pair in found][: len(values(diff))]
    assert str(diff.box.border_title).startswith(f"workbench {first.size:,} → codex {second.size:,} tokens")
    await pilot.press("enter")
    await until(lambda: isinstance(pilot.app.screen, BoxedText))
    await pilot.press("escape")
    await until(lambda: pilot.app.screen is diff)
    diff.query_one(Input).value = "nothing has these words"
    await until(lambda: not values(diff))
    diff.query_one(Input).value = ""
    await until(lambda: bool(values(diff)))
    await pilot.press("ctrl+o")
    await until(lambda: pilot.app.screen is screen)
    await until(lambda: screen.arrangement.active == "context")


async def any_policy_can_be_what_the_others_are_compared_with(pilot: Pilot[Any], lab: LabMomentScreen) -> None:
    await narrowed(pilot, "codex")
    await pilot.press("ctrl+b")
    await narrowed(pilot, "workbench")
    await until(lambda: "than codex" in str(lab.about.render()))


async def test_of_an_imported_transcript_all_are_compared_with_what_was_recorded(
    many_results: Services, tmp_path: Path
) -> None:
    async with inspector(many_results, as_file(tmp_path, run()), (120, 40)) as (pilot, screen):
        screen.send_or_run(Send("/policy layers"))
        await until(lambda: screen.model.state.status.policy == "layers")
        lab = await next_request(pilot, screen)
        await narrowed(pilot, "layers")
        await until(lambda: "recorded" in str(lab.about.render()))
