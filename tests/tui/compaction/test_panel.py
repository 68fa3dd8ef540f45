"""The panel alone: what it shows at which size, and that every key and button asks for the right thing."""

from __future__ import annotations

import pytest

from support.drafts import setup
from tui.compaction.long_talk import talk
from tui.compaction.views import Host, log, nested, seen, settle
from tui.small_app import screen_of
from workbench.compaction.progress import CompactionProgress
from workbench.config.values import replace
from workbench.tui.compaction import descriptions
from workbench.tui.compaction.history import HistoryList
from workbench.tui.compaction.panel import CompactionPanel
from workbench.tui.compaction.plot import CompactionPlot
from workbench.tui.widgets.buttons import ButtonLine
from workbench.views.compaction_values import RunningCompaction

KEYS = {
    "enter": "compact",
    "D": "digest",
    "M": "mode",
    "J": "judge",
    "H": "compactions",
    "i": "compaction-status",
}


async def test_every_key_asks_for_its_command() -> None:
    app = Host(seen(log(talk(8))))
    async with app.run_test(size=(66, 12)) as pilot:
        await settle(pilot)
        for key, command in KEYS.items():
            await pilot.press(key)
            await settle(pilot)
            assert app.asked.pop() == (command, ""), key
    described = {each.key for each in CompactionPanel.BINDINGS}  # type: ignore[union-attr]  # all are bindings
    assert {key for keys in described for key in keys.split(",")} == set(KEYS)


async def test_the_border_names_the_keys_and_no_line_of_the_panel_does() -> None:
    app = Host(seen(log(nested())))
    async with app.run_test(size=(80, 22)) as pilot:
        await settle(pilot)
        assert dict(app.panel.hints()) == {
            "c": "compact",
            "u": "undo",
            "U": "redo",
            "H": "history",
            "D": "without a model",
            "M": "mode",
            "P": "policy",
            "i": "limits",
            "?": "all keys",
        }
        assert not app.query(ButtonLine)


async def test_the_whole_width_shows_what_would_be_summarised_and_the_history_beside_the_curve() -> None:
    view = seen(log(nested()))
    app = Host(view)
    async with app.run_test(size=(140, 30)) as pilot:
        await settle(pilot)
        text = screen_of(app)
        first = next(line for line in text.splitlines() if "▸ compacts at" in line)
        assert "compacting now would summarise" in first
        assert "tokens by turn" in text
        assert " compacts at 16,000 ┄" in text
        assert "◇ #50 41,200 → 3,150 tokens" in text
        assert "#50: 41,200 → 3,150 tokens (13.1×) · kept 46 of 49 facts · undone by #51" in text


async def test_a_few_lines_have_words_only_more_the_curve_and_many_everything() -> None:
    app = Host(seen(log(nested())))
    async with app.run_test(size=(66, 6)) as pilot:
        await settle(pilot)
        assert not app.query_one(CompactionPlot).display
        assert "▸ compacts at" in screen_of(app)
        await pilot.resize_terminal(66, 12)
        await settle(pilot)
        assert app.query_one(CompactionPlot).display
        assert app.query_one(CompactionPlot).size.height >= 4
        assert not app.query_one(HistoryList).region
        await pilot.resize_terminal(80, 22)
        await settle(pilot)
        assert app.query_one(CompactionPlot).size.height >= 4
        assert app.query_one(HistoryList).region
        await pilot.resize_terminal(120, 20)
        await settle(pilot)
        assert app.query_one(HistoryList).region.x > 50, "beside the curve"


async def test_the_history_opens_on_the_compaction_under_the_mark() -> None:
    app = Host(seen(log(nested())))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        tree = app.query_one(HistoryList)
        tree.focus()
        await pilot.press("down", "down", "enter")
        await settle(pilot)
        assert tree.marked is not None
        assert app.asked == [("compactions", str(tree.marked.event.seq))]
        await pilot.press("D")
        assert app.asked[-1] == ("digest", ""), "the panel's keys work in it"


async def test_while_one_is_being_made_the_panel_says_how_far_it_is_and_how_to_stop_it() -> None:
    view = seen(log(talk(8)))
    app = Host(view)
    async with app.run_test(size=(66, 12)) as pilot:
        await settle(pilot)
        app.compaction = replace(view, running=RunningCompaction(CompactionProgress("summarising", 1, 3, 1_204), 0.0))
        await settle(pilot)
        assert "⟳ compacting: summarising part 1 of 3, 1,204" in screen_of(app)
        assert "Esc stops it" in screen_of(app)
        app.compaction = view
        await settle(pilot)
        assert "▸ compacts at 16,000" in screen_of(app)
        assert "Esc stops it" not in screen_of(app)


@pytest.mark.parametrize("size", [(66, 12), (100, 40)])
async def test_nothing_is_shown_before_anything_is_known(size: tuple[int, int]) -> None:
    app = Host()
    async with app.run_test(size=size) as pilot:
        for view in (None, seen(log(nested()))):  # and while another session is opened
            app.compaction = view
            await settle(pilot)
            app.compaction = None
            await settle(pilot)
            assert not any(letter.isalnum() for letter in screen_of(app))


async def test_text_from_elsewhere_is_never_markup() -> None:
    view = replace(seen(log(talk(3))), policy="[/b][red]mine\x1b[31m")
    app = Host(view)
    async with app.run_test(size=(100, 14)) as pilot:
        await settle(pilot)
        assert "policy [/b][red]mine␛[31m" in screen_of(app)


async def test_a_read_only_session_and_a_policy_without_compaction_say_so() -> None:
    app = Host(seen(log(talk(8)), setup("layers"), why_read_only="a file is read-only"))
    async with app.run_test(size=(66, 12)) as pilot:
        await settle(pilot)
        text = screen_of(app)
        assert "mode off (never)" in text
        assert "read-only" in text
        assert "no automatic compaction" in text


async def test_the_panel_shows_one_limit_and_a_key_for_the_others() -> None:
    view = seen(log(talk(8)), setup(sets=["compaction.threshold=0.95"]))
    app = Host(view)
    async with app.run_test(size=(140, 30)) as pilot:
        await settle(pilot)
        text = screen_of(app)
        assert "▸ compacts at 18,001 (90 %)" in text
        assert f"{view.tokens:,} now" in text
        others = {f"{check.fires_at:,}" for check in view.decision.checks.all} | {"18,000", "19,000", "20,000"}
        assert not [figure for figure in others - {"18,001"} if figure in text]
    rows = " ".join(text for _, text in descriptions.status_rows(view))
    assert all(figure in rows for figure in ("18,001", "19,000", "18,000"))
