"""How many random cases a rule gets."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def few_cases(**more: Any) -> settings:
    """A fifth of the cases that the profile has, for a rule each case of which takes a tenth of a second or more."""
    return settings(max_examples=settings().max_examples // 5, **more)
