"""What the requests of a replay cost, and how much of each the provider's cache would have held."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from workbench.context.setup import Setup
from workbench.lab.caching import CacheUse, cache_rules, request_price
from workbench.lab.replay.needs import text_for_model
from workbench.lab.replay.recorded_cache import RecordedCache, ReportedRequest, reported_use
from workbench.lab.replay.replayed_session import LabAnswer, ReplayedSession
from workbench.lab.replay.unattributed import Unattributed
from workbench.log.events import Usage
from workbench.models.catalogue import ModelInfo
from workbench.sources.requests import RequestMark


class _RequestBefore(NamedTuple):
    sent_at: int
    model: str
    unlogged: int
    """Tokens it sent that are not in the log."""


class ReplayCosts:
    """Adds up the costs of one replay. A sum is None as soon as one price is unknown."""

    def __init__(self, session: ReplayedSession, setup: Setup, cache: RecordedCache | None) -> None:
        """`cache`: what the reports show; None while the recorded session itself is followed."""
        self._session = session
        self._setup = setup
        self._cache = cache
        self._before: _RequestBefore | None = None
        self.total: float | None = 0.0
        self.reread_tokens = 0
        self.rereading: float | None = 0.0
        """What it would cost to get missed facts back."""
        self.reported: list[ReportedRequest | None] = []
        """What each report shows, while the recorded session is followed."""

    def add_cost(self, cost: float | None) -> None:
        self.total = _sum(self.total, cost)

    def add_request(
        self, number: int, mark: RequestMark, size: int, same: int, extra: Unattributed, answer: LabAnswer
    ) -> CacheUse:
        """Add a request, and return how its tokens divide. `same`: how many it shares with the one before."""
        info, before = self._model_of(mark), self._before
        if before is None:
            shared = 0
        else:
            shared_unlogged = Unattributed(min(extra.tokens, before.unlogged), extra.share)
            shared = min(size, shared_unlogged.request_size(max(0, same)))
        use = self._reported_use(number, size, shared, answer.report)
        if use is None:
            use = self._use_by_rules(info, mark, size, shared, extra, answer)
        sent_at = answer.at or (before.sent_at if before is not None else 0)
        self._before = _RequestBefore(sent_at, mark.model, extra.tokens)
        self.add_cost(request_price(info.for_request(size), use, answer.tokens))
        return use

    def add_rereading(self, mark: RequestMark, size: int, seqs: Collection[int]) -> None:
        """Add the cost of reading events again: the same request, cached, with the events appended."""
        if not seqs:
            return
        count, events = self._setup.counter.count, self._session.source.events
        tokens = sum(count(text_for_model(events[seq - 1])).tokens for seq in seqs)
        self.reread_tokens += tokens
        info = self._model_of(mark).for_request(size + tokens)
        self.rereading = _sum(self.rereading, request_price(info, CacheUse(size, tokens, 0), 0))

    def _model_of(self, mark: RequestMark) -> ModelInfo:
        """The request's own model.

        The session's model if an option names one, or if the price of the request's model is unknown.
        """
        known = self._session.services.catalogue.find_model(mark.model)
        own = not self._session.options.model and mark.model != self._setup.model and known.input_price is not None
        return known if own else self._setup.info

    def _reported_use(self, number: int, size: int, shared: int, report: Usage | None) -> CacheUse | None:
        """The use of the cache as far as there is a report; None where there is none."""
        if self._cache is not None:
            return self._cache.use_of(number, size, shared) if self._cache.is_reported(number) else None
        use = reported_use(report, size) if report is not None and report.prompt is not None else None
        self.reported.append(ReportedRequest(use, shared) if use is not None else None)
        return use

    def _use_by_rules(
        self, info: ModelInfo, mark: RequestMark, size: int, shared: int, extra: Unattributed, answer: LabAnswer
    ) -> CacheUse:
        rules, before = cache_rules(info, self._session.cache_minutes), self._before
        if before is None:  # another session of the agent may have cached the system prompt and the tools
            return rules.cache_use(size, min(mark.cached, extra.tokens), 0)
        if mark.model != before.model and not self._session.options.model:
            return rules.cache_use(size, 0, 0)
        idle = answer.at - before.sent_at if answer.at and before.sent_at else 0
        return rules.cache_use(size, shared, idle)


def _sum(total: float | None, cost: float | None) -> float | None:
    return None if total is None or cost is None else total + cost
