"""Langfuse: a trace as its screen or API exports it, or a list of observations.

- `{"trace": ..., "observations": [...]}`, a trace with its `observations`, or observations as a list or JSON lines.
- A `GENERATION` has what was asked (`input`) and answered (`output`), as JSON or as its text, in the traced library's
  format; the `model`, `usageDetails` (or `usage` of older versions), and `modelParameters`, which may include OpenAI's
  instructions. A `TOOL` has the input and the output of a tool.
- Generations whose input continues another's are one conversation. Others (spans, events, scores) are counted.
"""

from __future__ import annotations

from typing import Any

from workbench.models.reply_parts import ReportedUsage
from workbench.traces import format_names
from workbench.traces.building import Recording, first_objects, log_entries
from workbench.traces.llm_calls import LlmCall, ToolRun, conversations_of_calls
from workbench.traces.reading import Document
from workbench.traces.written_times import epoch_milliseconds
from workbench.wire.values import dict_in, list_in, number_in, parsed, text_in

NAME = format_names.LANGFUSE
_KINDS = ("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL")


def recognises(document: Document) -> bool:
    """Whether observations of a trace are in it."""
    return any(_is_observation(value) for value in _observations(first_objects(document))[:40])


def _observations(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        inside = list_in(value, "observations")
        found += inside or ([value] if "trace" not in value and "observations" not in value else [])
    return found


def _is_observation(value: Any) -> bool:
    return text_in(value, "type") in _KINDS and "startTime" in value and ("traceId" in value or "trace_id" in value)


def read(document: Document, text: str) -> list[Recording]:
    """The conversations that the generations make."""
    values = [value for _, value in log_entries(document, text) if isinstance(value, dict)]
    observations = _observations(values)
    calls = [_call(value) for value in observations if text_in(value, "type") == "GENERATION"]
    runs = [_run(value) for value in observations if text_in(value, "type") == "TOOL"]
    made = conversations_of_calls(document, NAME, calls, runs, len(observations))
    for value in observations:
        if text_in(value, "type") not in ("GENERATION", "TOOL"):
            made[0].leave_out(text_in(value, "type") or "observation")
    silent = sum(1 for call in calls if not call.asked)
    made[0].leave_out("GENERATION without an input", silent)
    title = next((name for value in values if (name := text_in(dict_in(value, "trace") or value, "name"))), "")
    for builder in made:
        builder.says_title(title if len(values) == 1 else "")
    return [builder.finish() for builder in made]


def _call(value: dict[str, Any]) -> LlmCall:
    output, settings = parsed(value.get("output")), dict_in(value, "modelParameters")
    tools = list_in(output, "tools")
    return LlmCall(
        parsed(value.get("input")),
        output,
        text_in(value, "model"),
        epoch_milliseconds(value.get("startTime")),
        _tokens(value),
        text_in(settings, "instructions") or text_in(output, "instructions"),
        tuple(tools),
        text_in(value, "traceId"),
    )


def _tokens(value: dict[str, Any]) -> ReportedUsage:
    used = dict_in(value, "usageDetails") or dict_in(value, "usage")
    cached = number_in(used, "input_cached_tokens") or number_in(used, "cache_read_input_tokens")
    cached = cached or number_in(used, "input_cache_read") or number_in(used, "prompt_details.cache_read")
    written = number_in(used, "cache_creation_input_tokens") or number_in(used, "input_cache_creation")
    # Details that Langfuse knows by name are not in `input`; those with a dot are not part of it.
    apart = sum(each for key in used if key.startswith(("input_", "cache_")) and (each := number_in(used, key)))
    prompt = number_in(used, "input") or number_in(value, "promptTokens") or number_in(value, "inputUsage")
    completion = number_in(used, "output") or number_in(value, "completionTokens") or number_in(value, "outputUsage")
    thought = number_in(used, "output_reasoning_tokens") or number_in(used, "completion_details.reasoning")
    spoken = sum(each for key in used if key.startswith("output_") and (each := number_in(used, key)))
    return ReportedUsage(prompt + apart, completion + spoken, cached, written, thought)


def _run(value: dict[str, Any]) -> ToolRun:
    failed = text_in(value, "level") == "ERROR"
    name, at = text_in(value, "name"), epoch_milliseconds(value.get("startTime"))
    return ToolRun("", name, parsed(value.get("input")), value.get("output"), at, failed, text_in(value, "traceId"))
