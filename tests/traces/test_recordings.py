"""Transcripts of real clients, where there are any, against what went over the wire for them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from support.recordings import recorded
from workbench.log.events import DialectName, Usage
from workbench.traces.formats import read_conversations
from workbench.wire.dialects import from_stream, read_answer

PATHS: dict[str, DialectName] = {
    "/v1/messages": "anthropic",
    "/v1/messages?beta=true": "anthropic",
    "/v1/responses": "responses",
    "/v1/chat/completions": "chat",
}


def prompts(wire: list[dict[str, Any]]) -> list[int | None]:
    """What was reported for each request with tools, or that may have them: others are about titles."""
    answers = [
        read_answer(PATHS[each["path"]], from_stream(PATHS[each["path"]], each["resp"]))[1]
        for each in wire
        if each["path"] in PATHS and each["status"] == 200 and (each["req"].get("tools") or "input" in each["req"])
    ]
    return [used.prompt for used in answers if used is not None]


@pytest.mark.parametrize("client", ["claude-code", "codex", "pi"])
def test_every_report_is_in_the_log_once_and_in_order(client: str) -> None:
    found = list(recorded(client))
    if not found:
        pytest.skip("no recordings here")
    for file, wire in found:
        [bodies] = read_conversations(file.name, file.read_text("utf-8"))
        told = [body.prompt for body in bodies if isinstance(body, Usage)]
        expected = prompts(wire)
        if client == "claude-code":  # a compaction's own request is not in its file
            expected = [each for each in expected if each in told]
        assert told == expected, file.name


def reports(wire: list[dict[str, Any]], tools: bool = False) -> Counter[int | None]:
    """What was reported for each request, or for each with tools."""
    found: Counter[int | None] = Counter()
    for each in wire:
        dialect = "gemini" if "enerateContent" in each["path"] else PATHS.get(each["path"])
        if dialect is not None and each["status"] == 200 and (each["req"].get("tools") or not tools):
            used = read_answer(dialect, from_stream(dialect, each["resp"]))[1]
            found[used.prompt if used else None] += 1
    return found


@pytest.mark.parametrize("client", ["copilot", "gemini-cli", "kimi", "qwen"])
def test_every_report_of_a_request_with_tools_is_in_one_of_the_conversations(client: str) -> None:
    found = list(recorded(client))
    if not found:
        pytest.skip("no recordings here")
    for file, wire in found:
        talks = read_conversations(file.name, file.read_text("utf-8"))
        told = Counter(body.prompt for bodies in talks for body in bodies if isinstance(body, Usage))
        assert reports(wire, tools=True) <= told <= reports(wire), file.name
