"""The treemap: what fills the context, drilled down to an item, which the rows show as well."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from rich.cells import cell_len
from textual.geometry import Size

from support import logs
from support.talk import COUNTER
from tui.inspector.host import BODIES, Host, Model, decisions, host, press, settle, setup
from tui.inspector.sample import item
from tui.small_app import screen_of
from workbench.context.budget import Limits
from workbench.context.planner import plan
from workbench.context.policy import Policy
from workbench.log.events import Event, UserMessage
from workbench.tui.inspector.order import GROUPINGS, listed_items
from workbench.tui.inspector.rows import RowsView
from workbench.tui.inspector.token_groups import Part, TokenGroup, token_groups
from workbench.tui.inspector.treemap import Treemap, box_lines


def parts(group: TokenGroup) -> list[Part]:
    return [group.part(at) for at in range(len(group.weights))]


@settings(max_examples=25)
@given(logs.logs(), logs.policies(), logs.limits)
def test_no_token_of_the_request_is_lost_and_none_is_counted_twice(
    log: list[Event], policy: Policy, limits: Limits
) -> None:
    made = plan(log, policy, limits, COUNTER)
    for by in GROUPINGS:
        groups = token_groups(made, by)
        assert groups is not None
        assert groups.tokens == made.totals.tokens
        assert list(groups.weights) == sorted(groups.weights, reverse=True)
        rows = [
            leaf.row
            for part in parts(groups)
            for leaf in (parts(part.inside) if part.inside is not None else [part])
            if leaf.row is not None
        ]
        wanted = [at for at, row in enumerate(listed_items(made, "")) if row.tokens > 0]
        assert sorted(rows) == wanted


def test_a_pass_that_nobody_wants_any_more_ends() -> None:
    assert token_groups(Model().plan(), stop=lambda: True) is None


def treemap(app: Host) -> Treemap:
    return app.query_one(Treemap)


def names(app: Host) -> list[str]:
    found = treemap(app)
    return [found.part(at).name for at in range(len(found.boxes))]


def whole() -> Host:
    return Host(Model(BODIES, setup("workbench", "truncation.max_tokens=2000", window=20_000)))


async def test_it_shows_what_fills_the_context_and_opens_down_to_the_item() -> None:
    app = whole()
    async with app.run_test(size=(150, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "T")
        assert app.pane.row_list.display, "there is room for both"
        assert isinstance(app.focused, Treemap)
        assert names(app)[:2] == ["read_file results", "run_command results"]
        text = screen_of(app)
        assert "the request: 3,554 tokens" in text
        assert "read_file results (truncated)" in text, "the states that are in it"
        assert "2,716 · 76 %" in text
        await press(pilot, "enter")
        assert names(app) == ["#9 read_file", "#18 read_file", "#21 read_file"]
        assert "the request › read_file results: 2,716 tokens" in screen_of(app)
        assert app.pane.rows.item is not None
        assert app.pane.rows.item.seq == 9, "the rows follow"
        await press(pilot, "right", "down")
        assert app.pane.rows.item.seq == 21
        await press(pilot, "enter")
        assert app.pane.has_class("-detailed")
        assert app.pane.detail.item is not None
        assert app.pane.detail.item.seq == 21
        await press(pilot, "escape")
        assert not app.pane.has_class("-detailed")
        await press(pilot, "escape")
        assert names(app)[treemap(app).cursor] == "read_file results"
        await press(pilot, "escape")
        assert not app.pane.mapped
        assert app.pane.rows.has_focus


@pytest.mark.long
async def test_a_narrow_pane_has_it_in_the_place_of_the_rows() -> None:
    app = whole()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "T")
        assert not app.pane.row_list.region
        assert treemap(app).region.width > 70
        await press(pilot, "enter", "backspace", "T")
        assert app.pane.row_list.region
        assert isinstance(app.focused, RowsView)


@pytest.mark.long
async def test_a_click_goes_to_a_box_and_another_into_it() -> None:
    app = whole()
    async with app.run_test(size=(150, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "T")
        box = treemap(app).boxes[1]
        for _ in range(2):
            await pilot.click(Treemap, offset=(box.x + 2, box.y + 2))
            await settle(pilot)
        assert names(app)[0] == "#15 run_command"


@pytest.mark.long
async def test_it_follows_the_groups_of_the_rows_and_the_session() -> None:
    app = whole()
    async with app.run_test(size=(150, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "b", "b", "T")
        assert names(app)[0] == "turn 1"
        app.grow(UserMessage("much more " * 3_000))
        await settle(pilot)
        assert names(app)[:2] == ["turn 3", "turn 1"]


@pytest.mark.long
async def test_what_is_decided_in_it_is_about_the_item_under_the_cursor() -> None:
    app = whole()
    async with app.run_test(size=(150, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "T", "enter", "right", "m")
        assert app.told.startswith("mask event 18? · frees ")
        await press(pilot, "escape")
        assert app.pane.mapped


@pytest.mark.parametrize("size", [(20, 6), (10, 2), (1, 1)])
async def test_an_area_that_is_too_small_is_survived(size: tuple[int, int]) -> None:
    app = host()
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await press(pilot, "T", "enter", "left", "end", "enter", "escape", "escape", "escape")


@pytest.mark.parametrize("size", [(9, 2), (9, 1), (12, 3), (40, 12), (3, 3), (2, 1)])
@pytest.mark.parametrize("chosen", [True, False])
def test_a_box_fills_its_cells(size: tuple[int, int], chosen: bool) -> None:
    part: Any = Part("#12 読む read_file results", 1_234, "truncated", "t", item(1).original)
    lines = box_lines(part, Size(*size), 5_000, chosen)
    assert len(lines) == size[1]
    assert {cell_len(line) for line in lines} == {size[0]}


async def test_a_question_is_seen_and_answered_where_the_rows_are_not() -> None:
    app = whole()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await press(pilot, "T", "enter", "right", "m")
        assert "mask event 18?" in screen_of(app)
        await press(pilot, "enter")
        assert decisions(app) == [("mask", 18, 18)]


def test_a_box_has_its_states_in_words_beside_its_name_or_under_it() -> None:
    part = Part("run_command results", 1_588, "truncated", "tm", "2 items")
    assert "run_command results (truncated, masked)" in box_lines(part, Size(50, 6), 4_000, False)[0]
    small = box_lines(part, Size(30, 6), 4_000, False)
    assert "╭run_command results─" in small[0]
    assert "truncated, masked" in small[2]


@pytest.mark.long
async def test_beside_the_treemap_the_views_of_the_detail_keep_their_names() -> None:
    app = whole()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await press(pilot, "T", "enter", "enter")
        assert app.pane.has_class("-detailed")
        assert "3 cut] 4 tokens 5 edits 6 JSON" in screen_of(app)
