"""What the screen shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tui.fakes import SAMPLE, CountedRows, FakeBench, app_of, inspector, item, lines_of, plan_of, settle
from workbench.context.budget import Limits
from workbench.context.plan import Totals, Verdict
from workbench.tui.app import WorkbenchApp
from workbench.tui.bench import Bench
from workbench.tui.inspector.words import About, Hints, Nothing
from workbench.tui.inspector.words import Verdict as VerdictLine

SIZES = [(80, 24), (120, 40), (200, 60)]


# What is shown


@pytest.mark.parametrize("size", SIZES)
async def test_every_row_has_its_place(size: tuple[int, int]) -> None:
    app = app_of()
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        lines = lines_of(inspector(app).rows)
        assert [line.split()[0] for line in lines[1 : len(SAMPLE)]] == [str(row.seq) for row in SAMPLE[1:]]
        assert lines[0].startswith("▌  1")
        assert "t truncated" in lines[5]
        assert "⚑" in lines[2]
        assert "5,213 tokens are over the cap"[: size[0] // 6] in lines[5]


@pytest.mark.parametrize("size", SIZES)
async def test_the_header_fits_its_two_lines(size: tuple[int, int]) -> None:
    bench = FakeBench(plan_of(SAMPLE, model="anthropic/a-model-with-a-very-long-name-20250929"))
    bench.name = "/a/very/long/path" * 8 + "/talk.json"
    app = app_of(bench)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        about = inspector(app).query_one(About)
        first, second = str(about.render()).split("\n")
        assert len(first) == len(second.ljust(len(first))) == about.size.width
        assert "talk.json" in first
        assert "window 10,000 (catalogue) · policy layers" in second
        assert "20250929" in second


async def test_the_verdict_is_told_in_words() -> None:
    app = app_of()
    async with app.run_test() as pilot:
        await settle(pilot)
        text = "\n".join(str(widget.render()) for widget in inspector(app).query("Verdict, Totals").results())
        assert "● fits  6,120 tokens + 1,000 margin + 2,000 reserve = 9,120 of 10,000" in text
        assert "61.2 % of the window, under 70 %: roomy · 10 items · 12,500 if whole" in text


@pytest.mark.parametrize(
    ("tokens", "words", "colour"),
    [
        (6_999, "under 70 %: roomy", "$success"),
        (7_000, "under 90 %: filling up", "$warning"),
        (9_000, "90 % and more: nearly full", "$error"),
        (12_000, "more than it holds", "$error"),
    ],
)
async def test_fullness_is_told_in_words_and_colour(tokens: int, words: str, colour: str) -> None:
    app = app_of(FakeBench(plan_of(SAMPLE, totals=Totals(tokens, tokens, 0, tokens))))
    async with app.run_test() as pilot:
        await settle(pilot)
        totals = inspector(app).query_one("Totals").render()
        assert words in str(totals)
        assert colour in repr(totals)


async def test_what_does_not_fit_says_so_with_its_warnings() -> None:
    plan = plan_of(
        SAMPLE,
        limits=Limits(5_000, "option", 2_000, 0),
        verdict=Verdict("too_large", "6,120 tokens + 2,000 reserve = 8,120, 3,120 over the window of 5,000"),
        warnings=("the system slot holds 100 tokens; 50 are advised",),
    )
    app = app_of(FakeBench(plan))
    async with app.run_test() as pilot:
        await settle(pilot)
        line = inspector(app).query_one(VerdictLine)
        assert str(line.render()).startswith("● too large  6,120 tokens")
        assert "! the system slot holds 100 tokens" in str(line.render())
        assert line.size.height == 3


async def test_an_empty_log_says_so() -> None:
    app = app_of(FakeBench(plan_of(())))
    async with app.run_test() as pilot:
        await settle(pilot)
        assert "nothing was said yet" in lines_of(inspector(app).rows)[0]
        await pilot.press("enter", "down", "end")
        assert not inspector(app).detailed


async def test_hostile_text_is_shown_and_does_nothing(bench_of: Callable[..., Bench], talk: Path) -> None:
    app = app_of(bench_of(talk))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("down", "enter")
        await settle(pilot)
        shown = "\n".join(lines_of(inspector(app).rows) + lines_of(inspector(app).detail))
        assert shown.count("Why does [/b] the ␛[31mlogin␛[0m test fail?") == 2
        assert "\x1b" not in shown


async def test_a_hostile_name_is_shown_and_does_nothing() -> None:
    bench = FakeBench(plan_of([item(1, tool="\x1b]0;owned\x07[/]")], model="[/b]\x1b[2J"), policies=("[/b]",))
    bench.name = "[red]\x1b[31m.json"
    app = app_of(bench)
    async with app.run_test() as pilot:
        await settle(pilot)
        about = str(inspector(app).query_one(About).render())
        assert "[red]␛[31m.json" in about
        assert "model [/b]␛[2J" in about
        assert "policy [/b]" in about
        assert "␛]0;owned␇" in lines_of(inspector(app).rows)[0]


@pytest.mark.parametrize("size", [(40, 12), (20, 6), (1, 1)])
async def test_a_terminal_that_is_too_small_is_survived(size: tuple[int, int]) -> None:
    app = app_of()
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await pilot.press("down", "enter", "question_mark", "escape", "p")
        await settle(pilot)
        rows = inspector(app).rows
        assert all(len(line) == rows.scrollable_content_region.width for line in lines_of(rows))


# A hundred thousand rows


async def test_a_hundred_thousand_rows_are_not_gone_through() -> None:
    rows = CountedRows()
    app = app_of(FakeBench(plan_of(rows)))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert 0 < rows.looks < 200
        rows.looks = 0
        await pilot.press("end")
        await settle(pilot)
        assert "message 100000" in lines_of(inspector(app).rows)[-1]
        assert rows.looks < 200
        rows.looks = 0
        await pilot.press("up", "down", "enter")
        await settle(pilot)
        assert rows.looks < 200
        rows.looks = 0
        await pilot.press("p")
        await settle(pilot)
        assert rows.looks < 400
        assert inspector(app).rows.cursor == 99_999


# Nothing to show


@pytest.mark.parametrize("size", SIZES)
async def test_the_empty_screen_says_what_to_do(size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CONFIG_DIR", "/home/ann/.config/workbench")
    monkeypatch.setenv("WORKBENCH_DATA_DIR", "/home/ann/.local/share/workbench")
    app = WorkbenchApp(None)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        nothing = inspector(app).query_one(Nothing)
        text = str(nothing.render())
        for words in ("workbench open FILE", "workbench plan FILE", "workbench import FILE"):
            assert words in text
        assert "settings /home/ann/.config/workbench" in text
        assert "sessions /home/ann/.local/share/workbench" in text
        assert nothing.region.height == len(text.split("\n")) + 2, "a line was wrapped"
        assert not inspector(app).query_one("#body").display
        assert str(inspector(app).query_one(Hints).render()) == "? help   q quit   t theme"
        await pilot.press("down", "enter", "p", "tab", "escape")
        assert app.is_running
