"""The sub-agents of Gemini CLI have chats in a folder beside the session's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workbench.log.events import Body, Request, Usage, UserMessage
from workbench.sources.requests import RequestMarks
from workbench.sources.source import number_events
from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations, read_file


def head(session: str, second: int, kind: str) -> dict[str, Any]:
    return {"sessionId": session, "projectHash": "h", "startTime": f"2026-11-15T10:00:{second:02}Z", "kind": kind}


def message(second: int, kind: str, content: str, **more: Any) -> dict[str, Any]:
    time = f"2026-11-15T10:00:{second:02}Z"
    return {"id": f"{kind}{second}", "timestamp": time, "type": kind, "content": content, **more}


def reply(second: int, tokens: int, **more: Any) -> dict[str, Any]:
    return message(second, "gemini", "so", model="gemini-2.5-pro", tokens={"input": tokens, "output": 1}, **more)


def starts(call: str, agent: str) -> dict[str, Any]:
    return {"id": call, "name": "invoke_agent", "args": {"agent_name": agent, "prompt": "look"}}


def put(folder: Path, *agents: tuple[str, int], calls: tuple[str, ...]) -> Path:
    started = [starts(f"c{at}", name) for at, name in enumerate(calls)]
    lines = [head("s", 0, "main"), message(1, "user", "go"), reply(2, 100, toolCalls=started), reply(40, 140)]
    (folder / "s").mkdir()
    for agent, second in agents:
        theirs = [
            head(agent, second, "subagent"),
            message(second, "user", f"task of {agent}"),
            reply(second + 1, second),
        ]
        (folder / "s" / f"{agent}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in theirs), "utf-8")
    path = folder / "session-2026-11-15T10-00-s.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")
    return path


def read(path: Path) -> list[Recording]:
    return read_conversations(*read_file(str(path)), path=str(path))


def requests(bodies: list[Body]) -> list[tuple[str, str, int | None]]:
    marks = RequestMarks()
    for event in number_events(bodies):
        marks.add_event(event)
    return [(mark.purpose, mark.agent, mark.reported) for mark in marks.marks]


def test_they_are_conversations_behind_the_session_which_counts_what_they_asked(tmp_path: Path) -> None:
    path = put(tmp_path, ("b", 10), ("a", 20), calls=("helper", "investigator"))
    session, first, second = read(path)
    assert session.sub_agents == {"2": "helper", "3": "investigator"}
    assert UserMessage("task of b") in first
    assert UserMessage("task of a") in second
    assert requests(session) == [("turn", "", 100), ("sub-agent", "b", 10), ("sub-agent", "a", 20), ("turn", "", 140)]
    assert [body.name for body in session if isinstance(body, Request)] == ["helper", "investigator"]


def test_without_a_call_for_each_they_are_called_by_their_ids(tmp_path: Path) -> None:
    session, *_ = read(put(tmp_path, ("b", 10), ("a", 20), calls=("helper",)))
    assert session.sub_agents == {"2": "b", "3": "a"}


def test_they_change_nothing_of_the_session(tmp_path: Path) -> None:
    path = put(tmp_path, ("b", 10), calls=("helper",))
    [alone] = read_conversations(*read_file(str(path)))
    theirs = [body for body in read(path)[0] if isinstance(body, Request) or (isinstance(body, Usage) and body.request)]
    assert [body for body in read(path)[0] if body not in theirs] == alone


@pytest.mark.parametrize("session", ["..", "../s", "", ".hidden", "a/b"])
def test_an_id_that_leads_elsewhere_is_not_followed(tmp_path: Path, session: str) -> None:
    path = put(tmp_path, ("b", 10), calls=("helper",))
    path.write_text(path.read_text("utf-8").replace('"sessionId": "s"', f'"sessionId": "{session or " "}"'), "utf-8")
    assert len(read(path)) == 1
