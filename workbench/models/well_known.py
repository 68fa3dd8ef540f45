"""The models that most people mean, from the catalogue: the newest of each well-known family."""

from __future__ import annotations

import re
from collections.abc import Iterable

_VERSION = r"(\d+(?:[.-]\d+)?)"
_FAMILIES = tuple(
    re.compile(family.replace("N", _VERSION))
    for family in (
        *("claude-opus-N", "claude-sonnet-N", "claude-haiku-N"),
        *("gpt-N", "gpt-N-mini", "gpt-N-codex"),
        *("gemini/gemini-N-pro(?:-preview)?", "gemini/gemini-N-flash(?:-preview)?"),
        *("deepseek/deepseek-vN(?:-pro)?", "mistral/mistral-large-N", "xai/grok-N"),
    )
)
_DATE = 1_000
"""From here on a number is a date, as in `mistral-large-2512`."""


def well_known(names: Iterable[str]) -> tuple[str, ...]:
    """The newest of each family, in the order of the families."""
    every = list(names)
    found = []
    for family in _FAMILIES:
        versions = [(float(match[1].replace("-", ".")), name) for name in every if (match := family.fullmatch(name))]
        newest = max((each for each in versions if each[0] < _DATE), default=None)
        found += [] if newest is None else [newest[1]]
    return tuple(found)
