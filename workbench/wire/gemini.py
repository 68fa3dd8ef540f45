"""Gemini's contents.

- A request has `systemInstruction`, `tools` with `functionDeclarations`, and `contents`; clients' libraries put the
  first two into `config`. A content has a `role` (`user` or `model`; `function` in older files) and `parts`: `text`,
  `thought` (a flag on a text), `functionCall` (`name`, `args`, sometimes an `id`), `functionResponse` (`name`,
  `response`), `inlineData`, `fileData`. Keys come in camel case or with underscores.
- A call and its response are paired by `id`, or by name in their order. A response with the key `error` is an error.
- One content of the model is one reply. Signatures of thoughts are kept with the thought, and dropped on calls.
- An answer has `candidates`, of which the first counts, and `usageMetadata`: what was cached is part of the prompt,
  thoughts come beside the candidates.
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
    Usage,
    UserMessage,
    text_of,
)
from workbench.wire.talk import Talk, report
from workbench.wire.values import as_json, content_from, dict_in, list_in, number_in, other_part, text_in

ROLES = ("user", "model", "function", "system")
_FINISH = {"MAX_TOKENS": "length", "SAFETY": "refused", "PROHIBITED_CONTENT": "refused", "RECITATION": "refused"}
_SCHEMAS = ("parameters", "parametersJsonSchema", "parameters_json_schema")


def either(value: Any, key: str) -> Any:
    """A value under a key in camel case, or the same with underscores."""
    if not isinstance(value, dict):
        return None
    under = "".join(f"_{char.lower()}" if char.isupper() else char for char in key)
    return value.get(key, value.get(under))


def is_content(value: Any) -> bool:
    """Whether a value is one of the contents; parts that say what kind they are belong to others."""
    parts = value.get("parts") if isinstance(value, dict) else None
    if not isinstance(parts, list) or value.get("role", "user") not in ROLES:
        return False
    return not any(isinstance(part, dict) and ("type" in part or "part_kind" in part) for part in parts)


class Contents:
    """Contents, one by one; sessions of ADK are made of the same."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self._replies = 0
        self._waiting: defaultdict[str, deque[str]] = defaultdict(deque)
        """By tool: calls without a response yet."""
        self._calls = 0

    def head(self, body: dict[str, Any]) -> int:
        """The system instruction and the tools of a request, which stand beside its contents."""
        config = dict_in(body, "config") or body
        system = either(config, "systemInstruction")
        parts = list_in(system, "parts") if isinstance(system, dict) else [{"text": system}] if system else []
        said = "\n\n".join(filter(None, (text_in(part, "text") for part in parts)))
        if said:
            self.talk.add(SlotContent("system", "system instruction", said))
        for tool in list_in(config, "tools"):
            declared = either(tool, "functionDeclarations")
            for each in declared if isinstance(declared, list) else [tool]:
                self.talk.tool(definition(each))
        return 0

    def message(self, value: Any) -> None:
        """A content of a request; a bare text is what the user said."""
        if is_content(value):
            self.add(value)
        elif isinstance(value, str):
            self.add({"parts": [value]})
        else:
            self.talk.unknown("content", value)

    def answer(self, body: dict[str, Any]) -> Usage | None:
        """What a request was answered with."""
        self.talk.model = text_in(body, "modelVersion") or text_in(body, "model_version") or self.talk.model
        for candidate in list_in(body, "candidates")[:1]:
            finish = _FINISH.get(str(either(candidate, "finishReason")), "stop")
            self.add({**dict_in(candidate, "content"), "role": "model"}, finish=finish)
        used = either(body, "usageMetadata")
        return usage_in(used if isinstance(used, dict) else {}, self.talk.model)

    def add(self, content: dict[str, Any], author: str = "", finish: str = "stop") -> None:
        """What a content says; `author`: the agent's name, for a reply."""
        role = content.get("role", "user")
        if role == "model":
            self._replies += 1
        said: list[Part] = []
        for part in list_in(content, "parts"):
            call, response = either(part, "functionCall"), either(part, "functionResponse")
            thought = isinstance(part, dict) and part.get("thought") is True and isinstance(part.get("text"), str)
            if thought or isinstance(call, dict) or isinstance(response, dict):
                self._said(role, said, author, finish)
            if thought:
                signature = either(part, "thoughtSignature")
                signature = as_json(signature) if isinstance(signature, str) else ""
                self.talk.add(Reasoning(text_in(part, "text"), f"r{self._replies}", signature))
            elif isinstance(call, dict):
                self._call(call)
            elif isinstance(response, dict):
                self._response(response)
            else:
                said.append(part_of(part))
        self._said(role, said, author, finish)

    def _said(self, role: str, parts: list[Part], author: str, finish: str) -> None:
        if not parts:
            return
        content = content_from(parts)
        parts.clear()
        if role == "model":
            self.talk.add(AssistantMessage(content, f"r{self._replies}", author, finish, self.talk.model))
        elif role == "system":
            self.talk.add(SystemMessage(text_of(content)))
        else:
            self.talk.add(UserMessage(content))

    def _call(self, call: dict[str, Any]) -> None:
        self._calls += 1
        tool = text_in(call, "name")
        call_id = text_in(call, "id") or f"call-{self._calls}"
        self._waiting[tool].append(call_id)
        self.talk.call(call_id, tool, call.get("args"), f"r{self._replies}")

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
        self.talk.result(call_id, as_json("" if given is None else given), failed, tool)


def part_of(value: Any) -> Part:
    """A part of a content; those of Gemini have no type."""
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


def definition(tool: Any) -> Any:
    """A declared function as OpenAI's chat has it; the schema stands under one of three keys."""
    if not text_in(tool, "name"):
        return {"type": next(iter(tool)), **tool} if isinstance(tool, dict) and tool and "type" not in tool else tool
    schema = next((tool[key] for key in _SCHEMAS if isinstance(tool.get(key), dict)), None)
    described = {"description": tool["description"]} if "description" in tool else {}
    shape = {} if schema is None else {"parameters": schema}
    return {"type": "function", "function": {"name": tool["name"], **described, **shape}}


def usage_in(used: dict[str, Any], model: str) -> Usage | None:
    """What was reported."""

    def tokens(key: str) -> int:
        return number_in({key: either(used, key)}, key)

    thought = tokens("thoughtsTokenCount")
    prompt = tokens("promptTokenCount") + tokens("toolUsePromptTokenCount")
    completion = tokens("candidatesTokenCount") + thought
    return report(model, prompt, completion, cached=tokens("cachedContentTokenCount"), reasoning=thought)
