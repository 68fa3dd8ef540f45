"""Finds identifiers that are not names in a program: tickets, orders, UUIDs, addresses of mail and of machines.

The audit of a summary does not list them, because a session has too many. But if an answer needs one, it counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ID = re.compile(
    r"""(?<![A-Za-z0-9])(?:
    [0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2})?
    | [0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}
    | [A-Za-z0-9][\w.+-]{0,60}@[A-Za-z0-9][A-Za-z0-9-]{0,60}(?:\.[A-Za-z0-9-]{1,60})+
    | [0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\.[0-9])
    | 0x[0-9a-f]{4,40}
    | (?-i:[A-Z][A-Z0-9]{1,9}-[0-9]{1,9})
    | (?-i:(?=[A-Z0-9]{0,30}[0-9])(?=[0-9]{0,30}[A-Z])[A-Z0-9]{5,32})
    | [a-z_]\w{0,60}(?:::\w{1,60})+
    | (?=\w{0,60}[^\x00-\x7F])[^\W_]\w{0,60}_\w{1,60}
    )(?![A-Za-z0-9])""",
    re.VERBOSE | re.IGNORECASE,
)
_COMMON = re.compile(
    r"(?:SHA|UTF|ISO|RFC|BASE|INT|UINT|FLOAT|AES|RSA|CP|LATIN|WINDOWS|HTTP|MP|IPV|GPT|ARM|AMD|X|ES|PEP|CVE)-?[0-9]+"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}.*|127\.0\.0\.1|0\.0\.0\.0|255\.[0-9.]+|0x[0f]+",
    re.IGNORECASE,
)
"""Words that every model knows, and dates, whose year counts as a number."""


def find_ids(word: str) -> Iterator[str]:
    """The identifiers in a word, which may have more around them, as in `feature/JIRA-48213-fix`."""
    return (found for found in _ID.findall(word) if not _COMMON.fullmatch(found))


def word_pieces(word: str) -> list[str]:
    """A word and its pieces, as in `load(first_row=last_row)` or `src/a.py:3:load_it`."""
    if "://" in word:
        return [word]
    found = [word, *word.split(":")]
    return [*found, *re.split(r"[(=]", word)] if "(" in word else found
