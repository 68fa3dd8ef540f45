"""The ways a model can fail, as a small closed set; each with one sentence that says what to do."""

from __future__ import annotations

from typing import Literal, NamedTuple

from workbench.config.errors import WorkbenchError

Category = Literal[
    "authentication",
    "unknown_model",
    "rate_limit",
    "overloaded",
    "timeout",
    "connection",
    "context_too_long",
    "refused_content",
    "bad_request",
    "broken_stream",
    "redirected",
    "unreadable_answer",
]

ADVICE: dict[Category, str] = {
    "authentication": "Check the provider's key; `workbench models show MODEL` says where it is looked for.",
    "unknown_model": "Check the model's name; `workbench models find WORDS` lists the known ones.",
    "rate_limit": "Wait, or use another model.",
    "overloaded": "The provider is busy; try again later, or use another model.",
    "timeout": "The provider was silent for too long; try again, or allow more time under [requests] in config.toml.",
    "connection": "Nothing answers at that address; check the network, or --api-base for a local server.",
    "context_too_long": "The request is larger than the model takes; /compact makes it smaller.",
    "refused_content": "The provider's filter refused the content; rephrase, or exclude the item it objects to.",
    "bad_request": "The provider does not accept the request; its own words say why.",
    "broken_stream": "The answer broke off; try again.",
    "redirected": "It was not followed; if the model has moved, give its new address as --api-base or api_base.",
    "unreadable_answer": "Reading stopped there; check the address, or use another model.",
}
"""Shown when nothing more is tried; until then, a countdown is shown."""

RETRYABLE: frozenset[Category] = frozenset({"rate_limit", "overloaded", "timeout", "connection", "broken_stream"})
"""Failures for which it can help to send the same request again."""

ELSEWHERE: frozenset[Category] = RETRYABLE | {"authentication", "unknown_model", "redirected", "unreadable_answer"}
"""Failures for which another model can help. If the content was refused, the user has to change the request."""


LEAST_WINDOW = 1_024
"""No model has a smaller window, in tokens; a smaller figure is a provider's mistake."""
_LESS = 0.9
"""The share to try of a size that turned out to be too large."""
_FAR = 0.5
"""A provider that counts more than twice our tokens counts something else."""


class TakenWindow(NamedTuple):
    """The window to assume after a request was too long."""

    tokens: int
    named: bool
    """Whether it is based on the provider's own figures. Otherwise it is a guess, for one more try."""


class ModelFailure(WorkbenchError):
    """A request that did not lead to an answer."""

    def __init__(
        self,
        category: Category,
        detail: str,
        *,
        wait: float | None = None,
        limit: int | None = None,
        asked: int | None = None,
    ) -> None:
        self.category = category
        self.detail = " ".join(detail.split())
        """The provider's own words, in one line, without keys."""
        self.wait = wait
        """Seconds the provider asks us to wait (rate_limit, overloaded)."""
        self.limit = limit
        """The window the provider names (context_too_long)."""
        self.asked = asked
        """The size of the request by the provider's count (context_too_long)."""
        self.tries = 1
        """How often the request was sent before it was given up."""
        super().__init__(category, detail)

    def __str__(self) -> str:
        wait = f" The provider asks to wait {self.wait:,.0f} s." if self.wait else ""
        tries = f" Given up after {self.tries} tries." if self.tries > 1 else ""
        return f"{self.category.replace('_', ' ')}: {self.detail}{wait}{tries} {ADVICE[self.category]}"

    @property
    def retryable(self) -> bool:
        """Whether sending the same request again can help."""
        return self.category in RETRYABLE

    def window(self, sent: int, window: int) -> TakenWindow:
        """The window to plan within after `context_too_long`, below the `window` for which `sent` tokens were sent.

        The provider's figure if it is lower; scaled to our own tokens, if the provider counts more of them than we do.
        If no figure is believable, less than was sent, because nothing else is known.
        """
        limit, asked = self.limit or 0, self.asked or 0
        if LEAST_WINDOW <= limit < window:
            return TakenWindow(limit, named=True)
        share = sent / asked if asked else 1.0
        if limit >= window and asked > limit and share >= _FAR:
            return TakenWindow(max(1, int(window * min(share, _LESS))), named=True)
        return TakenWindow(max(1, int(sent * _LESS)), named=False)
