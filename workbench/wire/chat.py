"""The dialect of OpenAI's chat completions, which many providers and libraries use.

- A request has `tools` and `messages` of the roles `system` or `developer`, `user`, `assistant` and `tool`. `function`
  is the older form of `tool` and names no call: it belongs to the last call of that function. The system messages at
  the beginning are the system prompt.
- Thinking is in `reasoning_content` or `reasoning`, which OpenAI itself does not send.
- An answer has `choices`, of which only the first is used, and `usage`, where cached tokens are part of
  `prompt_tokens`. Gateways to other providers add their own keys for the cache.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.config.text import without_surrogates
from workbench.log.events import (
    AssistantMessage,
    Content,
    DialectName,
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
from workbench.models.reply_parts import ReportedUsage
from workbench.wire.anthropic_bodies import is_anthropic_body
from workbench.wire.chat_requests import ChatRequest, UnchangedMessage
from workbench.wire.dialect import Dialect, ProviderHome, asks_with_messages
from workbench.wire.event_builder import EventBuilder, cost_in, usage_report
from workbench.wire.found_items import FoundItem, content_items
from workbench.wire.marks import shaped_like
from workbench.wire.streams import joined_pieces, piece_index, stream_events
from workbench.wire.values import content_of, dict_in, json_text, list_in, number_in, part_of, text_in

if TYPE_CHECKING:
    from workbench.wire.speaking import DialectSpeaker

ROLES = "a role: system, developer, user, assistant, tool or function"
_SYSTEM = ("system", "developer")
_PARTS = ("image_url", "input_audio", "file", "refusal")
_THINKING = frozenset(("reasoning", "reasoning_content", "reasoning_details", "thinking_blocks"))
_STREAMED = frozenset(("content", "reasoning_content", "reasoning", "refusal"))
_KNOWN = frozenset(
    (
        *("model", "messages", "tools", "tool_choice", "functions", "function_call", "parallel_tool_calls"),
        *("temperature", "top_p", "top_k", "min_p", "n", "stop", "seed", "stream", "stream_options", "logprobs"),
        *("top_logprobs", "logit_bias", "presence_penalty", "frequency_penalty", "repetition_penalty"),
        *("response_format", "max_tokens", "max_completion_tokens", "reasoning", "reasoning_effort", "thinking"),
        *("enable_thinking", "verbosity", "modalities", "audio", "prediction", "web_search_options", "user"),
        *("metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"),
        *("extra_body", "extra_headers", "provider", "transforms", "plugins", "timeout"),
    )
)
"""The keys that a request may have. If a body has no recorded answer, other keys mean that it is no chat request."""
_SAID_BY = {"function": "arguments", "custom": "input"}
"""The kinds of calls, and the key of what the model says to each: JSON, or free text."""
_FINISH = {"length": "length", "tool_calls": "tool_calls", "function_call": "tool_calls", "content_filter": "refused"}


class Malformed(ValueError):
    """Raised for a value that is not a message. It says what was expected and what was found."""

    def __init__(self, expected: str, got: object = None) -> None:
        super().__init__(expected)
        self.expected = expected
        self.got = got


OPENAI = ProviderHome("openai", "https://api.openai.com/v1", ("OPENAI_BASE_URL", "OPENAI_API_BASE"))


class ChatDialect(Dialect):
    name: ClassVar[DialectName] = "chat"
    also = ("openai",)
    title = "OpenAI"
    provider = OPENAI
    path = "/v1/chat/completions"
    ends: ClassVar[Mapping[str, str]] = {"/chat/completions": ""}
    places = ("", "messages")
    answer_keys = ("choices",)
    marks_texts = True
    takes_plain = (str, list)
    alive_sign = b": held by workbench proxy\n\n"

    def new_reader(self, builder: EventBuilder) -> ChatReader:
        """Return a reader that adds messages to a builder."""
        return ChatReader(builder)

    def answer_in_stream(self, stream: bytes) -> dict[str, Any]:
        return _streamed(stream_events(stream))

    def prompt_length(self, messages: list[Any]) -> int:
        """The number of system messages at the beginning: they are the prompt."""
        return sum(1 for _ in takewhile(lambda message: text_in(message, "role") in _SYSTEM, messages))

    def recognises_body(self, body: dict[str, Any]) -> bool:
        """Whether the body has messages that are not Anthropic's."""
        return isinstance(body.get("messages"), list) and not is_anthropic_body(body)

    def recognises_message(self, message: dict[str, Any]) -> bool:
        """Whether the message has calls, is a result, or has parts that only chats have."""
        calls = list_in(message, "tool_calls")
        texts = (dict_in(call, kind).get(key) for call in calls for kind, key in _SAID_BY.items())
        is_result = text_in(message, "role") == "function" or bool(text_in(message, "tool_call_id"))
        if is_result or "function_call" in message or any(isinstance(each, str) for each in texts):
            return True
        return any(text_in(part, "type") in _PARTS for part in list_in(message, "content"))

    def messages_in_answer(self, body: dict[str, Any]) -> list[Any] | None:
        """The message of the first choice."""
        choices = list_in(body, "choices")
        return [choice["message"] for choice in choices[:1] if dict_in(choice, "message")] if choices else None

    def recognises_request(self, body: dict[str, Any], answered: bool) -> bool:
        """Whether the body is a request. Without a recorded answer it must have no keys of other dialects."""
        if not asks_with_messages(body, answered) or not self.recognises_body(body):
            return False
        return answered or body.keys() <= _KNOWN

    def items_in_message(self, message: dict[str, Any]) -> Iterator[FoundItem]:
        """The items of a message. Calls and thinking are outside the content; a result is the message itself."""
        role = self.role_in(message)
        if role == "result":
            text, tool = text_of(content_of(message.get("content"))), text_in(message, "name")
            yield FoundItem("", -1, role, text, tool, text_in(message, "tool_call_id"))
            return
        key = next((key for key in ("reasoning_content", "reasoning") if text_in(message, key)), "")
        if key:
            yield FoundItem(key, -1, "reasoning", text_in(message, key))
        yield from content_items(message, role)
        for index, call in enumerate(list_in(message, "tool_calls")):
            function = _called(call)
            arguments = json_text(function.get("arguments") or "")
            yield FoundItem("tool_calls", index, "call", arguments, text_in(function, "name"), text_in(call, "id"))
        legacy = dict_in(message, "function_call")
        if legacy:
            arguments = json_text(legacy.get("arguments") or "")
            yield FoundItem("function_call", -1, "call", arguments, text_in(legacy, "name"))

    def result_with_text(self, value: dict[str, Any], text: str) -> Any:
        """A result with another text under `content`."""
        return {**value, "content": shaped_like(value.get("content"), text)}

    def body_sent_again(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body without streaming, because most streams report no tokens."""
        return {name: value for name, value in body.items() if name not in ("stream", "stream_options")}

    def new_speaker(self) -> DialectSpeaker:
        """Return the speaker. It is imported here, because most users of a dialect only read it."""
        from workbench.wire.chat_speaker import ChatSpeaker

        return ChatSpeaker(self)

    def without_thinking(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message without the keys that some providers have for thinking."""
        return message if _THINKING.isdisjoint(message) else {k: v for k, v in message.items() if k not in _THINKING}

    def write_request(self, chat: ChatRequest) -> dict[str, Any]:
        """The messages and the tools as they are."""
        messages = [each.value if isinstance(each, UnchangedMessage) else each for each in chat.entries]
        return {"messages": messages, **({"tools": list(chat.tools)} if chat.tools else {})}

    def body_with_prompt(self, body: dict[str, Any], system: Any) -> dict[str, Any]:
        """The body with the prompt as its first message, unless it already has one."""
        messages = self.messages_in(body)
        if any(text_in(each, "role") == "system" for each in messages):
            return body
        return {**body, "messages": [{"role": "system", "content": system}, *messages]}

    def answer_with(self, message: dict[str, Any]) -> dict[str, Any]:
        """Build an answer with the message as its first choice."""
        return {"choices": [{"message": message}]} if message else {}

    def usage_json(self, used: ReportedUsage) -> dict[str, Any]:
        """The usage of an answer. Cached tokens are part of the prompt's."""
        written = {"cache_write_tokens": used.cache_write} if used.cache_write else {}
        return {
            "usage": {
                "prompt_tokens": used.prompt,
                "completion_tokens": used.completion,
                "total_tokens": used.prompt + used.completion,
                "prompt_tokens_details": {"cached_tokens": used.cached, "audio_tokens": 0, **written},
                "completion_tokens_details": {"reasoning_tokens": used.reasoning, "audio_tokens": 0},
            }
        }


class ChatReader:
    """Reads messages one by one."""

    def __init__(self, builder: EventBuilder) -> None:
        self.builder = builder
        self._replies = 0
        self._functions: dict[str, str] = {}
        """The last call of each function, for results in the older form, which name no call."""

    def head(self, body: dict[str, Any]) -> int:
        """Read the tools and the system prompt, which is the first messages of a request. Return how many those are."""
        first = list(takewhile(lambda value: text_in(value, "role") in _SYSTEM, list_in(body, "messages")))
        for number, message in enumerate(first, 1):
            text = text_of(content_of(message.get("content")))
            name = text_in(message, "role") if number == 1 else f"{text_in(message, 'role')} {number}"
            if text:
                self.builder.add(SlotContent("system", name, text))
        for tool in list_in(body, "tools"):
            self.builder.tool(tool)
        return len(first)

    def message(self, value: Any) -> None:
        """Read a message of a request. A malformed one is kept unchanged."""
        self._carried(value, lambda: self.read_checked_message(value))

    def _carried(self, value: Any, read: Callable[[], None]) -> None:
        before = len(self.builder.bodies)
        try:
            read()
        except Malformed:
            del self.builder.bodies[before:]
            self.builder.unknown("message", value)

    def answer(self, body: dict[str, Any]) -> Usage | None:
        self.builder.model = text_in(body, "model") or self.builder.model
        for choice in list_in(body, "choices")[:1]:
            finish = _FINISH.get(text_in(choice, "finish_reason"), "stop")
            message = dict_in(choice, "message")
            if message:
                add_reply = partial(self._assistant, message, text_in(message, "name"), finish, self.builder.model)
                self._carried(message, add_reply)
        return chat_usage(dict_in(body, "usage"), self.builder.model)

    def read_checked_message(self, value: Any) -> None:
        """Read a message. Raises `Malformed` if the value is not a message."""
        if not isinstance(value, dict):
            raise Malformed("a message, which is a JSON object", value)
        author, call_id = text_in(value, "name"), text_in(value, "tool_call_id")
        match value.get("role"):
            case "system" | "developer" as role:
                self.builder.add(SystemMessage(_content(value), role, author))
            case "user":
                self.builder.add(UserMessage(_content(value), author))
            case "assistant":
                self._assistant(value, author)
            case "tool":
                self.builder.add(ToolResult(call_id, _content(value), author))
            case "function":
                self.builder.add(ToolResult(self._functions.get(author, author), _content(value), author))
            case role:
                raise Malformed(ROLES, role)

    def _assistant(self, value: dict[str, Any], author: str, finish: str = "stop", model: str = "") -> None:
        self._replies += 1
        reply = f"r{self._replies}"
        thinking = value.get("reasoning_content") or value.get("reasoning")
        if isinstance(thinking, str):
            self.builder.add(Reasoning(without_surrogates(thinking), reply))
        calls = value.get("tool_calls") or []
        if not isinstance(calls, list):
            raise Malformed('a list under "tool_calls"', calls)
        legacy = value.get("function_call")
        content, refusal = _content(value), text_in(value, "refusal")
        if refusal and not content:
            self.builder.add(AssistantMessage(refusal, reply, author, "refused", model))
        elif content or not (calls or legacy):
            self.builder.add(AssistantMessage(content, reply, author, finish, model))
        for call in calls:
            self._call(call, reply)
        if legacy:
            self._call({"id": f"call_{reply}", "function": legacy}, reply)

    def _call(self, call: Any, reply: str) -> None:
        function = _called(call)
        if not isinstance(function.get("name"), str):
            raise Malformed('a tool call with "function" and its "name"', call)
        arguments = function.get("arguments", "")
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        call_id, tool = text_in(call, "id"), without_surrogates(function["name"])
        self._functions[tool] = call_id
        self.builder.add(ToolCall(call_id, tool, without_surrogates(arguments), reply))


def _called(call: Any) -> dict[str, Any]:
    """The name and the arguments of a call. The text for a tool with free text is under `input`."""
    custom = dict_in(call, "custom")
    return {**custom, "arguments": {"input": custom.get("input", "")}} if custom else dict_in(call, "function")


def _content(value: dict[str, Any]) -> Content:
    content = value.get("content")
    if content is None:
        return ""
    if isinstance(content, str):
        return without_surrogates(content)
    if isinstance(content, list):
        return tuple(_part(part) for part in content)
    raise Malformed('text or a list of parts under "content"', content)


def _part(part: Any) -> Part:
    if not isinstance(part, str | dict):
        raise Malformed("a part of a message, which is a JSON object", part)
    return part_of(part)


def chat_usage(used: dict[str, Any], model: str) -> Usage | None:
    inside, outside = dict_in(used, "prompt_tokens_details"), dict_in(used, "completion_tokens_details")
    cached = number_in(inside, "cached_tokens") or number_in(used, "cache_read_input_tokens")
    cached = cached or number_in(used, "prompt_cache_hit_tokens")
    written = number_in(used, "cache_creation_input_tokens") or number_in(inside, "cache_write_tokens")
    return usage_report(
        model,
        number_in(used, "prompt_tokens"),
        number_in(used, "completion_tokens"),
        cached=cached,
        cache_write=written or number_in(inside, "cache_creation_tokens"),
        reasoning=number_in(outside, "reasoning_tokens"),
        cost=cost_in(used, "cost"),
    )


# Streams


def _streamed(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    pieces: defaultdict[str, list[str]] = defaultdict(list, content=[])
    calls: dict[Any, dict[str, Any]] = {}
    finish = ""
    for event in events:
        for key in ("id", "model", "usage"):
            if event.get(key):
                found[key] = event[key]
        for choice in list_in(event, "choices")[:1]:
            delta = dict_in(choice, "delta")
            for key, text in delta.items():
                if key in _STREAMED and text and isinstance(text, str):
                    pieces[key].append(text)
            for piece in list_in(delta, "tool_calls"):
                index = piece_index(piece)
                call = calls.setdefault(index, {"id": "", "kind": "function", "name": [], "words": []})
                call["id"] = call["id"] or text_in(piece, "id")
                for kind, key in _SAID_BY.items():
                    if inside := dict_in(piece, kind):
                        call["kind"] = kind
                        call["name"].append(text_in(inside, "name"))
                        call["words"].append(text_in(inside, key))
            finish = text_in(choice, "finish_reason") or finish
    message: dict[str, Any] = {"role": "assistant", **{key: joined_pieces(texts) for key, texts in pieces.items()}}
    if calls:
        message["tool_calls"] = [_whole_call(**call) for call in calls.values()]
    is_empty = len(message) == 2 and not message["content"]
    return found if is_empty else {**found, "choices": [{"message": message, "finish_reason": finish}]}


def _whole_call(id: str, kind: str, name: list[str], words: list[str]) -> dict[str, Any]:  # noqa: A002 - the name of the key
    return {"id": id, "type": kind, kind: {"name": joined_pieces(name), _SAID_BY[kind]: joined_pieces(words)}}
