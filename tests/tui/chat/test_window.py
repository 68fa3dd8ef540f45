"""A long transcript: only what is in view is made, and nothing jumps."""

from __future__ import annotations

from typing import Any

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.selection import Selection

from tui.chat.host import Host, ListTranscript, LongTranscript, called, said, settle
from tui.play import until
from tui.small_app import screen_of
from workbench.tui.chat.activity_lines import ActivityLine
from workbench.tui.chat.transcript import TranscriptView
from workbench.views.values import LiveAnswer, LiveCall

SIZE = (80, 24)


def view_of(app: Host) -> TranscriptView:
    return app.pane.view


def shown(app: Host) -> list[str]:
    """The lines of the transcript in view."""
    view = view_of(app)
    return [view.render_line(y).text.rstrip() for y in range(view.scrollable_content_region.height)]


async def scroll_up(pilot: Pilot[Any], app: Host, times: int = 1) -> None:
    """Two lines up, as the wheel does."""
    for _ in range(times):
        view_of(app).scroll_relative(y=-2, animate=False)
        await pilot.pause()


async def test_ten_thousand_messages_open_at_the_end_and_few_are_looked_at() -> None:
    long = LongTranscript(10_000)
    app = Host(long)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        assert "message 10000" in "\n".join(shown(app))
        assert long.looks < 100
        assert len(app.query("*")) < 30


async def test_every_page_of_a_long_way_up_costs_what_is_in_view() -> None:
    long = LongTranscript(10_000)
    app = Host(long)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("shift+tab", "home")
        assert "message 1" in "\n".join(shown(app))
        await pilot.press("end")
        assert "message 10000" in "\n".join(shown(app))
        app.pane.show_event(5_000)
        await settle(pilot)
        assert any("message 5000" in line for line in shown(app))
        assert long.looks < 400


@pytest.mark.long
async def test_scrolling_up_line_by_line_shows_every_line_in_its_order() -> None:
    app = Host(LongTranscript(24))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        seen = shown(app)
        while view_of(app).scroll_offset.y > 0:
            before = shown(app)
            await scroll_up(pilot, app)
            now = shown(app)
            assert any(now[step:] == before[: len(now) - step] for step in range(1, 5)), "lines are lost or told twice"
            step = next(step for step in range(1, 5) if now[step:] == before[: len(now) - step])
            seen = now[:step] + seen
        numbers = [line.split()[-1] for line in seen if "message" in line]
        assert numbers == [str(number) for number in range(1, 25)]


async def test_the_end_is_followed_while_it_is_in_view() -> None:
    app = Host(said(*[("you", f"message {n}") for n in range(40)]))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        app.transcript = ListTranscript([*said(*[("you", f"message {n}") for n in range(41)])])
        await settle(pilot)
        assert "message 40" in shown(app)[-1]
        app.live = LiveAnswer("1", "", "\n\n".join(f"paragraph {n}" for n in range(30)))
        await settle(pilot)
        assert "paragraph 29" in shown(app)[-1]


async def test_nothing_jumps_when_the_user_has_scrolled_up_and_a_line_tells_what_is_new() -> None:
    entries = said(*[("you", f"message {n}") for n in range(40)])
    app = Host(entries)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await scroll_up(pilot, app, 5)
        before = shown(app)
        app.live = LiveAnswer("1", "", "one\n\ntwo\n\nthree")
        await settle(pilot)
        assert shown(app) == before
        assert "an answer comes in below" in screen_of(app)
        app.transcript = ListTranscript([*entries, *said(("ai", "one\n\ntwo"), ("ai", "three"), first=41)])
        app.live = None
        await settle(pilot)
        assert shown(app) == before
        assert "2 new below" in screen_of(app)
        await pilot.click(ActivityLine)
        await settle(pilot)
        assert "three" in shown(app)[-1]
        assert "new below" not in screen_of(app)


async def test_what_was_opened_behind_another_pane_is_not_new() -> None:
    class Behind(Host):
        CSS = "ChatPane { display: none; }"

    app = Behind(LongTranscript(400))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        app.pane.mark_event(380)
        await settle(pilot)
        app.pane.display = True
        await settle(pilot)
        assert any("message 380" in line for line in shown(app))
        assert "new below" not in screen_of(app)


async def test_an_entry_that_grows_above_the_view_does_not_move_it() -> None:
    entries = [called(1, "run", "{}", None), *said(*[("you", f"message {n}") for n in range(40)], first=10)]
    app = Host(entries)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await scroll_up(pilot, app, 6)
        before = shown(app)
        view_of(app).lines.toggle(0)
        app.transcript = ListTranscript([called(1, "run", "{}", "a\n" * 30), *entries[1:]])
        await settle(pilot)
        assert shown(app) == before
        await pilot.press("shift+tab", "home")
        assert "result" in "\n".join(shown(app))


@pytest.mark.parametrize("size", [(50, 12), (140, 40)])
async def test_another_size_keeps_the_place(size: tuple[int, int]) -> None:
    app = Host(LongTranscript(500))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        app.pane.show_event(200)
        await settle(pilot)
        await pilot.resize_terminal(*size)
        await settle(pilot)
        top = "\n".join(shown(app))
        assert any(f"message {number}" in top for number in range(190, 205))
        assert max(map(len, shown(app))) <= size[0]


async def test_another_session_begins_at_its_end() -> None:
    app = Host(LongTranscript(300))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.press("shift+tab", "home", "enter")
        app.transcript = ListTranscript(said(*[("you", f"other {n}") for n in range(30)]))
        await settle(pilot)
        assert "other 29" in shown(app)[-1]
        app.transcript = None
        await settle(pilot)
        assert "".join(shown(app)) == ""


async def test_another_session_that_comes_while_there_is_no_room_can_be_scrolled() -> None:
    app = Host(LongTranscript(100))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await pilot.resize_terminal(1, 24)
        app.transcript = ListTranscript(said(("you", "hello")))
        await until(lambda: view_of(app).is_current)
        view_of(app).scroll_relative(y=-2, animate=False)
        await pilot.pause()
        await pilot.resize_terminal(*SIZE)
        await until(lambda: any("hello" in line for line in shown(app)))


async def test_what_streams_is_plain_at_first_and_exact_at_the_end() -> None:
    text = "Look:\n\n```python\nimport os\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    app = Host(said(("you", "go")))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        for end in (3, 12, 30, 45, len(text)):
            app.live = LiveAnswer("1", "", text[:end])
            view_of(app)._update_lines()
            await pilot.pause()
        assert "      | a | b |" in "\n".join(shown(app))
        assert "       import os" in "\n".join(shown(app))
        app.transcript = ListTranscript(said(("you", "go"), ("ai", text)))
        app.live = None
        await settle(pilot)
        assert "a  │ b" in "\n".join(shown(app))
        assert "| a | b |" not in "\n".join(shown(app))


async def test_reasoning_shows_its_end_until_the_answer_begins() -> None:
    app = Host(said(("you", "go")))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        app.live = LiveAnswer("1", "hm " * 400 + "so be it")
        await settle(pilot)
        assert "so be" in "\n".join(shown(app))
        app.live = LiveAnswer("1", "hm " * 400 + "so be it", "Well")
        view_of(app)._update_lines()
        await settle(pilot)
        text = "\n".join(shown(app))
        assert "so be" not in text
        assert "▸ reasoning  1,208 characters" in text
        assert "ai    Well" in text


@pytest.mark.long
async def test_a_call_that_runs_is_shown_once() -> None:
    app = Host([*said(("you", "go")), called(2, "run_command", '{"command": "make"}', None)])
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        writing = LiveCall("call_9", "read_file", '{"pa', "writing")
        running = LiveCall("call_2", "run_command", '{"command": "make"}', "running", "cc a.c\n")
        app.live = LiveAnswer("1", calls=(running, writing))
        await settle(pilot)
        text = "\n".join(shown(app))
        assert text.count("Bash make") == 1
        assert "│ cc a.c" in text
        assert "Read" in text
        assert "… being written" in text


async def test_foreign_text_is_neither_markup_nor_reaches_the_terminal() -> None:
    hostile = "[/] [bold]x[/bold] \x1b[31mred\x1b]0;owned\x07 \u202eabc"
    entries = [*said(("you", hostile), ("ai", hostile), ("notice", hostile), ("failure", hostile))]
    app = Host([*entries, called(9, hostile, hostile, hostile)])
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        view_of(app).lines.toggle(4)
        view_of(app)._update_lines()
        await settle(pilot)
        text = screen_of(app)
        assert "[/] [bold]x[/bold]" in text
        assert not any(char in text for char in "\x1b\x07\u202e")


async def test_what_is_selected_with_the_mouse_is_copied_as_the_lines_it_was() -> None:
    paragraph = (
        "This is a paragraph of an answer that is far too long for one line of a narrow window, and so it is broken."
    )
    asked = "a question of mine that does not fit into a single line of this window either\nwith a second line"
    app = Host(said(("you", asked), ("ai", f"{paragraph}\n\nAnother one.")))
    async with app.run_test(size=(50, 24)) as pilot:
        await settle(pilot)
        rows = screen_of(app).splitlines()
        view = view_of(app)
        top = view.region.y
        first = next(at for at, line in enumerate(rows) if "a question" in line) - top
        last = next(at for at, line in enumerate(rows) if "Another one." in line) - top
        await pilot.mouse_down(TranscriptView, offset=(0, first))
        await pilot.hover(TranscriptView, offset=(20, first + 3))
        await pilot.hover(TranscriptView, offset=(30, last))
        await pilot.mouse_up(TranscriptView, offset=(30, last))
        await settle(pilot)
        app.screen.action_copy_text()
        assert app.copied == [f"{asked}\n\n{paragraph}\n\nAnother one."]


async def test_text_can_be_selected_with_the_mouse() -> None:
    app = Host(said(("you", "first line\nsecond line"), ("ai", "third")))
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        view = view_of(app)
        found = view.get_selection(Selection(Offset(7, 1), Offset(13, 2)))
        assert found == ("first line\nsecond", "\n")
        everything = view.get_selection(Selection(None, None))
        assert everything is not None
        assert "third" in everything[0]
        app.screen.selections = {view: Selection(Offset(0, 1), Offset(5, 1))}
        await settle(pilot)
        assert len(list(view.render_line(1))) > len(list(view.render_line(2)))
