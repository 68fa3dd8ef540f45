"""ADK, the Agent Development Kit: a session with its `events`, or the list of them.

- An event has an `author` (`user`, or an agent's name), an `invocation_id` and a `content` in Gemini's form. A reply
  carries the agent's name. Keys come with underscores or in camel case.
- Calls and responses are paired as in Gemini's contents: by id, or by name in their order. `usage_metadata` is the
  usage.
- `actions.compaction`, or `_adk_compaction` in the `custom_metadata`, is a compaction of the events between its two
  timestamps: seconds, or RFC 3339. Its content is Gemini's, or its JSON as text (`compacted_content_json`). If the
  events are not in the file, the compaction is where they were.
- A tool that waits for a confirmation or for credentials gives a placeholder as its response. That is no result: the
  call stays open until the real one comes. ADK's question is counted, because no model sees it.
- Chunks of a stream (`partial`) are counted, because the whole follows. An `error_message` is a failure. An event
  without content changes the session's state only: counted. State and artifacts are no part of the conversation.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from workbench.log.events import text_of
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.reading import Document
from workbench.wire.gemini_contents import GeminiReader
from workbench.wire.values import content_of, dict_in, either, list_in, number_in, text_in

NAME = format_names.ADK
_ASKING = ("adk_request_confirmation", "adk_request_credential")
_PLACEHOLDER = "This tool call requires confirmation"


def recognises(document: Document) -> bool:
    """Whether events with an author are near the beginning, bare or in a session."""
    first = first_objects(document)
    return any(_is_event(value) for each in first for value in [each, *list_in(each, "events")[:40]])


def _is_event(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("author"), str):
        return False
    return isinstance(either(value, "invocationId"), str) or isinstance(dict_in(value, "content").get("parts"), list)


def read(document: Document, text: str) -> list[Recording]:
    """The session; or one per line, if lines are sessions."""
    located = [value for _, value in log_entries(document, text)]
    sessions = [value for value in located if isinstance(value, dict) and isinstance(value.get("events"), list)]
    found = []
    for number, events in enumerate([each["events"] for each in sessions] or [located]):
        builder = Builder(NAME, () if number else document.broken)
        reader = _Reader(builder)
        for event in _in_order(events):
            reader.event(event)
        found.append(builder.finish())
    return found


class _Reader:
    """One session, event by event."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._contents = GeminiReader(builder)
        self._times: list[float] = []
        """The time of each event that was kept, never before that of the one before."""
        self._became: list[tuple[int, int]] = []
        """Its first and its last event in the log."""

    def event(self, value: Any) -> None:
        if not isinstance(value, dict):
            self._builder.unknown("event", value)
            return
        before = self._builder.last
        content, author = value.get("content"), text_in(value, "author")
        compaction = _compaction_in(value)
        message = either(value, "errorMessage") or either(value, "errorCode")
        if value.get("partial") is True:
            self._builder.leave_out("partial")
        elif compaction:
            self._compaction(value, compaction)
        elif isinstance(content, dict) and isinstance(content.get("parts"), list):
            self._builder.says_model(text_in(value, "modelVersion") or text_in(value, "model_version"))
            role = content.get("role") or ("user" if author == "user" else "model")
            parts = [part for part in content["parts"] if not self._is_asking(part, _requests(value))]
            self._contents.add_content({"role": role, "parts": parts}, "" if author == "user" else author)
        elif content:
            self._builder.unknown("event", value)
        elif not message:
            self._builder.leave_out("events without content")
        if isinstance(message, str) and message:
            self._builder.failure(text_of(content_of(message)))
        self._usage(either(value, "usageMetadata"))
        time = _time(value.get("timestamp"))
        if time is not None and self._builder.last > before:
            self._times.append(max([time, *self._times[-1:]]))
            self._became.append((before + 1, self._builder.last))

    def _is_asking(self, part: Any, requests: set[str]) -> bool:
        """Whether a part is between ADK and the user: the question, the answer, or the placeholder meanwhile."""
        call, response = either(part, "functionCall"), either(part, "functionResponse")
        asks = text_in(call or response, "name") in _ASKING
        waits = isinstance(response, dict) and (
            text_in(response, "id") in requests
            or text_in(dict_in(response, "response"), "error").startswith(_PLACEHOLDER)
        )
        if asks or waits:
            self._builder.leave_out("confirmations")
        return asks or waits

    def _usage(self, used: Any) -> None:
        def count(key: str) -> int:
            return number_in({"count": either(used, key)}, "count")

        thought = count("thoughtsTokenCount")
        completion = count("candidatesTokenCount") + thought
        cached = count("cachedContentTokenCount")
        self._builder.usage(count("promptTokenCount"), completion, cached=cached, reasoning=thought)

    def _compaction(self, value: dict[str, Any], compaction: dict[str, Any]) -> None:
        summary = _summary(compaction) or _summary({"compactedContent": value.get("content")})
        if not summary:
            self._builder.unknown("compaction", value)
            return
        first = last = 0
        bounds = _bounds(compaction)
        if bounds is not None:
            first, last = bisect_left(self._times, bounds[0]), bisect_right(self._times, bounds[1])
        before = number_in({"tokens": either(compaction, "originalTokens")}, "tokens")
        if first < last:
            self._builder.compaction(self._became[first][0], self._became[last - 1][1], summary, tokens_before=before)
        else:
            self._builder.compaction(self._builder.last + 1, self._builder.last, summary, tokens_before=before)


def _compaction_in(value: Any) -> dict[str, Any]:
    """An event's compaction; empty if it has none."""
    actions = dict_in(value, "actions")
    return dict_in(actions, "compaction") or dict_in(either(value, "customMetadata"), "_adk_compaction")


def _requests(value: dict[str, Any]) -> set[str]:
    """The calls for which an event asks the user something."""
    actions = dict_in(value, "actions")
    asked = (either(actions, "requestedToolConfirmations"), either(actions, "requestedAuthConfigs"))
    return {call for each in asked if isinstance(each, dict) for call in each}


def _summary(compaction: dict[str, Any]) -> str:
    content = either(compaction, "compactedContent") or either(compaction, "compactedContentJson")
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except (ValueError, RecursionError):
            return text_of(content_of(content))
    return "\n".join(filter(None, (text_in(part, "text") for part in list_in(content, "parts"))))


def _time(value: Any) -> float | None:
    """A time in seconds; None for a value that is not a time."""
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            return None
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def _bounds(compaction: dict[str, Any]) -> tuple[float, float] | None:
    start, end = _time(either(compaction, "startTimestamp")), _time(either(compaction, "endTimestamp"))
    return None if start is None or end is None else (start, end)


def _in_order(events: list[Any]) -> list[Any]:
    """The events; but a compaction of missing events is moved to where they were."""
    compactions = [_compaction_in(event) for event in events]
    if not any(compactions):
        return events
    given = (event.get("timestamp") if isinstance(event, dict) else None for event in events)
    times = [None if made else _time(time) for time, made in zip(given, compactions, strict=True)]
    known = sorted(time for time in times if time is not None)
    reached = list(accumulate((-math.inf if time is None else time for time in times), max))
    places = []
    for at, made in enumerate(compactions):
        bounds = _bounds(made)
        lost = bounds is not None and bisect_left(known, bounds[0]) >= bisect_right(known, bounds[1])
        places.append(min(at, bisect_right(reached, bounds[1])) - 0.5 if lost and bounds else at)
    return [events[at] for at in sorted(range(len(events)), key=places.__getitem__)]
