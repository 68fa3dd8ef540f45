"""Names of models that came from elsewhere: which of them may become part of an address or a request."""

from __future__ import annotations

import re

LONGEST = 256
_WITH_MEANING = re.compile(r"[?#%\\\s]|(?:\A|/)\.{0,2}(?:/|\Z)")
"""What an address does not take as a part of a name, and steps from folder to folder."""


def is_model_name(name: str) -> bool:
    """Whether a name is one that a provider may have: no path, no address, nothing that ends a line."""
    return name.isprintable() and len(name) <= LONGEST and "://" not in name and not _WITH_MEANING.search(name)
