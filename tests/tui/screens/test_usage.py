"""What all agents used, on the screen."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from tui.play import program, shown, until
from tui.screens.looking import listed, look, narrowed, seen, values
from usage.homes import (
    claude_call,
    claude_reply,
    codex_count,
    codex_header,
    codex_model,
    write_claude,
    write_codex,
    write_lines,
    write_wasteful,
)
from workbench.lab.replay.usage_waste import usage_waste
from workbench.sources.services import Services
from workbench.tui.main.screen import MainScreen
from workbench.tui.screens.usage import ALL
from workbench.tui.screens.usage_charts import bar_lines, bar_of, calendar_of
from workbench.tui.widgets.finder import Finder
from workbench.usage import other_usage

pytestmark = pytest.mark.usefixtures("project")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("HOME", str(folder))
    lines = [
        claude_reply("m1", 1, 90_000, 10, content=claude_call("\x1b[31m[b]Read")),
        claude_reply("m2", 1, 1_000, 10, at="2026-11-14T10:00:00Z"),
    ]
    said = {"type": "user", "message": {"role": "user", "content": "bake [b]bread"}, "sessionId": "s", "uuid": "u"}
    write_claude(folder, "c1", [said, *lines])
    write_codex(folder, "t1", [codex_header("t1"), codex_model("of nobody"), codex_count(1, 110, 100, 10)])
    return folder


@pytest.mark.usefixtures("home")
async def test_days_come_first_tab_goes_on_and_sessions_are_opened(services: Services) -> None:
    async with program(services) as (pilot, screen):
        finder = await look(pilot, screen, "usage")
        await days_come_first_and_tab_goes_on_to_weeks_models_and_the_others(pilot, finder)
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
        await enter_lists_the_sessions_of_a_row_and_opens_one(pilot, screen)
        await look(pilot, screen, "usage")
        await seen(pilot, "Alt+1")
        await pilot.press("alt+1")  # one of the most expensive
        await until(lambda: pilot.app.screen is screen)
        await until(lambda: "c1.jsonl" in screen.model.state.title)


async def test_a_file_that_its_reader_fails_at_is_named(
    home: Path, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_reader(*_: object) -> None:
        raise AttributeError("no such thing")

    monkeypatch.setattr(other_usage, "read_conversations", broken_reader)
    write_lines(home / ".gemini/tmp/p/chats/session-1.json", [{"sessionId": "s", "messages": []}])
    async with program(services) as (pilot, screen):
        await look(pilot, screen, "usage")
        await seen(pilot, "its reader failed (AttributeError)")


async def days_come_first_and_tab_goes_on_to_weeks_models_and_the_others(
    pilot: Pilot[Any], finder: Finder[Any]
) -> None:
    await until(lambda: values(finder) == [ALL, "2026-11-15", "2026-11-14"])
    await seen(pilot, "by day", "claude-sonnet-4-5", "Alt+1", "bake [b]bread", "list prices")
    found = []
    for _ in range(6):
        await pilot.press("tab")
        await listed(pilot)
        found.append(values(finder)[-1])
    assert found[:5] == ["2026-11-09", "of nobody", "/srv/bakery", "Codex", "t1"]
    assert "\x1b" not in shown(pilot.app)
    await pilot.press("shift+tab")
    await seen(pilot, "by session")


async def enter_lists_the_sessions_of_a_row_and_opens_one(pilot: Pilot[Any], screen: MainScreen) -> None:
    finder = await look(pilot, screen, "usage")
    await until(lambda: len(values(finder)) == 3)
    await pilot.press("down", "down", "enter")
    await listed(pilot)
    assert values(finder) == ["c1"]
    await pilot.press("escape")
    await listed(pilot)
    assert values(finder)[0] == ALL
    await pilot.press("tab", "tab")
    await narrowed(pilot, "nobody")
    await pilot.press("enter")
    await until(lambda: values(finder) == ["t1"])
    await pilot.press("enter")
    await until(lambda: pilot.app.screen is screen)
    await until(lambda: "t1.jsonl" in screen.model.state.title)


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.wide)])
async def test_a_key_finds_the_waste_of_the_marked_row(size: tuple[int, int], home: Path, services: Services) -> None:
    write_wasteful(home, "c2")
    with Services() as own:
        [report] = usage_waste(own, {"c2": str(home / ".claude/projects/-srv-bakery/c2.jsonl")}).reports.values()
    async with program(services, size=size) as (pilot, screen):
        await look(pilot, screen, "usage")
        await seen(pilot, "Alt+W waste", "by day")
        await pilot.press("alt+w")
        await seen(pilot, f"waste: {report.total.items} items, {report.total.tokens:,} tokens", "in 3 sessions")
        await pilot.press("down", "down")  # the day before: the session of that day has none
        await seen(pilot, "waste: none found", "in 1 session,")


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 40), marks=pytest.mark.wide)])
async def test_an_empty_home_says_what_counts(
    size: tuple[int, int], services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    async with program(services, size=size) as (pilot, screen):
        await look(pilot, screen, "usage")
        await seen(pilot, "No agent on this machine has recorded a request yet")


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.integers(1, 80))
def test_a_bar_is_never_longer_than_its_room_and_any_use_can_be_seen(value: float, more: float, columns: int) -> None:
    bar = bar_of(value, value + more, columns)
    assert len(bar) <= columns
    assert bool(bar) == (value > 0)


@given(st.dictionaries(st.integers(0, 400), st.floats(0, 1e6), max_size=20), st.integers(1, 120))
def test_a_calendar_has_a_line_for_each_weekday_and_fits(used: dict[int, float], columns: int) -> None:
    values = {(date(2026, 1, 1) + timedelta(days=day)).isoformat(): value for day, value in used.items()}
    lines = calendar_of({"": 1.0, **values}, columns).plain.splitlines()
    assert len(lines) == (8 if used else 0)
    assert all(len(line) <= max(columns, 6) for line in lines[1:])


def test_bars_have_names_and_values() -> None:
    lines = bar_lines([("\x1b[31mred", 4.0, "$4.00"), ("blue", 1.0, "$1.00")], 40).plain.splitlines()
    assert [line.split()[-1] for line in lines] == ["$4.00", "$1.00"]
    assert "\x1b" not in "".join(lines)
    assert bar_lines([], 40).plain == ""
