"""One reply of the model, assembled from the parts of its stream."""

from __future__ import annotations

import asyncio
from collections.abc import Set
from typing import Final

from msgspec import Struct, field

from workbench.log.drafts import Draft
from workbench.log.events import AssistantMessage, Body, Reasoning, ToolCall, Usage
from workbench.log.ids import new_id
from workbench.log.session import Session
from workbench.models.failures import ModelFailure
from workbench.models.reply_parts import CallPiece, ReplyFinished, ReplyPart, ReportedUsage, TextPiece, ThinkingPiece

KEPT_EVERY: Final = 1.0
"""Seconds after which the parts that arrived are on disk."""


class _Pieces(list[str]):
    """A text that grows. It is joined only when it is read, because adding to a long string copies it each time."""

    def __str__(self) -> str:
        if len(self) > 1:
            self[:] = ["".join(self)]
        return self[0] if self else ""


class _Call(Struct):
    """A call whose arguments are still arriving."""

    call_id: str
    name: str = ""
    arguments: _Pieces = field(default_factory=_Pieces)


class ReplyInProgress(Struct):
    """Grows part by part. The log and the observers of the turn read the same object, also if the stream broke off."""

    reply_id: str
    model: str
    taken: Set[str] = frozenset()
    """The ids of earlier calls. A result names its call by its id, so no two calls may have the same."""
    finish: str = ""
    """Why it ended, in the provider's word; empty if it has not."""
    reported: ReportedUsage | None = None
    failure: ModelFailure | None = None
    """Why it broke off, or did not arrive at all."""
    _text: _Pieces = field(default_factory=_Pieces)
    _thinking: _Pieces = field(default_factory=_Pieces)
    _signature: _Pieces = field(default_factory=_Pieces)
    _calls: dict[int, _Call] = field(default_factory=dict)
    _ids: set[str] = field(default_factory=set)

    def add_part(self, part: ReplyPart) -> ReplyPart:
        """Add one part and return it. A call is returned with the id that it has from now on."""
        match part:
            case TextPiece(text):
                self._text.append(text)
            case ThinkingPiece(text, signature):
                self._thinking.append(text)
                self._signature.append(signature)
            case CallPiece(number, call_id, name, arguments):
                if number not in self._calls:
                    self._calls[number] = _Call(self._free_id(call_id))
                call = self._calls[number]
                call.name = call.name or name
                call.arguments.append(arguments)
                return part._replace(call_id=call.call_id if call_id else "")
            case ReportedUsage():
                self.reported = part
            case ReplyFinished(reason):
                self.finish = reason
        return part

    def _free_id(self, call_id: str) -> str:
        """The provider's id, if it is not blank and not used yet; otherwise a new id."""
        used = call_id in self.taken or call_id in self._ids or not call_id.strip()
        free = f"call_{new_id()}" if used else call_id
        self._ids.add(free)
        return free

    @property
    def text(self) -> str:
        """The model's text so far."""
        return str(self._text)

    @property
    def thinking(self) -> str:
        """The model's thinking so far."""
        return str(self._thinking)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has arrived at all."""
        return not (any(self._text) or any(self._thinking) or self._calls)

    def calls(self, *, named: bool = True) -> list[ToolCall]:
        """The calls so far, in order.

        `named`: only those whose tool is known; only these can be run.
        """
        return [
            ToolCall(call.call_id, call.name, str(call.arguments), self.reply_id)
            for _, call in sorted(self._calls.items())
            if call.name or not named
        ]

    def bodies(self, cut_short: str = "") -> list[Body]:
        """The reply as events. `cut_short`: how it was cut short, if it was; then its calls may be incomplete and are
        left out."""
        found: list[Body] = []
        if self.thinking:
            found.append(Reasoning(self.thinking, self.reply_id, str(self._signature)))
        calls = [] if cut_short else self.calls()
        if self.text or not calls:
            ending = cut_short or self.finish or "stop"
            if ending in ("stop", "tool_calls") and not calls and not self.text.strip():
                ending = "empty"
            found.append(AssistantMessage(self.text, self.reply_id, "", ending, self.model))
        return [*found, *calls]

    def usage(self, estimate: int, completion: int, upto: int, seconds: float) -> Usage:
        """The usage of the request. If the provider reported none, our own count of the reply is used."""
        if self.reported is not None:
            return self.reported.as_usage(self.model, estimate, seconds=seconds, upto=upto)
        return Usage(self.model, estimate, None, completion=completion, seconds=seconds, upto=upto)


class DraftKeeper:
    """Stores the parts of a reply while they arrive, to protect them if the program is killed."""

    def __init__(self, session: Session, reply: ReplyInProgress) -> None:
        self._session = session
        self._reply = reply
        self._kept = (0, 0)
        """How many characters of the thinking and of the text are stored."""
        self._timer: asyncio.TimerHandle | None = None

    def note_growth(self) -> None:
        """Report that a part has arrived. It is stored soon, even if nothing more arrives for a while."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(KEPT_EVERY, self._keep)

    def close(self) -> None:
        """Stop: the reply is over and goes into the log."""
        if self._timer is not None:
            self._timer.cancel()

    def _keep(self) -> None:
        self._timer = None
        reply, (thinking, text) = self._reply, self._kept
        draft = Draft(reply.reply_id, reply.model, reply.thinking[thinking:], reply.text[text:])
        if draft.thinking or draft.text:
            if self._session.keep_draft(draft):
                self._kept = (len(reply.thinking), len(reply.text))
            else:
                self.note_growth()
