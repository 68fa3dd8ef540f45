"""Logs of requests: bodies as they went over the wire, in any dialect, alone or with their answers.

- One body, a list of them, or JSON lines. A body names its `model` (Gemini's may be in the address), does not end with
  the model's own message, and has no keys that a chat API does not take; others are transcripts.
- The answer is under `response` next to the body or next to `request`, or its `choices` and `usage` are next to the
  messages. Recorders of HTTP put both into a `body`, sometimes as text; a stream is put together again. All
  of a recording is in a list (`interactions`, `http_interactions`, or `log.entries` of HAR).
- Bedrock's Converse is read as Anthropic's (`bedrock`), and such a request is not exact.
- OpenHands' `llm_completions` are such files: `messages`, `response`, and the other parameters under `kwargs`.
- All others are exact; `exchanges` joins them to conversations.
- Missing: what a request did not hold, and the order of requests other than that of the file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from workbench.log.events import DialectName
from workbench.traces import bedrock, format_names
from workbench.traces.building import Recording
from workbench.traces.exchanges import conversations_of
from workbench.traces.reading import Document, Located
from workbench.traces.request_thread import Exchange
from workbench.traces.written_times import epoch_milliseconds
from workbench.wire.dialect import Dialect
from workbench.wire.dialects import DEFAULT, DIALECT_REGISTRY, DIALECTS, dialect_of_message, from_stream
from workbench.wire.parts import split_body
from workbench.wire.values import dict_in, list_in, text_in

NAME = format_names.REQUEST_LOGS
_REQUESTS = ("request", "req", "requestBody", "request_body", "body")
_ANSWERS = ("response", "resp", "responseBody", "response_body")
_SAID = (*(key for dialect in DIALECT_REGISTRY.own.values() for key in dialect.answer_keys), "error")
_ANSWER_KEYS = (*_SAID, "usage", "usageMetadata")
"""Keys of an answer that may be among the request's own."""
_TIMES = ("timestamp", "ts", "t", "time", "created_at", "createdAt", "start_time", "created")
_NOT_SENT = (
    *_ANSWERS,
    *_ANSWER_KEYS,
    *_TIMES,
    "args",
    "kwargs",
    "cost",
    "latency_sec",
    "context_window",
    "id",
    "object",
)
"""Keys next to a body that has its answer with it."""
_STRINGS = ("string", "base64_string")
"""The keys under which recorders keep a body that is an object."""
_FIRST = 40
"""Entries that are tested to recognise the format."""
_COUNTING = ("count_tokens", "countTokens", "input_tokens")
"""In addresses of requests that no model answered."""


def recognises(document: Document) -> bool:
    """Whether the entries near the beginning are requests; a recorder of HTTP writes others between them."""
    first = [value for _, value in _entries(document)[:_FIRST] if isinstance(value, dict)]
    found = [exchange_of(value) is not None for value in first]
    return any(found) and all(is_one or _is_http(value) for is_one, value in zip(found, first, strict=True))


def _entries(document: Document) -> Sequence[Located]:
    """The requests of a file: its lines, its list, or the list under a recorder's key."""
    first = document.values[0].value
    if document.lines:
        return document.values
    recorded = list_in(first, "interactions") or list_in(first, "http_interactions")
    recorded = recorded or list_in(dict_in(first, "log"), "entries")
    listed = first if isinstance(first, list) else recorded
    return [Located(document.values[0].line, value) for value in listed] if listed else document.values


def _is_http(value: dict[str, Any]) -> bool:
    return "method" in value or "method" in dict_in(value, "request")


def read(document: Document, text: str) -> list[Recording]:
    found = [exchange_of(value) for _, value in _entries(document)]
    exchanges = [exchange for exchange in found if exchange is not None]
    made = conversations_of(exchanges, NAME)
    if not made:
        return []
    made[0].skipped(document.broken)
    made[0].leave_out("requests that ask no model", len(found) - len(exchanges))
    return [builder.finish() for builder in made]


def exchange_of(value: Any) -> Exchange | None:
    """An entry as a request with its answer; None for any other entry."""
    if not isinstance(value, dict):
        return None
    given = _answer(value)
    body = next(filter(None, (_opened(value.get(key)) for key in _REQUESTS)), None)
    if body is None:
        body = {**dict_in(value, "kwargs"), **value}
        body = {key: each for key, each in body.items() if key not in _NOT_SENT} if given else body
    address = text_in(value, "path") or text_in(value, "url") or text_in(dict_in(value, "request"), "url")
    if bedrock.is_body(body):
        return _converse(value, body, address)
    dialect = _dialect(body, given)
    if dialect is None or any(word in address for word in _COUNTING):
        return None
    model = text_in(body, "model") or address.rpartition("models/")[2].partition(":")[0]
    answer = from_stream(dialect, given) if isinstance(given, str) else given
    at = _time(value, dict_in(value, "request"), answer)
    return Exchange(dialect, body, answer, model.removeprefix("models/"), at, split_body(dialect, body))


def _time(*places: dict[str, Any]) -> int:
    return next(filter(None, (epoch_milliseconds(place.get(key)) for place in places for key in _TIMES)), 0)


def _converse(value: dict[str, Any], body: dict[str, Any], address: str) -> Exchange:
    """A request in Bedrock's own dialect, read as Anthropic's."""
    body = bedrock.as_anthropic(body, unquote(address.rpartition("/model/")[2].partition("/")[0]))
    given = next((value[key] for key in _ANSWERS if key in value), None)
    raw = _body(given)
    answer = bedrock.answer_of(_opened(given), raw if isinstance(raw, str) else "")
    at = _time(value, dict_in(value, "request"))
    return Exchange(
        "anthropic", body, answer, text_in(body, "model"), at, split_body("anthropic", body), is_exact=False
    )


def _opened(value: Any) -> dict[str, Any]:
    """A body that may be text, or in a recorder's object with the address and the headers."""
    value = _body(value)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _body(value: Any) -> Any:
    """The body as recorders of HTTP keep it: text, or an object around it; HAR has its own names."""
    for key in ("body", "postData", "content"):
        inner = value.get(key) if isinstance(value, dict) and "type" not in value else None
        if key == "body" and inner is not None:
            text = next((inner[name] for name in _STRINGS if isinstance(inner, dict) and name in inner), None)
            return inner if text is None else text
        if isinstance(inner, dict) and isinstance(inner.get("text"), str) and "mimeType" in inner:
            return inner["text"]
    return value


def _answer(value: dict[str, Any]) -> dict[str, Any] | str:
    """The answer: an object, or a stream as it was sent; empty if there is none."""
    for key in _ANSWERS:
        found = value.get(key)
        opened = _opened(found)
        if text_in(opened, "role") and "type" not in opened:
            return {"choices": [{"message": opened}]}
        body = _body(found)
        raw = body if isinstance(body, str) else text_in(found, "body_raw")
        is_stream = any(dialect.stream_sign in raw for dialect in DIALECTS.values())
        if not opened.keys().isdisjoint(_ANSWER_KEYS) or is_stream:
            return opened or raw
    answer = {key: value[key] for key in _ANSWER_KEYS if key in value}
    return {"model": value.get("model"), **answer} if answer else {}


def _dialect(body: dict[str, Any], given: dict[str, Any] | str) -> DialectName | None:
    """The dialect of a request that waits for its answer, or was answered; None for all else.

    Messages without anything that only one dialect has fit several: then the answer decides.
    """
    answered = isinstance(given, str) or not given.keys().isdisjoint(_SAID)
    found = next((each for each in DIALECTS.values() if each.recognises_request(body, answered)), None)
    if found is DEFAULT and given and not body.get("tools") and all(map(_fits_several, body["messages"])):
        found = _dialect_of_answer(given) or found
    return None if found is None else found.name


def _fits_several(message: dict[str, Any]) -> bool:
    return text_in(message, "role") in ("user", "assistant") and dialect_of_message(message) is None


def _dialect_of_answer(given: dict[str, Any] | str) -> Dialect | None:
    """The dialect of an answer, among those that have the system prompt outside the messages; None: none of them."""
    for each in DIALECT_REGISTRY.own.values():
        if each.places[0] and each.places[1] == DEFAULT.places[1]:
            answer = given if isinstance(given, dict) else from_stream(each.name, given)
            if each.messages_in_answer(answer) is not None:
                return each
    return None
