"""Gemini: `contents`, as a list, or an object with them under `contents` or `history`.

- A content has a `role` (`user` or `model`; `function` in older files) and `parts`: `text`, `thought` (a flag on a
  text), `functionCall` (`name`, `args`, sometimes an `id`), `functionResponse` (`name`, `response`), `inlineData`,
  `fileData`. Keys come in camel case or with underscores.
- A call and its response are paired by `id`, or by name in their order. A response with the key `error` is an error.
- One content of the model is one reply. `systemInstruction` is the system slot, `functionDeclarations` are the tools.
- The format records no usage, no model and no compaction: a snapshot of the past is a user message like any other.
- Parts of other kinds are carried as they are. Signatures of thoughts are kept with the thought, and dropped on
  calls.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from workbench.log.events import (
    AssistantMessage,
    ImagePart,
    Part,
    Reasoning,
    SlotContent,
    SystemMessage,
    TextPart,
    UserMessage,
    text_of,
)
from workbench.traces.building import (
    Builder,
    Recording,
    as_json,
    beginning,
    content_from,
    dict_in,
    entries,
    list_in,
    other_part,
    text_in,
)
from workbench.traces.reading import Document

NAME = "Gemini"
_ROLES = ("user", "model", "function", "system")


def recognises(document: Document) -> bool:
    """Whether a content with its parts is near the beginning."""
    first = beginning(document)
    inside = [value for each in first for value in _contents(each)[:40]]
    return any(isinstance(value, dict) and _is_content(value) for value in [*first, *inside])


def _is_content(value: dict[str, Any]) -> bool:
    return isinstance(value.get("parts"), list) and value.get("role", "user") in _ROLES


def _contents(value: Any) -> list[Any]:
    return list_in(value, "contents") or list_in(value, "history")


def read(document: Document, text: str) -> list[Recording]:
    """The conversation; or one per line, where lines are requests."""
    located = [value for _, value in entries(document, text)]
    requests = [value for value in located if _contents(value)]
    if not requests:
        return [_conversation(Builder(NAME, document.broken), located)]
    found = []
    for number, request in enumerate(requests):
        builder = Builder(NAME, () if number else document.broken)
        _settings(builder, request)
        found.append(_conversation(builder, _contents(request)))
    return found


def _settings(builder: Builder, request: dict[str, Any]) -> None:
    builder.says_model(text_in(request, "model").removeprefix("models/"))
    config = dict_in(request, "config") or request
    system = either(config, "systemInstruction")
    parts = list_in(system, "parts") if isinstance(system, dict) else [{"text": system}] if system else []
    said = "\n\n".join(filter(None, (text_in(part, "text") for part in parts)))
    if said:
        builder.add(SlotContent("system", "system instruction", said))
    for tool in list_in(config, "tools"):
        declared = either(tool, "functionDeclarations")
        for definition in declared if isinstance(declared, list) else [tool]:
            builder.tool(definition)


def _conversation(builder: Builder, contents: list[Any]) -> Recording:
    reader = Contents(builder)
    for value in contents:
        if isinstance(value, dict) and _is_content(value):
            reader.add(value)
        else:
            builder.unknown("content", value)
    return builder.finish()


def either(value: Any, key: str) -> Any:
    """A value under a key in camel case, or the same with underscores."""
    if not isinstance(value, dict):
        return None
    under = "".join(f"_{char.lower()}" if char.isupper() else char for char in key)
    return value.get(key, value.get(under))


class Contents:
    """Contents, one by one; sessions of ADK are made of the same."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._replies = 0
        self._waiting: defaultdict[str, deque[str]] = defaultdict(deque)
        """By tool: calls without a response yet."""
        self._calls = 0

    def add(self, content: dict[str, Any], author: str = "") -> None:
        """What a content says; `author`: the agent's name, for a reply."""
        role = content.get("role", "user")
        if role == "model":
            self._replies += 1
        said: list[Part] = []
        for part in list_in(content, "parts"):
            call, response = either(part, "functionCall"), either(part, "functionResponse")
            thought = isinstance(part, dict) and part.get("thought") is True and isinstance(part.get("text"), str)
            if thought or isinstance(call, dict) or isinstance(response, dict):
                self._said(role, said, author)
            if thought:
                signature = either(part, "thoughtSignature")
                signature = as_json(signature) if isinstance(signature, str) else ""
                self._builder.add(Reasoning(text_in(part, "text"), f"r{self._replies}", signature))
            elif isinstance(call, dict):
                self._call(call)
            elif isinstance(response, dict):
                self._response(response)
            else:
                said.append(_part(part))
        self._said(role, said, author)

    def _said(self, role: str, parts: list[Part], author: str) -> None:
        if not parts:
            return
        content = content_from(parts)
        parts.clear()
        if role == "model":
            reply = f"r{self._replies}"
            self._builder.add(AssistantMessage(content, reply, author, model=self._builder.model))
        elif role == "system":
            self._builder.add(SystemMessage(text_of(content)))
        else:
            self._builder.add(UserMessage(content))

    def _call(self, call: dict[str, Any]) -> None:
        self._calls += 1
        tool = text_in(call, "name")
        call_id = text_in(call, "id") or f"call-{self._calls}"
        self._waiting[tool].append(call_id)
        self._builder.call(call_id, tool, call.get("args"), f"r{self._replies}")

    def _response(self, response: dict[str, Any]) -> None:
        tool, call_id = text_in(response, "name"), text_in(response, "id")
        waiting = self._waiting[tool]
        if call_id in waiting:
            waiting.remove(call_id)
        elif waiting and not call_id:
            call_id = waiting.popleft()
        given = response.get("response")
        failed = isinstance(given, dict) and bool(given.get("error"))
        if isinstance(given, dict) and given.keys() <= {"output", "error", "result"} and len(given) == 1:
            given = next(iter(given.values()))
        self._builder.result(call_id, as_json("" if given is None else given), failed, tool)


def _part(value: Any) -> Part:
    text = value if isinstance(value, str) else text_in(value, "text")
    if text:
        return TextPart(as_json(text))
    data, file = either(value, "inlineData"), either(value, "fileData")
    kind = text_in(data or file, "mimeType") or text_in(data or file, "mime_type")
    if kind.startswith("image/") and data:
        return ImagePart(f"data:{kind};base64,{text_in(data, 'data')}")
    if kind.startswith("image/"):
        return ImagePart(as_json(either(file, "fileUri") or ""))
    return other_part(value)
