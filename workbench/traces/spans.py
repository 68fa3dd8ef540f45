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
- Calls of a trace or conversation whose messages continue another's are one conversation, and so are traces without
  a name of their session, if one continues the other with its answer. Calls inside the run of a tool are a sub-agent's.
- A call whose messages the tracer left out is counted; if only tools were traced, they are the conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from workbench.traces import format_names
from workbench.traces.building import Recording, first_objects, log_entries
from workbench.traces.llm_calls import LlmCall, ToolRun, conversations_of_calls
from workbench.traces.reading import Document
from workbench.traces.span_attributes import attributes_of, spans_of
from workbench.traces.span_callers import SpanCaller, SpanCallers, id_in
from workbench.traces.span_messages import instructions_in, messages_in, tokens_in, tools_in
from workbench.traces.written_times import epoch_milliseconds
from workbench.wire.values import dict_in, number_in, parsed, text_in

NAME = format_names.SPANS
_CALLS = ("chat", "text_completion", "generate_content", "LLM")
_OF_CALLS = ("llm.model_name", "gen_ai.prompt.0.role", "ai.prompt.messages")
_TOOLS = ("execute_tool", "TOOL")
_ASKED = ("gen_ai.tool.call.arguments", "input.value", "traceloop.entity.input", "ai.toolCall.args", "tool.parameters")
_GIVEN = ("gen_ai.tool.call.result", "output.value", "traceloop.entity.output", "ai.toolCall.result")
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
_GROUPS = ("gen_ai.conversation.id", "session.id", "traceloop.association.properties.session_id")
CUT = (
    "{:,} of {:,} calls lost some of their messages before they were exported: the tracer keeps 128 attributes of a "
    "span. OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT=100000 in the agent's environment keeps them all"
)


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
    spans = [span for _, value in log_entries(document, text) for span in spans_of(value)]
    found = calls_in_spans(spans)
    made = conversations_of_calls(document, NAME, found.calls, found.runs, len(spans))
    for each in found.other:
        made[0].leave_out(each)
    if found.cut:
        made[0].failure(CUT.format(found.cut, len(found.calls)))
    return [builder.finish() for builder in made]


class SpanCalls(NamedTuple):
    """The calls of models and tools among spans."""

    calls: list[LlmCall]
    runs: list[ToolRun]
    other: list[str]
    """The kinds of the spans that are no part of a conversation."""
    cut: int
    """How many calls lack attributes that the tracer dropped."""


def calls_in_spans(spans: Sequence[dict[str, Any]]) -> SpanCalls:
    """The calls and the tools among spans, which may come in any order."""
    found = SpanCalls([], [], [], 0)
    kinds = [(span, attributes, _kind(span, attributes)) for span in spans for attributes in [attributes_of(span)]]
    callers = SpanCallers(kinds)
    cut = 0
    for span, attributes, kind in kinds:
        caller = callers.caller_of(span)
        if kind == "call":
            call = _call(span, attributes, caller)
            found.calls.append(call)
            found.other.extend([] if call.asked else ["calls without messages"])
            cut += bool(number_in(span, "droppedAttributesCount") or number_in(span, "dropped_attributes_count"))
        elif kind == "tool":
            found.runs.append(_run(span, attributes, caller))
        else:
            found.other.append(kind or "other spans")
    return found._replace(cut=cut)


def _time(span: dict[str, Any]) -> int:
    found = (
        span.get("startTimeUnixNano")
        or span.get("start_time")
        or span.get("startTime")
        or span.get("start_time_unix_nano")
    )
    return epoch_milliseconds(int(found) if isinstance(found, str) and found.isdecimal() and len(found) < 25 else found)


def session_name(attributes: dict[str, Any]) -> str:
    """The name of the conversation or session that a span is part of; empty if it has none."""
    return next((name for key in _GROUPS if (name := text_in(attributes, key))), "")


def _group(span: dict[str, Any], attributes: dict[str, Any], caller: SpanCaller) -> str:
    named = session_name(attributes) or id_in(span, "traceId", "trace_id")
    return f"{named}/{caller.tool}" if caller.tool else named


def _call(span: dict[str, Any], attributes: dict[str, Any], caller: SpanCaller) -> LlmCall:
    asked, answered = messages_in(span, attributes)
    return LlmCall(
        asked,
        answered,
        next((name for key in _MODELS if (name := text_in(attributes, key))), ""),
        _time(span),
        tokens_in(attributes),
        instructions_in(attributes),
        tools_in(attributes),
        _group(span, attributes, caller),
        may_join=not session_name(attributes) and not caller.tool,
        sub_agent=caller.name if caller.tool else "",
    )


def _run(span: dict[str, Any], attributes: dict[str, Any], caller: SpanCaller) -> ToolRun:
    name = text_in(attributes, "gen_ai.tool.name") or text_in(attributes, "tool.name")
    name = name or text_in(attributes, "traceloop.entity.name") or text_in(attributes, "ai.toolCall.name")
    name = name or text_in(span, "name")
    call = _first(attributes, "gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id")
    asked, given = _first(attributes, *_ASKED), _first(attributes, *_GIVEN)
    status = text_in(span, "status_code") or str(dict_in(span, "status").get("code", ""))
    failed = status in ("ERROR", "2", "STATUS_CODE_ERROR")
    message = dict_in({"": parsed(given)}, "")
    if text_in(message, "type") == "tool":  # LangChain's message around the result
        call, given = (
            call or dict_in(message, "data").get("tool_call_id"),
            dict_in(message, "data").get("content", given),
        )
    name_of_call = call if isinstance(call, str) else ""
    return ToolRun(name_of_call, name, parsed(asked), given, _time(span), failed, _group(span, attributes, caller))


def _first(attributes: dict[str, Any], *keys: str) -> Any:
    return next((attributes[key] for key in keys if attributes.get(key) is not None), None)
