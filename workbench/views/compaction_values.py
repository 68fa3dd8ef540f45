"""What the compaction panel draws: one frozen value, made by the session model. Knows nothing of the screen."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import NamedTuple

from workbench.compaction.forecast import Forecast
from workbench.compaction.progress import Progress, Stage
from workbench.compaction.record import CompactionEntry, FailedCompaction, Metrics
from workbench.compaction.undo import Node
from workbench.compaction.values import CompactionDecision, Fact
from workbench.config.text import printable
from workbench.context.policy import Mode
from workbench.sources.requests import RequestMark
from workbench.sources.savings import WayFigures

MODES: tuple[Mode, ...] = ("auto", "confirm", "manual", "off")
"""In the order in which a key goes through them."""


class CompactionMark(NamedTuple):
    """A compaction on the curve."""

    at: int
    """Behind this place of the curve it was made."""
    undone: bool


class Curve(NamedTuple):
    """The size of the context over the turns, or over the requests that another agent made."""

    sizes: tuple[int, ...] = ()
    """Tokens of the last request of each turn, and of the last one before each compaction; of what another agent
    recorded, of every request. At the end, of now."""
    marks: tuple[CompactionMark, ...] = ()
    turns: int = 0
    limit: int = 0
    """The tokens from which on the policy compacts; 0: by size it does not."""
    window: int = 0
    ends: tuple[int, ...] = ()
    """The event that reported each size; of now there is none."""
    tried: tuple[int, ...] = ()
    """The same requests as another policy than the recorded one would have made them."""
    what_if: str = ""
    """That policy."""
    requests: int = 0
    """How many of another agent's the curve shows."""

    def place(self, mark: RequestMark) -> int:
        """Where on the curve a request is."""
        return bisect_left(self.ends, mark.usage or mark.seq)


class RunningCompaction(NamedTuple):
    """A compaction that is being made."""

    progress: Progress
    since: float
    """By `time.monotonic`, for telling how long it has taken so far."""
    draft: bool = False
    """Whether it is only a draft: the user decides on it afterwards."""


@dataclass(frozen=True, slots=True)
class CompactionView:
    """All that the panel shows."""

    policy: str
    mode: Mode
    tokens: int
    window: int
    decision: CompactionDecision
    """What the triggers, the mode and the brakes say now; its checks say why in numbers."""
    forecast: Forecast
    next: str
    """What happens next, in a few words."""
    curve: Curve
    history: tuple[Node, ...]
    last: CompactionEntry | None
    """The newest compaction, whatever became of it."""
    failed: FailedCompaction | None
    """The last attempt, where it failed."""
    metrics: Metrics
    nothing: str = ""
    """Why there is nothing to compact now; empty where there is, or where the log is too long to look unasked."""
    would: str = ""
    """What a compaction by hand would do now; empty where that is not known, or nothing."""
    cleared: tuple[int, ...] = ()
    """The overrides in force that took something out of the requests: decisions by hand, or another agent's clearing of
    old results. Of what was decided at once, the first."""
    fixed: str = ""
    """Why nothing can be changed; empty where it can."""
    way: WayFigures | None = None
    """What a proxy changes on the way; None: nothing."""
    running: RunningCompaction | None = None


class PastAudit(NamedTuple):
    """One compaction, looked at closely: what the panel's own value leaves out because it takes long."""

    entry: CompactionEntry
    summary: str
    lost: tuple[Fact, ...]
    forgotten: tuple[Fact, ...]
    kept: int
    seqs: dict[str, int]
    """Of the events the facts came from, by id."""


class CompactionOutcome(NamedTuple):
    """A compaction that was made, or was not."""

    seq: int
    """The event; 0: none was made."""
    summary: str
    before: int
    """Tokens of the request."""
    after: int
    window: int
    kept: int
    facts: int
    made_by: str
    ratio: float
    problems: tuple[str, ...] = ()
    """What went wrong on the way, though it was made; or why it was not."""


DOING: dict[Stage, str] = {
    "selecting": "choosing what to summarise",
    "planning": "working out what it frees",
    "summarising": "summarising",
    "merging": "merging the parts",
    "collecting": "looking for facts",
    "auditing": "checking the summary",
}


def progress_text(progress: Progress) -> str:
    """How far a compaction is, in a few words."""
    stage, part, parts, characters, model = progress
    words = DOING[stage]
    if model:
        words = f"asking {printable(model)}" if stage == "summarising" else f"{words} by {printable(model)}"
    match stage:
        case "selecting" if parts:
            words = f"reading {part:,} of {parts:,} events"
        case "collecting" if parts:
            words += f" in {part:,} of {parts:,} items"
        case "summarising" if parts > 1:
            words += f"{',' if model else ''} part {part:,} of {parts:,}"
    return f"{words}, {characters:,} characters" if characters else words
