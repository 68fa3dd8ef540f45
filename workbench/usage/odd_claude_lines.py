"""Lines of Claude Code with values of unexpected types, which are read without those."""

from __future__ import annotations

from typing import Any

from workbench.usage.claude_report_lines import (
    ClaudeBlock,
    ClaudeLine,
    ClaudeMessage,
    ClaudeProgress,
    ClaudeReport,
    KeptTokens,
)
from workbench.wire.anthropic import kept_an_hour
from workbench.wire.values import dict_in, list_in, number_in, text_in


def odd_claude_line(value: dict[str, Any]) -> ClaudeLine:
    """A line, as far as it is known."""
    data = dict_in(value, "data")
    timestamp, cost = value.get("timestamp"), value.get("costUSD")
    return ClaudeLine(
        text_in(value, "type"),
        text_in(value, "subtype"),
        timestamp if isinstance(timestamp, str) else None,
        text_in(value, "requestId"),
        text_in(value, "sessionId"),
        text_in(value, "cwd"),
        text_in(value, "agentId"),
        bool(value.get("isSidechain") or value.get("parent_tool_use_id")),
        None,
        bool(value.get("isApiErrorMessage")),
        cost if isinstance(cost, int | float) else None,
        _message(dict_in(value, "message")),
        ClaudeProgress(text_in(data, "agentId"), odd_claude_line(dict_in(data, "message"))) if data else None,
    )


def _message(value: dict[str, Any]) -> ClaudeMessage:
    used = dict_in(value, "usage")
    blocks = [ClaudeBlock(text_in(each, "type"), text_in(each, "name")) for each in list_in(value, "content")]
    report = ClaudeReport(
        number_in(used, "input_tokens"),
        number_in(used, "output_tokens"),
        number_in(used, "cache_read_input_tokens"),
        number_in(used, "cache_creation_input_tokens"),
        KeptTokens(kept_an_hour(used)),
    )
    reason = None if value.get("stop_reason", "") is None else text_in(value, "stop_reason")
    return ClaudeMessage(text_in(value, "id"), text_in(value, "model"), report, reason, blocks)
