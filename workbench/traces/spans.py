"""OpenTelemetry: spans of calls of a model, by the conventions for GenAI or by OpenInference's.

- Files: OTLP as JSON (`resourceSpans`), one object or JSON lines; spans as a list or JSON lines, as Phoenix and the
  console's exporter write them (`attributes` as an object, flat or nested, or as columns `attributes.*` of a table).
- GenAI: a call has `gen_ai.input.messages` and `gen_ai.output.messages`, whose messages have parts (`text`,
  `tool_call`, `tool_call_response`, `reasoning`), `gen_ai.system_instructions` and `gen_ai.tool.definitions`. Older
  ones have events (`gen_ai.user.message`, `gen_ai.choice`), or `gen_ai.prompt.0.role` and the like. A tool has
  `gen_ai.tool.call.*`.
- OpenInference: `llm.input_messages.0.message.role` and the like, `llm.output_messages`, `llm.tools`,
  `llm.token_count.*`; a tool has `tool.name`, `input.value` and `output.value`.
- Vercel's AI SDK has `ai.prompt.messages`, `ai.response.text` and `ai.response.toolCalls`.
- Calls of a trace or conversation whose messages continue another's are one conversation. A call whose messages the
  tracer left out is counted; if only tools were traced, they are the conversation.
"""

from __future__ import annotations

from typing import Any

from workbench.traces.building import Recording, epoch_milliseconds, first_objects, log_entries
from workbench.traces.llm_calls import LlmCall, ToolRun, conversations_of_calls, no_messages
from workbench.traces.reading import Document
from workbench.traces.span_attributes import attributes_of, spans_of
from workbench.traces.span_messages import instructions_in, messages_in, tokens_in, tools_in
from workbench.wire.values import dict_in, parsed, text_in

NAME = "OpenTelemetry spans"
_CALLS = ("chat", "text_completion", "generate_content", "LLM")
_OF_CALLS = ("llm.model_name", "gen_ai.prompt.0.role", "ai.prompt.messages")
_TOOLS = ("execute_tool", "TOOL")
_ASKED = ("gen_ai.tool.call.arguments", "input.value", "traceloop.entity.input", "ai.toolCall.args", "tool.parameters")
_GIVEN = ("gen_ai.tool.call.result", "output.value", "traceloop.entity.output", "ai.toolCall.result")
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
_GROUPS = ("gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id")


def recognises(document: Document) -> bool:
    """Whether spans near the beginning are about a model or its tools."""
    spans = [span for value in first_objects(document) for span in spans_of(value)][:200]
    return any(_kind(span, attributes_of(span)) for span in spans)


def _kind(span: dict[str, Any], attributes: dict[str, Any]) -> str:
    """The kind of a span: a call, a tool, something else of an agent; empty for all others."""
    kind = text_in(attributes, "openinference.span.kind") or text_in(span, "span_kind")
    kind = kind or text_in(attributes, "gen_ai.operation.name") or text_in(attributes, "traceloop.span.kind")
    if kind in _CALLS or any(key in attributes for key in _OF_CALLS):
        return "call"
    if kind in _TOOLS or kind == "tool" or "ai.toolCall.name" in attributes:
        return "tool"
    known = any(key.startswith(("gen_ai.", "llm.", "openinference.", "ai.")) for key in attributes)
    return (kind or "span") if known or text_in(span, "span_kind") in ("AGENT", "CHAIN") else ""


def read(document: Document, text: str) -> list[Recording]:
    """The conversations of the calls."""
    spans = [span for _, value in log_entries(document, text) for span in spans_of(value)]
    calls: list[LlmCall] = []
    runs: list[ToolRun] = []
    other: list[str] = []
    for span in spans:
        attributes = attributes_of(span)
        kind = _kind(span, attributes)
        if kind == "call":
            call = _call(span, attributes)
            calls.append(call)
            other += [] if call.asked else ["calls without messages"]
        elif kind == "tool":
            runs.append(_run(span, attributes))
        else:
            other.append(kind or "other spans")
    made = conversations_of_calls(calls, runs, NAME)
    if not made:
        raise no_messages(document.name, NAME, len(spans))
    made[0].skipped(document.broken)
    for each in other:
        made[0].leave_out(each)
    return [builder.finish() for builder in made]


def _time(span: dict[str, Any]) -> int:
    found = (
        span.get("startTimeUnixNano")
        or span.get("start_time")
        or span.get("startTime")
        or span.get("start_time_unix_nano")
    )
    return epoch_milliseconds(int(found) if isinstance(found, str) and found.isdecimal() and len(found) < 25 else found)


def _group(span: dict[str, Any], attributes: dict[str, Any]) -> str:
    named = next((name for key in _GROUPS if (name := text_in(attributes, key))), "")
    trace = text_in(span, "traceId") or text_in(span, "trace_id") or text_in(dict_in(span, "context"), "trace_id")
    return named or trace


def _call(span: dict[str, Any], attributes: dict[str, Any]) -> LlmCall:
    asked, answered = messages_in(span, attributes)
    return LlmCall(
        asked,
        answered,
        next((name for key in _MODELS if (name := text_in(attributes, key))), ""),
        _time(span),
        tokens_in(attributes),
        instructions_in(attributes),
        tools_in(attributes),
        _group(span, attributes),
    )


def _run(span: dict[str, Any], attributes: dict[str, Any]) -> ToolRun:
    name = text_in(attributes, "gen_ai.tool.name") or text_in(attributes, "tool.name")
    name = name or text_in(attributes, "traceloop.entity.name") or text_in(attributes, "ai.toolCall.name")
    name = name or text_in(span, "name")
    call = _first(attributes, "gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id")
    asked, given = _first(attributes, *_ASKED), _first(attributes, *_GIVEN)
    status = text_in(span, "status_code") or str(dict_in(span, "status").get("code", ""))
    failed = status in ("ERROR", "2", "STATUS_CODE_ERROR")
    name_of_call = call if isinstance(call, str) else ""
    return ToolRun(name_of_call, name, parsed(asked), given, _time(span), failed, _group(span, attributes))


def _first(attributes: dict[str, Any], *keys: str) -> Any:
    return next((attributes[key] for key in keys if attributes.get(key) is not None), None)
