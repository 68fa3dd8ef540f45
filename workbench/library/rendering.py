"""Renders a plan in a dialect. A message that is sent whole goes out exactly as it was given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from workbench.context.items import Item
from workbench.context.plan import ContextPlan
from workbench.context.render import MessageList, render_tools
from workbench.library.messages import GivenHead, GivenMessage
from workbench.log.events import Event, SystemMessage, ToolCall, ToolResult, text_of
from workbench.wire.chat_requests import ChatEntry, ChatRequest, UnchangedMessage
from workbench.wire.dialect import Dialect
from workbench.wire.values import content_of


@dataclass(slots=True)
class GivenMessages:
    """The messages of a conversation as they were given, by the events that they became. It only grows."""

    messages: list[GivenMessage] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    """The sequence number of each one's first event, or of what would be next."""
    places: dict[int, int] = field(default_factory=dict)
    """For each event, the index of its message."""

    def add_message(self, given: GivenMessage, events: Sequence[Event], following: int) -> None:
        """Add a message and its events; `following`: the number of the next event, if it has none."""
        self.first.append(events[0].seq if events else following)
        for event in events:
            self.places[event.seq] = len(self.messages)
        self.messages.append(given)


def render_in(
    dialect: Dialect, plan: ContextPlan, given: GivenMessages, thinking: bool, head: GivenHead
) -> dict[str, Any]:
    """The system prompt, the messages and the tools of a request, under the keys of a dialect.

    `thinking`: the model's thinking is sent with its reply. `head`: goes out as it was given, if it is in the dialect.
    """
    names: dict[str, str] = {}

    def noted() -> Iterator[Item]:
        for item in plan.items.sent_items():
            if item.kind == "tool_call":
                names[item.call_id] = item.tool or ""
            yield item

    entries = _Renderer(dialect, given, thinking).entries(noted())
    body = dialect.write_request(ChatRequest(entries, render_tools(plan), names))
    if head.tools and head.dialect is dialect:
        body["tools"] = list(head.tools)
    prompt = dialect.places[0]
    takes_blocks = prompt and list in dialect.takes_plain and isinstance(head.system, list)
    if takes_blocks and body.get(prompt) == text_of(content_of(head.system)):
        body[prompt] = head.system
    return body


class _Renderer:
    def __init__(self, dialect: Dialect, given: GivenMessages, thinking: bool) -> None:
        self._dialect = dialect
        self._given = given
        self._thinking = thinking
        self._made = MessageList()
        self._next = 0
        """The first message that was not looked at yet."""

    def entries(self, items: Iterator[Item]) -> list[ChatEntry]:
        """The entries of the request."""
        places = self._given.places
        for place, group in groupby(items, lambda item: places.get(item.seq or 0, -1)):
            found = list(group)
            if place >= 0 and self._is_whole(place, found):
                self._companions(place, found[0])
                self._add(place, found[0])
            else:
                for item in found:
                    if item.kind != "reasoning":
                        self._made.add_item(item)
            self._next = max(self._next, place + 1)
        return self._made.finish()

    def _add(self, place: int, first: Item) -> None:
        value = self._given.messages[place].value
        self._made.add_as_given(
            UnchangedMessage(value if self._thinking else self._dialect.without_thinking(value)), first
        )

    def _companions(self, place: int, first: Item) -> None:
        """Add what goes with a reply and has no items of its own: encrypted thinking, calls that the provider ran."""
        at = place
        while at > self._next and not any(self._given.messages[at - 1].can_be_sent) and self._fits(at - 1):
            at -= 1
        if self._thinking:
            for companion in range(at, place):
                self._add(companion, first)

    def _fits(self, place: int) -> bool:
        """Whether a message is in the dialect that is written."""
        given = self._given.messages[place]
        if given.dialect is None:
            return isinstance(given.value.get("content"), self._dialect.takes_plain)
        return given.dialect is self._dialect

    def _is_whole(self, place: int, items: Sequence[Item]) -> bool:
        """Whether a message is in this dialect, and all of it is sent without any change."""
        given, first = self._given.messages[place], self._given.first[place]
        if not self._fits(place):
            return False
        expected = [first + at for at, is_sendable in enumerate(given.can_be_sent) if is_sendable]
        sent = [item for item in items if item.kind != "reasoning"]
        if not expected or [item.seq for item in sent] != expected:
            return False
        return all(self._is_untouched(item, given.bodies[(item.seq or 0) - first]) for item in sent)

    def _is_untouched(self, item: Item, body: Any) -> bool:
        if item.state != "sent":
            return False
        if isinstance(body, SystemMessage):
            return not self._dialect.places[0]
        if isinstance(body, ToolCall | ToolResult) and item.call_id != body.call_id:
            return False  # another call has its id
        if isinstance(body, ToolCall):
            return not item.edits
        if not item.edits:
            return True
        # What a chat API would not take, the provider's own may.
        own_form = item.kind == "message" or self._dialect.shows_results
        return own_form and bool(item.original.strip()) and all(edit.stage == "normalise" for edit in item.edits)
