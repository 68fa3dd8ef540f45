"""LangSmith: exported runs, as a list, `{"runs": [...]}` or JSON lines.

- A run has an `id`, a `run_type`, `inputs`, `outputs`, `start_time` and a `trace_id`. Those of the type `llm` are calls
  of a model: LangChain's messages (`{"lc", "id", "kwargs"}`, in a list of lists), or the input and output of a wrapped
  client. Those of the type `tool` are tools that ran.
- The model is in `extra.metadata.ls_model_name` or among the parameters of the invocation; the tokens in
  `usage_metadata` of the message, in `llm_output`, or on the run.
- Calls of a trace whose messages continue another's are one conversation. Chains and parsers are counted.
"""

from __future__ import annotations

from typing import Any

from workbench.models.reply_parts import ReportedUsage
from workbench.traces import format_names
from workbench.traces.building import Recording, first_objects, log_entries
from workbench.traces.llm_calls import LlmCall, ToolRun, conversations_of_calls
from workbench.traces.reading import Document
from workbench.traces.written_times import epoch_milliseconds
from workbench.wire.values import dict_in, json_text, list_in, number_in, parsed, text_in

NAME = format_names.LANGSMITH
_ROLES = {
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
}
_CALL_BLOCKS = ("tool_use", "tool_call", "input_json_delta", "function_call")


def recognises(document: Document) -> bool:
    """Whether it has runs."""
    return any(_is_run(value) for value in _runs(first_objects(document)))


def _runs(values: list[Any]) -> list[Any]:
    return [run for value in values for run in (list_in(value, "runs") or [value])]


def _is_run(value: Any) -> bool:
    return bool(text_in(value, "run_type")) and "inputs" in value and ("start_time" in value or "trace_id" in value)


def read(document: Document, text: str) -> list[Recording]:
    """The conversations that the calls make."""
    runs = _runs([value for _, value in log_entries(document, text)])
    calls = [_call(run) for run in runs if text_in(run, "run_type") == "llm"]
    tools = [_tool_run(run) for run in runs if text_in(run, "run_type") == "tool"]
    made = conversations_of_calls(document, NAME, calls, tools, len(runs))
    for run in runs:
        if text_in(run, "run_type") not in ("llm", "tool"):
            made[0].leave_out(text_in(run, "run_type") or "run")
    made[0].leave_out("llm without messages", sum(1 for call in calls if not call.asked))
    return [builder.finish() for builder in made]


def _call(run: dict[str, Any]) -> LlmCall:
    inputs, outputs = dict_in(run, "inputs"), dict_in(run, "outputs")
    extra = dict_in(run, "extra")
    noted, given = dict_in(extra, "metadata"), dict_in(extra, "invocation_params")
    asked = inputs.get("messages", inputs.get("input", inputs.get("prompt")))
    asked = asked[0] if isinstance(asked, list) and asked and isinstance(asked[0], list) else asked
    messages = [_message(each) for each in asked] if isinstance(asked, list) else asked
    model = next(
        (
            name
            for place, key in ((noted, "ls_model_name"), (given, "model"), (given, "model_name"), (inputs, "model"))
            if (name := text_in(place, key))
        ),
        "",
    )
    output = _output_of(outputs)
    tools = list_in(given, "tools") or list_in(inputs, "tools")
    return LlmCall(
        messages,
        output,
        model,
        epoch_milliseconds(run.get("start_time")),
        _tokens(run, outputs, output),
        text_in(inputs, "system"),
        tuple(tools),
        text_in(run, "trace_id") or text_in(run, "session_id"),
    )


def _output_of(outputs: dict[str, Any]) -> Any:
    generations = list_in(outputs, "generations")
    first = generations[0] if generations else None
    first = first[0] if isinstance(first, list) and first else first
    if isinstance(first, dict):
        return _message(first["message"]) if dict_in(first, "message") else text_in(first, "text")
    return outputs or None


def _message(value: Any) -> Any:
    """A message in OpenAI's format, from LangChain's own; others stay as they are."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
        return {"role": _ROLES.get(value[0], value[0]), "content": value[1]}
    if not isinstance(value, dict) or text_in(value, "role"):
        return value
    inside = dict_in(value, "kwargs") or dict_in(value, "data") or value
    path = list_in(value, "id")
    named = str(path[-1]) if path else ""
    role = _ROLES.get(named) or _ROLES.get(text_in(inside, "type")) or _ROLES.get(text_in(value, "type"))
    if role is None:
        return value
    made: dict[str, Any] = {"role": role, "content": _content(inside.get("content"))}
    calls = [_tool_call(each) for each in list_in(inside, "tool_calls")]
    made |= {"tool_calls": calls} if calls else {}
    made |= {"tool_call_id": text_in(inside, "tool_call_id")} if role == "tool" else {}
    made |= {"name": text_in(inside, "name")} if role in ("tool", "function") and text_in(inside, "name") else {}
    return {**made, "usage_metadata": inside["usage_metadata"]} if dict_in(inside, "usage_metadata") else made


def _content(value: Any) -> Any:
    """Text or parts, without the calls."""
    if not isinstance(value, list):
        return value if value is None or isinstance(value, str) else json_text(value)
    parts = [part for part in value if text_in(part, "type") not in _CALL_BLOCKS]
    texts = [part for part in parts if isinstance(part, str) or text_in(part, "type") == "text"]
    if len(texts) == len(parts):
        return "\n".join(part if isinstance(part, str) else text_in(part, "text") for part in texts)
    return [
        part if isinstance(part, dict) and "type" in part else {"type": "text", "text": json_text(part)}
        for part in parts
    ]


def _tool_call(value: Any) -> dict[str, Any]:
    if dict_in(value, "function"):
        return dict(value)
    arguments = value.get("args") if isinstance(value, dict) else None
    function = {"name": text_in(value, "name"), "arguments": json_text(arguments if arguments is not None else {})}
    return {"id": text_in(value, "id"), "type": "function", "function": function}


def _tokens(run: dict[str, Any], outputs: dict[str, Any], output: Any) -> ReportedUsage:
    used = dict_in(output, "usage_metadata") or dict_in(outputs, "usage_metadata")
    inside, outside = dict_in(used, "input_token_details"), dict_in(used, "output_token_details")
    totals = dict_in(dict_in(outputs, "llm_output"), "token_usage")
    prompt = number_in(used, "input_tokens") or number_in(totals, "prompt_tokens") or number_in(run, "prompt_tokens")
    completion = number_in(used, "output_tokens") or number_in(totals, "completion_tokens")
    return ReportedUsage(
        prompt,
        completion or number_in(run, "completion_tokens"),
        number_in(inside, "cache_read"),
        number_in(inside, "cache_creation"),
        number_in(outside, "reasoning"),
    )


def _tool_run(run: dict[str, Any]) -> ToolRun:
    outputs = run.get("outputs")
    given = dict_in(run, "outputs").get("output", outputs)
    message = _message(given)
    call = text_in(message, "tool_call_id")
    content = message.get("content") if call else given
    asked = dict_in(run, "inputs").get("input", run.get("inputs"))
    group = text_in(run, "trace_id") or text_in(run, "session_id")
    at, failed = epoch_milliseconds(run.get("start_time")), bool(run.get("error"))
    return ToolRun(call, text_in(run, "name"), parsed(asked), content, at, failed, group)
