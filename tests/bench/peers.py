"""The peers: bare tiktoken, and langchain-core's `trim_messages`, which does the nearest thing to a plan."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import tiktoken

from bench.material import TOKENIZER
from workbench.log.events import AssistantMessage, Event, ToolCall, ToolResult, UserMessage
from workbench.models.encoders import _rank_folder, _tiktoken
from workbench.models.framing import CALL, MESSAGE

if TYPE_CHECKING:  # its import takes half a second, and every process of the tests reads this file
    from langchain_core.messages import BaseMessage

BUDGET = 100_000
"""Tokens that the peer trims to."""

Counter = Callable[[Sequence["BaseMessage"]], int]

SAME_WORK = "by content"
"""The memoised counter that limits are about. Like ours it is given messages and finds their counts by what they say;
one that goes by ids alone does less, and is shown without a limit, as is the usual, slower one that goes by texts."""


@cache
def encoding() -> tiktoken.Encoding:
    """Bare tiktoken, with the rank file that we find without the network."""
    folder = _rank_folder(TOKENIZER)
    assert folder is not None
    return _tiktoken(TOKENIZER, folder)


def encode_all(texts: Iterable[str]) -> int:
    """What everybody has to pay who counts texts for the first time."""
    encode = encoding().encode
    return sum(len(encode(text, disallowed_special=())) for text in texts)


def texts_of(events: Iterable[Event]) -> list[str]:
    """Every text of a log that has to be counted, once."""
    found: dict[str, None] = {}
    for event in events:
        match event.body:
            case ToolCall(_, tool, arguments):
                found[tool] = found[arguments] = None
            case UserMessage(str(content)) | AssistantMessage(str(content)) | ToolResult(_, str(content)):
                found[content] = None
    return list(found)


def as_langchain(events: Iterable[Event]) -> list[BaseMessage]:
    """The same log as langchain's messages, behind a system message."""
    from langchain_core.messages import SystemMessage

    return [SystemMessage("Be brief.", id="system"), *(_message(event) for event in events)]


def _message(event: Event) -> BaseMessage:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    match event.body:
        case UserMessage(str(content)):
            return HumanMessage(content, id=event.id)
        case AssistantMessage(str(content)):
            return AIMessage(content, id=event.id)
        case ToolCall(call_id, tool, arguments):
            call = {"name": tool, "args": json.loads(arguments), "id": call_id}
            return AIMessage("", id=event.id, tool_calls=[call])
        case ToolResult(call_id, str(content)):
            return ToolMessage(content, id=event.id, tool_call_id=call_id)
    raise TypeError(f"no message: {event.body!r}")


def count_message(message: BaseMessage) -> int:
    """A message's tokens: its text, its calls, and what is around them."""
    encode = encoding().encode
    tokens = MESSAGE + len(encode(str(message.content), disallowed_special=()))
    for call in getattr(message, "tool_calls", ()):
        tokens += CALL + len(encode(call["name"] + json.dumps(call["args"]), disallowed_special=()))
    return tokens


def bare_counter() -> Counter:
    """Encodes every message each time it is asked."""
    return lambda messages: sum(map(count_message, messages))


def memoised_by_text() -> Counter:
    """Encodes every text once: a cache around the tokenizer, which is the usual way. Calls are written anew."""
    from langchain_core.messages import AIMessage

    encode = encoding().encode

    @cache
    def size(text: str) -> int:
        return len(encode(text, disallowed_special=()))

    def count(messages: Sequence[BaseMessage]) -> int:
        total = 0
        for message in messages:
            total += MESSAGE + size(str(message.content))
            if isinstance(message, AIMessage):
                for call in message.tool_calls:
                    total += CALL + size(call["name"] + json.dumps(call["args"]))
        return total

    return count


def memoised_by_content() -> Counter:
    """Encodes every message once, and remembers it by what it says: the cheapest way that looks at what is counted."""
    from langchain_core.messages import AIMessage

    known: dict[object, int] = {}

    def count(messages: Sequence[BaseMessage]) -> int:
        total = 0
        for message in messages:
            key: object = message.content
            if isinstance(message, AIMessage) and message.tool_calls:
                key = (key, repr(message.tool_calls))
            tokens = known.get(key)
            if tokens is None:
                tokens = known[key] = count_message(message)
            total += tokens
        return total

    return count


def memoised_by_id() -> Counter:
    """Encodes every message once, and remembers it by its id: never looks at what a message says, nor sees a change."""
    known: dict[str | None, int] = {}

    def count(messages: Sequence[BaseMessage]) -> int:
        total = 0
        for message in messages:
            tokens = known.get(message.id)
            if tokens is None:
                tokens = known[message.id] = count_message(message)
            total += tokens
        return total

    return count


def memoised() -> dict[str, Counter]:
    """The ways to remember counts, cheapest last."""
    return {"by text": memoised_by_text(), SAME_WORK: memoised_by_content(), "by id": memoised_by_id()}


def trim(messages: Sequence[BaseMessage], counter: Counter) -> list[BaseMessage]:
    """The newest messages that fit, and the system message."""
    from langchain_core.messages import trim_messages

    return trim_messages(
        messages,
        max_tokens=BUDGET,
        strategy="last",
        include_system=True,
        allow_partial=False,
        token_counter=counter,
    )
