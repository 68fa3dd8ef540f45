"""`@path` in a message: the text of that file is sent with the message.

Only the name of a file in the project counts as a mention; any other word with an `@` is left alone.
"""

from __future__ import annotations

import re
from pathlib import Path

from workbench.agent.tools.base import ToolFailure, ToolLimits
from workbench.agent.tools.places import AllowedFolders
from workbench.agent.tools.read import read_lines
from workbench.log.events import Content, TextPart, text_of

MOST = 20
"""The most files of one message."""

_MENTION = re.compile(r'(?:^|(?<=[\s(\[{,;]))@(?:"([^"\n]{1,1000})"|([^\s@"]{1,1000}))')
_TRAIL = ".,;:!?)]}'"
"""Characters that end a sentence rather than a file's name, unless a file of that name exists."""


def files_in(text: str, root: Path) -> list[Path]:
    """The files of the project that a message mentions, each once, in the order they are mentioned."""
    places = AllowedFolders(root)
    found: dict[Path, None] = {}
    for quoted, plain in _MENTION.findall(text):
        path = _file(quoted, places) if quoted else _file(plain, places) or _file(plain.rstrip(_TRAIL), places)
        if path is not None:
            found[path] = None
    return list(found)[:MOST]


def _file(name: str, places: AllowedFolders) -> Path | None:
    try:
        path = places.resolve_path(name) if name else None
        return path if path is not None and path.is_file() else None
    except (ToolFailure, OSError):  # outside the project, or a name that is too long for any file
        return None


def with_files(text: str, root: Path, limits: ToolLimits | None = None) -> Content:
    """The message followed by the files that it mentions; just the message if it mentions none."""
    places = AllowedFolders(root)
    parts = [TextPart(text)]
    for path in files_in(text, root):
        name = places.name(path)
        try:
            inside = read_lines(path, name, limits or ToolLimits())
        except (ToolFailure, OSError) as error:
            inside = f"[it could not be read: {error}]"
        parts.append(TextPart(f'<file path="{name}">\n{inside.rstrip()}\n</file>'))
    return tuple(parts) if len(parts) > 1 else text


def as_written(content: Content) -> str:
    """A message without the files that were added to it; its text names them."""
    if isinstance(content, str) or not content:
        return text_of(content)
    first, *rest = content
    along = all(isinstance(part, TextPart) and part.text.startswith('<file path="') for part in rest)
    return text_of((first,) if along else content)
