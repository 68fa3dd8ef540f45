"""The part of Claude Code's lines that has to do with reports. The rest of a line is skipped, not decoded."""

from __future__ import annotations

import msgspec
from msgspec import field

from workbench.usage.usage_lines import ReportSigns

SIGNS = ReportSigns(
    1_024,
    (
        b'"type":"message","role":"assistant"',
        b'"type":"assistant","message":{',
        b'"type":"progress","data":{"message":{"type":"assistant"',
    ),
    (
        b'"type":"user","message":{"role":"user"',
        b'"type":"progress","data":{"type":"bash_progress"',
        b'"type":"progress","data":{"message":{"type":"user"',
        b'"type":"progress","data":{"type":"hook_progress"',
        b'"type":"progress","data":{"type":"mcp_progress"',
    ),
    (b'"usage"', b'"compact_boundary"'),
)


class KeptTokens(msgspec.Struct, gc=False):
    """Tokens that were written to the cache, by how long they are kept."""

    hour: int = field(default=0, name="ephemeral_1h_input_tokens")


class ClaudeReport(msgspec.Struct, gc=False):
    """What was reported for a reply."""

    fresh: int = field(default=0, name="input_tokens")
    out: int = field(default=0, name="output_tokens")
    cached: int = field(default=0, name="cache_read_input_tokens")
    written: int = field(default=0, name="cache_creation_input_tokens")
    kept: KeptTokens | None = field(default=None, name="cache_creation")


class ClaudeBlock(msgspec.Struct, gc=False):
    """A block of a reply."""

    type: str = ""
    name: str = ""


class ClaudeMessage(msgspec.Struct, gc=False):
    """A reply, or a part of it."""

    id: str = ""
    model: str = ""
    usage: ClaudeReport | None = None
    stop_reason: str | None = ""
    """None: the answer had not ended when the line was written."""
    content: list[ClaudeBlock] | str | None = None


class ClaudeLine(msgspec.Struct, gc=False):
    """A line of a session."""

    type: str = ""
    subtype: str | None = None
    timestamp: str | None = None
    request_id: str | None = field(default=None, name="requestId")
    session_id: str | None = field(default=None, name="sessionId")
    cwd: str | None = None
    agent_id: str | None = field(default=None, name="agentId")
    is_sidechain: bool | None = field(default=None, name="isSidechain")
    parent: str | None = field(default=None, name="parent_tool_use_id")
    is_error: bool | None = field(default=None, name="isApiErrorMessage")
    cost: float | int | None = field(default=None, name="costUSD")
    message: ClaudeMessage | None = None
    data: ClaudeProgress | None = None


class ClaudeProgress(msgspec.Struct, gc=False):
    """What a session notes about a tool that runs; of a sub-agent, its lines."""

    agent_id: str | None = field(default=None, name="agentId")
    message: ClaudeLine | None = None


_DECODER = msgspec.json.Decoder(ClaudeLine)


def claude_line(raw: bytearray) -> ClaudeLine | None:
    """A line; None if it cannot be read, or has a value of an unexpected type."""
    try:
        return _DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
