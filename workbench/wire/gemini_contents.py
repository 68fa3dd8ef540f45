"""Reads the contents of Gemini's requests and answers; files of several agents consist of them, too."""

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
    Usage,
    UserMessage,
    text_of,
)
from workbench.wire.event_builder import EventBuilder, usage_report
from workbench.wire.values import content_from, dict_in, either, json_text, list_in, number_in, other_part, text_in

_ROLES = ("user", "model", "function", "system")
_FINISH = {"MAX_TOKENS": "length", "SAFETY": "refused", "PROHIBITED_CONTENT": "refused", "RECITATION": "refused"}
_SCHEMAS = ("parameters", "parametersJsonSchema", "parameters_json_schema")


def is_content(value: Any) -> bool:
    """Whether a value is a content. Parts with a key for their type belong to other formats."""
    parts = value.get("parts") if isinstance(value, dict) else None
    if not isinstance(parts, list) or value.get("role", "user") not in _ROLES:
        return False
    return not any(isinstance(part, dict) and ("type" in part or "part_kind" in part) for part in parts)


class GeminiReader:
    """Reads contents one by one. ADK's sessions consist of them, too."""

    def __init__(self, builder: EventBuilder) -> None:
        self.builder = builder
        self._replies = 0
        self._waiting: defaultdict[str, deque[str]] = defaultdict(deque)
        """The ids of calls without a response yet, by tool."""
        self._calls = 0

    def head(self, body: dict[str, Any]) -> int:
        """Read the system instruction and the tools of a request, which are not in its contents."""
        config = dict_in(body, "config") or body
        system = either(config, "systemInstruction")
        parts = list_in(system, "parts") if isinstance(system, dict) else [{"text": system}] if system else []
        text = "\n\n".join(filter(None, (text_in(part, "text") for part in parts)))
        if text:
            self.builder.add(SlotContent("system", "system instruction", text))
        for tool in list_in(config, "tools"):
            declared = either(tool, "functionDeclarations")
            for each in declared if isinstance(declared, list) else [tool]:
                self.builder.tool(gemini_definition(each))
        return 0

    def message(self, value: Any) -> None:
        """Read a content of a request. A bare text is the user's."""
        if is_content(value):
            self.add_content(value)
        elif isinstance(value, str):
            self.add_content({"parts": [value]})
        else:
            self.builder.unknown("content", value)

    def answer(self, body: dict[str, Any]) -> Usage | None:
        self.builder.model = text_in(body, "modelVersion") or text_in(body, "model_version") or self.builder.model
        for candidate in list_in(body, "candidates")[:1]:
            finish = _FINISH.get(str(either(candidate, "finishReason")), "stop")
            self.add_content({**dict_in(candidate, "content"), "role": "model"}, finish=finish)
        used = either(body, "usageMetadata")
        return gemini_usage(used if isinstance(used, dict) else {}, self.builder.model)

    def add_content(self, content: dict[str, Any], author: str = "", finish: str = "stop") -> None:
        """Add the events of a content. `author`: the agent's name, for a reply."""
        role = content.get("role", "user")
        if role == "model":
            self._replies += 1
        parts: list[Part] = []
        for part in list_in(content, "parts"):
            call, response = either(part, "functionCall"), either(part, "functionResponse")
            thought = isinstance(part, dict) and part.get("thought") is True and isinstance(part.get("text"), str)
            if thought or isinstance(call, dict) or isinstance(response, dict):
                self._add_message(role, parts, author, finish)
            if thought:
                signature = either(part, "thoughtSignature")
                signature = json_text(signature) if isinstance(signature, str) else ""
                self.builder.add(Reasoning(text_in(part, "text"), f"r{self._replies}", signature))
            elif isinstance(call, dict):
                self._call(call)
            elif isinstance(response, dict):
                self._response(response)
            else:
                parts.append(gemini_part(part))
        self._add_message(role, parts, author, finish)

    def _add_message(self, role: str, parts: list[Part], author: str, finish: str) -> None:
        if not parts:
            return
        content = content_from(parts)
        parts.clear()
        if role == "model":
            self.builder.add(AssistantMessage(content, f"r{self._replies}", author, finish, self.builder.model))
        elif role == "system":
            self.builder.add(SystemMessage(text_of(content)))
        else:
            self.builder.add(UserMessage(content))

    def _call(self, call: dict[str, Any]) -> None:
        self._calls += 1
        tool = text_in(call, "name")
        call_id = text_in(call, "id") or f"call-{self._calls}"
        self._waiting[tool].append(call_id)
        self.builder.call(call_id, tool, call.get("args"), f"r{self._replies}")

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
        self.builder.result(call_id, json_text("" if given is None else given), failed, tool)


def gemini_part(value: Any) -> Part:
    """Convert a part of a content. Gemini's parts have no type."""
    text = value if isinstance(value, str) else text_in(value, "text")
    if text:
        return TextPart(json_text(text))
    data, file = either(value, "inlineData"), either(value, "fileData")
    kind = text_in(data or file, "mimeType") or text_in(data or file, "mime_type")
    if kind.startswith("image/") and data:
        return ImagePart(f"data:{kind};base64,{text_in(data, 'data')}")
    if kind.startswith("image/"):
        return ImagePart(json_text(either(file, "fileUri") or ""))
    return other_part(value)


def gemini_definition(tool: Any) -> Any:
    """Convert a declared function to the form of OpenAI's chat. The schema is under one of three keys."""
    if not text_in(tool, "name"):
        return {"type": next(iter(tool)), **tool} if isinstance(tool, dict) and tool and "type" not in tool else tool
    schema = next((tool[key] for key in _SCHEMAS if isinstance(tool.get(key), dict)), None)
    described = {"description": tool["description"]} if "description" in tool else {}
    shape = {} if schema is None else {"parameters": schema}
    return {"type": "function", "function": {"name": tool["name"], **described, **shape}}


def gemini_usage(used: dict[str, Any], model: str) -> Usage | None:
    def tokens(key: str) -> int:
        return number_in({key: either(used, key)}, key)

    thought = tokens("thoughtsTokenCount")
    prompt = tokens("promptTokenCount") + tokens("toolUsePromptTokenCount")
    completion = tokens("candidatesTokenCount") + thought
    return usage_report(model, prompt, completion, cached=tokens("cachedContentTokenCount"), reasoning=thought)
