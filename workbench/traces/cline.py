"""Cline: the messages of a session, the history of a task, or what its window shows.

- `~/.cline/data/sessions/ID/ID.messages.json`: `{"version", "sessionId", "agent", "messages", "system_prompt"}`, with
  Anthropic's blocks; a reply has its `modelInfo` and `metrics`, whose `inputTokens` are the whole prompt. A file that
  the user named is its own part, read here as a text in Cline's tags. Results may be lists of objects.
- `tasks/ID/api_conversation_history.json`, in the editor's storage: a list of the same messages; newer ones have `ts`,
  `modelInfo` (`modelId`) and `metrics` (`tokens`). Calls are text in the replies of older versions.
- `tasks/ID/ui_messages.json` next to it: `say` and `ask` entries. `api_req_started` has as JSON what was new in a
  request, including results of tools, and the request's tokens. Calls are what the window shows of them.
- Missing: tools; the system prompt in the files of tasks. Files without any of these marks are read as Anthropic's.
"""

from __future__ import annotations

import json
from typing import Any

from workbench.log.events import AssistantMessage, Reasoning, SlotContent, UserMessage
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.reading import Document
from workbench.wire.anthropic import AnthropicReader
from workbench.wire.event_builder import cost_in
from workbench.wire.values import dict_in, json_text, list_in, number_in, text_in

NAME = format_names.CLINE
_SHOWN = ("say", "ask")
_SAID = ("text", "completion_result", "plan_mode_respond", "followup", "tool", "command", "use_mcp_server")
"""Entries with the model's words or calls; a text before the first request is the task."""
_READ = ("messages", "system_prompt", "sessionId", "version", "agent", "updated_at")


def recognises(document: Document) -> bool:
    """Whether messages have Cline's information on the model, or it is what the window shows."""
    first = first_objects(document)
    if len(first) == 1 and _is_session(first[0]):
        return True
    return _is_history(first) or _is_window(first)


def _is_session(value: Any) -> bool:
    return bool(text_in(value, "sessionId")) and _is_history(list_in(value, "messages"))


def _is_history(messages: list[Any]) -> bool:
    known = [each for each in messages if text_in(each, "role") in ("user", "assistant") and "ts" in each]
    return bool(known) and any(dict_in(each, "modelInfo") or dict_in(each, "metrics") for each in known)


def _is_window(first: list[dict[str, Any]]) -> bool:
    return bool(first) and all(value.get("type") in _SHOWN and "ts" in value for value in first)


def read(document: Document, text: str) -> list[Recording]:
    builder = Builder(NAME, document.broken)
    values = [value for _, value in log_entries(document, text)]
    if values and _is_session(values[0]):
        system = text_in(values[0], "system_prompt")
        if system:
            builder.add(SlotContent("system", "system prompt", system))
        builder.leave_out_all_but(_READ, values[0])
        values = values[0]["messages"]
    if _is_window([value for value in values if isinstance(value, dict)]):
        _Window(builder).read_values(values)
    else:
        _messages(builder, values)
    return [builder.finish()]


def _messages(builder: Builder, values: list[Any]) -> None:
    reader = AnthropicReader(builder)
    for value in values:
        info = dict_in(value, "modelInfo")
        builder.when(value.get("ts") if isinstance(value, dict) else None)
        builder.says_model(text_in(info, "id") or text_in(info, "modelId"))
        reader.message({**value, "content": _content(value.get("content"))} if isinstance(value, dict) else value)
        _metrics(builder, dict_in(value, "metrics"))


def _content(content: Any) -> Any:
    return [_block(block) for block in content] if isinstance(content, list) else content


def _block(block: Any) -> Any:
    """A block as Anthropic has it."""
    if text_in(block, "type") == "file":
        text = f'<file_content path="{text_in(block, "path")}">\n{text_in(block, "content")}\n</file_content>'
        return {"type": "text", "text": text}
    results = list_in(block, "content") if text_in(block, "type") == "tool_result" else []
    if results and not any(text_in(each, "type") for each in results):
        return {**block, "content": json_text(results)}
    return block


def _metrics(builder: Builder, used: dict[str, Any]) -> None:
    tokens = dict_in(used, "tokens")
    cached = number_in(used, "cacheReadTokens") or number_in(tokens, "cached")
    written, cost = number_in(used, "cacheWriteTokens"), cost_in(used, "cost")
    prompt = number_in(used, "inputTokens") or number_in(tokens, "prompt")
    prompt = prompt if prompt >= cached + written else prompt + cached + written
    completion = number_in(used, "outputTokens") or number_in(tokens, "completion")
    builder.usage(prompt, completion, cached=cached, cache_write=written, cost=cost)


class _Window:
    """Reads what the window shows, entry by entry."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._requests = 0
        self._used: dict[str, Any] = {}
        """The metrics of the request whose answer is being read."""

    def read_values(self, values: list[Any]) -> None:
        for value in values:
            self._builder.when(value.get("ts") if isinstance(value, dict) else None)
            self._entry(value)
        self._report()

    def _entry(self, value: Any) -> None:
        kind = text_in(value, text_in(value, "type") or "say")
        text, reply = text_in(value, "text"), f"r{self._requests}"
        if kind == "api_req_started":
            self._request(text)
        elif kind == "reasoning" and text:
            self._builder.add(Reasoning(text, reply))
        elif kind in _SAID and text and self._requests:
            self._builder.add(AssistantMessage(text, reply, model=self._builder.model))
        else:
            self._builder.leave_out(kind or "entry")

    def _request(self, text: str) -> None:
        self._report()
        try:
            self._used = json.loads(text)
        except (ValueError, RecursionError):
            self._used = {}
        self._requests += 1
        if text_in(self._used, "request"):
            self._builder.add(UserMessage(text_in(self._used, "request")))

    def _report(self) -> None:
        used, self._used = self._used, {}
        cached, written = number_in(used, "cacheReads"), number_in(used, "cacheWrites")
        prompt = number_in(used, "tokensIn") + cached + written
        completion, cost = number_in(used, "tokensOut"), cost_in(used, "cost")
        self._builder.usage(prompt, completion, cached=cached, cache_write=written, cost=cost)
