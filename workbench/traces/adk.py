"""ADK, the Agent Development Kit: a session with its `events`, or the list of them.

- An event has an `author` (`user`, or an agent's name), an `invocation_id` and a `content` in Gemini's form. A reply
  carries the agent's name. Keys come with underscores or in camel case.
- Calls and responses are paired as in Gemini's contents: by id, or by name in their order. `usage_metadata` is the
  usage.
- `actions.compaction` is a compaction of the events between its two timestamps.
- Chunks of a stream (`partial`) are counted, because the whole follows. An `error_message` is a failure. An event
  without content changes the session's state only: counted. State and artifacts are no part of the conversation.
"""

from __future__ import annotations

from typing import Any

from workbench.log.events import Body, Compaction, text_of
from workbench.traces.building import Builder, beginning, content_of, dict_in, entries, list_in, number_in, text_in
from workbench.traces.gemini import Contents, either
from workbench.traces.reading import Document

NAME = "ADK"


def recognises(document: Document) -> bool:
    """Whether events with an author are near the beginning, bare or in a session."""
    first = beginning(document)
    return any(_is_event(value) for each in first for value in [each, *list_in(each, "events")[:40]])


def _is_event(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("author"), str):
        return False
    return isinstance(either(value, "invocationId"), str) or isinstance(dict_in(value, "content").get("parts"), list)


def read(document: Document, text: str) -> list[list[Body]]:
    """The session; or one per line, where lines are sessions."""
    located = [value for _, value in entries(document, text)]
    sessions = [value for value in located if isinstance(value, dict) and isinstance(value.get("events"), list)]
    found = []
    for number, events in enumerate([each["events"] for each in sessions] or [located]):
        builder = Builder(NAME, () if number else document.broken)
        reader = _Reader(builder)
        for event in events:
            reader.event(event)
        found.append(builder.finish())
    return found


class _Reader:
    """One session, event by event."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._contents = Contents(builder)
        self._times: list[tuple[float, int, int]] = []
        """Of each event: its time, and the first and the last of what it became."""

    def event(self, value: Any) -> None:
        if not isinstance(value, dict):
            self._builder.unknown("event", value)
            return
        before = self._builder.last
        content, author = value.get("content"), text_in(value, "author")
        compaction = dict_in(value.get("actions"), "compaction")
        message = either(value, "errorMessage") or either(value, "errorCode")
        if value.get("partial") is True:
            self._builder.leave_out("partial")
        elif compaction:
            self._compaction(value, compaction)
        elif isinstance(content, dict) and isinstance(content.get("parts"), list):
            self._builder.says_model(text_in(value, "modelVersion") or text_in(value, "model_version"))
            role = content.get("role") or ("user" if author == "user" else "model")
            self._contents.add({**content, "role": role}, "" if author == "user" else author)
        elif content:
            self._builder.unknown("event", value)
        elif not message:
            self._builder.leave_out("events without content")
        if isinstance(message, str) and message:
            self._builder.failure(text_of(content_of(message)))
        self._usage(either(value, "usageMetadata"))
        time = value.get("timestamp")
        if isinstance(time, int | float) and self._builder.last > before:
            self._times.append((time, before + 1, self._builder.last))

    def _usage(self, used: Any) -> None:
        def count(key: str) -> int:
            return number_in({"count": either(used, key)}, "count")

        thought = count("thoughtsTokenCount")
        completion = count("candidatesTokenCount") + thought
        cached = count("cachedContentTokenCount")
        self._builder.usage(count("promptTokenCount"), completion, cached=cached, reasoning=thought)

    def _compaction(self, value: dict[str, Any], compaction: dict[str, Any]) -> None:
        start, end = either(compaction, "startTimestamp"), either(compaction, "endTimestamp")
        content = either(compaction, "compactedContent")
        summary = "\n".join(filter(None, (text_in(part, "text") for part in list_in(content, "parts"))))
        inside = []
        if isinstance(start, int | float) and isinstance(end, int | float):
            inside = [(first, last) for time, first, last in self._times if start <= time <= end]
        if inside and summary:
            self._builder.add(Compaction(inside[0][0], inside[-1][1], summary, meta={"made_by": NAME}))
        else:
            self._builder.unknown("compaction", value)
