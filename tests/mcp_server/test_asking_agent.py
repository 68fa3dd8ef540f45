"""Which session an agent means by its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_server.sessions import AFTER, BEFORE, home_session
from workbench.mcp_server.asking_agent import AgentAbove, OwnSessionFinder, agent_above

NOW = 1_800_000_000


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    home, folder = tmp_path / "home", tmp_path / "work"
    folder.mkdir()
    return home, folder


def _written(path: Path, second: int) -> Path:
    os.utime(path, (second, second))
    return path


def _above(folder: Path, started: float = NOW - 100, **homes: str) -> AgentAbove:
    return AgentAbove("Claude Code", os.path.realpath(folder), started, homes)


def _finder(home: Path, folder: Path, above: AgentAbove | None, **environ: str) -> OwnSessionFinder:
    return OwnSessionFinder(above, str(folder), environ={"HOME": str(home), **environ})


def test_the_last_one_written_since_the_agent_started_is_chosen_and_others_are_counted(
    places: tuple[Path, Path],
) -> None:
    home, folder = places
    for number, second in enumerate((NOW - 500, NOW - 20, NOW - 10)):
        _written(home_session(home, folder, f"session-{number}", BEFORE), second)
    _written(home_session(home, folder.parent, "elsewhere", BEFORE), NOW)
    found = _finder(home, folder, _above(folder)).find_session({})
    assert found.session is not None
    assert found.session.id == "session-2"
    assert "1 other session here" in found.why


def test_the_session_that_a_call_names_is_chosen_before_a_newer_one(places: tuple[Path, Path]) -> None:
    home, folder = places
    for number in range(3):
        _written(home_session(home, folder, f"session-{number}", BEFORE), NOW + number)
    found = _finder(home, folder, _above(folder)).find_session({"threadId": "session-0"})
    assert found.session is not None
    assert (found.session.id, found.why) == ("session-0", "Claude Code named it in the call")


def test_the_session_with_the_call_in_its_file_is_chosen_before_a_newer_one_and_the_one_at_the_start(
    places: tuple[Path, Path],
) -> None:
    home, folder = places
    _written(home_session(home, folder, "mine", [*BEFORE, *AFTER]), NOW)
    _written(home_session(home, folder, "newer", BEFORE), NOW + 1)
    finder = _finder(home, folder, _above(folder), CLAUDE_CODE_SESSION_ID="newer")
    found = finder.find_session({"claudecode/toolUseId": "ask1"})
    assert found.session is not None
    assert (found.session.id, found.why) == ("mine", "this call is in its file")


def test_the_session_that_the_server_was_started_for_is_chosen_before_a_newer_one(places: tuple[Path, Path]) -> None:
    home, folder = places
    _written(home_session(home, folder, "mine", BEFORE), NOW)
    _written(home_session(home, folder, "newer", BEFORE), NOW + 1)
    found = _finder(home, folder, _above(folder), CLAUDE_CODE_SESSION_ID="mine").find_session({"other": 1})
    assert found.session is not None
    assert found.session.id == "mine"


def test_a_home_that_the_agent_does_not_pass_on_is_read_from_its_own_variables(places: tuple[Path, Path]) -> None:
    home, folder = places
    _written(home_session(home, folder, "mine", BEFORE), NOW)
    other = places[0].parent / "empty"
    above = _above(folder, CLAUDE_CONFIG_DIR=str(home / ".claude"))
    assert _finder(other, folder, above).find_session({}).session is not None
    assert _finder(other, folder, _above(folder)).find_session({}).session is None


def test_where_there_is_no_session_the_answer_says_where_it_looked_and_what_to_do(places: tuple[Path, Path]) -> None:
    home, folder = places
    _written(home_session(home, folder, "old", BEFORE), NOW - 500)
    young = _finder(home, folder, _above(folder)).find_session({})
    assert young.session is None
    assert "no session of Claude Code" in young.why
    assert "--session FILE" in young.why
    nobody = _finder(home, folder.parent, None).find_session({})
    assert nobody.session is None
    assert "~/.claude" in nobody.why
    assert _finder(home, folder, None).find_session({}).session is not None


def test_the_process_of_the_tests_has_no_agent_above_it_or_one_that_is_known() -> None:
    above = agent_above()
    assert above is None or (above.agent and os.path.isabs(above.folder))
