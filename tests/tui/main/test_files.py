"""A file is only looked at: what would change it asks first, makes a session of it, and then does what was asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tui.play import program, settle, told, typed, until
from tui.recorded.long_run import as_file, run
from tui.screens.looking import seen
from workbench.compaction.undo import last_undoable
from workbench.log.events import Compaction, Override
from workbench.sources.services import Services
from workbench.tui.compaction import preview
from workbench.tui.compaction.history import HistoryScreen
from workbench.tui.compaction.preview import PreviewScreen
from workbench.tui.main.screen import MainScreen
from workbench.tui.screens.free_space import FreeSpaceScreen
from workbench.tui.widgets.dialogs import ConfirmDialog

pytestmark = pytest.mark.usefixtures("project")
CALL = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
SAID = [
    {"role": "user", "content": "what is left?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "two bugs and a half\n" * 200},
    {"role": "assistant", "content": "two bugs"},
]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "bugs.json"
    path.write_text(json.dumps(SAID), "utf-8")
    return str(path)


async def check_that_looking_asks_for_no_session(pilot: Pilot[Any], screen: MainScreen) -> None:
    for key, found in (("L", FreeSpaceScreen), ("M", FreeSpaceScreen), ("c", PreviewScreen)):
        await pilot.press(key)
        await until(lambda found=found: isinstance(pilot.app.screen, found))  # type: ignore[misc]
        await settle(pilot)
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
        assert screen.model.state.read_only


async def check_that_nothing_to_undo_is_said_at_once(pilot: Pilot[Any], screen: MainScreen) -> None:
    for key in ("u", "f9", "U"):
        pilot.app.clear_notifications()
        await pilot.press(key)
        await until(lambda: "nothing to" in told(pilot.app))
        assert pilot.app.screen is screen
        assert screen.model.state.read_only


async def check_that_a_message_comes_back(pilot: Pilot[Any], screen: MainScreen) -> None:
    """Where no session is made of the file."""
    await pilot.press("f2")
    await typed(pilot, "and what about the tests?")
    await until(lambda: screen.model.state.question is not None)
    assert screen.chat.composer.text == ""
    await pilot.press("escape")
    await until(lambda: screen.model.state.question is None)
    await settle(pilot)
    assert screen.chat.composer.text == "and what about the tests?"


async def test_a_file_is_looked_at_until_a_key_makes_a_session_of_it_and_does_what_was_asked(
    services: Services, file: str
) -> None:
    async with program(services, (120, 30), file) as (pilot, screen):
        await check_that_a_message_comes_back(pilot, screen)
        await pilot.press("f3")
        await settle(pilot)
        await check_that_looking_asks_for_no_session(pilot, screen)
        await check_that_nothing_to_undo_is_said_at_once(pilot, screen)
        assert not services.store.list()
        rows = screen.inspector.rows
        assert rows.lines is not None
        at = next(at for at in range(len(rows.lines)) if (item := rows.lines.item(at)) and item.kind == "tool_result")
        rows.cursor = at
        await pilot.press("m")
        await seen(pilot, "Make a session of", "the file does not change", "n cancel")
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)
        assert screen.model.state.read_only
        assert not services.store.list()
        await pilot.press("m")
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await pilot.press("y")
        await until(lambda: screen.inspector.asked is not None)
        assert not screen.model.state.read_only
        await pilot.press("enter")
        await settle(pilot)
    [info] = services.store.list()
    with services.store.session(info.id, write=False) as session:
        assert [event.body.action for event in session.events() if isinstance(event.body, Override)] == ["mask"]


async def test_a_draft_for_a_file_stays_until_it_is_accepted_in_the_session_that_is_made_of_it(
    services: Services, file: str
) -> None:
    async with program(services, (120, 30), file, model="rehearsal", window=2_000) as (pilot, screen):
        found = await drafted(pilot)
        await pilot.press("ctrl+s")
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await pilot.press("n")
        await seen(pilot, "Ctrl+S make a session of the file, and accept it there")
        assert found.stage == "draft"
        assert not services.store.list()
        found.editor.insert("Mind the half bug. ", (0, 0))
        draft = found.editor.text
        await pilot.press("ctrl+s")
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await pilot.press("y", "ctrl+s")  # a second time, because nothing seems to happen
        await until(lambda: isinstance(pilot.app.screen, HistoryScreen))
        assert not screen.model.state.read_only
        events = await screen.from_session(lambda opened: list(opened.events))
        [made] = [event.body.summary for event in events if isinstance(event.body, Compaction)]
        assert draft.strip() in made


async def test_a_draft_that_would_do_something_else_in_the_session_is_shown_first(
    services: Services, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with program(services, (120, 30), file, model="rehearsal", window=2_000) as (pilot, screen):
        found = await drafted(pilot)
        draft = found.editor.text
        monkeypatch.setattr(preview, "_same_effect", lambda *_: False)
        await pilot.press("ctrl+s")
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await pilot.press("y")
        await seen(pilot, "would compact something else", "Ctrl+S accept")
        assert found.stage == "draft"
        assert not screen.model.state.read_only
        await pilot.press("ctrl+s")
        await until(lambda: isinstance(pilot.app.screen, HistoryScreen))
        events = await screen.from_session(lambda opened: list(opened.events))
        [made] = [event.body.summary for event in events if isinstance(event.body, Compaction)]
        assert draft.strip() in made, "as it was drafted"


async def drafted(pilot: Pilot[Any]) -> PreviewScreen:
    """The draft of a compaction of a file."""
    await pilot.press("f8")
    await seen(pilot, "for a file no model is asked, so this is the digest", "Enter make the draft")
    found = pilot.app.screen
    assert isinstance(found, PreviewScreen)
    await pilot.press("enter")
    await seen(pilot, "Ctrl+S make a session of the file, and accept it there", "Space chooses")
    return found


async def test_undo_in_a_file_makes_a_session_of_it_first(services: Services, tmp_path: Path) -> None:
    bodies = run(3, others=False)
    compacted = [*bodies[:8], Compaction(1, 4, "what was done", meta={"made_by": "pi"}), *bodies[8:]]
    async with program(services, (120, 30), as_file(tmp_path, compacted)) as (pilot, screen):
        await pilot.press("f4")
        await settle(pilot)
        await pilot.press("u")
        await seen(pilot, "Make a session of")
        await pilot.press("y")
        await seen(pilot, "undo compaction #9")
        await pilot.press("y")
        await until(lambda: "undone" in told(pilot.app) or "undid" in told(pilot.app))
        assert not screen.model.state.read_only
        assert await screen.from_session(lambda opened: last_undoable(opened.events)) is None
