"""The dialect of OpenAI's Responses API.

- A request has `instructions`, `tools`, and `input`: a text, or items. Items: `message` (whose `type` may be left out),
  `reasoning`, `function_call` and the like, paired with their outputs by `call_id`. `custom_tool_call` has free text,
  kept as `{"input": ...}`. A response has the same items under `output`, and `usage`.
- Replies have no ids: consecutive items of the model are one reply.
- An output is text, a list of parts, or an object with `content` and `success`; false marks an error.
- Tools may come in a `namespace`, or later, in an `additional_tools` item; each counts as a tool. Functions are
  converted to the form of OpenAI's chat. Tools that OpenAI runs itself have no schema and are left unchanged.
- A `compaction` item is an encrypted summary by OpenAI. After items of the model it replaces everything before it.
  After user messages alone it replaces what is no longer in the input, as `/responses/compact` returns it.
- Encrypted reasoning is sent back. It has a signature, and usually no text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from workbench.log.events import (
    AssistantMessage,
    Content,
    DialectName,
    Reasoning,
    SlotContent,
    SystemMessage,
    Usage,
    UserMessage,
    text_of,
)
from workbench.models.reply_parts import ReportedUsage
from workbench.wire.chat import OPENAI
from workbench.wire.chat_requests import ChatRequest
from workbench.wire.dialect import Dialect
from workbench.wire.earlier_responses import input_items
from workbench.wire.event_builder import EventBuilder, usage_report
from workbench.wire.found_items import FoundItem, content_items
from workbench.wire.responses_requests import responses_request
from workbench.wire.streams import stream_events
from workbench.wire.values import content_of, dict_in, is_models, json_text, list_in, number_in, text_in

if TYPE_CHECKING:
    from workbench.wire.speaking import DialectSpeaker

COMPACTIONS: Final = ("compaction", "compaction_summary")
SEALED: Final = "[OpenAI compacted the conversation here; the summary is encrypted and cannot be shown]"
_PARTS: Final = ("input_text", "output_text", "input_image", "input_file")
CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}


class ResponsesDialect(Dialect):
    name: ClassVar[DialectName] = "responses"
    also = ("openai-responses",)
    title = "OpenAI Responses"
    provider = OPENAI
    path = "/v1/responses"
    ends: ClassVar[Mapping[str, str]] = {
        "/responses": "",
        "/responses/compact": "compaction",
        "/responses/input_tokens": "counting",
    }
    places = ("instructions", "input")
    answer_keys = ("output",)
    replies_are_items = True
    returns_thinking = True
    shows_results = True
    has_websockets = True
    remembers_answers = True
    alive_sign = b": held by workbench proxy\n\n"

    def new_reader(self, builder: EventBuilder) -> ResponsesReader:
        """Return a reader that adds items to a builder."""
        return ResponsesReader(builder)

    def answer_in_stream(self, stream: bytes) -> dict[str, Any]:
        """Build the response from its stream events."""
        return _streamed(list(stream_events(stream)))

    def messages_in(self, body: Mapping[str, Any]) -> list[Any]:
        """The items of a request."""
        return input_items(body)

    def recognises_body(self, body: dict[str, Any]) -> bool:
        """Whether the body has items, and no messages."""
        return "input" in body and "messages" not in body

    def recognises_message(self, message: dict[str, Any]) -> bool:
        """Whether the message is an item with a type, or has parts whose types only this dialect has."""
        kind = text_in(message, "type")
        if kind and kind != "message":
            return True
        return any(text_in(part, "type") in _PARTS for part in list_in(message, "content"))

    def recognises_tool(self, tool: dict[str, Any]) -> bool:
        """Whether the definition is a function without a wrapping, or a namespace."""
        return text_in(tool, "type") == "namespace" or (text_in(tool, "type") == "function" and "name" in tool)

    def messages_in_answer(self, body: dict[str, Any]) -> list[Any] | None:
        """The items of the answer."""
        return list_in(body, "output") if isinstance(body.get("output"), list) and "type" not in body else None

    def recognises_request(self, body: dict[str, Any], answered: bool) -> bool:
        """Whether the body is a request with a model and something to answer."""
        if not self.recognises_body(body) or not text_in(body, "model"):
            return False
        items = list_in(body, "input")
        return isinstance(body["input"], str) or (any(map(_is_item, items)) and not is_models(items[-1]))

    def items_in_message(self, message: dict[str, Any]) -> Iterator[FoundItem]:
        """The items of an entry. An entry is one item, but a message has the items of its content."""
        kind = text_in(message, "type")
        if kind in ("", "message"):
            yield from content_items(message, self.role_in(message))
        else:
            yield _item(kind, message)

    def may_truncate(self, parameters: Mapping[str, Any]) -> bool:
        """Whether the request asks OpenAI to drop the oldest items."""
        return parameters.get("truncation") == "auto"

    def new_speaker(self) -> DialectSpeaker:
        """Return the speaker. It is imported here, because most users of a dialect only read it."""
        from workbench.wire.responses_speaker import ResponsesSpeaker

        return ResponsesSpeaker(self)

    def write_request(self, chat: ChatRequest) -> dict[str, Any]:
        return responses_request(chat)

    def answer_with(self, message: dict[str, Any]) -> dict[str, Any]:
        """Build an answer with the message's text as its only item."""
        content = message.get("content")
        text = [{"type": "output_text", "text": json_text("" if content is None else content)}]
        return {"output": [{"type": "message", "role": "assistant", "content": text}] if message else []}

    def usage_json(self, used: ReportedUsage) -> dict[str, Any]:
        """The usage of an answer. Cached tokens are part of the input's."""
        return {
            "usage": {
                "input_tokens": used.prompt,
                "input_tokens_details": {"cached_tokens": used.cached},
                "output_tokens": used.completion,
                "output_tokens_details": {"reasoning_tokens": used.reasoning},
                "total_tokens": used.prompt + used.completion,
            }
        }


def _is_item(value: Any) -> bool:
    return bool(text_in(value, "role")) or text_in(value, "type").endswith(("_call", "_call_output"))


def _item(kind: str, item: dict[str, Any]) -> FoundItem:
    if kind == "reasoning":
        parts = [*list_in(item, "summary"), *list_in(item, "content")]
        return FoundItem("", -1, "reasoning", "\n\n".join(filter(None, (text_in(part, "text") for part in parts))))
    if kind == "additional_tools":
        return FoundItem("", -1, "tool", json_text(item.get("tools")))
    call_id = text_in(item, "call_id")
    if kind.endswith("_call_output"):
        content, failed = call_output(item.get("output"))
        return FoundItem("", -1, "result", text_of(content), call_id=call_id, is_error=failed)
    call_id = call_id or (text_in(item, "id") if kind in CALLS else "")
    if kind.endswith("_call") and call_id:
        arguments = item.get(CALLS.get(kind, "action"))
        tool = text_in(item, "name") or kind.removesuffix("_call")
        return FoundItem("", -1, "call", json_text("" if arguments is None else arguments), tool, call_id)
    return FoundItem("", -1, "other", json_text(item))


class ResponsesReader:
    """Reads items one by one."""

    def __init__(self, builder: EventBuilder) -> None:
        self.builder = builder
        self._replies = 0
        self._speaking = False
        """Whether the last item was the model's."""
        self._finish = "stop"
        self._is_answer = False
        """Whether an answer is being read."""

    def head(self, body: dict[str, Any]) -> int:
        """Read the instructions and the tools of a request, which are not in its items."""
        if text_in(body, "instructions"):
            self.builder.add(SlotContent("system", "instructions", text_in(body, "instructions")))
        self._tools(body)
        return 0

    def _tools(self, value: dict[str, Any], namespace: str = "") -> None:
        for tool in list_in(value, "tools"):
            if text_in(tool, "type") == "namespace":
                self._tools(tool, text_in(tool, "name"))
            else:
                self.builder.tool(responses_definition(tool), namespace)

    def message(self, value: Any) -> None:
        """Read an item. A bare text is the user's."""
        kind = text_in(value, "type")
        if isinstance(value, str):
            self._message({"role": "user", "content": value})
        elif kind == "message" or (not kind and text_in(value, "role")):
            self._message(value)
        elif kind == "reasoning":
            self._reasoning(value)
        elif kind in CALLS:
            arguments = value.get(CALLS[kind])
            arguments = {"input": arguments} if kind == "custom_tool_call" else arguments
            call_id = text_in(value, "call_id") or text_in(value, "id")
            self.builder.call(call_id, text_in(value, "name") or "local_shell", arguments, self._reply())
        elif kind.endswith("_call_output"):
            self._speaking = False
            content, failed = self.output(value.get("output"))
            self.builder.result(text_in(value, "call_id"), content, failed)
        elif kind == "additional_tools":
            self._tools(value)
        elif kind in COMPACTIONS:
            self._speaking = False
            self.builder.compacted(SEALED, "OpenAI", all_before=self._is_answer or self._replies > 0, sealed=True)
        else:
            self.builder.unknown(kind or "line", value)

    def answer(self, body: dict[str, Any]) -> Usage | None:
        self.builder.model = text_in(body, "model") or self.builder.model
        self._speaking = False
        self._finish = "length" if text_in(body, "status") == "incomplete" else "stop"
        self._is_answer = True
        for item in list_in(body, "output"):
            self.message(item)
        self._finish, self._is_answer = "stop", False
        return responses_usage(dict_in(body, "usage"), self.builder.model)

    def _reply(self) -> str:
        if not self._speaking:
            self._replies += 1
        self._speaking = True
        return f"r{self._replies}"

    def _message(self, item: dict[str, Any]) -> None:
        role, content = text_in(item, "role"), content_of(item.get("content"))
        if role == "assistant":
            self.builder.add(AssistantMessage(content, self._reply(), finish=self._finish, model=self.builder.model))
            return
        self._speaking = False
        if role == "user":
            self.user(content)
        elif role in ("developer", "system"):
            self.builder.add(SystemMessage(content, role))
        else:
            self.builder.unknown("message", item)

    def user(self, content: Content) -> None:
        """Add a message of the user."""
        self.builder.add(UserMessage(content))

    def output(self, value: Any) -> tuple[Content, bool]:
        """A call's output, and whether it is an error."""
        return call_output(value)

    def _reasoning(self, item: dict[str, Any]) -> None:
        parts = [*list_in(item, "summary"), *list_in(item, "content")]
        text = "\n\n".join(filter(None, (text_in(part, "text") for part in parts)))
        reply, signature = self._reply(), text_in(item, "encrypted_content")
        if text or signature:
            self.builder.add(Reasoning(text, reply, signature))
        else:
            self.builder.leave_out("reasoning that is empty")


def call_output(value: Any) -> tuple[Content, bool]:
    """A call's output, and whether it is an error."""
    if isinstance(value, dict):
        inner = value.get("content", value.get("content_items"))
        return content_of(value if inner is None else inner), value.get("success") is False
    return content_of(value), False


def responses_definition(tool: Any) -> Any:
    """Convert a function to the form of OpenAI's chat."""
    if text_in(tool, "type") != "function" or "function" in tool:
        return tool
    return {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}


def responses_usage(used: dict[str, Any], model: str) -> Usage | None:
    """The reported usage. Cached tokens are part of `input_tokens`."""
    cached = number_in(dict_in(used, "input_tokens_details"), "cached_tokens")
    thought = number_in(dict_in(used, "output_tokens_details"), "reasoning_tokens")
    prompt, completion = number_in(used, "input_tokens"), number_in(used, "output_tokens")
    return usage_report(model, prompt, completion, cached=cached, reasoning=thought)


def _streamed(events: list[dict[str, Any]]) -> dict[str, Any]:
    last = next((dict_in(event, "response") for event in reversed(events) if dict_in(event, "response")), {})
    done = [event["item"] for event in events if event.get("type") == "response.output_item.done" and "item" in event]
    return {**last, "output": list_in(last, "output") or done}
