"""The process behind the tool `peek_grep`: reads texts and a pattern as JSON from standard input, prints the matches.

It is a separate process for the same reason as the search in files: a bad pattern can take forever, and only a process
can be ended. It uses only the standard library.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterable
from typing import TextIO

from workbench.agent.tools.search_worker import BAD_PATTERN, Matcher, clipped_line, make_matcher


def main() -> None:
    """Read one search from standard input, and run it."""
    wanted = json.load(sys.stdin)
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]  # not in TextIO
    try:
        matcher = make_matcher(wanted["pattern"], False, False)
    except (re.error, OverflowError, RecursionError) as error:
        sys.stderr.write(f"pattern: expected a regular expression: {error}")
        sys.exit(BAD_PATTERN)
    grep(wanted["texts"], matcher, wanted["limit"], time.monotonic() + wanted["seconds"], sys.stdout)


def grep(texts: Iterable[tuple[str, str]], matcher: Matcher, limit: int, deadline: float, out: TextIO) -> None:
    """Print matching lines under the heading of their text. Each is written at once, in case the process is ended."""
    found = 0
    for heading, text in texts:
        begun = False
        for number, line in enumerate(text.split("\n"), 1):
            if number % 512 == 1 and time.monotonic() > deadline:
                out.write("[stopped: out of time; ask for one item, or for a simpler pattern]")
                return
            span = matcher(line)
            if span is None:
                continue
            if found == limit:
                out.write(f"[stopped at {limit} matches; make the pattern narrower, or ask for one item]")
                return
            if not begun:
                out.write(heading + "\n")
                begun = True
            out.write(f"{number}: {clipped_line(line, span)}\n")
            out.flush()
            found += 1
    if not found:
        out.write("[no match]")
