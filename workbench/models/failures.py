"""What can go wrong with a model, as a small closed set; each with one sentence that says what to do."""

from __future__ import annotations

from typing import Literal

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
]

ADVICE: dict[Category, str] = {
    "authentication": "Check the provider's key; `workbench models show MODEL` says where it is looked for.",
    "unknown_model": "Check the model's name; `workbench models find WORDS` lists the known ones.",
    "rate_limit": "Wait, or use another model; Workbench tries again by itself while its time lasts.",
    "overloaded": "The provider is busy; Workbench tries again by itself while its time lasts.",
    "timeout": "The provider was silent for too long; try again, or allow more time under [requests] in config.toml.",
    "connection": "Nothing answers at that address; check the network, or --api-base for a local server.",
    "context_too_long": "The request is larger than the model takes; it is planned again within the learnt limit.",
    "refused_content": "The provider's filter refused the content; rephrase, or exclude the item it objects to.",
    "bad_request": "The provider does not accept the request; its own words say why.",
    "broken_stream": "The answer broke off; what came is kept and marked. Try again.",
}

RETRYABLE: frozenset[Category] = frozenset({"rate_limit", "overloaded", "timeout", "connection", "broken_stream"})
"""Where trying the same request again can help."""

ELSEWHERE: frozenset[Category] = RETRYABLE | {"authentication", "unknown_model"}
"""Where another model can help; a request that is refused for what it says is the user's to change."""


_LESS = 0.9
"""What is tried of a size that turned out to be too large."""


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
        super().__init__(f"{category.replace('_', ' ')}: {self.detail} {ADVICE[category]}")

    @property
    def retryable(self) -> bool:
        """Whether trying the same request again can help."""
        return self.category in RETRYABLE

    def window(self, sent: int, window: int) -> int:
        """What to take for the window after `context_too_long`, below the `window` under which `sent` tokens were sent.

        The provider's figure; in our own tokens, where it counts more of them than we do; and without any figure less
        than was sent, which is all that is known then.
        """
        if self.limit is not None and self.limit < window:
            return self.limit
        share = sent / self.asked if self.asked else 1.0
        return max(1, int((window if self.limit else sent) * min(share, _LESS)))
