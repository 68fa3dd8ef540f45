"""What the readers of other agents' transcripts share: parts of messages, and a log in the making."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from workbench.config.errors import WrongCall
from workbench.log.codec import clean
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Content,
    Failure,
    ImagePart,
    OtherPart,
    Part,
    Request,
    RequestPart,
    Setting,
    SlotContent,
    TextPart,
    ToolCall,
    ToolResult,
    Unknown,
    Usage,
    UserMessage,
)
from workbench.traces.reading import Document, Located, elements

CATEGORY = "transcript"
"""Of the failures that tell what could not be read."""
TOLD = 20
"""So many unreadable lines are told one by one."""
_TEXTS = ("text", "input_text", "output_text")
_TALK = ("message", "messages", "content", "parts", "text", "prompt", "response", "role")
LEFT_OUT = "left out"
"""The setting that counts, by kind, what a reader knows to be no part of the conversation."""


def entries(document: Document, text: str) -> list[Located]:
    """The entries of a log that is JSON lines, or one list of the same."""
    if not document.lines and isinstance(document.values[0].value, list):
        return elements(text)
    return document.values


def beginning(document: Document, count: int = 40) -> list[dict[str, Any]]:
    """The objects among a document's first entries, for a look at its format."""
    first = document.values[0].value
    values = [value for _, value in document.values[:count]]
    if not document.lines and isinstance(first, list):
        values = first[:count]
    return [value for value in values if isinstance(value, dict)]


def text_in(value: Any, key: str) -> str:
    """The text under a key; nothing where it is missing or no text."""
    found = value.get(key) if isinstance(value, dict) else None
    return clean(found) if isinstance(found, str) else ""


def dict_in(value: Any, key: str) -> dict[str, Any]:
    """The object under a key; an empty one where it is missing or none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def list_in(value: Any, key: str) -> list[Any]:
    """The list under a key; an empty one where it is missing or none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def number_in(value: Any, key: str) -> int:
    """The count under a key; 0 where it is missing or none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def as_json(value: Any) -> str:
    """A value as JSON text that can be stored; a text stays as it is, because it is what the model wrote."""
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def cleaned(value: Any) -> Any:
    """A JSON value that can be stored."""
    return json.loads(clean(json.dumps(value, ensure_ascii=False)))


def part_of(value: Any) -> Part:
    """A part of a message in any of the forms that OpenAI, Anthropic and their users write."""
    if isinstance(value, str):
        return TextPart(clean(value))
    if not isinstance(value, dict):
        return other_part(value)
    kind, image, source = value.get("type"), value.get("image_url"), value.get("source")
    if kind == "image_url" and isinstance(image, str):
        return ImagePart(clean(image))
    if kind == "image_url" and isinstance(image, dict) and isinstance(image.get("url"), str):
        return ImagePart(clean(image["url"]), clean(str(image.get("detail") or "auto")))
    if kind == "input_image" and isinstance(image, str):
        return ImagePart(clean(image), clean(str(value.get("detail") or "auto")))
    if kind == "image" and isinstance(source, dict):
        url = source.get("url") or f"data:{source.get('media_type', '')};base64,{source.get('data', '')}"
        return ImagePart(clean(str(url)))
    if kind == "image" and isinstance(value.get("data"), str):
        return ImagePart(clean(f"data:{value.get('mimeType', '')};base64,{value['data']}"))
    if isinstance(value.get("text"), str) and kind in _TEXTS:
        return TextPart(clean(value["text"]))
    return other_part(value)


def other_part(value: Any) -> OtherPart:
    """A part that is not understood, carried whole; with a `type`, which every part of a request has."""
    kind = text_in(value, "type")
    known = kind and kind not in _TEXTS
    return OtherPart(cleaned(value) if known else {"type": "unknown", "value": cleaned(value)})


def content_of(value: Any) -> Content:
    """A message's content: text, a list of parts, or nothing. A single text is the same with and without its list."""
    if value is None:
        return ""
    if not isinstance(value, list):
        return as_json(value)
    return content_from(part_of(part) for part in value)


def content_from(parts: Iterable[Part]) -> Content:
    """Parts as a content."""
    found = tuple(parts)
    if len(found) == 1 and isinstance(found[0], TextPart):
        return found[0].text
    return found or ""


class Recording(list[Body]):
    """The events of a conversation that another agent recorded, and when each of them happened."""

    def __init__(self, bodies: Iterable[Body] = ()) -> None:
        super().__init__(bodies)
        self.times: list[int] = [0] * len(self)
        """By event: milliseconds since 1970; 0 where the file does not say."""
        self.strange = 0
        """Entries that look like talk and were not understood. Where they are many, the format is another one."""
        self.format = ""
        """Whose it is."""

    def put(self, body: Body, at: int) -> None:
        """What comes next, and when it was."""
        self.append(body)
        self.times.append(at)


def milliseconds(value: Any) -> int:
    """A time as transcripts write it: RFC 3339, or seconds, milliseconds or more since 1970; 0 where it is none."""
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            return 0
        return max(0, int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000))
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e20:
        return 0
    while value >= 1e14:  # microseconds and nanoseconds
        value /= 1000
    return int(value if value >= 1e11 else value * 1000)


def _looks_like_talk(value: Any) -> bool:
    return isinstance(value, dict) and any(value.get(key) for key in _TALK)


def content_hash(value: Any) -> str:
    """The name of a part of a request: what is written differently and means the same has the same one."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return sha256(clean(text).encode()).hexdigest()


class Builder:
    """One conversation in the making."""

    def __init__(self, format_name: str, broken: Iterable[WrongCall] = ()) -> None:
        self.bodies = Recording()
        self._at = 0
        self._parts: set[str] = set()
        """The hashes of the parts of requests that are there."""
        self._format = format_name
        self._tools: dict[str, str] = {}
        """By call: the tool, for results that do not name it."""
        self._left_out: Counter[str] = Counter()
        self._model = ""
        self._broken = list(broken)

    @property
    def last(self) -> int:
        """The sequence number of the newest event."""
        return len(self.bodies)

    @property
    def model(self) -> str:
        """The model that was named last."""
        return self._model

    @property
    def has_talk(self) -> bool:
        """Whether anything was said yet, which a compaction could replace."""
        return any(isinstance(body, UserMessage | AssistantMessage | ToolResult) for body in self.bodies)

    def when(self, value: Any) -> None:
        """When what comes next happened; what says nothing leaves the time as it is."""
        self._at = milliseconds(value) or self._at

    def add(self, *bodies: Body) -> None:
        """What comes next."""
        for body in bodies:
            self.bodies.put(body, self._at)

    def part(self, value: Any, name: str = "") -> str:
        """Keep a piece of a request; gives its hash (`name`, where the file has one of its own)."""
        found = name or content_hash(value)
        if found not in self._parts:
            self._parts.add(found)
            self.add(RequestPart(found, cleaned(value)))
        return found

    def request(self, request: Request) -> int:
        """What was sent, before what was answered; gives the event, which later requests and the report name."""
        self.add(request)
        return self.last

    def call(self, call_id: str, tool: str, arguments: Any, reply: str) -> None:
        """A call of a tool."""
        self._tools[call_id] = tool
        self.add(ToolCall(call_id, tool, as_json({} if arguments is None else arguments), reply))

    def result(self, call_id: str, content: Content, is_error: bool = False, tool: str = "") -> None:
        """What a tool gave back."""
        self.add(ToolResult(call_id, content, tool or self._tools.get(call_id, ""), is_error))

    def tool(self, definition: Any) -> None:
        """A tool's definition; wrapped as OpenAI has it or bare. One without a name is carried as it is."""
        name = text_in(dict_in(definition, "function"), "name") or text_in(definition, "name")
        if name:
            self.add(SlotContent("tools", name, as_json(definition)))
        else:
            self.unknown("tool", definition)

    def says_model(self, name: str) -> None:
        """The model from here on, told when it changes."""
        if name and name != self._model:
            self._model = name
            self.add(Setting("model", name))

    def says_title(self, title: str) -> None:
        """The conversation's title."""
        if title.strip():
            self.add(Setting("title", " ".join(title.split())))

    def compaction(self, first: int, last: int, summary: str, **noted: Any) -> None:
        """A compaction that the file records; a `last` before `first`: what it stood for is not in the file."""
        meta = {"made_by": self._format, **{key: value for key, value in noted.items() if value}}
        self.add(Compaction(first, last, summary, meta=meta))

    def usage(self, prompt: int, completion: int, **more: Any) -> None:
        """What a request cost, as the file says. There is no count of our own from that time: the estimate is 0."""
        if prompt or completion:
            self.add(Usage(self._model, 0, prompt, completion=completion, **more))

    def failure(self, message: str) -> None:
        """An error that the file records; it never becomes part of the conversation."""
        self.add(Failure(CATEGORY, message))

    def unknown(self, kind: str, value: Any) -> None:
        """An entry that is not understood, carried whole."""
        self.bodies.strange += _looks_like_talk(value)
        self.add(Unknown(f"{self._format} {kind}".strip(), {"entry": cleaned(value)}))

    def leave_out_all_but(self, read: Container[str], value: Iterable[str]) -> None:
        """Count the keys of an object that no reader reads."""
        for key in value:
            if key not in read:
                self.leave_out(key)

    def leave_out(self, kind: str) -> None:
        """An entry that is understood and no part of the conversation: it is counted."""
        self._left_out[clean(kind)] += 1

    def finish(self) -> Recording:
        """All that was read, then what was not."""
        for error in self._broken[:TOLD]:
            self.failure(f"skipped: {error}")
        if len(self._broken) > TOLD:
            self.failure(f"skipped: {len(self._broken) - TOLD:,} more lines that are not JSON")
        if self._left_out:
            self.add(Setting(LEFT_OUT, dict(self._left_out)))
        return self.bodies
