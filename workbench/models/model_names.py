"""Names of models that others wrote: which of them can be used in an address or a request, and other spellings."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 256
_WITH_MEANING = re.compile(r"[?#%\\\s]|(?:\A|/)\.{0,2}(?:/|\Z)")
"""Characters that cannot be part of a name in an address, and parts between slashes that are `.`, `..` or empty."""
_DECIMAL = re.compile(r"(?<=\d)\.(?=\d)")
"""The point in `opus-4.8`."""
_DASHED = re.compile(r"(?<=[a-z]-\d)-(?=\d(?!\d))")
"""The last dash in `opus-4-8`."""
_SWAPPED = re.compile(r"claude-(\d(?:-\d)?)-([a-z]+)")
"""`claude-4-8-opus`: the version before the family."""
_ENDINGS = re.compile(r"(?:[-@](?:20\d{6}|20\d\d-\d\d-\d\d|latest|default|thinking)|-v\d+(?::\d+)?|:\w+|\[\w+\])+\Z")
"""Dates, revisions and variants after a name, as gateways and agents write them."""


def with_dashes(name: str) -> str:
    """A name with dashes instead of points in its version: claude-opus-4.8 is claude-opus-4-8."""
    return _DECIMAL.sub("-", name)


def spellings(name: str) -> Iterator[str]:
    """Other ways to write a model's name, the closest first: its version, then without date and revision."""
    for plain in dict.fromkeys((name, _ENDINGS.sub("", name))):
        dashed = with_dashes(plain)
        yield from dict.fromkeys((plain, dashed, _DASHED.sub(".", plain), _SWAPPED.sub(r"claude-\2-\1", dashed)))


def is_model_name(name: str) -> bool:
    """Whether a provider may have a model of this name: no path, no address, nothing that ends a line."""
    return name.isprintable() and len(name) <= LONGEST and "://" not in name and not _WITH_MEANING.search(name)
