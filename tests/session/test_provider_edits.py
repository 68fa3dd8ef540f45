"""What a provider cleared or compacted on its own is shown in the request in which it did, as its decision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proxy.conftest import Recording, answered, called, claude, result, said, user
from workbench.context.items import Item
from workbench.context.policy_names import RECORDED
from workbench.lab.replay.lab_source import LabSource
from workbench.log.events import (
    AgentCut,
    AssistantMessage,
    Body,
    Compaction,
    Event,
    Override,
    Setting,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.log.store import Store
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import as_source, file_logs, number_events
from workbench.traces.cut_words import OLD_RESULT
from workbench.tui.inspector.filters import parse_filter
from workbench.wire.context_edits import CLEARED

LONG = "what the tool gave back " * 200
SPARED = {"type": "clear_tool_uses_20250919", "exclude_tools": ["memory"]}
ASKED: dict[str, Any] = {"context_management": {"edits": [SPARED]}}
TALK = [
    user("look"),
    called("c1"),
    result("c1", f"1 {LONG}"),
    called("c2"),
    result("c2", f"2 {LONG}"),
]
SECOND = [*TALK, said("well"), user("and?"), called("c3"), result("c3", f"3 {LONG}")]


def edits(results: int, tokens: int) -> dict[str, Any]:
    done = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": results, "cleared_input_tokens": tokens}
    return {"context_management": {"applied_edits": [done]}}


def exchanges() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Three requests: nothing is cleared in the first, one result in the second, none any more in the third."""
    third = [*SECOND, said("so"), user("now?")]
    return [
        (claude(*TALK, **ASKED), answered(said("well"), 3_000)),
        (claude(*SECOND, **ASKED), {**answered(said("so"), 2_500), **edits(1, 1_400)}),
        (claude(*third, **ASKED), answered(said("done"), 4_500)),
    ]


def session_of(events: list[Event]) -> RecordedSession:
    return RecordedSession(Services(), Options(), as_source("file", events, is_file=True))


def from_file(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> list[Event]:
    lines = [json.dumps({"request": body, "response": answer}) for body, answer in pairs]
    [events] = file_logs("requests.jsonl", "\n".join(lines))
    return events


def from_proxy(pairs: list[tuple[dict[str, Any], dict[str, Any]]], folder: Path) -> list[Event]:
    with Store.open(folder / "proxy.db") as store:
        recording = Recording(store)
        for body, answer in pairs:
            recording.pass_through("/v1/messages", body, answer)
        recording.sessions.close()
        [info] = store.list()
        return list(store.session(info.id, write=False).events())


def from_transcript(pairs: list[tuple[dict[str, Any], dict[str, Any]]], _: Path) -> list[Event]:
    """The same as Claude Code writes it: each message a line, and what was cleared with the reply."""
    told = [answer for _, answer in pairs]
    lines: list[dict[str, Any]] = []
    for message in pairs[-1][0]["messages"]:
        text = json.dumps(message["content"])
        reply = next(
            (each for each in told if message["role"] == "assistant" and json.dumps(each["content"]) == text), {}
        )
        lines.append({"message": {**message, **reply, "role": message["role"]}})
    lines.append({"message": {**told[-1], "role": "assistant"}})
    for at, line in enumerate(lines):
        line |= {"type": line["message"]["role"], "uuid": f"u{at}", "sessionId": "s"}
        line["message"].setdefault("id", f"m{at}")
    [events] = file_logs("session.jsonl", "\n".join(map(json.dumps, lines)))
    return events


def exact(session: RecordedSession) -> list[int]:
    """The requests that were really made, by their places; those before them are inferred from what the first tells."""
    return [at for at, mark in enumerate(session.marks) if mark.exact]


def results_of(session: RecordedSession, at: int) -> list[Item]:
    rows = session.plan(at).items
    return [row for row in rows if row.kind == "tool_result"]


@pytest.mark.parametrize("read", [lambda pairs, _: from_file(pairs), from_proxy])
def test_what_anthropic_cleared_is_masked_in_that_request_alone(read: Any, tmp_path: Path) -> None:
    session = session_of(read(exchanges(), tmp_path))
    places = exact(session)
    states = [[row.state for row in results_of(session, at)] for at in places]
    assert states == [["sent", "sent"], ["masked", "sent", "sent"], ["sent", "sent", "sent"]]
    cleared = results_of(session, places[1])[0]
    assert (cleared.text, cleared.original) == (CLEARED, f"1 {LONG}")
    assert "cleared by Anthropic before its model saw it" in cleared.edits[-1].why
    assert "1,400 tokens" in cleared.edits[-1].why
    assert session.body(places[1]) == exchanges()[1][0], "what went over the wire stays as it was"


def test_a_transcript_of_claude_code_tells_it_with_its_reply(tmp_path: Path) -> None:
    session = session_of(from_transcript(exchanges(), tmp_path))
    by_request = [[row.state for row in results_of(session, at)] for at in range(len(session.marks))]
    assert by_request[-1] == ["sent", "sent", "sent"]
    assert by_request[-2] == ["masked", "sent", "sent"]


@pytest.mark.parametrize("read", [lambda pairs, _: from_file(pairs), from_proxy])
def test_the_lab_knows_what_was_cleared_and_other_policies_have_the_original(read: Any, tmp_path: Path) -> None:
    lab = LabSource(Services(), Options(), as_source("file", read(exchanges(), tmp_path), is_file=True))
    assert lab.run_policy("recorded").masked == 1
    assert lab.run_policy("window").masked == 0


def test_tools_that_are_spared_are_not_counted(tmp_path: Path) -> None:
    pairs = exchanges()
    spared = {"context_management": {"edits": [{"type": "clear_tool_uses_20250919", "exclude_tools": ["ls"]}]}}
    session = session_of(from_proxy([(body | spared, answer) for body, answer in pairs], tmp_path))
    assert {row.state for row in results_of(session, exact(session)[1])} == {"sent"}


def test_thinking_that_was_cleared_is_left_out_of_that_request(tmp_path: Path) -> None:
    def thought(text: str) -> dict[str, Any]:
        thinking = {"type": "thinking", "thinking": f"hm {text}", "signature": "s"}
        return {"role": "assistant", "content": [thinking, {"type": "text", "text": text}]}

    done = {"type": "clear_thinking_20251015", "cleared_thinking_turns": 1, "cleared_input_tokens": 30}
    talk = [user("a"), thought("1"), user("b"), thought("2"), user("c")]
    answer = {**answered(said("3")), "context_management": {"applied_edits": [done]}}
    session = session_of(from_proxy([(claude(*talk), answer)], tmp_path))
    rows = [row for row in session.plan(exact(session)[0]).items if row.kind == "reasoning"]
    assert [row.state for row in rows] == ["excluded", "sent"]
    assert "30 tokens" in rows[0].edits[-1].why


@pytest.mark.parametrize("read", [lambda pairs, _: from_file(pairs), from_proxy])
def test_a_compaction_by_anthropic_replaces_all_before_it_from_its_own_request_on(read: Any, tmp_path: Path) -> None:
    summary = {"type": "compaction", "content": "what was done so far"}
    reply = {"role": "assistant", "content": [summary, {"type": "text", "text": "going on"}]}
    pairs = [
        (claude(*TALK), answered(reply, 200)),
        (claude(*TALK, reply, user("and now?")), answered(said("done"), 220)),
    ]
    events = read(pairs, tmp_path)
    session = session_of(events)
    for at, expected in zip(
        exact(session), ([summary["content"]], [summary["content"], "going on", "and now?"]), strict=True
    ):
        rows = session.plan(at).items
        assert [
            row.text for row in rows if row.in_request and row.slot not in ("system", "tools", "unattributed")
        ] == expected
        assert {row.state for row in rows if row.kind == "tool_result"} == {"summarised"}
    assert sum(isinstance(event.body, Compaction) for event in events) == 1


def test_nothing_is_decided_where_the_provider_says_nothing(tmp_path: Path) -> None:
    pairs = [
        (body, {key: each for key, each in answer.items() if key != "context_management"})
        for body, answer in exchanges()
    ]
    assert not any(isinstance(event.body, Override) for event in from_proxy(pairs, tmp_path))


CLAUDE = {"User-Agent": "claude-cli/2.1.325", "X-Claude-Code-Session-Id": "one"}
SAVED = f"<persisted-output>\nOutput too large (370.3KB). Full output saved to: /x\n\nPart:\n{LONG}</persisted-output>"


def test_what_the_agent_itself_cut_or_cleared_is_its_decision_in_recorded_requests_too(tmp_path: Path) -> None:
    first = [user("look"), called("c1"), result("c1", f"1 {LONG}"), called("c2"), result("c2", SAVED)]
    second = [*first[:2], result("c1", OLD_RESULT), *first[3:], said("well"), user("and?")]
    with Store.open(tmp_path / "proxy.db") as store:
        recording = Recording(store)
        recording.pass_through("/v1/messages", claude(*first), answered(said("well"), 3_000), CLAUDE)
        recording.pass_through("/v1/messages", claude(*second), answered(said("done"), 2_000), CLAUDE)
        recording.sessions.close()
        session = session_of(list(store.session(store.list()[0].id, write=False).events()))
    before, after = (results_of(session, at) for at in exact(session))
    assert [row.state for row in before] == ["sent", "truncated"]
    assert [row.state for row in after] == ["masked", "truncated"]
    assert (after[0].text, after[0].original) == (OLD_RESULT, f"1 {LONG}")
    assert "cut by Claude Code before it was sent" in after[1].edits[0].why
    assert "370.3KB before" in after[1].edits[0].why


def test_the_lab_counts_what_the_agent_cut_and_no_policy_has_the_original() -> None:
    cut = AgentCut("truncated", "Codex", "29,210 tokens before", 29_210)
    bodies: list[Body] = [
        UserMessage("go"),
        ToolCall("c", "exec", "{}", "r1"),
        ToolResult("c", LONG, "exec", cut=cut),
        AssistantMessage("done", "r2"),
    ]
    lab = LabSource(Services(), Options(), as_source("file", number_events([*bodies, Setting(RECORDED, "Codex")])))
    assert [lab.run_policy(policy).cut for policy in ("recorded", "window", "workbench")] == [1, 1, 1]
    row = next(row for row in lab.plan_request(2, "window").items if row.kind == "tool_result")
    assert (row.state, row.text, row.edits[0].before) == ("truncated", LONG, 29_210)


@pytest.mark.parametrize(("auto", "gone"), [({"truncation": "auto"}, 1), ({}, 0)])
def test_what_openai_dropped_without_a_word_is_told_by_the_size(auto: dict[str, str], gone: int) -> None:
    message = {"role": "user", "content": LONG}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hm"}]}
    asked = {"model": "gpt-4o", "input": [message, answer, message, answer, message], **auto}
    used = {"input_tokens": 2_010, "output_tokens": 5}
    session = session_of(from_file([(asked, {"id": "resp_1", "model": "gpt-4o", "output": [answer], "usage": used})]))
    [at] = exact(session)
    rows = [row for row in session.plan(at).items if row.unit >= 0]
    assert [row.state for row in rows][:gone] == ["excluded"] * gone
    assert rows[-1].state == "sent"
    assert all("truncation: auto" in row.edits[-1].why for row in rows if row.state == "excluded")
    assert sum(row.state == "excluded" for row in rows) == gone


def test_the_filter_finds_what_an_agent_cut() -> None:
    bodies: list[Body] = [
        UserMessage("go"),
        ToolCall("c", "exec", "{}", "r1"),
        ToolResult("c", LONG, "exec", cut=AgentCut("truncated", "Codex")),
        ToolCall("d", "exec", "{}", "r2"),
        ToolResult("d", LONG, "exec"),
        AssistantMessage("done", "r3"),
    ]
    session = session_of(number_events([*bodies, Setting(RECORDED, "Codex")]))
    rows = session.plan(2).items
    assert [row.seq for row in rows if parse_filter("state:truncated").holds(row)] == [3]
