"""Answers that are in the log, and which of them a request repeats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from workbench.log.events import AssistantMessage, Body, text_of


class EventSpan(NamedTuple):
    """The first and the last event made from a message."""

    first: int
    last: int


class ReplyContent(NamedTuple):
    """What the model said in an answer, or in an agent's copy of it."""

    calls: list[str]
    """The ids of its calls; the names of their tools if the dialect may lack ids."""
    arguments: list[str]
    text: str

    def repeats(self, answer: ReplyContent) -> bool:
        """Whether this is an answer again. If that was cut off, an agent may have more or less of it."""
        if answer.calls and not self.calls and self.text.startswith(answer.text):
            return all(call in self.text for call in answer.calls)  # some agents describe calls in text
        one, other = sorted((answer.text, self.text), key=len)
        return self.calls == answer.calls and (bool(self.calls) or (other.startswith(one) and bool(one) == bool(other)))


class LoggedReply(NamedTuple):
    """An answer that is in the log. The next request usually repeats it."""

    span: EventSpan
    content: ReplyContent


def repeated_reply(replies: Sequence[LoggedReply], copy: ReplyContent) -> LoggedReply | None:
    """The answer that an agent's copy repeats: one with the same content, otherwise the newest that it may be."""
    fitting = (reply for reply in reversed(replies) if copy.repeats(reply.content))
    return max(fitting, key=lambda reply: reply.content == copy, default=None)


def model_text_in(bodies: Iterable[Body]) -> str:
    """The texts of the model's messages among events."""
    return "\n".join(text_of(body.content) for body in bodies if isinstance(body, AssistantMessage))
