"""Holds a dialect against what all of them can: writing a conversation and reading the same back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from workbench.library.plans import plan_messages
from workbench.log.events import AssistantMessage, Body, ToolCall, ToolResult, UserMessage, text_of
from workbench.testing.cases import TOOLS, expect_kept, random_conversation
from workbench.wire.chat_requests import ChatRequest
from workbench.wire.checked_requests import BadRequest
from workbench.wire.dialect import Dialect
from workbench.wire.dialects import DEFAULT, DIALECTS


def check_dialect(dialect: Dialect, *, seeds: Iterable[int] = range(50)) -> None:
    """Write random conversations in a dialect and read them again.

    Promised: nothing is lost or changed on the way; the requests are valid for the dialect's own speaker; a request is
    recognised as one of the dialect; reading what is broken raises nothing.
    """
    for seed in seeds:
        case = f"{dialect.title}, seed {seed}"
        chat = random_conversation(seed)
        names = {call["id"]: call["function"]["name"] for each in chat for call in each.get("tool_calls", ())}
        body = dialect.write_request(ChatRequest(chat, TOOLS, names))
        wanted = DEFAULT.read_request({"messages": chat})
        found = [each for each in dialect.read_request(body) if isinstance(each, _SAID)]
        _expect_same(_said(found), _said(wanted), "what is written is read again", case)
        json.dumps(body)
        try:
            dialect.new_speaker().read_request({"model": "m", "max_tokens": 100, **body})
        except BadRequest as error:
            expect_kept(False, "what is written is valid", case, error)
        _check_broken(dialect, body, case)
        if dialect.name in DIALECTS:
            _check_given(dialect, ChatRequest(chat, names=names), case)


_SAID = (UserMessage, AssistantMessage, ToolCall, ToolResult)


def _said(bodies: Sequence[Body]) -> list[tuple[Any, ...]]:
    """What was said, without ids and names that a dialect need not have."""
    found: list[tuple[Any, ...]] = []
    for body in bodies:
        match body:
            case ToolCall(tool=tool, arguments=arguments):
                found.append(("call", tool, json.loads(arguments)))
            case ToolResult(content=content):
                found.append(("result", text_of(content)))
            case UserMessage(content=content) | AssistantMessage(content=content):
                found.append((type(body).__name__, text_of(content)))
    return found


def _expect_same(found: Sequence[Any], wanted: Sequence[Any], promise: str, case: str) -> None:
    pairs = zip(found, wanted, strict=False)
    other = next((f"{a!r:.80} for {b!r:.80}" for a, b in pairs if a != b), f"{len(found)} for {len(wanted)} entries")
    expect_kept(list(found) == list(wanted), promise, case, other)


def _check_broken(dialect: Dialect, body: dict[str, Any], case: str) -> None:
    """Read a body with one of its values replaced."""
    for wrong in (None, 7, "text", [], [None], {"role": 3}, {"type": "tool_result"}):
        for key in (*body, *dialect.places):
            try:
                dialect.read_request({**body, key: wrong})
            except Exception as error:
                expect_kept(False, f"reading {key} = {wrong!r} raises nothing", case, repr(error))


def _check_given(dialect: Dialect, chat: ChatRequest, case: str) -> None:
    """Messages that are in the dialect already are written unchanged."""
    given = dialect.messages_in(dialect.write_request(chat))
    made = plan_messages(given, window=10_000_000, dialect=dialect.name, policy="confirm")
    if all(item.state == "sent" and not item.edits for item in made.items):
        sent = dialect.messages_in(made.request())
        _expect_same(sent, given, "a message that is sent whole goes out as it came in", case)
