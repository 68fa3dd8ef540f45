"""Asks for the answers of a search: within the budget, again after a failure, and never twice for the same try."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct

from workbench.explain.kept_answers import KeptAnswers, changed_digest, request_digest
from workbench.explain.minimal_sets import Removed
from workbench.explain.request_units import RequestUnit, leaving_out
from workbench.explain.values import ExplainWish
from workbench.sources.replay_answers import ReplayAnswer
from workbench.sources.replaying import ReplayJob
from workbench.wire.rewriting import BodyRewriter

SendBody = Callable[[dict[str, Any]], Awaitable[ReplayAnswer]]
ATTEMPTS = 6
"""How often a request is sent until it is answered."""
FIRST_WAIT = 0.5
"""Seconds before the second attempt; each further wait is twice as long."""
_REFUSED = (400, 413, 422)
"""What providers answer to a request that is not valid: without this unit there is no answer at all."""
_HOPELESS = (401, 402, 403, 404)
"""What would be the same for every other request."""


class SearchEnded(Exception):
    """The search cannot go on; the text says why. Everything that was answered is kept."""


class AskedCounts(Struct):
    """What was sent so far."""

    sent: int = 0
    failed: int = 0
    kept: int = 0
    cost: float = 0.0
    is_priced: bool = True
    waited: float = 0.0


class Asker:
    """Answers to one request without some of its units."""

    def __init__(
        self,
        job: ReplayJob,
        units: Sequence[RequestUnit],
        wish: ExplainWish,
        send: SendBody,
        kept: KeptAnswers,
        on_answer: Callable[[AskedCounts], None] | None = None,
        first_wait: float = FIRST_WAIT,
    ) -> None:
        self.counts = AskedCounts()
        self._job = job
        self._units = units
        self._rewriter = BodyRewriter(job.dialect, job.body)
        self._digest = request_digest((job.dialect, job.model, job.address or job.to), job.body)
        self._wish = wish
        self._send = send
        self._kept = kept
        self._on_answer = on_answer
        self._first_wait = first_wait
        self._answers: dict[Removed, list[ReplayAnswer]] = {}
        self._dearest = 0.0
        """The highest cost of an answer so far: the next one may cost as much."""

    def answers_without(self, removed: Removed) -> list[ReplayAnswer]:
        """The answers so far."""
        return self._answers.setdefault(removed, [])

    async def ask_without(self, removed: Removed, tries: int) -> list[ReplayAnswer]:
        """At least so many answers. Raises SearchEnded."""
        found = self.answers_without(removed)
        if len(found) < tries:
            rewrite = leaving_out(self._units, removed)
            body = self._rewriter.rewritten_body(rewrite) if removed else self._job.body
            digest = changed_digest(self._digest, rewrite)
            while len(found) < tries:
                found.append(await self._one(body, digest, len(found)))
        return found

    async def _one(self, body: dict[str, Any], digest: bytes, number: int) -> ReplayAnswer:
        known = None if self._wish.fresh else self._kept.load_answer(digest, number)
        if known is not None:
            self.counts.kept += 1
            return known
        answer = await self._sent(body)
        if not answer.problem:
            self._kept.keep_answer(digest, number, answer)
        return answer

    async def _sent(self, body: dict[str, Any]) -> ReplayAnswer:
        for attempt in range(ATTEMPTS):
            self._check_budget()
            began = time.monotonic()
            answer = await self._send(body)
            self._count(answer, time.monotonic() - began)
            if not answer.problem or answer.status in _REFUSED:
                return answer
            if answer.status in _HOPELESS:
                raise SearchEnded(f"the provider does not answer: {answer.problem}")
            if attempt < ATTEMPTS - 1:
                await asyncio.sleep(self._first_wait * 2**attempt)
        raise SearchEnded(f"{ATTEMPTS} tries of a request failed; the last one: {answer.problem}")

    def _check_budget(self) -> None:
        counts, price = self.counts, max(self._job.highest or 0.0, self._dearest)
        if counts.sent >= self._wish.most:
            raise SearchEnded(f"the limit of {self._wish.most:,} requests is reached; --requests sets another one")
        if price and counts.cost + price > self._wish.budget:
            raise SearchEnded(
                f"the next request could exceed the budget of ${self._wish.budget:.2f}: it may cost ${price:.4f} with "
                f"the longest answer that it allows, and ${counts.cost:.4f} are spent; --budget sets another one"
            )

    def _count(self, answer: ReplayAnswer, seconds: float) -> None:
        counts = self.counts
        counts.sent += 1
        counts.failed += bool(answer.problem)
        counts.waited += seconds
        counts.is_priced = counts.is_priced and (answer.cost is not None or bool(answer.problem))
        if not answer.problem:
            cost = (self._job.cost or 0.0) if answer.cost is None else answer.cost
            counts.cost += cost
            self._dearest = max(self._dearest, cost)
        if self._on_answer:
            self._on_answer(counts)
