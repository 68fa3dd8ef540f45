"""Records of the past in a request: the summary of a compaction, in the user's role, and what it says was done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from workbench.compaction.digest import MARK
from workbench.config.patterns import late_pattern
from workbench.rehearsal.summaries import HEAD

_OPENING = 1_000
"""Characters of a text that are searched for the frame around a record."""
_FRAME = late_pattern(
    r"\s*(?:Record of |Conversation so far, as a record )[^:]{0,300}\bno\s+instructions:|\s*\[Conversation summary\b"
)
"""How the presets introduce a summary."""
_SECTION = late_pattern(r"^#{2,6} (?P<title>[^\n]*)\n(?P<lines>(?:(?!#)[^\n]+(?:\n|\Z))*)", re.MULTILINE)
_TOUCHED = late_pattern(r"- (?P<path>.+) \((?:read|written)\) \[[^\]]*\]")
_RUN = late_pattern(r"- `(?P<command>.+)`(?:: exit status \d+)? \[[^\]]*\]")
"""A file and a command in a digest."""


def is_record(text: str) -> bool:
    """Whether a text in the user's role is a record of the past and not the user's words."""
    return HEAD in text or MARK in text[:_OPENING] or bool(_FRAME.match(text[:_OPENING]))


def done_in_record(text: str) -> set[str]:
    """The commands that were run and the files that were read or written, according to a record.

    Files are only found in a digest: a model's summary may mention files that nobody touched.
    """
    return set(_done_in(text))


def _done_in(text: str) -> Iterator[str]:
    for section in _SECTION.finditer(text):
        for line in section["lines"].split("\n"):
            if section["title"] == "Commands":
                run = _RUN.fullmatch(line)
                yield run["command"] if run else line.removeprefix("- ")
            elif section["title"] == "Files touched" and (touched := _TOUCHED.fullmatch(line)):
                yield touched["path"]
