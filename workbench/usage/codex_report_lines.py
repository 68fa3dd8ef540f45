"""The part of Codex's lines that has to do with reports. Most lines are passed over by their first bytes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import field

from workbench.usage.usage_lines import lines_with_signs

_SIGNS = (
    *(b'"token_count"', b'"token_usage_record"', b'"turn_context"', b'"session_meta"', b'"compacted"'),
    b'_call"',
)
_PAYLOAD = b'"payload":{"type":"'
_HEAD = 160
"""Bytes in which a line has the type of its payload."""
_LONGEST = 40
"""Characters of such a type."""
_OTHERS = frozenset(
    (
        b"function_call_output",
        b"custom_tool_call_output",
        b"message",
        b"reasoning",
        b"agent_message",
        b"agent_reasoning",
        b"user_message",
        b"exec_command_begin",
        b"exec_command_end",
        b"exec_command_output_delta",
        b"patch_apply_end",
        b"task_started",
        b"task_complete",
    )
)
"""Payloads without a report: most of a file's bytes."""
_WANTED = frozenset((b"token_count", b"function_call", b"custom_tool_call"))


class CodexReport(msgspec.Struct, gc=False):
    """What was reported for a request, or for all of a thread."""

    prompt: int = field(default=0, name="input_tokens")
    cached: int = field(default=0, name="cached_input_tokens")
    written: int = field(default=0, name="cache_write_input_tokens")
    out: int = field(default=0, name="output_tokens")
    thinking: int = field(default=0, name="reasoning_output_tokens")
    total: int = field(default=0, name="total_tokens")


class CodexInfo(msgspec.Struct, gc=False):
    """The reports of a `token_count`."""

    of_thread: CodexReport | None = field(default=None, name="total_token_usage")
    last: CodexReport | None = field(default=None, name="last_token_usage")


class CodexLimit(msgspec.Struct, gc=False):
    """A limit of the provider's."""

    used: float | None = field(default=None, name="used_percent")
    minutes: int | None = field(default=None, name="window_minutes")
    resets_at: int | float | str | None = None


class CodexLimits(msgspec.Struct, gc=False):
    """Both limits of a plan."""

    primary: CodexLimit | None = None
    secondary: CodexLimit | None = None


class CodexPayload(msgspec.Struct, gc=False):
    """A `token_count`, or a call of a tool."""

    type: str = ""
    name: str = ""
    info: CodexInfo | None = None
    rate_limits: msgspec.Raw = msgspec.Raw()
    """For `codex_limits`: each report has them, and only the last ones matter."""


class CodexLine(msgspec.Struct, gc=False):
    """A line with one of them."""

    type: str = ""
    timestamp: str | None = None
    ordinal: int = 0
    payload: CodexPayload | None = None


_DECODER = msgspec.json.Decoder(CodexLine)
_LIMITS = msgspec.json.Decoder(CodexLimits | None)


def codex_line(raw: bytes) -> CodexLine | None:
    """A `token_count` or a call; None if it is another line, or has a value of an unexpected type."""
    try:
        line = _DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return line if line.type in ("event_msg", "response_item") and line.payload is not None else None


def codex_limits(raw: msgspec.Raw) -> CodexLimits | None:
    """The limits in a line; None if there are none, or one has a value of an unexpected type."""
    try:
        found = _LIMITS.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return found if found is not None and (found.primary or found.secondary) else None


def codex_lines_with_reports(data: bytes) -> Iterator[bytes]:
    """The lines that may have a report, a call, or what a report belongs to."""
    find, end, size = data.find, -1, len(data)
    while (start := end + 1) < size:
        end = find(b"\n", start)
        if end < 0:
            end = size
        at = find(_PAYLOAD, start, start + _HEAD)
        if 0 <= at < end:
            at += len(_PAYLOAD)
            kind = data[at : find(b'"', at, at + _LONGEST)]
            if kind in _OTHERS:
                continue
            if kind in _WANTED:
                yield data[start:end]
                continue
        yield from lines_with_signs(data, _SIGNS, start, end)
