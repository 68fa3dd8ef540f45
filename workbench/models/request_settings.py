"""The `[requests]` table: how long a provider may be silent, and how often it is asked again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.config.errors import WrongCall
from workbench.config.settings import escaped_name, shown
from workbench.models.catalogue import is_local
from workbench.models.gateway import Patience
from workbench.models.retry import Schedule

LOCAL_FIRST = 600.0
"""Seconds for the embedded model to begin: on a slow machine a full prompt takes minutes to read."""

KEYS = ("first_token_seconds", "between_tokens_seconds", "tries", "retry_seconds")
LONGEST = 86_400


def check_requests(table: Mapping[str, Any], origin: str = "config.toml") -> Mapping[str, Any]:
    """The table, if it can be used. Raises WrongCall that names the key."""
    for key, value in table.items():
        where = f"{origin}: requests.{escaped_name(key)}"
        if key not in KEYS:
            raise WrongCall(f"{where}: no such key; expected one of {', '.join(KEYS)}")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if key == "tries":
            if not (number and isinstance(value, int) and 1 <= value <= 100):
                raise WrongCall(f"{where}: expected a whole number from 1 to 100, got {shown(value)}")
        elif not (number and (0 if key == "retry_seconds" else 1) <= value <= LONGEST):
            least = "0" if key == "retry_seconds" else "1"
            raise WrongCall(f"{where}: expected seconds from {least} to {LONGEST}, got {shown(value)}")
    return table


def patience_for(model: str, table: Mapping[str, Any]) -> Patience:
    """How long a model may be silent; `table` was checked."""
    usual = Patience(first=LOCAL_FIRST) if is_local(model) else Patience()
    return replace(
        usual,
        first=table.get("first_token_seconds", usual.first),
        between=table.get("between_tokens_seconds", usual.between),
    )


def schedule_for(table: Mapping[str, Any]) -> Schedule:
    """How long and how often requests are tried again; `table` was checked."""
    usual = Schedule()
    return replace(usual, tries=table.get("tries", usual.tries), seconds=table.get("retry_seconds", usual.seconds))
