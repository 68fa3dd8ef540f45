"""The sub-agents of Codex have rollouts beside the one of the session that started them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workbench.log.events import Body, Failure, Request, ToolResult, Usage, UserMessage
from workbench.sources.requests import RequestMarks
from workbench.sources.source import number_events
from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations, read_file

PARENT = "rollout-2026-11-15T10-00-00-p.jsonl"


def line(second: float, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-11-15T10:00:{second:06.3f}Z", "type": kind, "payload": payload}


def said(second: float, role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return line(second, "response_item", type="message", role=role, content=[{"type": kind, "text": text}])


def report(second: float, tokens: int) -> dict[str, Any]:
    used = {"input_tokens": tokens, "output_tokens": 5, "total_tokens": tokens + 5}
    total = {"total_tokens": int(second * 1000) + tokens}
    return line(second, "event_msg", type="token_count", info={"total_token_usage": total, "last_token_usage": used})


SESSION = [
    line(0, "session_meta", id="p", source="cli"),
    line(0.1, "turn_context", model="gpt-5"),
    said(0.2, "user", "look"),
    line(1, "response_item", type="function_call", call_id="c1", name="spawn_agent", arguments="{}"),
    report(1.1, 1_000),
    line(9, "response_item", type="function_call_output", call_id="c1", output="found"),
    said(10, "assistant", "done"),
    report(10.1, 1_200),
]


def sub_agent(name: str, parent: str, *starts: float, **more: Any) -> list[dict[str, Any]]:
    spawned = {"parent_thread_id": parent, "depth": 1, "agent_nickname": more.pop("nickname", None)}
    header = line(1.2, "session_meta", id=name, source={"subagent": {"thread_spawn": spawned}}, **more)
    talk = [each for at in starts for each in (said(at, "assistant", "seen"), report(at, 300 + int(at)))]
    return [header, line(1.3, "turn_context", model="gpt-5-mini"), said(1.4, "user", f"task of {name}"), *talk]


def put(folder: Path, *agents: Sequence[Any]) -> Path:
    for at, lines in enumerate(agents):
        path = folder / f"rollout-2026-11-15T10-00-0{at + 1}-{at}.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")
    path = folder / PARENT
    path.write_text("".join(json.dumps(each) + "\n" for each in SESSION), "utf-8")
    return path


def read(path: Path) -> list[Recording]:
    return read_conversations(*read_file(str(path)), path=str(path))


def requests(bodies: list[Body]) -> list[tuple[str, str, int | None]]:
    marks = RequestMarks()
    for event in number_events(bodies):
        marks.add_event(event)
    return [(mark.purpose, mark.agent, mark.reported) for mark in marks.marks]


def test_sub_agents_and_theirs_are_conversations_behind_the_session(tmp_path: Path) -> None:
    path = put(
        tmp_path,
        sub_agent("a", "p", 3, 5, nickname="Ada"),
        sub_agent("x", "another", 4),
        sub_agent("b", "a", 4),
        [line(2, "session_meta", id="y", source="cli"), said(3, "user", '"thread_spawn"')],
    )
    session, first, second = read(path)
    assert session.sub_agents == {"2": "Ada", "3": "b"}
    assert UserMessage("task of a") in first
    assert UserMessage("task of b") in second
    assert requests(session) == [
        ("turn", "", 1_000),
        ("sub-agent", "a", 303),
        ("sub-agent", "b", 304),
        ("sub-agent", "a", 305),
        ("turn", "", 1_200),
    ]
    assert {body.model for body in session if isinstance(body, Request)} == {"gpt-5-mini"}
    assert len(read_conversations(*read_file(str(path)))) == 1, "where the file alone is asked for"


@given(st.lists(st.lists(st.floats(0.2, 30), min_size=1, max_size=4, unique=True), max_size=3))
def test_sub_agents_change_nothing_of_the_session(starts: list[list[float]]) -> None:
    with TemporaryDirectory() as folder:
        path = put(Path(folder), *(sub_agent(f"a{at}", "p", *sorted(each)) for at, each in enumerate(starts)))
        [alone] = read_conversations(*read_file(str(path)))
        session, *agents = read(path)
        theirs = [body for body in session if isinstance(body, Request) or (isinstance(body, Usage) and body.request)]
        assert [body for body in session if body not in theirs] == alone
        assert [each for each in requests(session) if each[0] == "turn"] == requests(alone)
        reported = sum(isinstance(body, Usage) for agent in agents for body in agent)
        assert sum(isinstance(body, Request) for body in theirs) == reported


def test_a_sub_agent_without_an_id_makes_no_sub_agents_of_other_sessions(tmp_path: Path) -> None:
    nameless = sub_agent("", "p", 3, nickname="Ada")
    other = [line(2, "session_meta", id="y", source="cli"), said(3, "user", "another"), report(4, 700)]
    unknown = sub_agent("b", "", 5)
    session, agent = read(put(tmp_path, nameless, other, unknown))
    assert agent.sub_agent == "Ada"
    assert [each for each in requests(session) if each[0] == "sub-agent"] == [("sub-agent", "", 303)]


def test_what_began_as_a_fork_is_not_counted_in_the_session(tmp_path: Path) -> None:
    session, agent = read(put(tmp_path, sub_agent("a", "p", 3, forked_from_id="p")))
    assert session.sub_agents == {"2": "a"}
    assert [each[0] for each in requests(session)] == ["turn", "turn"]
    assert [each[2] for each in requests(agent)] == [303]


def test_a_broken_line_of_a_sub_agent_is_told(tmp_path: Path) -> None:
    path = put(tmp_path, sub_agent("a", "p", 3))
    [file] = [each for each in tmp_path.iterdir() if each != path]
    file.write_text(file.read_text("utf-8") + "{broken\n", "utf-8")
    for bodies in read(path):
        [told] = [body.message for body in bodies if isinstance(body, Failure)]
        assert f"{file.name}: line 6" in told


def test_no_link_out_of_the_folder_is_followed(tmp_path: Path) -> None:
    folder = tmp_path / "15"
    folder.mkdir()
    path = put(folder)
    other = tmp_path / "elsewhere.jsonl"
    other.write_text("".join(json.dumps(each) + "\n" for each in sub_agent("a", "p", 3)), "utf-8")
    (folder / "rollout-2026-11-15T10-00-09-a.jsonl").symlink_to(other)
    [session] = read(path)
    assert not any(isinstance(body, Failure) for body in session)
    assert any(isinstance(body, ToolResult) for body in session)
