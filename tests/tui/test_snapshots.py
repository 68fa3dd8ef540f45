"""The whole program with the demo's session, and what belongs to no pane, as they should look."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual.app import App
from textual.command import CommandPalette
from textual.pilot import Pilot

from tui.play import Script, answer, call, full_screen, main_screen, settle, until
from workbench.models.reply_parts import TextPiece
from workbench.session import opening
from workbench.sources.services import Services
from workbench.tui.demo import recording_lines
from workbench.tui.main.screen import MainScreen
from workbench.tui.messages import Send
from workbench.tui.widgets.help import HelpScreen
from workbench.tui.widgets.report import ReportScreen

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]
pytestmark = pytest.mark.usefixtures("project")

PANES = ("F2 Chat", "F3 Context", "F4 Compaction", "F5 One pane", "─ Context ", "─ Compaction ", "─ Chat ")


def demo(services: Services, patch: pytest.MonkeyPatch) -> App[Any]:
    """The recording as a session of the user's. Its slots stay as recorded: a path of today would be seen."""
    patch.setattr(opening, "fill_slots", lambda opened: None)
    with services.store.import_events(recording_lines(), "demo") as session:
        return full_screen(services, session.id)


WHOLE = ("3,993 of 16,000 tokens", "25 % OK", "compacts at 12,001 (75 %)", "next of 25", "message")
ALL_PANES = (*PANES, "91 user 9", "kept 10 of 11", "u undoes it")
ONE_PANE = (
    ("context", "f3", ("# who tokens share state what", "1,589", "t truncated", "Enter open", ". shows them")),
    (
        *("compaction", "f4"),
        ("compacting now would summarise 17 items", "#90: 2,348 → 314 tokens (7.5×)", "c compact", "u undo"),
    ),
)


OVER = (
    ("help", "f1", HelpScreen, ("where to look", "what fills the context", "bring it back")),
    ("palette", "ctrl+p", CommandPalette, ("Search for commands…", "tokens (Ctrl+T)")),
    (
        *("report", "ctrl+t", ReportScreen),
        ("window 16,000 (policy), 4,000 kept for the answer", "average turn 17,868 tokens in and out"),
    ),
)
"""What a key puts over the panes."""


async def test_the_whole_program(services: Services, pictures: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    async with demo(services, monkeypatch).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pictures.compare_now(pilot, "80x24", WHOLE)
        for name, key, words in ONE_PANE:
            await pilot.press(key)
            await pictures.compare_now(pilot, name, words)
        await pilot.press("f2")
        for size in ((100, 28), (110, 30), (200, 60), (120, 40)):
            await pictures.resize(pilot, size)
            await pictures.compare_now(pilot, f"{size[0]}x{size[1]}", (*WHOLE, *ALL_PANES))
        pilot.app.theme = "paper"
        await pictures.compare_now(pilot, "paper", (*WHOLE, *ALL_PANES))
        pilot.app.theme = "ink"
        await an_earlier_request(pilot, pictures)
        await what_lies_over_the_panes(pilot, pictures)


async def what_lies_over_the_panes(pilot: Pilot[Any], pictures: Pictures) -> None:
    main = main_screen(pilot.app)
    main.query_one("#panes").visible = False
    for name, key, kind, words in OVER:
        await pilot.press(key)
        await until(lambda kind=kind: isinstance(pilot.app.screen, kind))  # type: ignore[misc]
        await pictures.compare_now(pilot, name, words)
        for size in set(pictures.sizes) - {(120, 40)}:
            await pictures.resize(pilot, size)
            await pictures.look_now(pilot, words)
        await pictures.resize(pilot, (120, 40))
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is main)
    main.query_one("#panes").visible = True


async def an_earlier_request(pilot: Pilot[Any], pictures: Pictures) -> None:
    await pilot.press("f3", "left_square_bracket", "left_square_bracket")
    words = (*PANES, "request 24", "24 of 25", "+ 2 added (+36)", "▼ request 24")
    await pictures.compare_now(pilot, "earlier-request", words)
    for size in (*pictures.sizes[2:], (120, 40)):
        await pictures.resize(pilot, size)
        await pictures.look_now(pilot, words)
    await pilot.press("right_curly_bracket", "f2")


async def test_the_split_in_a_new_session(
    services: Services, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    Script(
        [TextPiece("The fixture opens the database **twice**"), gate, *answer(".")],
        call("run_command", '{"command": "pytest -x tests/test_login.py"}'),
    ).play(monkeypatch)
    try:
        async with full_screen(services).run_test(size=(120, 40)) as pilot:
            await settle(pilot)
            main = main_screen(pilot.app)
            await nothing_yet(pilot, main, pictures)
            await during_a_turn(pilot, main, pictures)
            gate.set()
            await settle(pilot)
            main.model.new_session()
            await settle(pilot)
            await with_a_question(pilot, main, pictures)
    finally:
        gate.set()


async def in_all_splits(pilot: Pilot[Any], pictures: Pictures, name: str, words: Sequence[str]) -> None:
    """A picture in the usual size, and a look at the others."""
    await pictures.resize(pilot, (120, 40), is_busy=True)
    await pictures.compare_now(pilot, name, words, is_busy=True)
    for size in (*pictures.sizes[2:], (100, 28)):
        await pictures.resize(pilot, size, is_busy=True)
        await pictures.look_now(pilot, words, is_busy=True)


async def nothing_yet(pilot: Pilot[Any], main: MainScreen, pictures: Pictures) -> None:
    await until(lambda: main.model.state.welcome is not None and not main.model.state.welcome.lists.searching)
    words = (*PANES, "Enter say something: type below", "/demo look around", "no requests yet", "Ctrl+Q quit")
    await in_all_splits(pilot, pictures, "nothing-yet", words)


async def during_a_turn(pilot: Pilot[Any], main: MainScreen, pictures: Pictures) -> None:
    main.send_or_run(Send("why does the login hang?"))
    await until(lambda: main.model.state.live is not None and "twice" in main.model.state.live.text)
    words = (*PANES, "The fixture opens the database", "● answering Esc stop", "… assistant ~10", "▸ compacts at")
    await in_all_splits(pilot, pictures, "turn", words)


async def with_a_question(pilot: Pilot[Any], main: MainScreen, pictures: Pictures) -> None:
    main.send_or_run(Send("run the tests"))
    await until(lambda: main.model.state.question is not None)
    words = (*PANES, "waiting for you, F2", "? asks you", "y allow once", "▸ n deny once", "a key answers")
    await in_all_splits(pilot, pictures, "question", words)


async def test_the_split_with_a_file(services: Services, talk: Path, pictures: Pictures) -> None:
    """No picture: the path of the file, which is another in every run, would be in it."""
    words = ("talk.json read-only", "The fixture opens the database twice.", "read_file")
    async with full_screen(services, str(talk)).run_test(size=(100, 28)) as pilot:
        await settle(pilot)
        await pictures.look_now(pilot, ("Chat", "Context", "Compaction", *words))
        for size in pictures.sizes[1:]:
            await pictures.resize(pilot, size)
            await pictures.look_now(pilot, ("Chat", "Context", "Compaction", *words))
