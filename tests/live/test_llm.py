"""Conversations of llm, as the list of agents finds them."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import pytest

from traces.test_llm import RESPONSES, THREADS, chain
from workbench.live.finder import AgentSession, AgentSessionFinder
from workbench.live.reports import LastReport
from workbench.log.events import Setting
from workbench.sources.services import Services

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="its folder has another name there")
CACHED = '{"cache_read_input_tokens": 30, "cache_creation_input_tokens": 5}'
FIRST, SECOND = "2026-11-15T20:48:02", "2026-11-15T20:48:03"
AT = 1_794_775_682_000
"""When the first request was made, in milliseconds since 1970."""


def log_in(folder: Path, tables: str) -> sqlite3.Connection:
    folder.mkdir(parents=True, exist_ok=True)
    made = sqlite3.connect(folder / "logs.db", isolation_level=None)
    made.executescript(tables)
    return made


def test_threads_are_found_with_their_last_request_and_numbered_as_the_reader_does(
    tmp_path: Path, services: Services
) -> None:
    home = tmp_path / ".config" / "io.datasette.llm"
    made = log_in(home, THREADS)
    chain(made, ("user", [("text", "look", None)]), ("assistant", [("text", "done", None)]))
    made.execute("INSERT INTO threads VALUES ('01b', 'A talk', 'm2', NULL), ('01a', 'An older one', 'm1', NULL)")
    turns = [
        ("t1", "01b", "m1", "m-1", None, 60, 8, None, FIRST),
        ("t2", "01b", "m2", "m-1", "m-1-2026", 70, 9, CACHED, SECOND),
    ]
    made.executemany("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", turns)
    talk, older = AgentSessionFinder({"HOME": str(tmp_path)}).find_sessions()
    path = home / "logs.db"
    report = LastReport(105, 30, 9, model="m-1-2026")
    assert talk == AgentSession("llm", f"{path}#2", "", "A talk", "m-1-2026", AT + 1_000, report, key="01b")
    assert older == AgentSession("llm", f"{path}#1", "", "An older one", "", 0, None, key="01a")
    assert Setting("title", "A talk") in [event.body for event in services.source(talk.ref).events]


def test_conversations_of_older_versions_are_found_where_the_variable_says(tmp_path: Path) -> None:
    made = log_in(tmp_path / "elsewhere", RESPONSES)
    made.execute("INSERT INTO conversations VALUES ('01a', 'A talk', 'm')")
    made.execute(
        "INSERT INTO responses VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ("r1", "m", "look", "", "", "01a", FIRST, 70, 9, None),
    )
    environ = {"HOME": str(tmp_path), "LLM_USER_PATH": str(tmp_path / "elsewhere")}
    [found] = AgentSessionFinder(environ).find_sessions()
    assert (found.title, found.modified, found.report) == ("A talk", AT, LastReport(70, 0, 9, model="m"))


@pytest.mark.parametrize(("took", "after"), [(4_700, 4_700), (None, 0), (-5, 0), (2**62, 86_400_000)])
def test_a_conversation_changed_when_its_last_answer_had_come(tmp_path: Path, took: int | None, after: int) -> None:
    made = log_in(tmp_path / "llm", THREADS)
    made.execute("ALTER TABLE turns ADD COLUMN duration_ms INTEGER")
    made.execute("INSERT INTO threads VALUES ('01b', 'A talk', 'm2', NULL)")
    turn = ("t1", "01b", "m1", "m-1", None, 60, 8, None, FIRST, took)
    made.execute("INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", turn)
    environ = {"HOME": str(tmp_path), "LLM_USER_PATH": str(tmp_path / "llm")}
    [found] = AgentSessionFinder(environ).find_sessions()
    assert found.modified == AT + after
