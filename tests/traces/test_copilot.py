"""A session of Copilot CLI is read with its system prompt, reports, compactions and sub-agents."""

from __future__ import annotations

import json
from typing import Any

from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Failure,
    Reasoning,
    Request,
    Setting,
    SlotContent,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.building import Recording
from workbench.traces.copilot import SUMMARISED
from workbench.traces.formats import read_conversations

MODEL = "gpt-5.4"
TIME = "2026-01-02T03:04:05.678Z"


def line(kind: str, agent: str = "", **data: Any) -> dict[str, Any]:
    named = {"agentId": agent} if agent else {}
    return {"type": kind, "data": data, "id": "i", "timestamp": TIME, "parentId": None, **named}


START = line("session.start", sessionId="s", producer="copilot-agent", selectedModel=MODEL)
SYSTEM = line("system.message", role="system", content="You are Copilot.")


def said(text: str, agent: str = "") -> dict[str, Any]:
    return line("user.message", agent, content=text, transformedContent=f"<now/>\n\n{text}")


def used(call: str, prompt: int, agent: str = "") -> dict[str, Any]:
    report = {"model": MODEL, "inputTokens": prompt, "outputTokens": 9, "cacheReadTokens": 4, "apiCallId": call}
    return line("session.usage_record", agent, usage={**report, "reasoningTokens": 2})


def reply(call: str, text: str, *tools: str, agent: str = "", **more: Any) -> dict[str, Any]:
    requests = [{"toolCallId": tool, "name": "view", "arguments": {"path": tool}} for tool in tools]
    data = {"messageId": call, "model": MODEL, "content": text, "toolRequests": requests, "apiCallId": call}
    return line("assistant.message", agent, **data, **more)


def done(tool: str, text: str = "", agent: str = "", **more: Any) -> dict[str, Any]:
    return line("tool.execution_complete", agent, toolCallId=tool, **({"result": {"content": text}} | more))


def report(prompt: int, request: int = 0) -> Usage:
    return Usage(MODEL, 0, prompt, completion=9, cached=4, reasoning=2, request=request)


def read_all(*lines: dict[str, Any]) -> list[Recording]:
    return read_conversations("file", "\n".join(map(json.dumps, [START, SYSTEM, *lines])))


def read(*lines: dict[str, Any]) -> list[Body]:
    """Behind the model and the system prompt."""
    [found] = read_all(*lines)
    assert found[:2] == [Setting("model", MODEL), SlotContent("system", "system message", "You are Copilot.")]
    assert set(found.times) == {1767323045678}
    return [body for body in found[2:] if not isinstance(body, Setting)]


def test_what_was_sent_is_read_and_results_come_in_the_order_of_their_calls() -> None:
    failed = done("a", success=False, error={"message": "no such file", "code": "failure"})
    assert read(
        said("look"),
        line("assistant.turn_start", turnId="0"),
        used("c1", 50),
        reply("c1", "I look.", "a", "b", reasoningText="hm"),
        line("tool.execution_start", toolCallId="a"),
        done("b", "text"),
        failed,
        line("assistant.turn_end", turnId="0"),
        used("c2", 70),
        reply("c2", "Done."),
    ) == [
        UserMessage("<now/>\n\nlook"),
        Reasoning("hm", "c1"),
        AssistantMessage("I look.", "c1", finish="tool_calls", model=MODEL),
        ToolCall("a", "view", '{"path": "a"}', "c1"),
        ToolCall("b", "view", '{"path": "b"}', "c1"),
        report(50),
        ToolResult("a", "no such file", "view", True),
        ToolResult("b", "text", "view"),
        AssistantMessage("Done.", "c2", model=MODEL),
        report(70),
    ]


def test_a_report_stands_behind_the_last_message_of_its_call() -> None:
    assert read(said("look"), used("c1", 50), reply("c1", "One."), reply("c1", "Two."), said("on"))[1:4] == [
        AssistantMessage("One.", "c1", model=MODEL),
        AssistantMessage("Two.", "c1", model=MODEL),
        report(50),
    ]
    assert read(said("look"), reply("c1", "One."), used("c1", 50), said("on"))[1:3] == [
        AssistantMessage("One.", "c1", model=MODEL),
        report(50),
    ]


def test_a_report_without_a_reply_is_that_of_a_request_of_its_own() -> None:
    assert read(said("look"), used("c1", 50), used("c2", 60), reply("c2", "Done."))[1:] == [
        Request("chat", MODEL),
        report(50, 4),
        AssistantMessage("Done.", "c2", model=MODEL),
        report(60),
    ]


def test_the_sums_of_a_session_of_one_request_are_its_report() -> None:
    def ended(count: int) -> dict[str, Any]:
        metrics = {"requests": {"count": count}, "usage": {"inputTokens": 15_517, "outputTokens": 45}}
        return line("session.shutdown", modelMetrics={MODEL: metrics})

    answered = [said("look"), reply("c1", "")]
    assert read(*answered, ended(1))[1:] == [
        AssistantMessage("", "c1", model=MODEL),
        Usage(MODEL, 0, 15_517, completion=45),
    ]
    assert not any(isinstance(body, Usage) for body in read(*answered, ended(2)))


COST = {"inputTokens": 90, "outputTokens": 9, "cacheReadTokens": 4, "reasoningTokens": 2}


def test_a_compaction_replaces_what_was_there_when_it_began() -> None:
    complete = line(
        "session.compaction_complete",
        success=True,
        summaryContent="all about it",
        preCompactionTokens=900,
        postCompactionTokens=90,
        trigger="threshold",
        compactionTokensUsed=COST,
    )
    found = read(
        said("look"),
        reply("c1", "Looked."),
        said("on"),
        line("session.compaction_start"),
        reply("c2", "On."),
        complete,
        said("more"),
    )
    asked = "<user_message>\nlook\n</user_message>\n<user_message>\non\n</user_message>"
    noted = {"made_by": "Copilot CLI", "trigger": "threshold", "tokens_before": 900, "tokens_after": 90}
    assert found[3:] == [
        Request("chat", MODEL, "compaction"),
        AssistantMessage("On.", "c2", model=MODEL),
        report(90, 6),
        Compaction(1, 5, SUMMARISED.format(asked=asked, summary="all about it"), meta=noted),
        UserMessage("<now/>\n\nmore"),
    ]


def test_a_compaction_that_was_cancelled_is_a_request_and_no_more() -> None:
    ended = line("session.compaction_complete", success=False, error="cancelled", compactionTokensUsed=COST)
    found = read(said("look"), line("session.compaction_start"), reply("c1", "Looked."), ended)
    assert found[1] == Request("chat", MODEL, "compaction")
    assert found[-1] == report(90, 4)


def test_sub_agents_are_conversations_of_their_own() -> None:
    main, agent = read_all(
        said("count"),
        used("c1", 50),
        reply("c1", "", "t"),
        line("subagent.started", "x", agentDisplayName="Counter", toolCallId="t"),
        said("how many?", "x"),
        line("system.message", "x", content="You count."),
        used("c2", 20, "x"),
        reply("c2", "Seven.", agent="x"),
        done("t", "Seven."),
        used("c3", 60),
        reply("c3", "Seven it is."),
    )
    assert [body.prompt for body in main if isinstance(body, Usage)] == [50, 60]
    assert ToolResult("t", "Seven.", "view") in main
    assert main.sub_agents == {"2": "Counter"}
    assert agent == [
        Setting("title", "Counter"),
        UserMessage("<now/>\n\nhow many?"),
        SlotContent("system", "system message", "You count."),
        Setting("model", MODEL),
        AssistantMessage("Seven.", "c2", model=MODEL),
        report(20),
    ]


def test_the_other_lines() -> None:
    [found] = read_all(
        said("look"),
        line("session.error", errorType="quota", message="no quota"),
        line("session.model_change", newModel="other"),
        line("hook.start", input={"prompt": "look"}),
        line("novelty", x=1),
    )
    assert found[3:] == [
        Failure("transcript", "no quota"),
        Setting("model", "other"),
        Unknown("Copilot CLI novelty", {"entry": line("novelty", x=1)}),
        Setting("left out", {"hook.start": 1}),
    ]


def test_a_parent_that_is_not_in_the_file_is_said() -> None:
    found = read({**said("look"), "parentId": "gone"}, {**said("go on"), "parentId": "lost"})
    assert [body.message for body in found if isinstance(body, Failure)] == [
        "2 entries go on from entries that are not in this file: something is missing"
    ]
