"""Inspect: the log of an evaluation, `{"version", "status", "eval", "samples"}`, as JSON or as its `.eval` archive.

- A sample is a conversation, or several. If Inspect logged the provider's calls (`call.request` and `call.response` of
  `model` events), each is an exact request with its answer and report.
- Otherwise a sample's `messages` are read: roles as in OpenAI-style messages, `tool_calls` with `function` and
  `arguments`, parts `text`, `image` and `reasoning`. Usage comes from the `model` event with that message as output;
  the prompt is `total_tokens` less the output, because only some providers count cached tokens in `input_tokens`.
- Long texts are in `attachments`, with `attachment://HASH` in their place.
- Tools are those of the first `model` event. Missing: without `events`, reports and tools; always, what a provider's
  client adds.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

from workbench.config.foreign_files import TooLargeFile
from workbench.log.events import (
    AssistantMessage,
    Part,
    Reasoning,
    SlotContent,
    SystemMessage,
    ToolResult,
    UserMessage,
    text_of,
)
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects
from workbench.traces.exchanges import conversations_of
from workbench.traces.reading import Document
from workbench.traces.request_logs import exchange_of
from workbench.wire.values import content_from, content_of, dict_in, list_in, number_in, part_of, text_in

NAME = format_names.INSPECT
_ATTACHMENT = "attachment://"
_DENSEST = 100
"""The largest compression of a log; a tenth of this is usual."""
_SMALL = 64 * 1024 * 1024
"""Bytes that any archive may unpack to."""


def recognises(document: Document) -> bool:
    """Whether it is the log of an evaluation."""
    first = first_objects(document)
    return len(first) == 1 and "eval" in first[0] and "status" in first[0] and bool(list_in(first[0], "samples"))


def text_of_archive(raw: bytes, limit: int) -> str:
    """The archive of a log as the JSON that the same log has in one file; empty if it is another archive.

    Raises TooLargeFile if it would unpack to more than `limit` bytes, or to far more than logs do.
    """
    from zipfile import BadZipFile, ZipFile  # late: no other format needs it

    try:
        with ZipFile(BytesIO(raw)) as archive:
            names = archive.namelist()
            limit = min(limit, max(_SMALL, _DENSEST * len(raw)))
            size = sum(each.file_size for each in archive.infolist())
            if size > limit:
                raise TooLargeFile(limit, size)
            samples = [archive.read(each).decode() for each in names if each.startswith("samples/")]
            header = json.loads(archive.read("header.json" if "header.json" in names else "_journal/start.json"))
    except (BadZipFile, KeyError, NotImplementedError, RuntimeError, ValueError):
        return ""
    rest = json.dumps({"status": "started", **header})[1:-1] if isinstance(header, dict) else ""
    return f'{{{rest}, "samples": [{", ".join(samples)}]}}' if rest and samples else ""


def read(document: Document, text: str) -> list[Recording]:
    """The conversations of all samples."""
    log: Any = document.values[0].value
    task, model = text_in(dict_in(log, "eval"), "task"), text_in(dict_in(log, "eval"), "model")
    found: list[Recording] = []
    for sample in list_in(log, "samples"):
        if isinstance(sample, dict):
            whole = _with_attachments(sample, dict_in(sample, "attachments"))
            for builder in _exact(whole) or [_talk(whole, model)]:
                builder.says_title(f"{task} {sample.get('id', '')}, epoch {sample.get('epoch', 1)}")
                found.append(builder.finish())
    return found


def _with_attachments(value: Any, attached: dict[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attached.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_with_attachments(each, attached) for each in value]
    if isinstance(value, dict):
        return {key: _with_attachments(each, attached) for key, each in value.items()}
    return value


def _model_events(sample: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in list_in(sample, "events") if text_in(each, "event") == "model"]


def _exact(sample: dict[str, Any]) -> list[Builder]:
    """The conversations of the provider's calls; none if not all of them were logged."""
    found = []
    for event in _model_events(sample):
        call = dict_in(event, "call")
        sent = {key: each for key, each in dict_in(call, "request").items() if key != "extra_headers"}
        found.append(exchange_of({**call, "request": sent, "timestamp": event.get("timestamp")}))
    exchanges = [exchange for exchange in found if exchange is not None]
    return conversations_of(exchanges, NAME) if len(exchanges) == len(found) else []


def _talk(sample: dict[str, Any], model: str) -> Builder:
    builder = Builder(NAME)
    builder.says_model(model)
    events = _model_events(sample)
    for tool in list_in(events[0], "tools") if events else []:
        is_bare = isinstance(tool, dict) and "function" not in tool
        builder.tool({"type": "function", "function": _declared(tool)} if is_bare else tool)
    outputs = {
        text_in(dict_in(choice, "message"), "id"): event
        for event in events
        for choice in list_in(dict_in(event, "output"), "choices")[:1]
    }
    for number, message in enumerate(list_in(sample, "messages"), 1):
        event = outputs.get(text_in(message, "id"), {})
        builder.when(event.get("completed") or event.get("timestamp"))
        _message(builder, message, f"r{number}")
        _usage(builder, dict_in(dict_in(event, "output"), "usage"))
    return builder


def _declared(tool: dict[str, Any]) -> dict[str, Any]:
    return {key: tool[key] for key in ("name", "description", "parameters") if key in tool}


def _message(builder: Builder, message: Any, reply: str) -> None:
    role = text_in(message, "role")
    content = content_of(message.get("content") if isinstance(message, dict) else None)
    if role == "system" and not builder.has_talk:
        builder.add(SlotContent("system", f"system {reply}", text_of(content)))
    elif role == "system":
        builder.add(SystemMessage(content))
    elif role == "user":
        builder.add(UserMessage(content))
    elif role == "assistant":
        _assistant(builder, message, reply)
    elif role == "tool":
        failed = dict_in(message, "error")
        result = content or text_in(failed, "message")
        builder.add(ToolResult(text_in(message, "tool_call_id"), result, text_in(message, "function"), bool(failed)))
    else:
        builder.unknown("message", message)


def _assistant(builder: Builder, message: dict[str, Any], reply: str) -> None:
    parts: list[Part] = []
    content: Any = message.get("content")
    for part in content if isinstance(content, list) else [content] if content else []:
        if text_in(part, "type") == "reasoning":
            thought = text_in(part, "reasoning") if not part.get("redacted") else text_in(part, "summary")
            builder.add(Reasoning(thought, reply, text_in(part, "signature")))
        else:
            parts.append(part_of(part))
    calls = list_in(message, "tool_calls")
    if parts or not calls:
        builder.add(AssistantMessage(content_from(parts), reply, model=text_in(message, "model") or builder.model))
    for call in calls:
        builder.call(text_in(call, "id"), text_in(call, "function"), dict_in(call, "arguments"), reply)


def _usage(builder: Builder, used: dict[str, Any]) -> None:
    cached, written = number_in(used, "input_tokens_cache_read"), number_in(used, "input_tokens_cache_write")
    completion, total = number_in(used, "output_tokens"), number_in(used, "total_tokens")
    prompt = total - completion if total > completion else number_in(used, "input_tokens")
    thought = number_in(used, "reasoning_tokens")
    builder.usage(prompt, completion, cached=cached, cache_write=written, reasoning=thought)
