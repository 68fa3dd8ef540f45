"""The process behind `search_text`: reads the request as JSON and prints the matches.

Uses only the standard library and pathspec, because it has to start fast.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TextIO

from workbench.agent.tools.files import SNIFF_BYTES
from workbench.agent.tools.globs import Glob
from workbench.agent.tools.walk import OutOfTime, walk_folder
from workbench.config.foreign_files import TooLargeFile, read_regular_file

BAD_PATTERN = 3
"""The exit status for an invalid pattern."""
MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_LINE = 400
"""Characters shown of a line, around the match."""

Matcher = Callable[[str], tuple[int, int] | None]


def main() -> None:
    wanted = json.load(sys.stdin)
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]  # not in TextIO
    try:
        matcher = make_matcher(wanted["pattern"], wanted["literal"], wanted["ignore_case"])
    except (re.error, OverflowError, RecursionError) as error:
        sys.stderr.write(f"pattern: expected a regular expression: {error}; set literal for plain text")
        sys.exit(BAD_PATTERN)
    Search(wanted, matcher, sys.stdout).search_files()


def make_matcher(pattern: str, literal: bool, ignore_case: bool) -> Matcher:
    """A function that finds a match in a line."""
    compiled = re.compile(re.escape(pattern) if literal else pattern, re.IGNORECASE if ignore_case else 0)

    def find(line: str) -> tuple[int, int] | None:
        found = compiled.search(line)
        return None if found is None else found.span()

    return find


class Search:
    def __init__(self, wanted: Mapping[str, Any], matcher: Matcher, out: TextIO) -> None:
        self._wanted = wanted
        self._matcher = matcher
        self._out = out
        self._found = 0
        self._too_large = 0
        self._deadline = time.monotonic() + wanted["seconds"]

    def search_files(self) -> None:
        """Search every file. Matches are printed when they are found, so an early end loses nothing."""
        note = ""
        try:
            for path, name in self._files():
                self._search_file(path, name)
                if self._found >= self._wanted["limit"]:
                    note = f"[stopped at {self._found} matches; narrow it with path or glob, or raise limit]"
                    break
        except OutOfTime:
            note = f"[stopped after {self._wanted['seconds']:g} s; narrow it with path or glob]"
        notes = [note or ("[no match]" if not self._found else "")]
        if self._too_large:
            notes.append(f"[passed over {self._too_large} files larger than {MAX_FILE_BYTES} bytes]")
        self._out.write("\n".join(filter(None, notes)))
        self._out.flush()

    def _files(self) -> Iterator[tuple[str, str]]:
        base, name = self._wanted["base"], self._wanted["name"]
        if not os.path.isdir(base):
            yield base, name
            return
        glob = Glob(self._wanted["glob"]) if self._wanted["glob"] else None
        prefix = "" if name == "." else name.rstrip("/") + "/"
        for entry in walk_folder(base, self._wanted["root"], 64, self._deadline):
            # Links are skipped: one may lead out of the project, and a target inside the project is found anyway.
            if entry.is_file and (glob is None or glob(entry.path) or glob(prefix + entry.path)):
                yield os.path.join(base, entry.path), prefix + entry.path

    def _search_file(self, path: str, name: str) -> None:
        try:
            data = read_regular_file(path, MAX_FILE_BYTES)
        except TooLargeFile:
            self._too_large += 1
            return
        except OSError:
            return  # no permission, or deleted meanwhile
        if b"\0" in data[:SNIFF_BYTES]:
            return
        lines = data.decode(errors="replace").split("\n")
        if lines[-1] == "":
            lines.pop()
        self._print(name, [line.removesuffix("\r") for line in lines])

    def _print(self, name: str, lines: list[str]) -> None:
        around, shown, begun = self._wanted["context"], 0, False
        for at, line in enumerate(lines):
            if at % 512 == 0 and time.monotonic() > self._deadline:
                raise OutOfTime
            span = self._matcher(line)
            if span is None:
                continue
            if not begun:
                self._out.write(name + "\n")
                begun = True
            start = max(at - around, shown)
            if around and shown and start > shown:
                self._out.write("--\n")
            for number in range(start, at):
                self._out.write(f"{number + 1}- {clipped_line(lines[number], (0, 0))}\n")
            self._out.write(f"{at + 1}: {clipped_line(line, span)}\n")
            shown = self._trail(lines, at, around)
            self._out.flush()
            self._found += 1
            if self._found >= self._wanted["limit"]:
                return

    def _trail(self, lines: list[str], at: int, around: int) -> int:
        """Write the lines after a match up to the next one. Return the number of the first line not yet written."""
        number = at + 1
        while number < min(at + 1 + around, len(lines)) and self._matcher(lines[number]) is None:
            self._out.write(f"{number + 1}- {clipped_line(lines[number], (0, 0))}\n")
            number += 1
        return number


def clipped_line(line: str, span: tuple[int, int]) -> str:
    """At most MAX_LINE characters of a line, around a match."""
    if len(line) <= MAX_LINE:
        return line
    start = min(max(span[0] - MAX_LINE // 4, 0), len(line) - MAX_LINE)
    end = start + MAX_LINE
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
