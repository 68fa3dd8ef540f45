"""What the compaction panel draws: one frozen value, made by the session model. Independent of the screen."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from msgspec import Struct

from workbench.compaction.forecast import Forecast
from workbench.compaction.metrics import CompactionMetrics
from workbench.compaction.progress import CompactionProgress, Stage
from workbench.compaction.record import CompactionEntry, FailedCompaction
from workbench.compaction.undo import NestedCompaction
from workbench.compaction.values import CompactionDecision, Fact
from workbench.config.text import printable
from workbench.context.policy import Mode
from workbench.sources.requests import RequestMark
from workbench.sources.savings import ProxyPolicyFigures

MODES: tuple[Mode, ...] = ("auto", "confirm", "manual", "off")
"""In the order in which the mode key cycles through them."""


class CompactionMark(NamedTuple):
    at: int
    """The index into the curve's sizes after which it was made."""
    undone: bool


class Curve(NamedTuple):
    """The size of the context over time: one point per turn, or per request of another agent."""

    sizes: tuple[int, ...] = ()
    """Tokens of the last request of each turn and of the last one before each compaction. For another agent's
    recording: tokens of every request. The last size is the current one."""
    marks: tuple[CompactionMark, ...] = ()
    turns: int = 0
    limit: int = 0
    """The policy compacts from this many tokens on; 0: it does not compact by size."""
    window: int = 0
    ends: tuple[int, ...] = ()
    """The event that reported each size; the current size has none."""
    tried: tuple[int, ...] = ()
    """The sizes of the same requests under another policy than the recorded one."""
    what_if: str = ""
    """That policy."""
    requests: int = 0
    """How many of another agent's requests the curve shows."""

    def place(self, mark: RequestMark) -> int:
        """The index of a request on the curve."""
        return bisect_left(self.ends, mark.usage or mark.seq)


class RunningCompaction(NamedTuple):
    """A compaction that is being made."""

    progress: CompactionProgress
    since: float
    """By `time.monotonic`, to show how long it has taken so far."""
    draft: bool = False
    """Whether it is only a draft: the user decides on it afterwards."""


class PastOffer(NamedTuple):
    """What could have been compacted at a past request, and the last compaction before it."""

    number: int
    """The request's number, from 1."""
    tokens: int
    nothing: str = ""
    """Why there was nothing to compact; empty if there was something, or if it is not known yet."""
    would: str = ""
    """What a manual compaction would have summarised; empty if unknown or nothing."""
    last: CompactionEntry | None = None
    """The newest compaction at that time."""


class CompactionView(Struct, frozen=True):
    """Everything that the panel shows."""

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
    history: tuple[NestedCompaction, ...]
    last: CompactionEntry | None
    """The newest compaction, even if it was undone or replaced."""
    failed: FailedCompaction | None
    """The last attempt, if it failed."""
    metrics: CompactionMetrics
    nothing: str = ""
    """Why there is nothing to compact now; empty if there is something, or if the log is too long to check unasked."""
    would: str = ""
    """What a manual compaction would summarise now; empty if unknown or nothing."""
    cleared: tuple[int, ...] = ()
    """The overrides in effect that removed something from the requests: the user's decisions, or another agent's
    clearing of old results. If several were decided at once, the first of them."""
    fixed: str = ""
    """Why nothing can be changed; empty if it can."""
    proxy_policy: ProxyPolicyFigures | None = None
    """What a proxy changes in the requests; None: nothing."""
    running: RunningCompaction | None = None
    past: PastOffer | None = None
    """The past request that is selected; None: the current state, or another agent's newest request."""


class PastAudit(NamedTuple):
    """One compaction with its audit. Not part of the panel's own value because it takes long to compute."""

    entry: CompactionEntry
    summary: str
    lost: tuple[Fact, ...]
    forgotten: tuple[Fact, ...]
    kept: int
    seqs: dict[str, int]
    """The sequence numbers of the events the facts came from, by event id."""


class CompactionOutcome(NamedTuple):
    """The result of an attempt to compact."""

    seq: int
    """The compaction event; 0: none was made."""
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
    """What went wrong although it was made, or why it was not made."""


DOING: dict[Stage, str] = {
    "selecting": "choosing what to summarise",
    "planning": "working out what it frees",
    "summarising": "summarising",
    "merging": "merging the parts",
    "collecting": "looking for facts",
    "auditing": "checking the summary",
}


def progress_text(progress: CompactionProgress) -> str:
    """The progress of a compaction in a few words."""
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
