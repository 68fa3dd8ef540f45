"""The keys of the screen, one by one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from textual.widgets import Static

from tui.fakes import SAMPLE, FakeBench, app_of, inspector, item, lines_of, plan_of, settle, told
from workbench.config.errors import WrongCall
from workbench.context.plan import ContextPlan
from workbench.tui.bench import Bench
from workbench.tui.inspector.detail import Detail
from workbench.tui.inspector.help import Help
from workbench.tui.inspector.rows import Rows
from workbench.tui.inspector.screen import Inspector
from workbench.tui.inspector.words import About
from workbench.tui.inspector.words import Verdict as VerdictLine


async def test_the_cursor_moves_and_stays_in_view() -> None:
    app = app_of(FakeBench(plan_of([item(seq) for seq in range(1, 101)])))
    walk = {
        "up": 0,
        "pageup": 0,
        "down": 1,
        "j": 2,
        "k": 1,
        "pagedown": 16,
        "end": 99,
        "home": 0,
        "G": 99,
        "g": 0,
    }
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        rows = inspector(app).rows
        assert rows.size.height == 16
        for key, cursor in walk.items():
            await pilot.press(key)
            await settle(pilot)
            assert rows.cursor == cursor, key
            seen = [line for line in lines_of(rows) if line.startswith("▌")]
            assert [line.lstrip("▌").split()[0] for line in seen] == [str(cursor + 1)]
        await pilot.press("end", "down", "pagedown", "up")
        assert rows.cursor == 98


async def test_a_click_puts_the_cursor_there() -> None:
    app = app_of()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.click(Rows, offset=(5, 4))
        assert inspector(app).rows.cursor == 4
        await pilot.click(Rows, offset=(5, 14))
        assert inspector(app).rows.cursor == 4


@pytest.mark.parametrize("key", ["enter", "space"])
async def test_the_detail_opens_follows_and_closes(key: str) -> None:
    app = app_of()
    async with app.run_test() as pilot:
        await settle(pilot)
        detail = inspector(app).detail
        assert not detail.display
        await pilot.press("down", key)
        await settle(pilot)
        assert detail.display
        assert lines_of(detail)[0].startswith("tool definition · read_file")
        await pilot.press("down")
        await settle(pilot)
        assert lines_of(detail)[0].startswith("message · user")
        await pilot.press(key)
        await settle(pilot)
        assert not detail.display


async def test_the_detail_scrolls_when_it_has_the_focus() -> None:
    app = app_of()
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*["down"] * 5, "enter", "tab")
        await settle(pilot)
        assert isinstance(app.focused, Detail)
        await pilot.press("end")
        await pilot.wait_for_animation()
        await settle(pilot)
        assert inspector(app).rows.cursor == 5
        assert lines_of(inspector(app).detail)[-2].strip() == "a line of the file"
        await pilot.press("escape")
        await settle(pilot)
        assert isinstance(app.focused, Rows)
        assert not inspector(app).detail.display


@pytest.mark.parametrize(("size", "beside"), [((80, 24), False), ((200, 60), True)])
async def test_the_detail_goes_where_there_is_room(size: tuple[int, int], beside: bool) -> None:
    app = app_of()
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        rows, detail = inspector(app).rows.region, inspector(app).detail.region
        assert (detail.x >= rows.right) == beside
        assert (detail.y >= rows.bottom) != beside
        assert detail.area > size[0] * size[1] / 5


async def test_resizing_keeps_the_cursor_in_view() -> None:
    app = app_of(FakeBench(plan_of([item(seq) for seq in range(1, 101)])))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("pagedown")
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert any(line.startswith("▌ 32") for line in lines_of(inspector(app).rows))


async def test_another_policy_plans_the_same_log_again() -> None:
    bench = FakeBench(lambda policy: plan_of(SAMPLE, policy=policy))
    app = app_of(bench)
    async with app.run_test() as pilot:
        await settle(pilot)
        for policy in ("codex", "window", "layers"):
            await pilot.press("p")
            await settle(pilot)
            assert f"policy {policy}" in str(inspector(app).query_one(About).render())
            shown = inspector(app).shown
            assert shown is not None
            assert shown.plan.policy == policy
        assert bench.planned == ["layers", "codex", "window", "layers"]


async def test_the_cursor_stays_on_its_item_under_another_policy() -> None:
    notice = item(0, "[2 older messages omitted]", id="notice")
    bench = FakeBench(lambda policy: plan_of((notice, *SAMPLE) if policy == "codex" else SAMPLE))
    app = app_of(bench)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("down", "down", "enter", "p")
        await settle(pilot)
        rows = inspector(app).rows
        assert rows.cursor == 3
        assert rows.item is not None
        assert rows.item.id == SAMPLE[2].id
        assert inspector(app).detail.item == rows.item


async def test_the_cursor_stays_on_the_rows_when_there_are_fewer() -> None:
    bench = FakeBench(lambda policy: plan_of(SAMPLE[:3] if policy == "codex" else SAMPLE))
    app = app_of(bench)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("end", "p")
        await settle(pilot)
        assert inspector(app).rows.cursor == 2


async def test_the_policy_asked_for_last_is_the_one_shown() -> None:
    go = Event()

    def slow(policy: str) -> ContextPlan:
        if policy == "codex":
            assert go.wait(30)
        return plan_of(SAMPLE, policy=policy)

    bench = FakeBench(slow)
    app = app_of(bench)
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press("p")
        await pilot.pause()
        assert "planning as codex…" in str(inspector(app).query_one(VerdictLine).render())
        await pilot.press("p")
        go.set()
        await settle(pilot)
        shown = inspector(app).shown
        assert shown is not None
        assert shown.policy == "window"
        assert "● fits" in str(inspector(app).query_one(VerdictLine).render())


async def test_a_policy_that_cannot_be_is_told_and_the_plan_stays(bench_of: Callable[..., Bench], talk: Path) -> None:
    app = app_of(bench_of(talk, policy="workbench", set=["truncation.head_lines=200"]))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await settle(pilot)
        await pilot.press("p")
        await settle(pilot)
        assert inspector(app).policy == "workbench"
        shown = inspector(app).shown
        assert shown is not None
        assert shown.plan.policy == "workbench"
        assert "head_lines" in told(app)


async def test_before_there_is_a_plan_keys_do_no_harm() -> None:
    go = Event()

    def slow(policy: str) -> ContextPlan:
        assert go.wait(30)
        return plan_of(SAMPLE, policy=policy)

    app = app_of(FakeBench(slow))
    async with app.run_test() as pilot:
        await pilot.pause()
        assert "reading…" in str(inspector(app).query_one(VerdictLine).render())
        await pilot.press("down", "end", "enter", "pageup", "t", "question_mark", "escape")
        go.set()
        await settle(pilot)
        assert "● fits" in str(inspector(app).query_one(VerdictLine).render())


async def test_help_lists_every_key_and_closes() -> None:
    app = app_of()
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("question_mark")
        assert isinstance(app.screen, Help)
        text = str(app.screen.query_one(Static).render())
        for key in ("up, k", "page down", "enter, space", "escape", "tab", "p ", "? ", "t ", "q, ctrl+q"):
            assert f"\n{key}" in text
        assert "t truncated" in text
        await pilot.press("q")
        assert isinstance(app.screen, Inspector)
        assert app.is_running


async def test_the_theme_switches_and_comes_back() -> None:
    app = app_of()
    async with app.run_test() as pilot:
        await settle(pilot)
        assert app.theme == "ink"
        await pilot.press("t")
        assert app.theme == "paper"
        await pilot.press("t")
        assert app.theme == "ink"


async def test_the_settings_choose_the_theme() -> None:
    app = app_of(theme="paper")
    async with app.run_test():
        assert app.theme == "paper"


async def test_an_unknown_theme_is_told_and_survived(tmp_path: Path) -> None:
    broken = tmp_path / "config" / "themes" / "broken.toml"
    broken.parent.mkdir(parents=True)
    broken.write_text("name = ", "utf-8")
    app = app_of(theme="nope")
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await settle(pilot)
        assert "no theme named 'nope'; expected one of ink, paper" in told(app)
        assert "broken.toml" in told(app)
        assert app.theme == "ink"


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
async def test_quitting_ends_well(key: str) -> None:
    app = app_of()
    async with app.run_test() as pilot:
        await settle(pilot)
        await pilot.press(key)
    assert app.return_code == 0
    assert app.return_value is None


async def test_a_source_that_cannot_be_read_ends_the_program_with_its_error() -> None:
    app = app_of(FakeBench(error=WrongCall("talk.json: line 3: expected JSON")))
    async with app.run_test() as pilot:
        await settle(pilot)
    assert str(app.return_value) == "talk.json: line 3: expected JSON"


async def test_a_plan_that_cannot_be_made_ends_the_program_with_its_error(
    bench_of: Callable[..., Bench], talk: Path
) -> None:
    app = app_of(bench_of(talk, window=0))
    async with app.run_test() as pilot:
        await settle(pilot)
    assert "--window" in str(app.return_value)
