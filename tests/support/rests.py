"""How well the requests of recorded sessions are explained and estimated, tool by tool.

`python tests/support/rests.py` prints the table for the transcripts of `support.recordings`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support.recordings import FOLDER, readable_files
from workbench.config.errors import WorkbenchError
from workbench.config.text import table
from workbench.log.events import Compaction
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.requests import is_main
from workbench.sources.services import Services
from workbench.sources.source import Source, as_source, file_logs
from workbench.traces.formats import read_file

CLOSE, AFTER = 0.02, 0.05
LEAST = 2_000
"""Tokens of a report below which a share of it says little: 2 % are then less than the framing of a message or two."""


@dataclass(slots=True)
class ToolFigures:
    """Of all reported requests of one tool's conversations."""

    left: list[float] = field(default_factory=list)
    """What of each report is neither in its rows, nor fixed, nor thinking; as a share of the report."""
    small: int = 0
    """Requests below `LEAST`, which are in none of the shares."""
    negative: int = 0
    """Requests whose rows sum to more than was reported."""
    worst: float = 0.0
    """The largest share by which they do."""
    after: list[float] = field(default_factory=list)
    """By what share the first request after each compaction was estimated wrongly."""

    @property
    def close(self) -> float:
        """The share of requests that are explained."""
        return sum(abs(each) <= CLOSE for each in self.left) / max(1, len(self.left))

    def add(self, session: RecordedSession, source: Source) -> None:
        """One conversation."""
        main = is_main(session.marks)
        for each in session.listed:
            if each.unattributed is None or not each.mark.reported or not main(each.mark):
                continue
            if each.unattributed < 0:
                self.negative += 1
                self.worst = max(self.worst, -each.unattributed / each.mark.reported)
            if each.mark.reported >= LEAST:
                self.left.append((each.unattributed - each.known_rest.tokens) / each.mark.reported)
            else:
                self.small += 1
        cuts = [event.seq for event in source.events if isinstance(event.body, Compaction)]
        for cut in cuts:
            lesson = next((each for each in session.lessons if each.mark.upto >= cut), None)
            if lesson is not None and lesson.estimated is not None and lesson.mark.reported:
                self.after.append(lesson.estimated / lesson.mark.reported - 1)


def sources() -> Iterator[tuple[str, Source]]:
    """The conversations of all files that can be read, each with its tool: the folder that it lies in."""
    for path in readable_files():
        try:
            logs = file_logs(*read_file(str(path)))[:10]
        except WorkbenchError:
            continue
        for log in logs:
            yield path.relative_to(FOLDER).parts[0], as_source(path.name, log, is_file=True)


def measured() -> dict[str, ToolFigures]:
    """The figures of each tool that has any."""
    found: dict[str, ToolFigures] = {}
    with Services() as services:
        for tool, source in sources():
            figures = found.setdefault(tool, ToolFigures())
            figures.add(RecordedSession(services, Options(), source), source)
    return {tool: each for tool, each in found.items() if each.left or each.small}


def as_table(found: dict[str, ToolFigures]) -> list[str]:
    """For reading."""
    header = ("tool", "requests", "small", "within 2 %", "median rest", "below 0", "at most", "after compactions")
    rows = []
    for tool, each in sorted(found.items()):
        shares = [abs(share) for share in each.left]
        rows.append(
            (
                *(tool, str(len(each.left)), str(each.small)),
                f"{each.close:.0%}" if shares else "–",
                f"{median(shares):.2%}" if shares else "–",
                str(each.negative),
                f"{each.worst:.2%}" if each.negative else "",
                " ".join(f"{error:+.1%}" for error in each.after),
            )
        )
    return table(header, rows, frozenset({1, 2, 3, 4, 5, 6}), 0)


if __name__ == "__main__":
    print("\n".join(as_table(measured())))
