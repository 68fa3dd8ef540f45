"""The sub-agents that Claude Code keeps in files beside a session belong to it."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.claude_sessions import SESSION, SMALL, agent_lines, as_lines, said, write_session
from support.recordings import FOLDER
from workbench.log.events import AssistantMessage, Body, Failure, Request, ToolResult, Usage, UserMessage
from workbench.traces import companion_files
from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations, read_file


def read(path: Path) -> list[Recording]:
    return read_conversations(*read_file(str(path)), path=str(path))


def of_sub_agents(bodies: list[Body]) -> list[Body]:
    """The requests of sub-agents, and their reports."""
    asked = {seq for seq, body in enumerate(bodies, 1) if isinstance(body, Request)}
    return [
        body
        for seq, body in enumerate(bodies, 1)
        if seq in asked or (isinstance(body, Usage) and body.request and body.request in asked)
    ]


def test_a_sub_agents_file_is_a_conversation_behind_the_session(tmp_path: Path) -> None:
    path = write_session(tmp_path, {"a1": agent_lines("a1", 4, 6), "b2": agent_lines("b2", 5)}, {"a1": "Explore"})
    session, first, second = read(path)
    assert [each.sub_agent for each in (session, first, second)] == ["", "Explore", "b2"]
    assert session.sub_agents == {"2": "Explore", "3": "b2"}
    assert UserMessage("search for a1") in first
    assert UserMessage("search for b2") in second
    assert len(read_conversations(*read_file(str(path)))) == 1, "where the file alone is asked for"


def test_an_answer_without_a_message_is_survived(tmp_path: Path) -> None:
    lines = agent_lines("a1", 4)
    last = {key: value for key, value in lines[-1].items() if key != "message"}
    session, *_ = read(write_session(tmp_path, {"a1": [*lines, {**last, "type": "assistant", "uuid": "broken"}]}))
    assert [body for body in of_sub_agents(session) if isinstance(body, Request)]


def test_the_session_has_the_requests_of_its_sub_agents_where_they_happened(tmp_path: Path) -> None:
    session, *_ = read(write_session(tmp_path, {"a1": agent_lines("a1", 4, 6)}, {"a1": "Explore"}))
    request = Request("anthropic", SMALL, "sub-agent", "a1", "s", "s", name="Explore")
    first, second = (seq for seq, body in enumerate(session, 1) if body == request)
    assert of_sub_agents(session) == [
        request,
        Usage(SMALL, 0, 304, completion=9, request=first),
        request,
        Usage(SMALL, 0, 306, completion=9, request=second),
    ]
    own = next(seq for seq, body in enumerate(session, 1) if isinstance(body, Usage))
    result = next(seq for seq, body in enumerate(session, 1) if isinstance(body, ToolResult))
    assert own < first < second < result, "behind the reply that started it, before what it gave back"
    assert session.times == sorted(session.times)


@given(st.lists(st.lists(st.floats(0.2, 30), min_size=1, max_size=4), max_size=3))
def test_sub_agents_change_nothing_of_the_session(starts: list[list[float]]) -> None:
    with TemporaryDirectory() as folder:
        agents = {f"a{at}": agent_lines(f"a{at}", *each) for at, each in enumerate(starts)}
        path = write_session(Path(folder), agents)
        [alone] = read_conversations(*read_file(str(path)))
        session = read(path)[0]
        theirs = of_sub_agents(session)
        assert [body for body in session if body not in theirs] == alone
        replies = {line["message"]["id"] for lines in agents.values() for line in lines if line["type"] == "assistant"}
        assert sum(isinstance(body, Request) for body in theirs) == len(replies)


def test_a_copy_of_the_session_is_not_counted_again(tmp_path: Path) -> None:
    copied = [{**line, "isSidechain": True, "agentId": "acompact-1"} for line in SESSION]
    asked = agent_lines("acompact-1", 12)
    session, _ = read(write_session(tmp_path, {"acompact-1": [*copied, *asked]}))
    [request] = (body for body in session if isinstance(body, Request))
    assert (request.purpose, request.agent) == ("compaction", "acompact-1")


def test_a_sub_agent_that_names_another_session_belongs_to_the_file(tmp_path: Path) -> None:
    lines = [{**line, "sessionId": "agent-a1"} for line in agent_lines("a1", 4)]
    session, agent = read(write_session(tmp_path, {"a1": lines}))
    assert (session.sub_agent, agent.sub_agent) == ("", "a1")
    assert len(of_sub_agents(session)) == 2


def test_the_file_of_a_sub_agent_is_opened_alone(tmp_path: Path) -> None:
    write_session(tmp_path, {"a1": agent_lines("a1", 4)})
    [agent] = read(tmp_path / "s" / "subagents" / "agent-a1.jsonl")
    assert [body for body in agent if isinstance(body, UserMessage | AssistantMessage | Request)] == [
        UserMessage("search for a1"),
        AssistantMessage("seen", "a1-4", model=SMALL),
    ]


def test_what_cannot_be_read_beside_a_session_is_said_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    path = write_session(tmp_path / "project", {})
    beside = path.parent / "s" / "subagents"
    (tmp_path / "secret.jsonl").write_text(as_lines([said(3, "secret", isSidechain=True)]), "utf-8")
    (beside / "agent-a.jsonl").symlink_to(tmp_path / "secret.jsonl")
    os.mkfifo(beside / "agent-b.jsonl")
    (beside / "agent-c.jsonl").write_text("no JSON", "utf-8")
    (beside / "agent-d.jsonl").write_text(as_lines(agent_lines("d", 4)) + '{"half', "utf-8")
    (beside / "agent-e.jsonl").write_text(as_lines(agent_lines("e", 4) * 900), "utf-8")
    monkeypatch.setattr(companion_files, "largest_file", lambda: 100_000)
    session, agent = read(path)
    told = [body.message for body in session if isinstance(body, Failure)]
    assert [name for name in "abcde" for message in told if f"agent-{name}.jsonl" in message] == ["a", "b", "c", "e"]
    assert "secret" not in repr(session) + repr(agent)
    assert agent.sub_agent == "d"


def test_the_shared_sample_has_its_sub_agent() -> None:
    found = sorted((FOLDER / "claude-code-subagent").glob("*.jsonl"))
    if not found:
        pytest.skip("the sample is not here")
    session, agent = read(found[0])
    assert session.sub_agents == {"2": "general-purpose"}
    assert agent.sub_agent == "general-purpose"
    asked: list[Any] = [body for body in session if isinstance(body, Request)]
    assert [(each.purpose, each.name) for each in asked] == [("sub-agent", "general-purpose")]
