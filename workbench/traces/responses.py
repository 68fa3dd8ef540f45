"""OpenAI's Responses: items as a list or JSON lines, a request with them under `input`, or a response under `output`.

- Items are those that Codex writes into its rollouts, and are read in the same way: `message`, `reasoning`,
  `function_call` and the like, paired with their outputs by `call_id`. A message may leave its `type` out.
- `instructions` are the system slot; `tools` become definitions as OpenAI's chat has them, which requests are written
  in; those that OpenAI itself runs have no schema and stay as they are.
- The other keys of a request or response are counted.
"""

from __future__ import annotations

from typing import Any

from workbench.log.events import SlotContent
from workbench.traces.building import Builder, Recording, beginning, dict_in, entries, list_in, number_in, text_in
from workbench.traces.codex import CodexReader
from workbench.traces.reading import Document

NAME = "OpenAI Responses"
_READ = ("input", "output", "instructions", "tools", "model", "usage")


def recognises(document: Document) -> bool:
    """Whether it is a request or a response, or has calls in the form of these items."""
    first = beginning(document, 1 << 31)
    return any(_is_body(value) or _is_call(value) for value in first)


def _is_body(value: dict[str, Any]) -> bool:
    """A request or a response; `messages` would be the older form."""
    if "messages" in value or not text_in(value, "model"):
        return False
    return any(_is_item(item) for item in (*list_in(value, "input"), *list_in(value, "output")))


def _is_item(value: Any) -> bool:
    return bool(text_in(value, "role")) or _is_call(value)


def _is_call(value: Any) -> bool:
    kind = text_in(value, "type")
    return bool(text_in(value, "call_id")) and kind.endswith(("_call", "_call_output"))


def read(document: Document, text: str) -> list[Recording]:
    """The conversation; or one per request or response."""
    values = [value for _, value in entries(document, text)]
    bodies = [value for value in values if isinstance(value, dict) and _is_body(value)]
    if not bodies:
        return [_conversation(Builder(NAME, document.broken), values)]
    found = []
    for number, body in enumerate(bodies):
        builder = Builder(NAME, () if number else document.broken)
        _settings(builder, body)
        found.append(_conversation(builder, [*list_in(body, "input"), *list_in(body, "output")], body))
    return found


def _settings(builder: Builder, body: dict[str, Any]) -> None:
    builder.says_model(text_in(body, "model"))
    if text_in(body, "instructions"):
        builder.add(SlotContent("system", "instructions", text_in(body, "instructions")))
    for tool in list_in(body, "tools"):
        builder.tool(_definition(tool))
    builder.leave_out_all_but(_READ, body)


def _definition(tool: Any) -> Any:
    if text_in(tool, "type") != "function" or "function" in tool:
        return tool
    return {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}


def _conversation(builder: Builder, items: list[Any], body: dict[str, Any] | None = None) -> Recording:
    reader = CodexReader(builder)
    for item in items:
        bare = isinstance(item, dict) and "type" not in item and "role" in item
        reader.item({**item, "type": "message"} if bare else item)
    used = dict_in(body, "usage")
    cached = number_in(dict_in(used, "input_tokens_details"), "cached_tokens")
    thought = number_in(dict_in(used, "output_tokens_details"), "reasoning_tokens")
    prompt, completion = number_in(used, "input_tokens"), number_in(used, "output_tokens")
    builder.usage(prompt, completion, cached=cached, reasoning=thought)
    return builder.finish()
