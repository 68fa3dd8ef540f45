"""Has a summary written by the caller's own function, and says what the compaction did."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from workbench.compaction.compactor import DIGEST
from workbench.compaction.values import Fact, SummaryDraft
from workbench.config.errors import WrongCall
from workbench.config.text import SCHEMA
from workbench.library.pages import compaction_page
from workbench.models.gateway import Gateway, SilenceLimits
from workbench.models.reply_parts import ReplyFinished, ReplyPart, TextPiece

OWN_MODEL: Final = "summarise"
"""The name of the caller's function."""
Summarise = Callable[[list[dict[str, Any]]], Awaitable[str] | str]
"""Gets the messages of the request for a summary, in the form of OpenAI's chat, and gives the summary."""


class CallersModel(Gateway):
    """Asks the caller's own function instead of a provider."""

    def __init__(self, summarise: Summarise) -> None:
        super().__init__()
        if not callable(summarise):
            raise WrongCall(f"summarise: expected a function, got {type(summarise).__name__}")
        self._summarise = summarise

    async def stream(
        self, request: Mapping[str, Any], *, patience: SilenceLimits | None = None
    ) -> AsyncGenerator[ReplyPart, None]:
        """The function's text as an answer. What the function raises reaches the caller."""
        messages = list(request["messages"])
        if inspect.iscoroutinefunction(self._summarise):
            made: Any = self._summarise(messages)
        else:  # in a thread: it may wait for a model, and the caller's loop goes on meanwhile
            made = await asyncio.to_thread(self._summarise, messages)
        text = await made if inspect.isawaitable(made) else made
        if not isinstance(text, str):
            raise WrongCall(f"summarise: expected a function that gives a text, got {type(text).__name__}")
        yield TextPiece(text)
        yield ReplyFinished("stop")


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What `Context.compact` did. It is true if a compaction was made."""

    made: bool
    why: str
    """Why it was made, or why not."""
    summary: str = ""
    made_by: str = ""
    """`summarise` for the caller's function, or `digest`."""
    tokens_before: int = 0
    tokens_after: int = 0
    kept: tuple[Fact, ...] = ()
    """Facts of what was summarised that the summary has: paths, numbers, names, errors."""
    lost: tuple[Fact, ...] = ()
    """Facts that it does not have."""
    problems: tuple[str, ...] = ()
    """Why the function's summary was not used, or was cut."""

    def __bool__(self) -> bool:
        return self.made

    @property
    def freed(self) -> int:
        """The tokens by which the request became smaller; 0 if it did not."""
        return max(0, self.tokens_before - self.tokens_after)

    def _repr_html_(self) -> str:
        lost = [fact.text for fact in self.lost]
        return str(compaction_page(self.why, self.tokens_before, self.tokens_after, self.made_by, self.summary, lost))

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "schema": SCHEMA,
            "made": self.made,
            "why": self.why,
            "summary": self.summary,
            "made_by": self.made_by,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "freed": self.freed,
            "kept": [fact.text for fact in self.kept],
            "lost": [fact.text for fact in self.lost],
            "problems": list(self.problems),
        }


def result_of(draft: SummaryDraft) -> CompactionResult:
    """What a compaction did that is in the log now."""
    preview, audit = draft.preview, draft.audit
    return CompactionResult(
        True,
        preview.why,
        draft.summary,
        draft.made_by if draft.made_by == DIGEST else OWN_MODEL,
        preview.tokens_before,
        draft.tokens_after,
        audit.kept,
        audit.lost,
        draft.problems,
    )
