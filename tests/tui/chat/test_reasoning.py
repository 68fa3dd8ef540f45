"""Reasoning while it comes in: folded to a line, unfolded by key or mouse, and afterwards as the user left it."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui import play
from tui.chat.host import Host, ListTranscript, said, settle
from tui.play import SMALL, Said, Script, answer, program, shown, until
from tui.small_app import screen_of
from workbench.models.reply_parts import ReplyFinished, TextPiece, ThinkingPiece
from workbench.sources.services import Services
from workbench.tui.chat.blocks import CLOSED, draw_entry
from workbench.tui.chat.lines import TranscriptLines
from workbench.tui.chat.live import LiveLines
from workbench.tui.chat.transcript import TranscriptView
from workbench.tui.messages import Send
from workbench.views.values import LiveAnswer

SIZE = (80, 24)
BEGUN = "First I look at the test.\nThen at the fixture."
WHOLE = f"{BEGUN}\nIt opens the database twice."
ASKED = said(("you", "why?"))
DONE = said(("you", "why?"), ("reasoning", WHOLE), ("ai", "The fixture does it."))


@pytest.mark.parametrize("by", ["key", "mouse"])
async def test_it_unfolds_while_it_comes_in_and_stays_open_when_it_is_in_the_log(by: str) -> None:
    app = Host(ASKED)
    async with app.run_test(size=SIZE) as pilot:
        app.live = LiveAnswer("1", BEGUN, "The")
        await settle(pilot)
        assert "▸ reasoning" in screen_of(app)
        assert "First I look" not in screen_of(app)
        if by == "key":
            await pilot.press("shift+tab", "enter")
        else:
            await pilot.click(TranscriptView, offset=(10, 2))
        await settle(pilot)
        assert "▾ reasoning" in screen_of(app)
        assert "Then at the fixture." in screen_of(app)
        app.live = LiveAnswer("1", WHOLE, "The fixture")
        app.pane.view._update_lines()
        await settle(pilot)
        assert "It opens the database twice." in screen_of(app)
        app.transcript, app.live = ListTranscript(DONE), None
        await settle(pilot)
        assert "▾ reasoning" in screen_of(app)
        assert "It opens the database twice." in screen_of(app)
        if by == "key":
            await pilot.press("enter")  # the cursor is still on it
            assert "▸ reasoning" in screen_of(app)
            assert "It opens the database twice." not in screen_of(app)


async def test_it_stays_folded_where_the_user_folded_it_and_the_next_answer_is_another() -> None:
    app = Host(ASKED)
    async with app.run_test(size=SIZE) as pilot:
        app.live = LiveAnswer("1", WHOLE)
        await settle(pilot)
        assert "database twice" in screen_of(app), "its end, while there is nothing else"
        await pilot.press("shift+tab", "enter")
        assert "First I look" in screen_of(app)
        await pilot.press("enter")
        assert "database twice" not in screen_of(app)
        app.transcript, app.live = ListTranscript(DONE), LiveAnswer("2", "Once more.")
        app.pane.view._update_lines()
        await settle(pilot)
        assert screen_of(app).count("▸ reasoning") == 2
        assert "First I look" not in screen_of(app)
        assert "Once more." in screen_of(app)


def test_of_several_new_answers_the_one_that_was_unfolded_stays_open() -> None:
    lines = TranscriptLines()
    lines.resize(80)
    lines.update_transcript(ListTranscript(ASKED), LiveAnswer("1", BEGUN, "The"))
    lines.toggle(len(lines))
    lines.update_transcript(ListTranscript([*DONE, *said(("reasoning", "Once more."), ("ai", "Yes."), first=10)]), None)
    heads = [lines.drawn(at).lines[0].plain for at in range(len(lines))]
    assert ["▾" in heads[1], "▾" in heads[3]] == [True, False]


async def test_the_cursor_goes_to_what_comes_in_and_back_and_copies_it() -> None:
    app = Host(ASKED)
    async with app.run_test(size=SIZE) as pilot:
        app.live = LiveAnswer("1", BEGUN, "The \x1b[31manswer")
        await settle(pilot)
        await pilot.press("shift+tab", "y", "up", "y", "down", "y", "e", "i")
        assert app.copied == ["The answer", "why?", "The answer"]
        app.transcript, app.live = ListTranscript(ASKED), None
        await settle(pilot)
        await pilot.press("enter", "y")
        assert len(app.copied) == 3, "there is nothing any more"
        await pilot.press("up", "y")
        assert app.copied[3:] == ["why?"]


@pytest.mark.long
@pytest.mark.usefixtures("project")
async def test_it_stays_open_when_a_real_answer_ends(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    parts: list[Said] = [ThinkingPiece(BEGUN), TextPiece("The"), gate, TextPiece(" fixture."), ReplyFinished("stop")]
    Script(parts, [ThinkingPiece("Nothing to add."), *answer("Yes.")]).play(monkeypatch)
    async with program(services, SMALL) as (pilot, screen):
        screen.send_or_run(Send("why?"))
        await until(lambda: "▸ reasoning" in shown(pilot.app) and "The" in shown(pilot.app))
        await pilot.press("shift+tab", "enter")
        await until(lambda: "Then at the fixture." in shown(pilot.app))
        gate.set()
        await play.settle(pilot)
        assert [
            entry.kind
            for entry in map(screen.model.state.transcript.__getitem__, range(len(screen.model.state.transcript)))
        ][-2:] == [
            "reasoning",
            "ai",
        ]
        assert "▾ reasoning" in shown(pilot.app)
        assert "Then at the fixture." in shown(pilot.app)
        screen.send_or_run(Send("sure?"))
        await play.settle(pilot)
        assert "Nothing to add." not in shown(pilot.app), "what was said of one answer holds for that one"


@given(st.lists(st.text("ab 漢\n", max_size=40), max_size=8), st.integers(40, 160))
def test_what_is_unfolded_while_it_comes_in_reads_as_it_does_afterwards(pieces: list[str], width: int) -> None:
    live, text = LiveLines(width), ""
    for piece in [*pieces, "end"]:
        text += piece
        live.update_live(LiveAnswer("1", text, "answer"), (), is_open=True)
    coming = [live[line].plain for line in range(len(live))]
    [entry] = said(("reasoning", text))
    *lines, _facts = draw_entry(entry, None, width, CLOSED._replace(is_open=True)).lines
    assert coming[1 : len(lines)] == [line.plain for line in lines[1:]]
