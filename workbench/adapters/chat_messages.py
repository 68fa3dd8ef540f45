"""Messages in the form of OpenAI's chat: the system prompt before them, and a framework's own objects behind them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class SystemPrompt(NamedTuple):
    """The system messages that a chat begins with. They go out as they are; a context gets their text."""

    length: int
    """How many messages they are."""
    text: str

    def without(self, planned: Sequence[Any]) -> list[Any]:
        """Planned messages without the one that the context made of the prompt."""
        return list(planned[1:] if self.text else planned)


def leading_prompt(messages: Sequence[Any], before: str = "") -> SystemPrompt:
    """The prompt of a chat; `before`: the part of the prompt that the framework keeps elsewhere, which comes first."""
    count = next((at for at, each in enumerate(messages) if not _is_system(each)), len(messages))
    texts = (before, *(text_of_content(each["content"]) for each in messages[:count]))
    return SystemPrompt(count, "\n\n".join(filter(None, texts)))


def _is_system(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("role") in ("system", "developer")


def text_of_content(content: Any) -> str:
    """The texts of all parts of a content."""
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))


class Originals:
    """A framework's own objects, to be found again in the planned messages."""

    def __init__(self, pairs: Sequence[tuple[Mapping[str, Any], Any]]) -> None:
        """`pairs`: each message as it was given to the context, and the object that it was made from."""
        self._places: dict[str, list[int]] = {}
        self._objects = [each for _, each in pairs]
        self._results: dict[str, Any] = {}
        for at, (message, own) in enumerate(pairs):
            self._places.setdefault(_written(message), []).append(at)
            if message.get("tool_call_id"):
                self._results[str(message["tool_call_id"])] = own
        self._next = 0
        """Objects before this index were found, or passed over."""

    def whole_object(self, message: Mapping[str, Any]) -> Any:
        """The object of a planned message that goes out as it was given; None if the message was changed.

        To be called for the planned messages in their order.
        """
        places = self._places.get(_written(message), ())
        at = next((place for place in places if place >= self._next), None)
        if at is None:
            return None
        self._next = at + 1
        return self._objects[at]

    def result(self, message: Mapping[str, Any]) -> Any:
        """The object of a result whose text was cut or masked; None if the message is no such result."""
        return self._results.get(str(message.get("tool_call_id")))


def _written(message: Mapping[str, Any]) -> str:
    return json.dumps(message, sort_keys=True)
