"""The whole program with the demo's session, and what belongs to no pane, as they should look."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual.app import App
from textual.command import CommandPalette
from textual.pilot import Pilot

from tui.play import Script, answer, call, full_screen, main_screen, settle, until
from tui.snapshots import check_look
from workbench.models.reply_parts import TextPiece
from workbench.session import opening
from workbench.sources.services import Services
from workbench.tui.demo import recording_lines
from workbench.tui.messages import Send
from workbench.tui.widgets.help import HelpScreen
from workbench.tui.widgets.report import ReportScreen

if TYPE_CHECKING:
    from tui.snapshots import Pictures

pytest_plugins = ["tui.snapshots"]
pytestmark = pytest.mark.usefixtures("project")

SPLIT = ((100, 28), (120, 40), (200, 60))
"""Where all panes are shown."""
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


async def test_the_whole_program_in_small_sizes(
    services: Services, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with demo(services, monkeypatch).run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pictures.compare_now(pilot, "80x24", WHOLE)
        for name, key, words in ONE_PANE:
            await pilot.press(key)
            await pictures.compare_now(pilot, name, words)
        await pilot.press("f2")
        for size in ((100, 28), (110, 30)):
            await pictures.resize(pilot, size)
            await pictures.compare_now(pilot, f"{size[0]}x{size[1]}", (*WHOLE, *ALL_PANES))


async def test_the_whole_program_in_the_usual_size(
    services: Services, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with demo(services, monkeypatch).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        for theme in ("paper", "ink"):
            pilot.app.theme = theme
            await pictures.compare_now(pilot, theme, (*WHOLE, *ALL_PANES))
        await pilot.press("f3", "left_square_bracket", "left_square_bracket")
        words = (*PANES, "request 24", "24 of 25", "+ 2 added (+36)", "▼ request 24")
        await pictures.resize(pilot, SPLIT[2])
        check_look(pilot.app, words)
        await pictures.resize(pilot, SPLIT[1])
        await pictures.compare_now(pilot, "earlier-request", words)


def test_the_whole_program_in_a_large_size(
    services: Services, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (*WHOLE, *ALL_PANES)
    pictures.compare(demo(services, monkeypatch), settle, words=words, size=SPLIT[2], sizes=SPLIT[2:])


def test_the_split_with_an_empty_session(services: Services, pictures: Pictures) -> None:
    async def act(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        main = main_screen(pilot.app)
        await until(lambda: main.model.state.welcome is not None and not main.model.state.welcome.lists.searching)

    words = (*PANES, "Enter say something: type below", "/demo look around", "no requests yet", "Ctrl+Q quit")
    pictures.compare(full_screen(services), act, words=words, size=(120, 40), sizes=SPLIT)


def test_the_split_with_a_question(services: Services, pictures: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    Script(call("run_command", '{"command": "pytest -x tests/test_login.py"}')).play(monkeypatch)

    async def act(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        main = main_screen(pilot.app)
        main.send_or_run(Send("run the tests"))
        await until(lambda: main.model.state.question is not None)

    words = (*PANES, "waiting for you, F2", "? asks you", "y allow once", "▸ n deny once", "a key answers")
    pictures.compare(full_screen(services), act, words=words, size=(120, 40), sizes=SPLIT, is_busy=True)


def test_the_split_during_a_turn(services: Services, pictures: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    Script([TextPiece("The fixture opens the database **twice**"), gate, *answer(".")]).play(monkeypatch)

    async def act(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        main = main_screen(pilot.app)
        main.send_or_run(Send("why does the login hang?"))
        await until(lambda: main.model.state.live is not None and "twice" in main.model.state.live.text)

    words = (*PANES, "The fixture opens the database", "● answering Esc stop", "… assistant ~10", "▸ compacts at")
    try:
        pictures.compare(full_screen(services), act, words=words, size=(120, 40), sizes=SPLIT, is_busy=True)
    finally:
        gate.set()


async def test_the_split_with_a_file(services: Services, talk: Path) -> None:
    """No picture: the path of the file, which is another in every run, would be in it."""
    app = full_screen(services, str(talk))
    async with app.run_test(size=SPLIT[0]) as pilot:
        for size in SPLIT:
            await pilot.resize_terminal(*size)
            await settle(pilot)
            check_look(
                app,
                (
                    "Chat",
                    "Context",
                    "Compaction",
                    "talk.json read-only",
                    "The fixture opens the database twice.",
                    "read_file",
                ),
            )


OVER = (
    ("help", "f1", HelpScreen, ("where to look", "what fills the context", "bring it back")),
    ("palette", "ctrl+p", CommandPalette, ("Search for commands…", "tokens (Ctrl+T)")),
)
"""What a key puts over the panes."""


async def test_what_lies_over_the_panes(
    services: Services, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with demo(services, monkeypatch).run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        main = main_screen(pilot.app)
        main.query_one("#panes").visible = False
        for name, key, kind, words in OVER:
            await pilot.press(key)
            await until(lambda kind=kind: isinstance(pilot.app.screen, kind))  # type: ignore[misc]
            for size in pictures.sizes:
                await pictures.resize(pilot, size)
                check_look(pilot.app, words)
            await pictures.resize(pilot, (120, 40))
            await pictures.compare_now(pilot, name, words)
            await pilot.press("escape")
            await until(lambda: pilot.app.screen is main)


def test_a_report_over_the_panes(services: Services, pictures: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        main_screen(pilot.app).query_one("#panes").visible = False
        await pilot.press("ctrl+t")
        await until(lambda: isinstance(pilot.app.screen, ReportScreen))

    words = ("window 16,000 (policy), 4,000 kept for the answer", "average turn 17,868 tokens in and out")
    pictures.compare(demo(services, monkeypatch), act, words=words, size=(120, 40))
