"""Completions at the cursor: a slash command, or a file of the project with the tokens it would add."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Literal, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from workbench.agent.tools.walk import OutOfTime, walk_folder
from workbench.config.foreign_files import open_regular_file, read_to_end, size_of
from workbench.config.text import printable
from workbench.tui.widgets.cells import fit_cells, fit_cells_end
from workbench.tui.widgets.command import Completion

ROWS = 8
MOST_FILES = 20_000
DEEPEST = 16
SECONDS = 2.0
"""Seconds for one walk through the project; files found by then are offered."""
MOST_COUNTED = 256 * 1024
"""The largest file, in bytes, whose tokens are counted; for a larger one the size is shown."""
_AT = re.compile(r"(?:^|(?<=[\s(]))@([^\s@]*)$")

Count = Callable[[str], int]


class CompletionQuery(NamedTuple):
    """What to complete."""

    kind: Literal["slash", "file"]
    text: str
    """The whole text, or the part after the `@`."""


def completion_query(before: str, is_all: bool) -> CompletionQuery | None:
    """What to complete, given the text before the cursor; `is_all`: nothing follows the cursor."""
    if is_all and before.startswith("/") and "\n" not in before:
        return CompletionQuery("slash", before)
    found = _AT.search(before[-500:])
    return CompletionQuery("file", found[1]) if found else None


class ProjectFiles:
    """The project's files. Its methods are slow; call them on another thread."""

    def __init__(self, root: Path, count: Count | None = None) -> None:
        """`count` counts the tokens of a text; without it they are estimated from the length."""
        self._root = root
        self._count = count
        self._paths: list[str] | None = None

    def forget(self) -> None:
        """Clear the list of files, so that the next call reads it again."""
        self._paths = None

    def offers(self, text: str) -> list[Completion]:
        """The files that match a text, the best match first, each with its tokens."""
        if self._paths is None:
            self._paths = self._walk()
        return [Completion(_quoted(path), path, self._cost(path)) for path in nearest_paths(self._paths, text)]

    def _walk(self) -> list[str]:
        paths: list[str] = []
        root = str(self._root)
        try:
            for entry in walk_folder(root, root, DEEPEST, monotonic() + SECONDS):
                if entry.is_file:
                    paths.append(entry.path)
                if len(paths) >= MOST_FILES:
                    break
        except OutOfTime:
            pass  # some files of a huge project are better than none
        return paths

    def _cost(self, path: str) -> str:
        full = self._root / path
        try:
            with open_regular_file(full) as file:
                size = size_of(file)
                if size > MOST_COUNTED:
                    return f"about {size // 4:,} t"
                data = read_to_end(file, MOST_COUNTED)
        except OSError:
            return "cannot be read"
        if b"\0" in data:
            return f"{size:,} bytes, no text"
        text = data.decode(errors="replace")
        return f"{self._count(text):,} t" if self._count else f"about {len(text) // 4:,} t"


def nearest_paths(paths: list[str], text: str) -> list[str]:
    """The paths that contain a text: first names that start with it, then names that contain it; short ones first."""
    wish = text.lower()
    found = [path for path in paths if wish in path.lower()]

    def rank(path: str) -> tuple[int, int, str]:
        name = os.path.basename(path).lower()
        return 0 if name.startswith(wish) else 1 if wish in name else 2, len(path), path

    return sorted(found, key=rank)[:ROWS]


def _quoted(path: str) -> str:
    return f'@"{path}" ' if re.search(r"\s", path) else f"@{path} "


class CompletionList(Widget):
    """The list of completions above the composer."""

    class CompletionClicked(Message):
        """A completion was clicked."""

    offers: reactive[tuple[Completion, ...]] = reactive((), layout=True)
    at: reactive[int] = reactive(0)

    def watch_offers(self, offers: tuple[Completion, ...]) -> None:
        """Choose the first of a new list."""
        self.at = 0
        self.set_class(bool(offers), "-open")

    @property
    def chosen(self) -> Completion | None:
        """The completion that Tab inserts."""
        return self.offers[self.at] if self.at < len(self.offers) else None

    def move(self, step: int) -> None:
        """Choose another completion; wraps around."""
        if self.offers:
            self.at = (self.at + step) % len(self.offers)

    @property
    def _first(self) -> int:
        return max(0, min(self.at - ROWS // 2, len(self.offers) - ROWS))

    def get_content_height(self, *_: object) -> int:
        return min(len(self.offers), ROWS)

    def render(self) -> Content:
        """The part of the list around the chosen completion."""
        width = self.content_size.width
        shown = self.offers[self._first : self._first + ROWS]
        column = min(max((cell_len(offer.label) for offer in shown), default=0), max(width * 3 // 5, 8))
        lines = []
        for number, offer in enumerate(shown, self._first):
            mark = "▸ " if number == self.at else "  "
            label = fit_cells(fit_cells_end(printable(offer.label), column), column)
            line = Content.assemble(mark, (label, "bold"), "  ", (printable(offer.help), "$quiet"))
            line = line.truncate(width, ellipsis=True)
            line = line.extend_right(max(width - line.cell_length, 0))
            lines.append(line.stylize("on $cursor") if number == self.at else line)
        return Content("\n").join(lines)

    def on_click(self, event: events.Click) -> None:
        """Insert the completion under the mouse."""
        if self._first + event.y < len(self.offers):
            self.at = self._first + event.y
            self.post_message(self.CompletionClicked())
