"""The `[requests]` table: how long a provider may be silent, and how often a request is tried again."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from msgspec import Meta

from workbench.config.tables import Table
from workbench.models.catalogue import is_local
from workbench.models.gateway import SilenceLimits
from workbench.models.retry import RetrySchedule

LOCAL_FIRST = 600.0
"""Seconds for the embedded model to begin: on a slow machine, reading a full prompt takes minutes."""

_LONGEST = 86_400
_Span = Annotated[float, Meta(ge=0, le=_LONGEST, description=f"seconds from 0 to {_LONGEST}")]
_Silence = Annotated[float, Meta(ge=1, le=_LONGEST, description=f"seconds from 1 to {_LONGEST}")]


class RequestSettings(Table, frozen=True):
    """The table; None means the default for the model."""

    first_token_seconds: _Silence | None = None
    between_tokens_seconds: _Silence | None = None
    tries: Annotated[int, Meta(ge=1, le=100, description="a whole number from 1 to 100")] = RetrySchedule().tries
    retry_seconds: _Span = RetrySchedule().seconds

    def patience(self, model: str) -> SilenceLimits:
        """How long a model may be silent."""
        usual = SilenceLimits(first=LOCAL_FIRST) if is_local(model) else SilenceLimits()
        return SilenceLimits(self.first_token_seconds or usual.first, self.between_tokens_seconds or usual.between)

    def schedule(self) -> RetrySchedule:
        """How long and how often requests are tried again."""
        return replace(RetrySchedule(), tries=self.tries, seconds=self.retry_seconds)
