"""Transcripts of real clients, where there are any, against what went over the wire for them."""

from __future__ import annotations

from typing import Any

import pytest

from support.recordings import recorded
from workbench.log.events import Dialect, Usage
from workbench.traces.formats import conversations
from workbench.wire.dialects import read_answer
from workbench.wire.streams import from_stream

PATHS: dict[str, Dialect] = {
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
        [bodies] = conversations(file.name, file.read_text("utf-8"))
        told = [body.prompt for body in bodies if isinstance(body, Usage)]
        expected = prompts(wire)
        if client == "claude-code":  # a compaction's own request is not in its file
            expected = [each for each in expected if each in told]
        assert told == expected, file.name
