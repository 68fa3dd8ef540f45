"""A request in one form for all dialects, checked as strictly as the strictest provider checks it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from workbench.config.values import replace
from workbench.log.events import (
    AssistantMessage,
    Body,
    Content,
    ImagePart,
    SlotContent,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from workbench.wire.answers import WrittenCall
from workbench.wire.values import json_value

Json = Mapping[str, Any]


class BadRequest(Exception):
    """Raised for a request that a provider would not accept; one line says why."""


class CheckedMessage(Struct, frozen=True):
    role: str
    text: str = ""
    calls: tuple[WrittenCall, ...] = ()
    call_id: str = ""
    """The id of the call that this message is the result of."""
    is_error: bool = False
    name: str = ""
    images: tuple[tuple[str, str], ...] = ()
    """The address and the detail level of each picture."""
    texts: tuple[str, ...] = ()
    """The parts of its text, if there are several."""


class CheckedRequest(Struct, frozen=True):
    messages: tuple[CheckedMessage, ...]
    tools: tuple[Json, ...] = ()
    """Definitions in OpenAI's form."""
    model: str = "rehearsal"
    stream: bool = False
    include_usage: bool = True
    max_tokens: int | None = None
    schema: Json | None = None
    """The schema of the answer, if the client wants JSON."""
    body: Json = field(default_factory=dict)
    """The body that the request was read from."""

    def tool_names(self) -> list[str]:
        """The names of the tools, in the order of their definitions."""
        return [tool_name_of(tool) for tool in self.tools]

    def is_freeform(self, name: str) -> bool:
        """Whether a tool takes plain text instead of JSON."""
        return any(tool.get("type") == "custom" and tool_name_of(tool) == name for tool in self.tools)


def function_of(tool: Json) -> Json:
    """The function inside a tool definition, wrapped or not."""
    inner = tool.get("function") or tool.get("custom") or tool
    return inner if isinstance(inner, Mapping) else {}


def tool_name_of(tool: Json) -> str:
    """The name of a tool. A tool that a provider runs may have only a type."""
    return str(function_of(tool).get("name") or tool.get("type") or "")


def list_of(value: object, where: str) -> list[Json]:
    """Return a list of objects, empty for None. Raises BadRequest for anything else."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise BadRequest(f"{where}: expected a list of objects")
    return value


def checked_content(content: object, where: str) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The texts and the pictures of a content."""
    if content is None or isinstance(content, str):
        return (content or "",), ()
    texts: list[str] = []
    images: list[tuple[str, str]] = []
    for part in list_of(content, where):
        image = part.get("image_url")
        if isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(image, Mapping):
            images.append((str(image.get("url", "")), str(image.get("detail", "auto"))))
    return tuple(texts), tuple(images)


def request_of(events: Iterable[Body], body: Json, **more: Any) -> CheckedRequest:
    """Build a request from its body and the events that the dialect's reader made from it."""
    messages: list[CheckedMessage] = []
    tools: list[Json] = []
    speaking = ""
    for event in events:
        reply = getattr(event, "reply", "")
        if reply and reply != speaking:
            messages.append(CheckedMessage("assistant"))
        speaking = reply
        match event:
            case SlotContent(slot="tools", name=name, text=text):
                tools.append(_in_its_place(json.loads(text), name))
            case SlotContent(text=text):
                messages.append(CheckedMessage("system", text))
            case SystemMessage(content, role, name) if content:
                messages.append(_spoken(role, content, name=name))
            case UserMessage(content, name):
                messages.append(_spoken("user", content, name=name))
            case AssistantMessage(content):
                begun = messages.pop()
                text = "\n".join(filter(None, (begun.text, _spoken("", content).text)))
                messages.append(replace(begun, text=text))
            case ToolCall(call_id, tool, arguments):
                begun = messages.pop()
                messages.append(replace(begun, calls=(*begun.calls, WrittenCall(tool, arguments, call_id))))
            case ToolResult(call_id, content, is_error=failed):
                messages.append(_spoken("tool", content, call_id=call_id, is_error=failed))
    model = str(body.get("model") or "rehearsal")
    return CheckedRequest(tuple(messages), tuple(tools), **{"model": model, "body": body, **more})


def _in_its_place(tool: Json, name: str) -> Json:
    """The tool with its namespace in its name, which distinguishes it from tools of the same name elsewhere."""
    return {**tool, "function": {**function_of(tool), "name": name}} if name != tool_name_of(tool) else tool


def _spoken(role: str, content: Content, **more: Any) -> CheckedMessage:
    parts = content if isinstance(content, tuple) else (TextPart(content),)
    texts = tuple(part.text for part in parts if isinstance(part, TextPart))
    images = tuple((part.url, part.detail) for part in parts if isinstance(part, ImagePart))
    return CheckedMessage(role, "\n".join(texts), images=images, texts=texts, **more)


def positive_number(value: object) -> int | None:
    """A positive integer, such as a limit; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def schema_in(body: Json, *keys: str) -> Json | None:
    """The schema of an answer under these nested keys. Where only JSON is wanted, the schema allows any object."""
    found: object = body
    for key in keys:
        if isinstance(found, Mapping) and found.get("type") == "json_object":
            return {"type": "object"}
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else None


def input_of(call: WrittenCall) -> object:
    """The arguments of a call as a value. Text that is not JSON is put into an object."""
    try:
        return json_value(call.arguments or "{}")
    except (ValueError, RecursionError):
        return {"arguments": call.arguments}


def freeform_text(arguments: str) -> str:
    """The text for a tool that takes no JSON: the value under `input` in the arguments, or all of the arguments."""
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return str(given["input"]) if isinstance(given, dict) and "input" in given else arguments


def freeform_json(text: str) -> str:
    """Put a freeform text into JSON arguments."""
    return json.dumps({"input": text}, ensure_ascii=False)


def unpaired(messages: Sequence[CheckedMessage]) -> tuple[list[str], list[str]]:
    """Calls without a result, and results without a call, in any order of the messages."""
    calls = {call.call_id: None for message in messages for call in message.calls}
    results = {message.call_id: None for message in messages if message.role == "tool"}
    return [each for each in calls if each not in results], [each for each in results if each not in calls]


def check_pairs(messages: Sequence[CheckedMessage]) -> None:
    """Check that every result answers a call of the assistant message before it, and every call has a result."""
    open_ids: set[str] = set()
    for number, message in enumerate(messages):
        if message.role == "tool":
            if message.call_id not in open_ids:
                raise BadRequest(
                    f"messages[{number}]: messages with role 'tool' must be a response to a preceding message "
                    f"with 'tool_calls'; no call {message.call_id!r} waits for a result"
                )
            open_ids.discard(message.call_id)
            continue
        _all_answered(open_ids, number)
        open_ids = {call.call_id for call in message.calls}
        if len(open_ids) < len(message.calls):
            raise BadRequest(f"messages[{number}].tool_calls: two calls have the same id")
    _all_answered(open_ids, len(messages))


def _all_answered(open_ids: set[str], number: int) -> None:
    if open_ids:
        raise BadRequest(
            f"messages[{number}]: an assistant message with 'tool_calls' must be followed by tool messages responding "
            f"to each 'tool_call_id'; without a result: {', '.join(sorted(open_ids))}"
        )
