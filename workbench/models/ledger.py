"""The token account: our count, the provider's report and the difference between them, request by request.

A fold over the log's events: `Ledger.from_events` reads them all, and `add_event` one more, at a cost that does not
depend on their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import NamedTuple, Self

from workbench.log.events import Compaction, Event, Request, Revert, Usage, UserMessage
from workbench.models.calibration import Calibration, Calibrator, ReportedSize
from workbench.models.catalogue import Catalogue
from workbench.models.known_costs import CostSource, known_part, request_cost

_COUNTED = frozenset((UserMessage, Compaction, Revert, Request, Usage))
"""What changes the account."""


class LedgerRow(NamedTuple):
    seq: int
    turn: int
    model: str
    estimate: int
    """Our own count of the request, including framing."""
    prompt: int
    """The provider's count, including cached tokens; our own if there was no report."""
    reported: bool
    """False if `prompt` is our own count."""
    unattributed: int
    """The tokens that the provider counted and we did not (or, below 0, the reverse): prompt minus estimate."""
    cached: int
    """Part of `prompt`, never added to it."""
    cache_write: int
    """Part of `prompt` as well."""
    completion: int
    reasoning: int
    """Part of `completion`."""
    cost: float | None
    """US dollars; None if unknown."""
    cost_source: CostSource
    seconds: float | None
    at: int = 0
    """When it was answered, in milliseconds since 1970; 0 if unknown."""

    def with_estimate(self, tokens: int) -> LedgerRow:
        """The same request with our own count."""
        return self._replace(estimate=tokens, unattributed=self.prompt - tokens)


class UsageTotals(NamedTuple):
    """Sums over requests. Compactions do not reset them, because what was spent stays spent."""

    requests: int = 0
    estimate: int = 0
    prompt: int = 0
    unattributed: int = 0
    cached: int = 0
    cache_write: int = 0
    completion: int = 0
    reasoning: int = 0
    cost: float = 0.0
    """The known part of the cost."""
    uncosted: int = 0
    """Requests whose cost is unknown, and therefore missing from `cost`."""
    seconds: float = 0.0
    last_at: int = 0
    """When the last of them was answered, in milliseconds since 1970."""

    @property
    def tokens(self) -> int:
        """All input and output tokens."""
        return self.prompt + self.completion

    @property
    def known_cost(self) -> float | None:
        """The known part of the cost; None if there were requests and the cost of none of them is known."""
        return known_part(self.cost, self.requests, self.uncosted)

    def plus(self, row: LedgerRow) -> UsageTotals:
        """These sums plus one more request."""
        return UsageTotals(
            self.requests + 1,
            self.estimate + row.estimate,
            self.prompt + row.prompt,
            self.unattributed + row.unattributed,
            self.cached + row.cached,
            self.cache_write + row.cache_write,
            self.completion + row.completion,
            self.reasoning + row.reasoning,
            self.cost + (row.cost or 0.0),
            self.uncosted + (row.cost is None),
            self.seconds + (row.seconds or 0.0),
            max(self.last_at, row.at),
        )


class _Growth(NamedTuple):
    """How the context grows from turn to turn, measured at the last request of each.

    Two turns are compared if nothing was compacted between them and both counts are of the same kind: one model, and
    both reported or both our own.
    """

    tokens: int = 0
    turns: int = 0
    before: LedgerRow | None = None
    """The last request of the turn before that of `last`."""
    last: LedgerRow | None = None

    def with_row(self, row: LedgerRow) -> _Growth:
        if self.last is None or row.turn == self.last.turn:
            return _Growth(self.tokens, self.turns, self.before, row)
        tokens, turns = self._sums()
        return _Growth(tokens, turns, before=self.last, last=row)

    def interrupted(self) -> _Growth:
        """Start again after a compaction or its revert: requests before and after it are not compared."""
        return _Growth(*self._sums())

    def mean(self) -> float | None:
        tokens, turns = self._sums()
        return tokens / turns if turns else None

    def _sums(self) -> tuple[int, int]:
        """The sums, including the latest turn."""
        before, last = self.before, self.last
        if before is None or last is None or (before.model, before.reported) != (last.model, last.reported):
            return self.tokens, self.turns
        return self.tokens + last.prompt - before.prompt, self.turns + last.turn - before.turn


class Ledger:
    """The account of a session, updated event by event."""

    def __init__(
        self,
        catalogue: Catalogue,
        count: Callable[[], Mapping[int, int]] | None = None,
        taught: Callable[[str], Calibration] | None = None,
    ) -> None:
        """`count`: gives our counts of another agent's requests, which its log does not have, by the events of their
        reports; that may take long. `taught`: what those reports teach about a model."""
        self.rows: list[LedgerRow] = []
        self.total = UsageTotals()
        self.turns: dict[int, UsageTotals] = {}
        """Sums per turn; a turn without a request has none."""
        self.compactions: dict[int, list[int]] = {}
        """By turn: the events of the compactions that were made during it or after it."""
        self._catalogue = catalogue
        self._count = count
        self._taught = taught
        self._turn = 0
        self._learnt: dict[str, Calibrator] = {}
        self._growth = _Growth()
        self._elsewhere: set[int] = set()
        """Requests of sub-agents, by their events: they cost tokens, but do not belong to the conversation."""
        self.latest: LedgerRow | None = None
        """The last request of the conversation itself, whatever was compacted since then."""

    @classmethod
    def from_events(cls, events: Iterable[Event], catalogue: Catalogue) -> Self:
        """The account of a whole log."""
        ledger = cls(catalogue)
        for event in events:
            ledger.add_event(event)
        return ledger

    def add_event(self, event: Event) -> LedgerRow | None:
        """Add one event; return the new row if it was a request."""
        if type(event.body) not in _COUNTED:
            return None  # nearly all
        match event.body:
            case UserMessage():
                self._turn += 1
            case Compaction() | Revert() as control:
                if isinstance(control, Compaction):
                    self.compactions.setdefault(self._turn, []).append(event.seq)
                self._growth = self._growth.interrupted()
            case Request(is_elsewhere=True):
                self._elsewhere.add(event.seq)
            case Usage() as usage:
                return self._add_usage(event.seq, event.at, usage)
        return None

    @property
    def lacks_counts(self) -> bool:
        """Whether our counts of another agent's requests are left out, because they take long."""
        return self._count is not None

    def with_counts(self) -> Ledger:
        """The same account, with our counts of another agent's requests: a copy if it lacks them. May take long."""
        if self._count is None:
            return self
        made, counts = copy(self), self._count()
        made._count, made.total, made.turns = None, UsageTotals(), {}
        made.rows = [row if row.estimate else row.with_estimate(counts.get(row.seq, 0)) for row in self.rows]
        for row in made.rows:
            made._add_up(row)
        return made

    def calibration(self, model: str) -> Calibration:
        """What the reports for a model have taught about our counts."""
        if self._taught is not None:
            return self._taught(model)
        learnt = self._learnt.get(model)
        return Calibration(model) if learnt is None else learnt.calibration

    def calibration_words(self, model: str) -> str:
        """What the reports have taught, in a sentence; if nothing, which reports exist."""
        learnt = self.calibration(model)
        reports = Counter(row.model for row in self.rows if row.reported)
        if learnt.samples or not reports:
            return learnt.why
        if own := reports.pop(model, 0):
            return f"{_reported(own)}, but nothing of ours to compare that with"
        others = ", ".join(f"{count:,} to {name or 'a model without a name'}" for name, count in reports.most_common())
        return f"{learnt.why}; {others} did"

    @property
    def average_turn(self) -> float | None:
        """Input and output tokens per turn; None before the first request."""
        return self.total.tokens / len(self.turns) if self.turns else None

    @property
    def last(self) -> LedgerRow | None:
        """The last request; None if a compaction, or its revert, followed it."""
        return self._growth.last

    @property
    def growth(self) -> float | None:
        """By how many tokens the context grows per turn; None until two turns can be compared."""
        return self._growth.mean()

    def _add_usage(self, seq: int, at: int, usage: Usage) -> LedgerRow:
        estimate = usage.estimate
        if usage.prompt is None and not estimate and self._count is not None:
            estimate = self._count().get(seq, 0)
        prompt = estimate if usage.prompt is None else usage.prompt
        tokens = (prompt, usage.cached, usage.cache_write, usage.cache_hour, usage.completion)
        cost, source = request_cost(self._catalogue.find_model(usage.model), usage.cost, *tokens)
        row = LedgerRow(
            seq=seq,
            turn=self._turn,
            model=usage.model,
            estimate=estimate,
            prompt=prompt,
            reported=usage.prompt is not None,
            unattributed=prompt - estimate,
            cached=usage.cached,
            cache_write=usage.cache_write,
            completion=usage.completion,
            reasoning=usage.reasoning,
            cost=cost,
            cost_source=source,
            seconds=usage.seconds,
            at=at,
        )
        self.rows.append(row)
        self._add_up(row)
        if usage.request not in self._elsewhere:
            self.latest = row
            self._growth = self._growth.with_row(row)
        if self._taught is None and row.reported and row.prompt > 0 and row.estimate > 0:
            learner = self._learnt.setdefault(row.model, Calibrator(row.model))
            learner.add_report(ReportedSize(row.estimate, 0, row.prompt))
        return row

    def _add_up(self, row: LedgerRow) -> None:
        self.total = self.total.plus(row)
        self.turns[row.turn] = self.turns.get(row.turn, UsageTotals()).plus(row)


def _reported(count: int) -> str:
    return "1 request has reported its tokens" if count == 1 else f"{count:,} requests have reported their tokens"
