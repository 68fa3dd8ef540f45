"""The dialect of Ollama's own chat API, `/api/chat`.

- A request has `tools` in the form of OpenAI's chat, and `messages` of the roles `system`, `user`, `assistant` and
  `tool`, whose contents are texts. Pictures are base64 under `images`, thinking is under `thinking`. A call has `name`
  and `arguments` as an object, and an `id` only in newer versions. A result has `tool_name`, or nothing: then it
  belongs to the first call that has no result yet.
- An answer has one `message`, `done_reason`, and the numbers of its tokens: `prompt_eval_count`, `eval_count`.
- Answers are streamed unless `stream` is false: a JSON object per line, the last with `done`.
- Ollama drops messages from the beginning if they do not fit into `num_ctx`, and does not report it, unless `truncate`
  is false.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any, ClassVar

from workbench.log.events import (
    AssistantMessage,
    DialectName,
    ImagePart,
    Part,
    Reasoning,
    SlotContent,
    SystemMessage,
    TextPart,
    Usage,
    UserMessage,
)
from workbench.models.reply_parts import ReportedUsage
from workbench.wire.answers import PacedAnswer, Refusal, WrittenCall, answer_pieces
from workbench.wire.chat_requests import ChatRequest
from workbench.wire.checked_requests import (
    BadRequest,
    CheckedRequest,
    Json,
    input_of,
    list_of,
    positive_number,
    request_of,
)
from workbench.wire.dialect import Dialect, ProviderHome, asks_with_messages
from workbench.wire.event_builder import EventBuilder, usage_report
from workbench.wire.found_items import FoundItem
from workbench.wire.ollama_requests import ollama_request
from workbench.wire.speaking import MODELS, DialectSpeaker, StreamedEvent, to_json
from workbench.wire.streams import joined_pieces, parsed_json
from workbench.wire.tool_demands import checked_demand
from workbench.wire.values import content_from, content_of, dict_in, json_text, list_in, number_in, parsed, text_in

_OWN = frozenset(("options", "keep_alive", "think", "truncate", "shift"))
"""Keys of a request that no other dialect has."""
_WORK = ("tags", "show", "version", "ps", "generate", "embed", "embeddings", "pull", "push", "create", "copy", "delete")
"""What follows `/api/` in the paths of Ollama's other requests."""
_FINISH = {"length": "length"}
_ROLES = ("system", "user", "assistant", "tool")


class OllamaDialect(Dialect):
    name: ClassVar[DialectName] = "ollama"
    title = "Ollama"
    provider = ProviderHome("ollama", "http://127.0.0.1:11434", ("OLLAMA_API_BASE",))
    path = "/api/chat"
    ends: ClassVar[Mapping[str, str]] = {"/api/chat": ""}
    places = ("", "messages")
    pairs_by_tool = True
    no_text = ""
    needs_key = False
    answer_keys = ("done",)
    stream_sign = '"done":'

    def new_reader(self, builder: EventBuilder) -> OllamaReader:
        """Return a reader that adds the events of messages to `builder`."""
        return OllamaReader(builder)

    def answer_in_stream(self, stream: bytes) -> dict[str, Any]:
        """Join the lines of a streamed answer into one answer."""
        found: dict[str, Any] = {}
        pieces: dict[str, list[str]] = {"content": [], "thinking": []}
        calls: list[Any] = []
        for line in io.BytesIO(stream):
            value = parsed_json(line)
            if not isinstance(value, dict):
                continue
            message = dict_in(value, "message")
            for key, texts in pieces.items():
                texts.append(text_in(message, key))
            calls += list_in(message, "tool_calls")
            found.update(value)
        whole = {key: text for key, texts in pieces.items() if (text := joined_pieces(texts))}
        if not found or not (whole or calls):
            return found
        more = {"tool_calls": calls} if calls else {}
        return {**found, "message": {"role": "assistant", "content": "", **whole, **more}}

    def prompt_length(self, messages: list[Any]) -> int:
        """The number of system messages at the beginning: they are the prompt."""
        return sum(1 for _ in takewhile(lambda message: text_in(message, "role") == "system", messages))

    def recognises_body(self, body: dict[str, Any]) -> bool:
        """Whether the body has keys that only Ollama's requests have."""
        return isinstance(body.get("messages"), list) and not body.keys().isdisjoint(_OWN)

    def recognises_message(self, message: dict[str, Any]) -> bool:
        """Whether the message has what only Ollama's have: `tool_name`, `images`, or calls with object arguments."""
        calls = [dict_in(call, "function").get("arguments") for call in list_in(message, "tool_calls")]
        return "tool_name" in message or "images" in message or any(isinstance(each, dict) for each in calls)

    def messages_in_answer(self, body: dict[str, Any]) -> list[Any] | None:
        """The message of an answer, in a list; None if the body is not an answer."""
        return [body["message"]] if "done" in body and dict_in(body, "message") else None

    def recognises_request(self, body: dict[str, Any], answered: bool) -> bool:
        return asks_with_messages(body, answered) and self.recognises_body(body)

    def recognises_client(self, path: str, headers: Mapping[str, str]) -> bool:
        """Whether a request that asks no model is for Ollama: its clients also list, load and describe models."""
        return path.startswith("/api/") and path.split("/")[2] in (*_WORK, "blobs")

    def items_in_message(self, message: dict[str, Any]) -> Iterator[FoundItem]:
        """The items of a message. Calls and thinking are outside the content; a result is the message itself."""
        role, text = self.role_in(message), text_in(message, "content")
        if role == "result":
            tool = text_in(message, "tool_name") or text_in(message, "name")
            yield FoundItem("", -1, role, text, tool, text_in(message, "tool_call_id"))
            return
        if text_in(message, "thinking"):
            yield FoundItem("thinking", -1, "reasoning", text_in(message, "thinking"))
        if text:
            yield FoundItem("content", -1, role, text)
        for index, call in enumerate(list_in(message, "tool_calls")):
            function = dict_in(call, "function")
            arguments = json_text(function.get("arguments") or {})
            yield FoundItem("tool_calls", index, "call", arguments, text_in(function, "name"), text_in(call, "id"))

    def result_with_text(self, value: dict[str, Any], text: str) -> Any:
        """A result with another text under `content`."""
        return {**value, "content": text}

    def wants_stream(self, body: Mapping[str, Any], path: str) -> bool:
        """Whether the answer is streamed: yes, unless the request says otherwise."""
        return body.get("stream") is not False

    def may_truncate(self, parameters: Mapping[str, Any]) -> bool:
        """Whether Ollama may drop the oldest messages that do not fit into `num_ctx`."""
        return parameters.get("truncate") is not False

    def new_speaker(self) -> OllamaSpeaker:
        """Return an object that answers as Ollama does."""
        return OllamaSpeaker(self)

    def body_with_prompt(self, body: dict[str, Any], system: Any) -> dict[str, Any]:
        """The body with the prompt as its first message, unless it already begins with a system message."""
        messages = self.messages_in(body)
        if self.prompt_length(messages):
            return body
        return {**body, "messages": [{"role": "system", "content": system}, *messages]}

    def without_thinking(self, message: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in message.items() if key != "thinking"} if "thinking" in message else message

    def write_request(self, chat: ChatRequest) -> dict[str, Any]:
        return ollama_request(chat)

    def answer_with(self, message: dict[str, Any]) -> dict[str, Any]:
        """Build an answer with the message. The arguments of calls become objects."""
        functions = [dict_in(call, "function") for call in list_in(message, "tool_calls")]
        calls = [{"function": {**each, "arguments": parsed(each.get("arguments") or {})}} for each in functions]
        return {"message": {**message, **({"tool_calls": calls} if calls else {})}, "done": True} if message else {}

    def usage_json(self, used: ReportedUsage) -> dict[str, Any]:
        """The usage of an answer. Cached tokens and thinking are not reported separately."""
        return {"prompt_eval_count": used.prompt, "eval_count": used.completion}


class OllamaReader:
    """Reads requests and answers, and adds their events to a `EventBuilder`."""

    def __init__(self, builder: EventBuilder) -> None:
        self.builder = builder
        self._replies = 0
        self._calls = 0
        self._waiting: list[tuple[str, str]] = []
        """Calls without a result yet: the tool and the id of each."""

    def head(self, body: dict[str, Any]) -> int:
        """Read the tools and the system prompt. Return how many of the first messages are the prompt."""
        first = list(takewhile(lambda value: text_in(value, "role") == "system", list_in(body, "messages")))
        for number, message in enumerate(first, 1):
            if text := text_in(message, "content"):
                self.builder.add(SlotContent("system", "system" if number == 1 else f"system {number}", text))
        for tool in list_in(body, "tools"):
            self.builder.tool(tool)
        return len(first)

    def message(self, value: Any) -> None:
        match text_in(value, "role"):
            case "system":
                self.builder.add(SystemMessage(text_in(value, "content")))
            case "user":
                self.builder.add(UserMessage(content_from(_parts(value))))
            case "assistant":
                self._reply(value, "stop")
            case "tool":
                self._result(value)
            case _:
                self.builder.unknown("message", value)

    def answer(self, body: dict[str, Any]) -> Usage | None:
        self.builder.model = text_in(body, "model") or self.builder.model
        if dict_in(body, "message"):
            self._reply(dict_in(body, "message"), _FINISH.get(text_in(body, "done_reason"), "stop"), self.builder.model)
        return usage_report(self.builder.model, number_in(body, "prompt_eval_count"), number_in(body, "eval_count"))

    def _reply(self, value: dict[str, Any], finish: str, model: str = "") -> None:
        self._replies += 1
        reply, calls = f"r{self._replies}", list_in(value, "tool_calls")
        if text_in(value, "thinking"):
            self.builder.add(Reasoning(text_in(value, "thinking"), reply))
        content = content_from(_parts(value))
        if content or not calls:
            self.builder.add(AssistantMessage(content, reply, finish=finish, model=model))
        for call in calls:
            self._calls += 1
            function = dict_in(call, "function")
            tool, call_id = text_in(function, "name"), text_in(call, "id") or f"call-{self._calls}"
            self._waiting.append((tool, call_id))
            self.builder.call(call_id, tool, function.get("arguments"), reply)

    def _result(self, value: dict[str, Any]) -> None:
        """Add a result. Without an id it belongs to the first call that waits for one, of its tool if it names one."""
        tool, call_id = text_in(value, "tool_name") or text_in(value, "name"), text_in(value, "tool_call_id")
        fits = (each for each in self._waiting if (call_id in ("", each[1])) and (call_id or tool in ("", each[0])))
        found = next(fits, None)
        if found is not None:
            self._waiting.remove(found)
            tool, call_id = found
        self.builder.result(call_id, content_of(value.get("content")), tool=tool)


def _parts(message: dict[str, Any]) -> list[Part]:
    """The text and the pictures of a message."""
    text = text_in(message, "content")
    images = (each for each in list_in(message, "images") if isinstance(each, str))
    texts: list[Part] = [TextPart(text)] if text else []
    return [*texts, *(ImagePart(f"data:image/png;base64,{json_text(each)}") for each in images)]


# Answering as Ollama does

_ERRORS = {
    401: "unauthorized",
    404: "model '{model}' not found",
    429: "too many requests",
    500: "an error was encountered while running the model",
    503: "server busy, please try again. maximum pending requests exceeded",
}
_KINDS = {
    "context": "the input length exceeds the context length",
    "quota": "you have reached your usage limit, please upgrade to continue",
    "policy": "the request was refused",
}


class OllamaSpeaker(DialectSpeaker):
    """Checks requests to `/api/chat` and writes answers as Ollama does."""

    paths: ClassVar[tuple[str, ...]] = ("/api/chat",)
    stream_type = "application/x-ndjson"

    def read_request(self, body: Json, path: str = "") -> CheckedRequest:
        """Read and check a request's body. Ollama accepts a result without a call, so this does too."""
        given = list_of(body.get("messages"), "messages")
        if not given:
            raise BadRequest("messages: expected at least one message")
        for number, message in enumerate(given):
            if message.get("role") not in _ROLES:
                raise BadRequest(f"messages[{number}].role: expected {', '.join(_ROLES)}, got {message.get('role')!r}")
            if not isinstance(message.get("content", ""), str | None):
                raise BadRequest(f"messages[{number}].content: expected text")
        wanted, options = body.get("format"), body.get("options")
        schema = wanted if isinstance(wanted, Mapping) else {"type": "object"} if wanted == "json" else None
        limit = options.get("num_predict") if isinstance(options, Mapping) else None
        stream = body.get("stream") is not False
        events = self.dialect.read_request(dict(body))
        return checked_demand(request_of(events, body, stream=stream, max_tokens=positive_number(limit), schema=schema))

    def full_answer(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> dict[str, Any]:
        answer = played.answer
        message: dict[str, Any] = {"role": "assistant", "content": answer.text}
        if answer.reasoning:
            message["thinking"] = answer.reasoning
        if answer.calls:
            message["tool_calls"] = [_call(number, call) for number, call in enumerate(answer.calls)]
        return {**_envelope(request), "message": message, **self._end(played)}

    def stream(self, played: PacedAnswer, request: CheckedRequest, ident: str) -> Iterator[StreamedEvent]:
        """The answer as lines with pieces of the message. A call is sent whole."""

        def line(at: float, more: dict[str, Any], end: dict[str, Any]) -> StreamedEvent:
            message = {"role": "assistant", "content": "", **more}
            return StreamedEvent(at, _line({**_envelope(request), "message": message, **end}))

        at = played.pace.delay
        for piece in answer_pieces(played.answer, played.pace):
            at = piece.at
            match piece.kind:
                case "reasoning":
                    yield line(at, {"thinking": piece.text}, {"done": False})
                case "text":
                    yield line(at, {"content": piece.text}, {"done": False})
                case "call":
                    call = _call(piece.number, played.answer.calls[piece.number])
                    yield line(at, {"tool_calls": [call]}, {"done": False})
        if played.finishes:
            yield line(at, {}, self._end(played))

    def _end(self, played: PacedAnswer) -> dict[str, Any]:
        if not played.finishes:
            return {"done": False}
        reason = "length" if played.answer.reason == "length" else "stop"
        return {"done": True, "done_reason": reason, **self.reported(played.answer.usage)}

    def error(self, refusal: Refusal, model: str) -> dict[str, Any]:
        """The body of an error. In Ollama's form, it has only a text."""
        text = _KINDS.get(refusal.kind) or _ERRORS.get(refusal.status, "the request is not accepted")
        return {"error": refusal.detail or text.format(model=model)}

    def error_event(self) -> bytes:
        """The line for an error in the middle of a stream."""
        return _line(self.error(Refusal(500), ""))

    def late_error_event(self, error: dict[str, Any], status: int) -> bytes:
        """The line for an error that comes after the stream has begun."""
        return _line(error)

    def broken_event(self, broken: str) -> bytes:
        """A line that is not JSON."""
        return f"{broken}\n".encode()

    def counted(self, tokens: int) -> dict[str, Any]:
        """A form made up here: this API has no request that only counts tokens."""
        return {"prompt_eval_count": tokens}

    def model(self, name: str) -> dict[str, Any]:
        return {
            "name": name,
            "model": name,
            "size": 0,
            "digest": "",
            "details": {"format": "gguf", "family": "rehearsal"},
        }

    def models(self) -> dict[str, Any]:
        return {"models": [self.model(name) for name in MODELS]}


def _line(body: Json) -> bytes:
    return f"{to_json(body)}\n".encode()


def _envelope(request: CheckedRequest) -> dict[str, Any]:
    return {"model": request.model, "created_at": "1970-01-01T00:00:00Z"}


def _call(number: int, call: WrittenCall) -> dict[str, Any]:
    return {"id": call.call_id, "function": {"index": number, "name": call.tool, "arguments": input_of(call)}}
