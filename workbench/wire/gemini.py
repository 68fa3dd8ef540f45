"""The dialect of Gemini's API.

- A request has `systemInstruction`, `tools` with `functionDeclarations`, and `contents`; client libraries put the
  first two into `config`. A content has a `role` (`user` or `model`; `function` in older files) and `parts`: `text`,
  `thought` (a flag on a text), `functionCall` (`name`, `args`, sometimes an `id`), `functionResponse` (`name`,
  `response`), `inlineData`, `fileData`. Keys come in camel case or with underscores.
- A call and its response are paired by `id`, or by name in order. A response with the key `error` is an error.
- One content of the model is one reply. Signatures of thoughts are kept with the thought, and dropped on calls.
- With a login, Gemini CLI asks another service: the body has the request under `request`, next to the model, and the
  answer is under `response`.
- An answer has `candidates`, of which only the first is used, and `usageMetadata`. Cached tokens are part of the
  prompt's; tokens of thoughts are reported separately from the candidates'.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.log.events import DialectName, text_of
from workbench.models.reply_parts import ReportedUsage
from workbench.wire.chat_requests import ChatRequest
from workbench.wire.dialect import AskedPath, Dialect, ProviderHome
from workbench.wire.event_builder import EventBuilder
from workbench.wire.found_items import FoundItem, Kind, role_kind
from workbench.wire.gemini_contents import GeminiReader, gemini_part, is_content
from workbench.wire.gemini_requests import gemini_request
from workbench.wire.streams import stream_events
from workbench.wire.values import dict_in, either, is_models, json_text, list_in, text_in

if TYPE_CHECKING:
    from workbench.wire.speaking import DialectSpeaker

_PATH = re.compile(r"/models/(?P<model>[^/]+):(?P<asked>generateContent|streamGenerateContent|countTokens)$")
_WRAPPED_PATH = re.compile(r"/v\d+internal:(?P<asked>generateContent|streamGenerateContent|countTokens)$")
"""The path of the service that Gemini CLI asks with a login."""
_KNOWN = ("model", "generationConfig", "systemInstruction", "system_instruction", "tools", "safetySettings", "config")
_SCHEMAS_OF_ITS_OWN = frozenset(("parametersJsonSchema", "parameters_json_schema"))


class GeminiDialect(Dialect):
    name: ClassVar[DialectName] = "gemini"
    also = ("google",)
    title = "Gemini"
    provider = ProviderHome(
        "gemini", "https://generativelanguage.googleapis.com", ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE")
    )
    path = "/v1beta/models/{model}:generateContent"
    places = ("systemInstruction", "contents")
    answer_keys = ("candidates",)
    header = "x-goog-api-key"
    model_in_body = False
    takes_plain = ()
    returns_thinking = True
    shows_results = True
    pairs_by_tool = True

    def new_reader(self, builder: EventBuilder) -> GeminiReader:
        """Return a reader that adds contents to a builder."""
        return GeminiReader(builder)

    def answer_in_stream(self, stream: bytes) -> dict[str, Any]:
        """Build the answer from its stream events, or from a list of the objects that would be in them."""
        return _streamed(stream_events(stream))

    def recognises_body(self, body: dict[str, Any]) -> bool:
        """Whether the body has contents, and nothing else in their list."""
        contents = list_in(body, "contents")
        return bool(contents) and all(map(is_content, contents))

    def recognises_message(self, message: dict[str, Any]) -> bool:
        """Whether the message is a content with parts."""
        return "parts" in message and "content" not in message

    def recognises_tool(self, tool: dict[str, Any]) -> bool:
        """Whether the definition declares functions, is such a declaration, or is a tool that Google runs itself."""
        if isinstance(either(tool, "functionDeclarations"), list) or not _SCHEMAS_OF_ITS_OWN.isdisjoint(tool):
            return True
        return bool(tool) and all(isinstance(each, dict) for each in tool.values()) and "function" not in tool

    def messages_in_answer(self, body: dict[str, Any]) -> list[Any] | None:
        """The content of the first candidate."""
        if "candidates" not in body:
            return None
        contents = [dict_in(each, "content") for each in list_in(body, "candidates")[:1]]
        return [{"role": "model", **content} for content in contents if content]

    def recognises_request(self, body: dict[str, Any], answered: bool) -> bool:
        """Whether the body is a request. Without a recorded answer it must have more keys than its contents."""
        if not self.recognises_body(body):
            return False
        return answered or (not is_models(body["contents"][-1]) and not body.keys().isdisjoint(_KNOWN))

    def recognises_path(self, path: str) -> AskedPath | None:
        """The path of a request has the model, except for requests with a login: their body has it."""
        if wrapped := _WRAPPED_PATH.search(path):
            return AskedPath("counting" if wrapped["asked"] == "countTokens" else "", is_wrapped=True)
        found = _PATH.search(path)
        return AskedPath("counting" if found["asked"] == "countTokens" else "", found["model"]) if found else None

    def unwrapped_request(self, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The model and the request under `request`."""
        inner = dict_in(body, "request")
        return (text_in(body, "model") or text_in(inner, "model")).removeprefix("models/"), inner

    def unwrapped_answer(self, body: dict[str, Any]) -> dict[str, Any]:
        return _unwrapped(body)

    def recognises_client(self, path: str, headers: Mapping[str, str]) -> bool:
        """Whether a request is for Gemini: by the header with the key, or by the API version."""
        return self.header in headers or path.startswith("/v1beta")

    def role_in(self, message: dict[str, Any]) -> Kind:
        """The kind of a content. Without a role it is the user's."""
        return role_kind(text_in(message, "role") or "user")

    def items_in_message(self, message: dict[str, Any]) -> Iterator[FoundItem]:
        """The items of a content: its parts."""
        role, parts = self.role_in(message), message.get("parts")
        if isinstance(parts, str) and parts:
            yield FoundItem("parts", -1, role, parts)
        for index, part in enumerate(parts if isinstance(parts, list) else ()):
            yield _item(index, part, role)

    def result_with_text(self, value: dict[str, Any], text: str) -> Any:
        """A result with another text under the single key of its response."""
        key = "functionResponse" if "functionResponse" in value else "function_response"
        given = either(value, "functionResponse")
        response = {_output_key(given.get("response")) or "output": text}
        return {**value, key: {**given, "response": response}}

    def credentials(self, key: str) -> dict[str, str]:
        return {self.header: key} if key else {}

    def wants_stream(self, body: Mapping[str, Any], path: str) -> bool:
        return "streamGenerateContent" in path

    def streams_events(self, query: Mapping[str, str]) -> bool:
        """Whether the client asks for events. Otherwise the stream is one list."""
        return query.get("alt") == "sse"

    def new_speaker(self) -> DialectSpeaker:
        """Return the speaker. It is imported here, because most users of a dialect only read it."""
        from workbench.wire.gemini_speaker import GeminiSpeaker

        return GeminiSpeaker(self)

    def without_thinking(self, message: dict[str, Any]) -> dict[str, Any]:
        parts = list_in(message, "parts")
        kept = [part for part in parts if not (isinstance(part, dict) and part.get("thought") is True)]
        return message if len(kept) == len(parts) else {**message, "parts": kept}

    def write_request(self, chat: ChatRequest) -> dict[str, Any]:
        return gemini_request(chat)

    def answer_with(self, message: dict[str, Any]) -> dict[str, Any]:
        """Build an answer with the message's text as its only part."""
        content = message.get("content")
        parts = [{"text": json_text("" if content is None else content)}]
        return {"candidates": [{"content": {"role": "model", "parts": parts}}]} if message else {}

    def usage_json(self, used: ReportedUsage) -> dict[str, Any]:
        """The usage of an answer. Cached tokens are part of the prompt's; thoughts are reported separately."""
        return {
            "usageMetadata": {
                "promptTokenCount": used.prompt,
                "candidatesTokenCount": used.completion - used.reasoning,
                "thoughtsTokenCount": used.reasoning,
                "cachedContentTokenCount": used.cached,
                "totalTokenCount": used.prompt + used.completion,
            }
        }


def _item(index: int, part: Any, role: Kind) -> FoundItem:
    call, response = either(part, "functionCall"), either(part, "functionResponse")
    if isinstance(call, dict):
        arguments = json_text(call.get("args") or {})
        return FoundItem("parts", index, "call", arguments, text_in(call, "name"), text_in(call, "id"))
    if isinstance(response, dict):
        given = response.get("response")
        failed = isinstance(given, dict) and bool(given.get("error"))
        text = json_text(dict_in(response, "response").get(_output_key(given), given) or "")
        return FoundItem("parts", index, "result", text, text_in(response, "name"), text_in(response, "id"), failed)
    if isinstance(part, dict) and part.get("thought") is True:
        return FoundItem("parts", index, "reasoning", text_in(part, "text"))
    return FoundItem("parts", index, "user" if role == "result" else role, text_of((gemini_part(part),)))


def _output_key(given: Any) -> str:
    """The single key under which a response has its text; empty if it has more keys."""
    keys = list(given) if isinstance(given, dict) else []
    return keys[0] if len(keys) == 1 and keys[0] in ("output", "error", "result") else ""


def _unwrapped(body: dict[str, Any]) -> dict[str, Any]:
    """An answer, or a part of a stream, without what a request with a login gets around it."""
    return dict_in(body, "response") if "candidates" not in body and "response" in body else body


# Streams


def _streamed(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    parts: list[Any] = []
    texts: list[list[str]] = []
    """The pieces of each part's text, joined once at the end."""
    finish: dict[str, Any] = {}
    for event in map(_unwrapped, events):
        found.update({key: event[key] for key in ("modelVersion", "usageMetadata") if event.get(key)})
        for candidate in list_in(event, "candidates")[:1]:
            reason = text_in(candidate, "finishReason")
            finish = {"finishReason": reason} if reason else finish
            for part in list_in(dict_in(candidate, "content"), "parts"):
                last: Any = parts[-1] if parts else None
                if _is_text(part) and _is_text(last) and part.get("thought") == last.get("thought"):
                    parts[-1] = {**last, **part}
                    texts[-1].append(part["text"])
                else:
                    parts.append(part)
                    texts.append([part["text"]] if _is_text(part) else [])
    whole = [{**part, "text": "".join(pieces)} if pieces else part for part, pieces in zip(parts, texts, strict=True)]
    return {**found, "candidates": [{"content": {"role": "model", "parts": whole}, **finish}]} if parts else found


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)
