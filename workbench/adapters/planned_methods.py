"""Calls of a provider's client that are planned before they are sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from workbench.adapters.conversations import PlannedConversations, PlannedRequest
from workbench.adapters.recorded_streams import answer_of_stream, watch_stream
from workbench.config.errors import WorkbenchError
from workbench.library.context import Context


class CallContents(NamedTuple):
    """What a call is going to send."""

    messages: Sequence[Any]
    system: Any
    put_back: Callable[[dict[str, Any]], dict[str, Any]]
    """Takes the body of the planned request; returns the arguments of the call that change with it."""
    messages_in: Callable[[Any], list[Any]]
    """Returns the messages of an answer, as a program would repeat them."""


Prepare = Callable[[dict[str, Any]], CallContents | None]
"""Reads the arguments of a call; None: it is not planned."""


class PlannedCall(NamedTuple):
    """A call that is under way."""

    arguments: dict[str, Any]
    conversations: PlannedConversations
    context: Context | None = None
    prepared: CallContents | None = None
    """None: the call is not planned."""
    length: int = 0
    """How many messages the conversation had."""

    def record_answer(self, answer: Any) -> Any:
        """Record an answer and return it. A stream is recorded when it ends.

        An answer that is not parsed yet, or a stream that was left early, is recorded with the next request.
        """
        if self.context is None or self.prepared is None:
            return answer
        if getattr(answer, "usage", None) is None:
            return watch_stream(answer, self.record_stream)
        self._record(self.prepared.messages_in(answer), answer.usage)
        return answer

    def record_stream(self, events: Sequence[Any]) -> None:
        """Record the answer that the events of a stream make."""
        dialect = self.conversations.dialect
        answer = answer_of_stream(events, dialect)
        messages = dialect.messages_in_answer(answer)
        if messages:
            self._record(messages, answer if answer.get("usage") else None)

    def _record(self, messages: list[Any], usage: Any) -> None:
        # A stream may end when the next request, which repeats its answer, is planned already.
        if self.context is None or self.conversations.length_of(self.context) != self.length:
            return
        try:
            self.conversations.record_answer(self.context, messages, usage)
        except WorkbenchError:
            return  # the answer reaches the program, whatever it is


async def plan_call(conversations: PlannedConversations, prepare: Prepare, given: dict[str, Any]) -> PlannedCall:
    prepared = prepare(given)
    if prepared is None:
        return PlannedCall(given, conversations)
    return _planned(
        given, prepared, conversations, await conversations.request(prepared.messages, **_head(given, prepared))
    )


def plan_call_now(conversations: PlannedConversations, prepare: Prepare, given: dict[str, Any]) -> PlannedCall:
    """`plan_call` for clients without asyncio."""
    prepared = prepare(given)
    if prepared is None:
        return PlannedCall(given, conversations)
    return _planned(
        given, prepared, conversations, conversations.request_now(prepared.messages, **_head(given, prepared))
    )


def _planned(
    given: dict[str, Any], prepared: CallContents, conversations: PlannedConversations, made: PlannedRequest
) -> PlannedCall:
    length = conversations.length_of(made.context)
    return PlannedCall({**given, **prepared.put_back(made.body)}, conversations, made.context, prepared, length)


def _head(given: dict[str, Any], prepared: CallContents) -> dict[str, Any]:
    """The system prompt, the tools and the model. Clients mark what was not given with objects of their own."""
    tools = given.get("tools")
    return {
        "system": prepared.system if isinstance(prepared.system, str | list) else None,
        "tools": tools if isinstance(tools, list | tuple) else None,
        "model": str(given.get("model", "")),
    }


def plan_later(method: Callable[..., Any], conversations: PlannedConversations, prepare: Prepare) -> Callable[..., Any]:
    """A coroutine function that plans its arguments before it awaits `method`."""

    @wraps(method)
    async def planned(**given: Any) -> Any:
        call = await plan_call(conversations, prepare, given)
        return call.record_answer(await method(**call.arguments))

    return planned


def plan_now(method: Callable[..., Any], conversations: PlannedConversations, prepare: Prepare) -> Callable[..., Any]:
    """A function that plans its arguments before it calls `method`."""

    @wraps(method)
    def planned(**given: Any) -> Any:
        call = plan_call_now(conversations, prepare, given)
        return call.record_answer(method(**call.arguments))

    return planned


def plan_methods(owner: Any, conversations: PlannedConversations, prepare: Prepare, **methods: bool) -> None:
    """Replace methods of an object by ones that plan, and set `owner.workbench`.

    `methods`: by name, whether the method is awaited.
    """
    owner.workbench = conversations
    for name, is_awaited in methods.items():
        plan = plan_later if is_awaited else plan_now
        setattr(owner, name, plan(getattr(owner, name), conversations, prepare))
