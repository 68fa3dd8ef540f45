"""A session with sub-agents: it opens as itself, counts their requests, and says how they are opened."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.claude_sessions import SESSION, agent_lines, as_lines, write_session
from workbench.config.errors import WrongCall
from workbench.log.events import UserMessage
from workbench.session.following import follow_file
from workbench.session.options import Options
from workbench.session.recorded import ListedRequest, RecordedSession
from workbench.session.services import Services
from workbench.session.transcript import Entries, LogTranscript

pytestmark = pytest.mark.usefixtures("project")


def listed(services: Services, ref: Path | str) -> list[ListedRequest]:
    return list(RecordedSession(services, Options(), services.source(str(ref))).listed)


def figures(found: list[ListedRequest]) -> list[tuple[int | None, int, int | None]]:
    """Of the requests of the session itself."""
    return [(each.mark.reported, each.tokens, each.unattributed) for each in found if each.mark.purpose == "turn"]


def test_a_file_with_one_session_opens_it_and_its_sub_agents_by_number(services: Services, tmp_path: Path) -> None:
    path = write_session(tmp_path, {"a1": agent_lines("a1", 4)})
    opened = [[each.body for each in services.source(f"{path}{number}").events] for number in ("", "#1", "#2")]
    assert opened[0] == opened[1]
    assert UserMessage("search for a1") in opened[2]
    assert UserMessage("search for a1") not in opened[0]
    with pytest.raises(WrongCall, match="expected a conversation from 1 to 2, got 3"):
        services.source(f"{path}#3")


def test_two_sessions_in_a_file_are_still_chosen(services: Services, tmp_path: Path) -> None:
    path = write_session(tmp_path, {"a1": agent_lines("a1", 4)})
    other = [{**line, "sessionId": "t", "uuid": f"t{line['uuid']}"} for line in SESSION]
    path.write_text(as_lines([*SESSION, *other]), "utf-8")
    with pytest.raises(WrongCall, match="holds 3 conversations; choose one"):
        services.source(str(path))


@given(st.lists(st.floats(0.2, 30), min_size=1, max_size=5))
def test_sub_agents_are_counted_and_change_no_figure_of_the_session(starts: list[float]) -> None:
    with TemporaryDirectory() as folder, Services() as services:
        alone = Path(folder) / "alone.jsonl"
        alone.write_text(as_lines(SESSION), "utf-8")
        found = listed(services, write_session(Path(folder), {"a1": agent_lines("a1", *starts)}))
        assert figures(found) == figures(listed(services, alone))
    theirs = [each.mark.reported or 0 for each in found if each.mark.purpose == "sub-agent"]
    assert sorted(theirs) == sorted({at: 300 + int(at) for at in starts}.values())


def test_the_chat_says_how_they_are_opened(services: Services, tmp_path: Path) -> None:
    path = write_session(tmp_path, {"a1": agent_lines("a1", 4), "b2": agent_lines("b2", 5)}, {"a1": "Explore"})
    entries = Entries(services.source(str(path)).events)
    shown = LogTranscript(entries, None)
    assert "2 sub-agents: FILE#2 (Explore), FILE#3 (b2)" in [shown[at].text for at in range(len(shown))]


def test_what_a_sub_agent_writes_is_new(tmp_path: Path) -> None:
    path = write_session(tmp_path, {})
    follower = follow_file(str(path), lambda: 0.0)
    assert follower.look(lambda: "read").read == "read"
    assert follower.look(lambda: "read").read is None
    write_session(tmp_path, {"a1": agent_lines("a1", 4)})
    assert follower.look(lambda: "read").read == "read"
