"""A request in OpenAI's chat form, to be written in any dialect. Its messages may already be in that dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from workbench.log.events import Content, ImagePart, Part, TextPart, text_of
from workbench.wire.values import content_of, text_in

_SYSTEM = ("system", "developer")


class UnchangedMessage(NamedTuple):
    """A message that is in the dialect already, and is written unchanged."""

    value: Any


ChatEntry = dict[str, Any] | UnchangedMessage


class ChatRequest(NamedTuple):
    """What a request says, in OpenAI's chat form."""

    entries: Sequence[ChatEntry]
    tools: Sequence[dict[str, Any]] = ()
    names: Mapping[str, str] = {}
    """The tool of each call, by the call's id."""

    def prompt(self) -> tuple[str, Sequence[ChatEntry]]:
        """The text of the system messages at the beginning, and the entries after them."""
        first = list(takewhile(_is_prompt, self.entries))
        text = "\n\n".join(filter(None, (text_of(said_in(each)) for each in first if isinstance(each, dict))))
        return text, self.entries[len(first) :]


def _is_prompt(entry: ChatEntry) -> bool:
    return isinstance(entry, dict) and text_in(entry, "role") in _SYSTEM


def said_in(message: dict[str, Any]) -> Content:
    return content_of(message.get("content"))


def parts_in(message: dict[str, Any]) -> tuple[Part, ...]:
    """The parts of a message's content, without empty texts."""
    content = said_in(message)
    parts = (TextPart(content),) if isinstance(content, str) else content
    return tuple(part for part in parts if not (isinstance(part, TextPart) and not part.text))


def picture_data(picture: ImagePart) -> tuple[str, str]:
    """The type and the base64 of a picture that is part of the message; both empty if it has a web address."""
    head, comma, data = picture.url.partition(",")
    if not comma or not head.startswith("data:"):
        return "", ""
    return head.removeprefix("data:").partition(";")[0] or "image/png", data


def function_in(tool: Mapping[str, Any]) -> dict[str, Any]:
    """The function of a tool's definition."""
    found = tool.get("function")
    return dict(found) if isinstance(found, dict) else {}
