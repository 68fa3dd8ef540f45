"""The `[requests]` table: how long a provider may be silent, and how often a request is tried again."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from msgspec import Meta

from workbench.config.tables import Table
from workbench.models.catalogue import is_local
from workbench.models.gateway import Patience
from workbench.models.retry import Schedule

LOCAL_FIRST = 600.0
"""Seconds for the embedded model to begin: on a slow machine, reading a full prompt takes minutes."""

_LONGEST = 86_400
_Span = Annotated[float, Meta(ge=0, le=_LONGEST, description=f"seconds from 0 to {_LONGEST}")]
_Silence = Annotated[float, Meta(ge=1, le=_LONGEST, description=f"seconds from 1 to {_LONGEST}")]


class RequestSettings(Table, frozen=True):
    """The table; None means the default for the model."""

    first_token_seconds: _Silence | None = None
    between_tokens_seconds: _Silence | None = None
    tries: Annotated[int, Meta(ge=1, le=100, description="a whole number from 1 to 100")] = Schedule().tries
    retry_seconds: _Span = Schedule().seconds

    def patience(self, model: str) -> Patience:
        """How long a model may be silent."""
        usual = Patience(first=LOCAL_FIRST) if is_local(model) else Patience()
        return Patience(self.first_token_seconds or usual.first, self.between_tokens_seconds or usual.between)

    def schedule(self) -> Schedule:
        """How long and how often requests are tried again."""
        return replace(Schedule(), tries=self.tries, seconds=self.retry_seconds)
