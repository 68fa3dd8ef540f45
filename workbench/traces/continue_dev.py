"""Continue: sessions of its command line and of its editor extensions, `~/.continue/sessions/ID.json`.

- One object with a `sessionId`, a `workspaceDirectory` and a `history` of items: a `message` (`user`, `assistant`,
  `thinking`, `tool`, `system`), its `contextItems`, which are sent before what the user wrote, and `toolCallStates`
  with the results of a reply's `toolCalls`.
- A reply of the command line has a `usage`. If the cache is larger than the prompt, it was counted separately.
- A `conversationSummary` replaces everything up to its item. The command line leaves nothing else of that in the file.
- The file is written once, at the end, and has no times. Exact: messages, calls, results, reports. Missing: system
  prompt, tools, the requests for titles and compactions; and reports of the editor extensions.
"""

from __future__ import annotations

from typing import Any

from workbench.log.events import AssistantMessage, Content, Reasoning, SystemMessage, TextPart, UserMessage
from workbench.models.known_costs import known_cost
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording
from workbench.traces.reading import Document
from workbench.wire.values import content_from, content_of, dict_in, list_in, number_in, part_of, text_in

NAME = format_names.CONTINUE_DEV
_UNTITLED = ("Untitled Session", "New Session")


def recognises(document: Document) -> bool:
    """Whether it is one session with items of this kind."""
    value = document.values[0].value
    items = list_in(value, "history")
    if document.lines or not items or not text_in(value, "sessionId") or "workspaceDirectory" not in value:
        return False
    return all(dict_in(item, "message") and "contextItems" in item for item in items[:40])


def read(document: Document, text: str) -> list[Recording]:
    value = document.values[0].value
    builder = Builder(NAME)
    if text_in(value, "title") not in _UNTITLED:
        builder.says_title(text_in(value, "title"))
    items = list_in(value, "history")
    replies = 1
    for at, item in enumerate(items, 1):
        _item(builder, item, f"r{replies}", at == len(items))
        replies += text_in(dict_in(item, "message"), "role") == "assistant"  # thinking comes before its reply
    return [builder.finish()]


def _item(builder: Builder, item: Any, reply: str, newest: bool) -> None:
    message, summary = dict_in(item, "message"), text_in(item, "conversationSummary")
    content = _content(message.get("content"))
    match text_in(message, "role"):
        case "assistant" if summary and summary == content:
            pass
        case "user":
            builder.add(UserMessage(_with_context(list_in(item, "contextItems"), content)))
        case "assistant":
            _assistant(builder, message, content, reply)
        case "thinking":
            builder.add(Reasoning(str(content), reply, text_in(message, "signature")))
        case "system":
            builder.add(SystemMessage(content))
        case "tool":
            builder.result(text_in(message, "toolCallId"), content)
        case _:
            builder.unknown("item", item)
    for state in list_in(item, "toolCallStates"):
        _result(builder, state, newest)
    if summary:
        builder.compaction(1, builder.last, summary)


def _assistant(builder: Builder, message: dict[str, Any], content: Content, reply: str) -> None:
    used = dict_in(message, "usage")
    builder.says_model(text_in(used, "model"))
    if content:
        builder.add(AssistantMessage(content, reply, model=builder.model))
    for call in list_in(message, "toolCalls"):
        function = dict_in(call, "function")
        builder.call(text_in(call, "id"), text_in(function, "name"), function.get("arguments"), reply)
    more, prompt = dict_in(used, "prompt_tokens_details"), number_in(used, "prompt_tokens")
    cached, written = number_in(more, "cached_tokens"), number_in(more, "cache_write_tokens")
    cents = known_cost(used.get("cost_cents"))
    builder.usage(
        prompt + cached + written if cached + written > prompt else prompt,
        number_in(used, "completion_tokens"),
        cached=cached,
        cache_write=written,
        reasoning=number_in(dict_in(used, "completion_tokens_details"), "reasoning_tokens"),
        cost=None if not cents else cents / 100,
    )


def _result(builder: Builder, state: Any, newest: bool) -> None:
    output, failed = list_in(state, "output"), text_in(state, "status") == "errored"
    content = "\n".join(text_in(each, "content") for each in output) if output else "Tool cancelled"
    if output or not newest:
        builder.result(text_in(state, "toolCallId"), content, failed)


def _content(value: Any) -> Content:
    """A text or parts; a picture has its own key."""
    if not isinstance(value, list):
        return content_of(value)
    return content_from(part_of(_picture(part) if text_in(part, "type") == "imageUrl" else part) for part in value)


def _picture(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "image_url", "image_url": part.get("imageUrl")}


def _with_context(items: list[Any], content: Content) -> Content:
    named = ((text_in(each, "name"), text_in(each, "content")) for each in items)
    found = "".join(f'<context name="{name}">\n{text}\n</context>\n\n' for name, text in named)
    if isinstance(content, str):
        return found + content
    return (TextPart(found), *content) if found else content
