"""The context as it was at each request, and what changed in between."""

from __future__ import annotations

from itertools import groupby

import pytest

from tui.inspector.host import Model, decisions, go_to, host, lines_of, press, settle, setup, type_in
from tui.small_app import screen_of
from workbench.config.errors import Refused
from workbench.log.events import Override, UserMessage
from workbench.tui.main.timeline import Timeline
from workbench.tui.messages import Travel

WIDE = (120, 40)


@pytest.mark.long
async def test_one_steps_back_through_the_requests_and_returns() -> None:
    app = host()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        line = app.query_one(Timeline)
        assert str(line.render()).startswith("next of 8 ")
        await press(pilot, "[")
        assert str(line.render()).startswith("   8 of 8 ")
        assert len(app.pane.rows.lines or ()) == 19
        await press(pilot, "[", "[", "[")
        assert str(line.render()).startswith("   5 of 8 ")
        await press(pilot, "]")
        assert str(line.render()).startswith("   6 of 8 ")
        await press(pilot, "{", "[")
        assert str(line.render()).startswith("   1 of 8 ")
        await press(pilot, "}", "]")
        assert str(line.render()).startswith("next of 8 ")
        asked = [each.place for each in app.asked if isinstance(each, Travel)]
        assert [place for place, _ in groupby(asked)] == [7, 6, 5, 4, 5, 0, None], "both ends may be asked for again"


@pytest.mark.long
async def test_what_changed_between_two_requests_is_marked_and_summed_up() -> None:
    app = host()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "[", "[", "[")
        assert app.told.startswith("+ 2 added (+360) · ± 1 changed (-286) · first changed token ")
        lines = lines_of(app.pane.rows)
        assert [line.strip("▌ ")[:6].split() for line in lines[:21] if line[6:7].strip()] == [
            ["15", "±"],
            ["19", "+"],
            ["21", "+"],
        ]
        await press(pilot, "{")
        assert "added" not in app.told, "there is nothing before the first"


async def test_the_past_is_not_changed() -> None:
    app = host()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "[", "p")
        assert app.told == "! } goes to the newest: a past request cannot be changed", "the key first, if it is cut"
        assert decisions(app) == []
        await press(pilot, "}")
        assert "past" not in app.told, "there something can be changed"


async def test_before_the_first_request_there_is_no_timeline() -> None:
    app = host(Model([UserMessage("hello"), Override("pin", 1, 1)]))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert not app.query_one(Timeline).display
        with pytest.raises(Refused, match="no request was made yet"):
            app.query_one(Timeline).action_step(-1)


@pytest.mark.long
async def test_the_detail_shows_its_item_as_it_is_in_the_request_whatever_the_filter_hides() -> None:
    app = host()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "f")
        await type_in(pilot, "state:masked", "enter")
        await go_to(pilot, 15)
        await press(pilot, "enter")
        assert "event 15 · m masked" in screen_of(app)
        await press(pilot, "[", "[", "[", "[")
        assert app.told.startswith("1 of ")
        assert "event 15 · sent: 3" in screen_of(app), "and not the row that matches there"
        await press(pilot, "[")
        assert app.told.startswith("0 of ")
        assert "event 15 · sent: 3" in screen_of(app)
        await press(pilot, "{")
        assert "event 15 · not in this request" in screen_of(app)
        assert "It is not in this request." in screen_of(app)
        await press(pilot, "}", "]")
        assert "event 15 · m masked" in screen_of(app)


async def test_a_request_that_only_adds_keeps_the_cache() -> None:
    app = host(Model(made=setup("workbench")))
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        await press(pilot, "[")
        assert "added" in app.told
        assert app.told.endswith("prompt cache kept")


async def test_under_a_filter_rows_are_counted_once() -> None:
    app = host()
    async with app.run_test(size=WIDE) as pilot:
        await settle(pilot)
        assert " items · " in screen_of(app).splitlines()[-2]
        assert " tokens before cuts · " in screen_of(app).splitlines()[-2]
        await press(pilot, "f")
        await type_in(pilot, "nowhere", "enter")
        assert app.told.startswith("0 of 2")
        assert " items" not in screen_of(app).splitlines()[-2]
        assert " message framing" in screen_of(app).splitlines()[-2]
