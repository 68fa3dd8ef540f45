"""The whole program with the demo's session, and what belongs to no pane, as they should look."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from textual.app import App
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.screen import Screen

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
    from tui.snapshots import Pictures, Size

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


@pytest.mark.parametrize(
    ("size", "theme"),
    [((80, 24), "ink"), *((size, "ink") for size in SPLIT), ((110, 30), "ink"), ((120, 40), "paper")],
    ids=lambda value: value if isinstance(value, str) else f"{value[0]}x{value[1]}",
)
def test_the_whole_program(
    services: Services, size: Size, theme: str, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (
        "3,965 of 16,000 tokens",
        "25 % OK",
        "compacts at 12,001 (75 %)",
        "next of 25",
        "message",
    )
    more = () if size == (80, 24) else (*PANES, "91 user 9", "kept 10 of 11", "u undoes it")
    pictures.compare(demo(services, monkeypatch), settle, words=words + more, size=size, theme=theme, sizes=(size,))


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("f3", ("# who tokens share state what", "1,588", "t truncated", "Enter open", ". shows them")),
        (
            "f4",
            ("compacting now would summarise 17 items", "#90: 2,348 → 314 tokens (7.5×)", "c compact", "u undo"),
        ),
    ],
    ids=["context", "compaction"],
)
def test_one_pane_at_a_time(
    services: Services, key: str, words: tuple[str, ...], pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        await pilot.press(key)

    pictures.compare(demo(services, monkeypatch), act, words=words, sizes=((80, 24),))


def test_the_split_with_an_earlier_request(
    services: Services, pictures: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        await pilot.press("f3", "left_square_bracket", "left_square_bracket")
        await settle(pilot)

    words = (*PANES, "request 24", "24 of 25", "+ 2 added (+36)", "▼ request 24")
    pictures.compare(demo(services, monkeypatch), act, words=words, size=(120, 40), sizes=SPLIT[1:])


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


@pytest.mark.parametrize(
    ("key", "kind", "words"),
    [
        ("f1", HelpScreen, ("where to look", "what fills the context", "bring it back")),
        (
            "ctrl+t",
            ReportScreen,
            ("window 16,000 (policy), 4,000 kept for the answer", "average turn 17,868 tokens in and out"),
        ),
        ("ctrl+p", CommandPalette, ("Search for commands…", "tokens (Ctrl+T)")),
    ],
    ids=["help", "tokens", "palette"],
)
def test_what_lies_over_the_panes(
    services: Services,
    key: str,
    kind: type[Screen[Any]],
    words: tuple[str, ...],
    pictures: Pictures,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def act(pilot: Pilot[Any]) -> None:
        await settle(pilot)
        main_screen(pilot.app).query_one("#panes").visible = False
        await pilot.press(key)
        await until(lambda: isinstance(pilot.app.screen, kind))

    pictures.compare(demo(services, monkeypatch), act, words=words, size=(120, 40))
