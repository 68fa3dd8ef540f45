"""The dialect of Anthropic's Messages API.

- A request has `system` (a text or blocks), `tools` with an `input_schema`, and `messages` of the roles `user` and
  `assistant`; newer clients put `system` messages among them. Contents are a text or blocks: `text`, `image`,
  `thinking`, `tool_use` (`id`, `name`, `input`), `tool_result` (`tool_use_id`, `content`, `is_error`).
- An answer has blocks under `content`, a `stop_reason`, and `usage`. The `input_tokens` in it do not include tokens
  read from the cache or written to it.
- A `compaction` block is a summary by Anthropic. It replaces everything before it. Without `content` the compaction
  failed and changed nothing. The answer also reports what Anthropic cleared without a summary (`context_edits`).
- Tools are converted to OpenAI's form of definitions, in which our requests are written. Tools that Anthropic runs
  itself have no schema and are left unchanged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.log.events import (
    AssistantMessage,
    DialectName,
    Part,
    Reasoning,
    SlotContent,
    SystemMessage,
    Usage,
    UserMessage,
    text_of,
)
from workbench.models.reply_parts import ReportedUsage
from workbench.wire.anthropic_bodies import are_anthropic_messages, is_anthropic_body
from workbench.wire.anthropic_requests import anthropic_request
from workbench.wire.chat_requests import ChatRequest
from workbench.wire.dialect import Dialect, ProviderHome, asks_with_messages
from workbench.wire.event_builder import EventBuilder, usage_report
from workbench.wire.found_items import THINKING
from workbench.wire.streams import joined_pieces, piece_index, stream_events
from workbench.wire.values import (
    content_from,
    content_of,
    dict_in,
    json_text,
    json_value,
    list_in,
    number_in,
    parsed,
    part_of,
    text_in,
)

if TYPE_CHECKING:
    from workbench.wire.speaking import DialectSpeaker

FINISH = {"max_tokens": "length", "tool_use": "tool_calls", "refusal": "refused"}


_DELTAS = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "compaction_delta": "content",
}


class AnthropicDialect(Dialect):
    name: ClassVar[DialectName] = "anthropic"
    title = "Anthropic"
    provider = ProviderHome("anthropic", "https://api.anthropic.com", ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"))
    path = "/v1/messages"
    ends: ClassVar[Mapping[str, str]] = {"/messages": "", "/messages/count_tokens": "counting"}
    places = ("system", "messages")
    answer_keys = ("content",)
    header = "anthropic-version"
    marks_texts = True
    takes_plain = (str, list)
    returns_thinking = True
    shows_results = True
    alive_sign = b'event: ping\ndata: {"type":"ping"}\n\n'

    def new_reader(self, builder: EventBuilder) -> AnthropicReader:
        """Return a reader that adds messages to a builder."""
        return AnthropicReader(builder)

    def answer_in_stream(self, stream: bytes) -> dict[str, Any]:
        """Build the message from its stream events."""
        return _streamed(stream_events(stream))

    def comparable_prompt(self, system: Any) -> Any:
        """Drop the first of several blocks: Claude Code's is a line for billing, which varies."""
        return system[1:] if isinstance(system, list) and len(system) > 1 else system

    def recognises_body(self, body: dict[str, Any]) -> bool:
        """Whether the body has something that only Anthropic's requests have."""
        return isinstance(body.get("messages"), list) and is_anthropic_body(body)

    def recognises_message(self, message: dict[str, Any]) -> bool:
        """Whether the message has blocks that only Anthropic has."""
        has_source = any(dict_in(block, "source") for block in list_in(message, "content"))
        return has_source or are_anthropic_messages([message])

    def recognises_tool(self, tool: dict[str, Any]) -> bool:
        """Whether the definition has a schema under Anthropic's key."""
        return "input_schema" in tool

    def messages_in_answer(self, body: dict[str, Any]) -> list[Any] | None:
        """The answer as a message, without what only answers have."""
        if text_in(body, "type") != "message" or "stop_reason" not in body:
            return None
        return [{"role": text_in(body, "role") or "assistant", "content": list_in(body, "content")}]

    def recognises_request(self, body: dict[str, Any], answered: bool) -> bool:
        return asks_with_messages(body, answered) and self.recognises_body(body)

    def recognises_client(self, path: str, headers: Mapping[str, str]) -> bool:
        """Whether a request that asks no model is for Anthropic: Claude Code sends such requests too."""
        is_claude = "claude" in headers.get("User-Agent", "").lower()
        return self.header in headers or path.startswith("/api/") or is_claude

    def credentials(self, key: str) -> dict[str, str]:
        """The headers with the API version and the key."""
        return {self.header: "2023-06-01", **({"x-api-key": key} if key else {})}

    def new_speaker(self) -> DialectSpeaker:
        """Return the speaker. It is imported here, because most users of a dialect only read it."""
        from workbench.wire.anthropic_speaker import AnthropicSpeaker

        return AnthropicSpeaker(self)

    def without_thinking(self, message: dict[str, Any]) -> dict[str, Any]:
        blocks = list_in(message, "content")
        kept = [block for block in blocks if text_in(block, "type") not in THINKING]
        return message if len(kept) == len(blocks) else {**message, "content": kept}

    def write_request(self, chat: ChatRequest) -> dict[str, Any]:
        return anthropic_request(chat)

    def answer_with(self, message: dict[str, Any]) -> dict[str, Any]:
        """Build an answer; the calls are blocks after the content."""
        content = message.get("content")
        text = [{"type": "text", "text": json_text("" if content is None else content)}]
        blocks = content if isinstance(content, list) else text
        return {"content": [*blocks, *map(_called, list_in(message, "tool_calls"))] if message else []}

    def usage_json(self, used: ReportedUsage) -> dict[str, Any]:
        """The usage of an answer. Cached tokens are not included in `input_tokens`."""
        return {
            "usage": {
                "input_tokens": max(used.prompt - used.cached - used.cache_write, 0),
                "cache_creation_input_tokens": used.cache_write,
                "cache_read_input_tokens": used.cached,
                "output_tokens": used.completion,
            }
        }


def _called(call: Any) -> dict[str, Any]:
    """Convert a call in OpenAI's form to a block."""
    function = dict_in(call, "function")
    arguments = parsed(function.get("arguments"))
    return {"type": "tool_use", "id": text_in(call, "id"), "name": text_in(function, "name"), "input": arguments}


class AnthropicReader:
    """Reads messages one by one."""

    def __init__(self, builder: EventBuilder) -> None:
        self.builder = builder
        self._messages = 0
        self._calls = 0
        self._unnamed: list[str] = []
        """Ids made here for calls that have none and no result yet: some transcripts leave the ids out."""

    def head(self, body: dict[str, Any]) -> int:
        """Read the system prompt and the tools of a request, which are not in its messages."""
        system = text_of(content_of(body.get("system")))
        if system:
            self.builder.add(SlotContent("system", "system", system))
        for tool in list_in(body, "tools"):
            self.builder.tool(anthropic_definition(tool))
        return 0

    def message(self, value: Any) -> None:
        self._messages += 1
        role = text_in(value, "role")
        if role == "assistant":
            self.reply(value.get("content"), f"r{self._messages}", "stop")
        elif role == "user":
            self.user(value.get("content"))
        elif role == "system":
            self.builder.add(SystemMessage(content_of(value.get("content"))))
        else:
            self.builder.unknown("message", value)

    def answer(self, body: dict[str, Any]) -> Usage | None:
        """Read the message that answers a request."""
        self._messages += 1
        self.builder.model = text_in(body, "model") or self.builder.model
        finish = FINISH.get(text_in(body, "stop_reason"), "stop")
        self.reply(body.get("content"), text_in(body, "id") or f"r{self._messages}", finish)
        return anthropic_usage(dict_in(body, "usage"), self.builder.model)

    def user(self, content: Any) -> None:
        """Read the content of a user message: the user's text and tool results."""
        if not isinstance(content, list):
            self.builder.add(UserMessage(content_of(content)))
            return
        parts: list[Part] = []
        for block in content:
            if text_in(block, "type") == "tool_result":
                self._add_user_message(parts)
                call, failed = text_in(block, "tool_use_id"), block.get("is_error") is True
                if not call and self._unnamed:
                    call = self._unnamed.pop(0)
                self.builder.result(call, content_of(block.get("content")), failed)
            else:
                parts.append(part_of(block))
        self._add_user_message(parts)

    def _add_user_message(self, parts: list[Part]) -> None:
        if parts:
            self.builder.add(UserMessage(content_from(parts)))
            parts.clear()

    def reply(self, content: Any, reply: str, finish: str) -> None:
        """Read the content of a model's message: blocks, or a text."""
        parts: list[Part] = []
        for block in content if isinstance(content, list) else [content]:
            kind = text_in(block, "type")
            if parts and kind in ("thinking", "redacted_thinking", "tool_use", "compaction"):
                self._answered(parts, reply, finish)
            if kind == "thinking":
                self.builder.add(Reasoning(text_in(block, "thinking"), reply, text_in(block, "signature")))
            elif kind == "compaction" and text_in(block, "content"):
                self.builder.compacted(text_in(block, "content"), "Anthropic")
            elif kind in ("redacted_thinking", "compaction"):
                self.builder.leave_out(kind)
            elif kind == "tool_use":
                self.builder.call(self._call_id(block), text_in(block, "name"), block.get("input"), reply)
            elif block is not None:
                parts.append(part_of(block))
        if parts:
            self._answered(parts, reply, finish)

    def _call_id(self, block: dict[str, Any]) -> str:
        """The id of a call. A call without one gets a new id, which the next result without an id belongs to."""
        name = text_in(block, "id")
        if not name:
            self._calls += 1
            name = f"call_{self._calls}"
            self._unnamed.append(name)
        return name

    def _answered(self, parts: list[Part], reply: str, finish: str) -> None:
        self.builder.add(AssistantMessage(content_from(parts), reply, finish=finish, model=self.builder.model))
        parts.clear()


def anthropic_definition(tool: Any) -> Any:
    """Convert a tool to the form of OpenAI's chat."""
    if not isinstance(tool, dict) or "input_schema" not in tool:
        return tool
    described = {"description": tool["description"]} if "description" in tool else {}
    return {"type": "function", "function": {"name": tool.get("name"), **described, "parameters": tool["input_schema"]}}


def anthropic_usage(used: dict[str, Any], model: str, request: int = 0) -> Usage | None:
    """The reported usage. Cached tokens are reported outside `input_tokens`, but they are part of the prompt.

    `request`: the event of the request that it is for, if known.
    """
    cached, written = number_in(used, "cache_read_input_tokens"), number_in(used, "cache_creation_input_tokens")
    prompt, completion = number_in(used, "input_tokens") + cached + written, number_in(used, "output_tokens")
    hour = kept_an_hour(used)
    return usage_report(model, prompt, completion, cached=cached, cache_write=written, cache_hour=hour, request=request)


def kept_an_hour(used: dict[str, Any]) -> int:
    """How many of the tokens written to the cache are kept for an hour."""
    return number_in(used.get("cache_creation"), "ephemeral_1h_input_tokens")


# Streams


def _streamed(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    blocks: dict[Any, dict[str, Any]] = {}
    written: defaultdict[tuple[Any, str], list[str]] = defaultdict(list)
    for event in events:
        kind, index, delta = event.get("type"), piece_index(event), dict_in(event, "delta")
        if kind == "message_start":
            found = dict(dict_in(event, "message"))
        elif kind == "content_block_start":
            blocks[index] = dict(dict_in(event, "content_block"))
        elif kind == "content_block_delta" and index in blocks:
            key = _DELTAS.get(text_in(delta, "type"), "partial_json")
            if isinstance(delta.get(key), str):
                written[index, key].append(delta[key])
        elif kind == "message_delta":
            used = {key: each for key, each in dict_in(event, "usage").items() if each is not None}
            edited = {"context_management": event["context_management"]} if event.get("context_management") else {}
            found = {**found, **delta, **edited, "usage": {**dict_in(found, "usage"), **used}}
    for (index, key), texts in written.items():
        if key == "partial_json":
            blocks[index]["input"] = _input(joined_pieces(texts))
        else:
            blocks[index][key] = text_in(blocks[index], key) + joined_pieces(texts)
    return {**found, "content": list(blocks.values())} if blocks else found


def _input(written: str) -> Any:
    try:
        return json_value(written or "{}")
    except (ValueError, RecursionError):
        return written
