"""OpenAI's chat completions, which many providers and libraries speak.

- A request has `tools` and `messages` of the roles `system` or `developer`, `user`, `assistant` and `tool`; `function`
  is the older form of `tool` and names no call: it belongs to the last call of that function. The system messages it
  begins with are its system prompt.
- Thinking stands in `reasoning_content` or `reasoning`, which OpenAI itself does not send.
- An answer has `choices`, of which the first counts, and `usage`: what was cached is part of `prompt_tokens`. Gateways
  to other providers add keys of their own for the cache.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import takewhile
from typing import Any

from workbench.log.codec import clean
from workbench.log.events import (
    AssistantMessage,
    Content,
    Part,
    Reasoning,
    SlotContent,
    SystemMessage,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    text_of,
)
from workbench.wire.talk import Talk, cost_in, report
from workbench.wire.values import content_of, dict_in, list_in, number_in, part_of, text_in

ROLES = "a role: system, developer, user, assistant, tool or function"
_SYSTEM = ("system", "developer")
_FINISH = {"length": "length", "tool_calls": "tool_calls", "function_call": "tool_calls", "content_filter": "refused"}


class Malformed(ValueError):
    """A message that is none; it says what was expected and what was there."""

    def __init__(self, expected: str, got: object = None) -> None:
        super().__init__(expected)
        self.expected = expected
        self.got = got


class ChatReader:
    """Messages, one by one."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self._replies = 0
        self._functions: dict[str, str] = {}
        """The last call of each function, for results in the older form, which name no call."""

    def head(self, body: dict[str, Any]) -> int:
        """The tools, and the system prompt, which is the messages that a request begins with; tells how many."""
        first = list(takewhile(lambda value: text_in(value, "role") in _SYSTEM, list_in(body, "messages")))
        for number, message in enumerate(first, 1):
            said = text_of(content_of(message.get("content")))
            name = text_in(message, "role") if number == 1 else f"{text_in(message, 'role')} {number}"
            if said:
                self.talk.add(SlotContent("system", name, said))
        for tool in list_in(body, "tools"):
            self.talk.tool(tool)
        return len(first)

    def message(self, value: Any) -> None:
        """A message of a request; one that is none is carried as it is."""
        self._carried(value, lambda: self.add(value))

    def _carried(self, value: Any, read: Callable[[], None]) -> None:
        before = len(self.talk.bodies)
        try:
            read()
        except Malformed:
            del self.talk.bodies[before:]
            self.talk.unknown("message", value)

    def answer(self, body: dict[str, Any]) -> Usage | None:
        """What a request was answered with."""
        self.talk.model = text_in(body, "model") or self.talk.model
        for choice in list_in(body, "choices")[:1]:
            finish = _FINISH.get(text_in(choice, "finish_reason"), "stop")
            said = dict_in(choice, "message")
            if said:
                told = partial(self._assistant, said, text_in(said, "name"), finish, self.talk.model)
                self._carried(said, told)
        return usage_in(dict_in(body, "usage"), self.talk.model)

    def add(self, value: Any) -> None:
        """A message; `Malformed` where it is none."""
        if not isinstance(value, dict):
            raise Malformed("a message, which is a JSON object", value)
        author, call_id = text_in(value, "name"), text_in(value, "tool_call_id")
        match value.get("role"):
            case "system" | "developer" as role:
                self.talk.add(SystemMessage(_content(value), role, author))
            case "user":
                self.talk.add(UserMessage(_content(value), author))
            case "assistant":
                self._assistant(value, author)
            case "tool":
                self.talk.add(ToolResult(call_id, _content(value), author))
            case "function":
                self.talk.add(ToolResult(self._functions.get(author, author), _content(value), author))
            case role:
                raise Malformed(ROLES, role)

    def _assistant(self, value: dict[str, Any], author: str, finish: str = "stop", model: str = "") -> None:
        self._replies += 1
        reply = f"r{self._replies}"
        thinking = value.get("reasoning_content") or value.get("reasoning")
        if isinstance(thinking, str):
            self.talk.add(Reasoning(clean(thinking), reply))
        calls = value.get("tool_calls") or []
        if not isinstance(calls, list):
            raise Malformed('a list under "tool_calls"', calls)
        legacy = value.get("function_call")
        content, refusal = _content(value), text_in(value, "refusal")
        if refusal and not content:
            self.talk.add(AssistantMessage(refusal, reply, author, "refused", model))
        elif content or not (calls or legacy):
            self.talk.add(AssistantMessage(content, reply, author, finish, model))
        for call in calls:
            self._call(call, reply)
        if legacy:
            self._call({"id": f"call_{reply}", "function": legacy}, reply)

    def _call(self, call: Any, reply: str) -> None:
        function = dict_in(call, "function")
        if not isinstance(function.get("name"), str):
            raise Malformed('a tool call with "function" and its "name"', call)
        arguments = function.get("arguments", "")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        call_id, tool = text_in(call, "id"), clean(function["name"])
        self._functions[tool] = call_id
        self.talk.add(ToolCall(call_id, tool, clean(arguments), reply))


def _content(value: dict[str, Any]) -> Content:
    content = value.get("content")
    if content is None:
        return ""
    if isinstance(content, str):
        return clean(content)
    if isinstance(content, list):
        return tuple(_part(part) for part in content)
    raise Malformed('text or a list of parts under "content"', content)


def _part(part: Any) -> Part:
    if not isinstance(part, str | dict):
        raise Malformed("a part of a message, which is a JSON object", part)
    return part_of(part)


def usage_in(used: dict[str, Any], model: str) -> Usage | None:
    """What was reported."""
    inside, outside = dict_in(used, "prompt_tokens_details"), dict_in(used, "completion_tokens_details")
    cached = number_in(inside, "cached_tokens") or number_in(used, "cache_read_input_tokens")
    cached = cached or number_in(used, "prompt_cache_hit_tokens")
    written = number_in(used, "cache_creation_input_tokens") or number_in(inside, "cache_write_tokens")
    return report(
        model,
        number_in(used, "prompt_tokens"),
        number_in(used, "completion_tokens"),
        cached=cached,
        cache_write=written or number_in(inside, "cache_creation_tokens"),
        reasoning=number_in(outside, "reasoning_tokens"),
        cost=cost_in(used, "cost"),
    )
