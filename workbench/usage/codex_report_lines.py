"""The part of Codex's lines that has to do with reports."""

from __future__ import annotations

import msgspec
from msgspec import field

from workbench.usage.usage_lines import ReportSigns

_ITEM, _EVENT = b'"type":"response_item","payload":{"type":"', b'"type":"event_msg","payload":{"type":"'
SIGNS = ReportSigns(
    120,
    (
        _EVENT + b'token_count"',
        _ITEM + b'function_call"',
        _ITEM + b'custom_tool_call"',
        b'"type":"turn_context","payload":',
        b'"type":"compacted","payload":',
        b'"type":"session_meta","payload":',
    ),
    (
        _ITEM + b'reasoning"',
        _ITEM + b'function_call_output"',
        _ITEM + b'message"',
        _ITEM + b'custom_tool_call_output"',
        _EVENT + b'agent_message"',
        _EVENT + b'agent_reasoning"',
        _EVENT + b'user_message"',
        _EVENT + b'exec_command_begin"',
        _EVENT + b'exec_command_end"',
        _EVENT + b'exec_command_output_delta"',
        _EVENT + b'patch_apply_end"',
        _EVENT + b'task_started"',
        _EVENT + b'task_complete"',
    ),
    (b'"token_count"', b'"token_usage_record"', b'"turn_context"', b'"session_meta"', b'"compacted"', b'_call"'),
)


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


class CodexPayload(msgspec.Struct, frozen=True, gc=False):
    """A `token_count`, a call of a tool, or what a turn begins with."""

    type: str = ""
    name: str = ""
    info: CodexInfo | None = None
    rate_limits: msgspec.Raw = msgspec.Raw()
    """For `codex_limits`: each report has them, and only the last ones matter."""
    model: str = ""
    cwd: str = ""


class CodexLine(msgspec.Struct, gc=False):
    """A line with one of them."""

    type: str = ""
    timestamp: str | None = None
    ordinal: int = 0
    payload: CodexPayload = CodexPayload()


_DECODER = msgspec.json.Decoder(CodexLine)
_LIMITS = msgspec.json.Decoder(CodexLimits | None)


def codex_line(raw: bytearray) -> CodexLine | None:
    """A line, as far as it matters here; None if it has a value of an unexpected type."""
    try:
        return _DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def codex_limits(raw: msgspec.Raw) -> CodexLimits | None:
    """The limits in a line; None if there are none, or one has a value of an unexpected type."""
    try:
        found = _LIMITS.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return found if found is not None and (found.primary or found.secondary) else None
