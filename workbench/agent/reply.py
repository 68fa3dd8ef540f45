"""One reply of the model, put together from the parts of its stream."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from workbench.log.drafts import Draft
from workbench.log.events import AssistantMessage, Body, Reasoning, ToolCall, Usage
from workbench.log.session import Session
from workbench.models.failures import ModelFailure
from workbench.models.reply_parts import CallFragment, Finished, Part, Reported, Text, Thinking

KEPT_EVERY: Final = 1.0
"""Seconds after which what came is on disk."""


class _Pieces(list[str]):
    """A text that grows. It is joined when somebody looks, because adding to a long string copies it each time."""

    def __str__(self) -> str:
        if len(self) > 1:
            self[:] = ["".join(self)]
        return self[0] if self else ""


@dataclass(slots=True)
class ReplyInProgress:
    """Grows part by part. The log and whoever watches the turn read the same one, also when the stream broke off."""

    reply: str
    model: str
    signature: str = ""
    finish: str = ""
    reported: Reported | None = None
    failure: ModelFailure | None = None
    """Why it broke off, or did not come at all."""
    _text: _Pieces = field(default_factory=_Pieces)
    _thinking: _Pieces = field(default_factory=_Pieces)
    _calls: dict[int, list[str]] = field(default_factory=dict)
    """By number: id, name and arguments so far."""

    def add(self, part: Part) -> None:
        """Take in one part."""
        match part:
            case Text(text):
                self._text.append(text)
            case Thinking(text, signature):
                self._thinking.append(text)
                self.signature += signature
            case CallFragment(number, call_id, name, arguments):
                call = self._calls.setdefault(number, ["", "", ""])
                call[0] = call[0] or call_id
                call[1] = call[1] or name
                call[2] += arguments
            case Reported():
                self.reported = part
            case Finished(reason):
                self.finish = reason

    @property
    def text(self) -> str:
        """What the model has said so far."""
        return str(self._text)

    @property
    def thinking(self) -> str:
        """What it has thought so far."""
        return str(self._thinking)

    @property
    def is_empty(self) -> bool:
        """Whether nothing came at all."""
        return not (any(self._text) or any(self._thinking) or self._calls)

    def calls(self, *, named: bool = True) -> list[ToolCall]:
        """The calls so far, in order; each has an id, because its result has to name one.

        `named`: only those whose tool is known, which alone can be run.
        """
        return [
            ToolCall(call_id or f"{self.reply}.{number}", name, arguments, self.reply)
            for number, (call_id, name, arguments) in sorted(self._calls.items())
            if name or not named
        ]

    def bodies(self, finish: str = "") -> list[Body]:
        """The reply as events. Cut short (`finish` says how), its calls are left out: they may be incomplete."""
        found: list[Body] = []
        if self.thinking:
            found.append(Reasoning(self.thinking, self.reply, self.signature))
        calls = [] if finish else self.calls()
        if self.text or not calls:
            found.append(AssistantMessage(self.text, self.reply, "", finish or self.finish or "stop", self.model))
        return [*found, *calls]

    def usage(self, estimate: int, completion: int, upto: int, seconds: float) -> Usage:
        """What the request cost; where the provider said nothing, our own count of the reply takes its place."""
        said = self.reported
        if said is None:
            return Usage(self.model, estimate, None, completion=completion, seconds=seconds, upto=upto)
        return Usage(
            self.model,
            estimate,
            said.prompt,
            said.cached,
            said.cache_write,
            said.completion,
            said.reasoning,
            said.cost,
            seconds,
            upto,
        )


class DraftKeeper:
    """Keeps what came of a reply while it comes in, so that a killed program does not lose it."""

    def __init__(self, session: Session, reply: ReplyInProgress) -> None:
        self._session = session
        self._reply = reply
        self._kept = (0, 0)
        """Characters of the thinking and of the text."""
        self._timer: asyncio.TimerHandle | None = None

    def grown(self) -> None:
        """A part has come. It is kept soon, also when nothing more comes for a while."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(KEPT_EVERY, self._keep)

    def close(self) -> None:
        """The reply is over: what came of it goes into the log."""
        if self._timer is not None:
            self._timer.cancel()

    def _keep(self) -> None:
        self._timer = None
        reply, (thinking, text) = self._reply, self._kept
        draft = Draft(reply.reply, reply.model, reply.thinking[thinking:], reply.text[text:])
        if draft.thinking or draft.text:
            if self._session.keep_draft(draft):
                self._kept = (len(reply.thinking), len(reply.text))
            else:
                self.grown()
