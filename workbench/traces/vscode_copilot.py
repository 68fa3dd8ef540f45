"""GitHub Copilot in VS Code: `workspaceStorage/HASH/chatSessions/ID.json`, or what "Chat: Export Chat" writes.

- One object with `requests`. Newer versions write JSON lines: `{"kind": 0, "v": session}`, then changes: 1 sets the
  value at a path (`k`), 2 appends to the list there, 3 deletes.
- A request has the user's `message`, its `modelId` and `timestamp`, what the screen shows under `response`, and under
  `result.metadata` what went to the model: `renderedUserMessage`, `renderedGlobalContext` before the first message,
  `toolCallRounds` (`response`, `thinking`, `toolCalls`) and `toolCallResults` by call. Without rounds, the texts and
  tools of the screen are the reply.
- A round with a `summary` is a compaction of everything before it.
- Results are trees of a renderer; their texts are joined as they are shown.
- Newer versions have the tokens of the last round: `result.usage`, or `promptTokens` and `outputTokens`.
- The event streams of Copilot's agent in VS Code are those of Copilot CLI. Not in the file: system prompt, tools.
"""

from __future__ import annotations

import copy
from typing import Any

from workbench.log.events import AssistantMessage, Reasoning, SystemMessage, UserMessage
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects
from workbench.traces.reading import Document
from workbench.wire.values import dict_in, json_text, list_in, number_in, text_in

NAME = format_names.VSCODE_COPILOT
_DEPTH = 60
"""How deep a renderer's tree is read."""
_READ = ("requests", "sessionId", "version", "customTitle", "creationDate")


def recognises(document: Document) -> bool:
    """Whether it is a session with requests that have VS Code's ids and parts."""
    first = first_objects(document, 1)
    return any(_is_session(_initial(value)) for value in first)


def _initial(value: dict[str, Any]) -> dict[str, Any]:
    return dict_in(value, "v") if value.get("kind") == 0 else value


def _is_session(value: dict[str, Any]) -> bool:
    requests = list_in(value, "requests")
    if not requests:
        return "requests" in value and "responderUsername" in value
    return any("message" in each and "response" in each for each in requests if isinstance(each, dict))


def read(document: Document, text: str) -> list[Recording]:
    first = first_objects(document, 1)
    session = _initial(first[0]) if first else {}
    if first and first[0].get("kind") == 0:
        session = copy.deepcopy(session)
        for _, value in document.values[1:]:
            _change(session, value)
    builder = Builder(NAME, document.broken)
    builder.says_title(text_in(session, "customTitle"))
    reader = _Reader(builder)
    for request in list_in(session, "requests"):
        reader.request(request)
    builder.leave_out_all_but(_READ, session)
    return [builder.finish()]


def _change(session: dict[str, Any], value: Any) -> None:
    """Apply a change of a session that is written line by line; one that does not fit is ignored."""
    path, kind = list_in(value, "k"), value.get("kind") if isinstance(value, dict) else None
    place: Any = session
    for key in path[:-1]:
        place = _at(place, key)
    if not path:
        return
    last = path[-1]
    if kind == 1:
        _set(place, last, value.get("v"))
    elif kind == 2:
        listed = _at(place, last)
        start = value.get("i")
        if isinstance(listed, list):
            if isinstance(start, int) and 0 <= start < len(listed):
                del listed[start:]
            listed.extend(list_in(value, "v"))
    elif kind == 3 and isinstance(place, dict) and isinstance(last, str):
        place.pop(last, None)


def _set(place: Any, key: Any, value: Any) -> None:
    if isinstance(place, dict) and isinstance(key, str):
        place[key] = value
    if isinstance(place, list) and isinstance(key, int) and 0 <= key < len(place):
        place[key] = value


def _at(place: Any, key: Any) -> Any:
    if isinstance(place, dict) and isinstance(key, str):
        return place.get(key)
    if isinstance(place, list) and isinstance(key, int) and 0 <= key < len(place):
        return place[key]
    return None


class _Reader:
    """One session, request by request."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def request(self, value: Any) -> None:
        """Add what the user asked and the answer."""
        if not isinstance(value, dict):
            self._builder.unknown("request", value)
            return
        self._builder.when(value.get("timestamp"))
        self._builder.says_model(text_in(value, "modelId").removeprefix("copilot/"))
        result = dict_in(value, "result")
        metadata = dict_in(result, "metadata")
        if around := _rendered(metadata, "renderedGlobalContext"):
            self._builder.add(SystemMessage(around, "user"))
        message = value.get("message")
        asked = message if isinstance(message, str) else text_in(message, "text")
        self._builder.add(UserMessage(_rendered(metadata, "renderedUserMessage") or asked))
        rounds = list_in(metadata, "toolCallRounds")
        results = dict_in(metadata, "toolCallResults")
        for each in rounds:
            self._round(each, results)
        if not rounds:
            self._shown(list_in(value, "response"))
        self._tokens(result, metadata)
        error = dict_in(result, "errorDetails")
        if error:
            self._builder.failure(text_in(error, "message") or "the request failed")

    def _round(self, value: Any, results: dict[str, Any]) -> None:
        reply, calls = self._builder.next_reply(), list_in(value, "toolCalls")
        self._builder.when(value.get("timestamp") if isinstance(value, dict) else None)
        thought = dict_in(value, "thinking").get("text")
        thought = "\n".join(map(str, thought)) if isinstance(thought, list) else thought
        if isinstance(thought, str) and thought:
            self._builder.add(Reasoning(thought, reply))
        if text_in(value, "response") or not calls:
            self._builder.add(AssistantMessage(text_in(value, "response"), reply, model=self._builder.model))
        for call in calls:
            arguments = call.get("arguments") if isinstance(call, dict) else None
            self._builder.call(text_in(call, "id"), text_in(call, "name"), arguments, reply)
        for call in calls:
            if text_in(call, "id") in results:
                self._builder.result(text_in(call, "id"), _result(results[text_in(call, "id")]))
        if text_in(value, "summary"):
            self._builder.compaction(1, self._builder.last, text_in(value, "summary"))

    def _shown(self, parts: list[Any]) -> None:
        """Add the reply as the screen shows it: texts, thinking, and tools without their results."""
        reply, texts = self._builder.next_reply(), list[str]()
        for part in parts:
            kind = text_in(part, "kind")
            if kind == "thinking":
                self._builder.add(Reasoning(text_in(part, "value"), reply))
            elif kind == "toolInvocationSerialized":
                self._add_reply(texts, reply)
                self._invoked(part, reply)
            elif kind in ("", "markdownContent"):
                texts.append(text_in(part, "value") or text_in(dict_in(part, "content"), "value"))
            elif kind == "inlineReference":
                place = dict_in(part, "inlineReference")
                texts.append(text_in(part, "name") or text_in(place, "path") or text_in(place, "name"))
            else:
                self._builder.leave_out(kind)
        self._add_reply(texts, reply)

    def _add_reply(self, texts: list[str], reply: str) -> None:
        message = "".join(texts)
        if message:
            self._builder.add(AssistantMessage(message, reply, model=self._builder.model))
        texts.clear()

    def _invoked(self, part: dict[str, Any], reply: str) -> None:
        call, given = text_in(part, "toolCallId"), part.get("resultDetails")
        asked = dict_in(part, "toolSpecificData") or {"message": _message(part, "invocationMessage")}
        self._builder.call(call, text_in(part, "toolId"), asked, reply)
        shown = _message(part, "pastTenseMessage")
        self._builder.result(call, shown if given is None else json_text(given))

    def _tokens(self, result: dict[str, Any], metadata: dict[str, Any]) -> None:
        used = dict_in(result, "usage") or metadata
        completion = number_in(used, "completionTokens") or number_in(used, "outputTokens")
        self._builder.usage(number_in(used, "promptTokens"), completion)


def _message(part: dict[str, Any], key: str) -> str:
    return text_in(part, key) or text_in(part.get(key), "value")


def _rendered(metadata: dict[str, Any], key: str) -> str:
    """The texts of a rendered prompt, without cache marks."""
    return "\n".join(filter(None, (text_in(part, "text") for part in list_in(metadata, key))))


def _result(value: Any) -> str:
    """A tool's result: texts, and trees of texts."""
    found = []
    for part in list_in(value, "content"):
        inside = part.get("value") if isinstance(part, dict) else part
        node = dict_in(inside, "node")
        found.append("".join(_texts(node, 0)) if node else inside if isinstance(inside, str) else json_text(inside))
    return "\n".join(found) if found else value if isinstance(value, str) else ""


def _texts(node: Any, depth: int) -> list[str]:
    if depth > _DEPTH:
        return []
    found = ["\n"] if isinstance(node, dict) and node.get("lineBreakBefore") is True else []
    found += [text_in(node, "text")] if text_in(node, "text") else []
    for child in list_in(node, "children"):
        found += _texts(child, depth + 1)
    return found
