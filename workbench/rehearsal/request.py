"""A request as the stand-in sees it: one form for all dialects, checked as strictly as the strictest provider does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.rehearsal.answers import RehearsedCall

Json = Mapping[str, Any]


class BadRequest(Exception):
    """The request is not one a provider would take; one line says why."""


@dataclass(frozen=True, slots=True)
class RehearsalMessage:
    """One message of the conversation."""

    role: str
    text: str = ""
    calls: tuple[RehearsedCall, ...] = ()
    call_id: str = ""
    """Which call this is the result of."""
    is_error: bool = False
    name: str = ""
    images: tuple[tuple[str, str], ...] = ()
    """Address and detail of each picture."""


@dataclass(frozen=True, slots=True)
class RehearsalRequest:
    """What was asked."""

    messages: tuple[RehearsalMessage, ...]
    tools: tuple[Json, ...] = ()
    """In OpenAI's form."""
    model: str = "rehearsal"
    stream: bool = False
    include_usage: bool = True
    max_tokens: int | None = None

    @property
    def turn(self) -> tuple[RehearsalMessage, ...]:
        """The last user message and what came after it."""
        for at in range(len(self.messages) - 1, -1, -1):
            if self.messages[at].role == "user":
                return self.messages[at:]
        return ()

    @property
    def asked(self) -> str:
        """The text of the last user message."""
        turn = self.turn
        return turn[0].text if turn else ""

    def tool_names(self) -> list[str]:
        """The tools on offer, in the order of their definitions."""
        return [str(function_of(tool).get("name", "")) for tool in self.tools]


def function_of(tool: Json) -> Json:
    """The function inside a tool definition, with or without its wrapping."""
    inner = tool.get("function", tool)
    return inner if isinstance(inner, Mapping) else {}


def list_of(value: object, where: str) -> list[Json]:
    """A list of objects, or nothing at all."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise BadRequest(f"{where}: expected a list of objects")
    return value


def content_of(content: object, where: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The text of a content, and its pictures."""
    if content is None or isinstance(content, str):
        return content or "", ()
    texts: list[str] = []
    images: list[tuple[str, str]] = []
    for part in list_of(content, where):
        image = part.get("image_url")
        if isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(image, Mapping):
            images.append((str(image.get("url", "")), str(image.get("detail", "auto"))))
    return "\n".join(texts), tuple(images)


def check_pairs(messages: Sequence[RehearsalMessage]) -> None:
    """Every result answers a call of the assistant message before it, and every call has its result."""
    open_ids: set[str] = set()
    for number, message in enumerate(messages):
        if message.role == "tool":
            if message.call_id not in open_ids:
                raise BadRequest(
                    f"messages[{number}]: messages with role 'tool' must be a response to a preceding message "
                    f"with 'tool_calls'; no call {message.call_id!r} waits for a result"
                )
            open_ids.discard(message.call_id)
            continue
        _all_answered(open_ids, number)
        open_ids = {call.call_id for call in message.calls}
        if len(open_ids) < len(message.calls):
            raise BadRequest(f"messages[{number}].tool_calls: two calls have the same id")
    _all_answered(open_ids, len(messages))


def _all_answered(open_ids: set[str], number: int) -> None:
    if open_ids:
        raise BadRequest(
            f"messages[{number}]: an assistant message with 'tool_calls' must be followed by tool messages responding "
            f"to each 'tool_call_id'; without a result: {', '.join(sorted(open_ids))}"
        )
