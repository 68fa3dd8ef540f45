"""Explains the answer to a recorded request: noise first, then the search, then more tries for what it found."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from math import ceil, log2

from msgspec import Struct, field

from workbench.config.errors import Refused, WrongCall
from workbench.explain.actions import SameAction, SameLikelihood, commonest_answer, plain_call, same_action
from workbench.explain.asking import FIRST_WAIT, AskedCounts, Asker, SearchEnded, SendBody
from workbench.explain.effect_words import findings_of
from workbench.explain.intervals import ChangedCount, effect_of
from workbench.explain.kept_answers import KeptAnswers, recorded_digest
from workbench.explain.local_scores import LocalScorer
from workbench.explain.minimal_sets import FoundSets, KnownChanges, Removed, search_by_halving
from workbench.explain.request_units import RequestUnit, units_in
from workbench.explain.subset_fit import search_by_subsets
from workbench.explain.values import ExplainWish, Explanation, LikelihoodDrop, UnitEffect, Verdict
from workbench.models.catalogue import REHEARSAL, is_local
from workbench.proxy.body_plans import plan_body
from workbench.sources.options import Options
from workbench.sources.replay_answers import ReplayAnswer
from workbench.sources.replay_sending import ReplaySender
from workbench.sources.replaying import ReplayJob, ReplayWish, event_paths, find_request, prepare_replay
from workbench.sources.services import Services
from workbench.sources.source import Source

NOTHING: Removed = frozenset()
MOST_NOISE = 0.5
"""If so large a share of the unchanged answers differ, nothing can be said about any unit."""


class ExplainJob(Struct, frozen=True):
    """A request that is ready to be explained."""

    job: ReplayJob
    units: tuple[RequestUnit, ...]
    wish: ExplainWish
    events: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """By event of the log: its paths in the request."""
    recorded: bytes = b""
    """Identifies the request as it was recorded; empty if what is sent has other contents."""

    def events_of(self, units: Iterable[RequestUnit]) -> frozenset[int]:
        """The events that these units consist of."""
        gone = {path for unit in units for path in unit.paths}
        return frozenset(seq for seq, paths in self.events.items() if gone.issuperset(paths))

    @property
    def is_free(self) -> bool:
        """Whether sending it costs nothing."""
        return self.job.is_free or is_local(self.job.to)

    @property
    def expected(self) -> tuple[int, int]:
        """About how many requests it takes: if nothing matters, and if three units do."""
        tries, steps = self.wish.tries, ceil(log2(max(2, len(self.units))))
        return 2 * tries, min(self.wish.most, 3 * (steps + 2) + 5 * tries)

    @property
    def question(self) -> str:
        """The question before anything is sent: where it goes, how often, and the cost."""
        job, (few, many) = self.job, self.expected
        price = "at a price that is not known" if job.cost is None else f"for about ${job.cost:.4f} each"
        limit = (
            f"${self.wish.budget:.2f} or {self.wish.most:,} requests" if job.cost else f"{self.wish.most:,} requests"
        )
        return (
            f"send request {job.number:,} without some of its {len(self.units):,} units to {job.model} at "
            f"{job.address}, about {few} to {many} times, {job.tokens:,} tokens or less, {price}, at most {limit}?"
        )


def prepare_explanation(services: Services, options: Options, source: Source, wish: ExplainWish) -> ExplainJob:
    """Find the request and its units. Raises WorkbenchError."""
    if not 1 <= wish.tries <= 20:
        raise WrongCall(f"--tries: expected a number from 1 to 20, got {wish.tries}")
    scored = is_local(wish.to)
    again = ReplayWish(number=wish.number, to=REHEARSAL if scored else wish.to, send_key=wish.send_key)
    job = prepare_replay(services, options, source, again)
    if scored:
        job = job._replace(to=wish.to)
    found = find_request(services, options, source, job.number)
    mark = found.recorded.marks[found.at]
    setup = found.recorded.setup(mark.model)
    units = units_in(job.dialect, job.body, lambda text: setup.counter.count(text).tokens, wish.grain)
    if not units:
        raise Refused(f"request {job.number}: nothing can be left out: it has only the message that is answered")
    paths = event_paths(plan_body(job.dialect, found.body, setup), source.events)
    is_same = {**job.body, "model": ""} == {**found.body, "model": ""}
    recorded = recorded_digest(job.dialect, found.body) if is_same else b""
    return ExplainJob(job, tuple(units), wish, paths, recorded)


async def send_and_explain(
    services: Services, job: ExplainJob, on_answer: Callable[[AskedCounts], None] | None = None
) -> Explanation:
    """Explain the answer with requests to the provider, or to where the user wants them, and keep what is found."""
    with KeptAnswers() as kept:
        if is_local(job.job.to):
            async with LocalScorer(job.job) as scorer:
                found = await explain_request(job, scorer.score_body, kept, on_answer)
        else:
            async with ReplaySender(services, job.job.destination) as sender:
                found = await explain_request(job, sender.send_body, kept, on_answer)
        findings = findings_of(job.units, found, job.job.model if job.job.address else job.job.to)
        if findings is not None and job.recorded:
            kept.keep_findings(job.recorded, findings)
    return found


async def explain_request(
    job: ExplainJob,
    send: SendBody,
    kept: KeptAnswers,
    on_answer: Callable[[AskedCounts], None] | None = None,
    first_wait: float = FIRST_WAIT,
) -> Explanation:
    """Ask until it is known what the answer depended on, or until the budget is spent or the provider fails."""
    asker = Asker(job.job, job.units, job.wish, send, kept, on_answer, first_wait)
    run = _Explaining(job, asker)
    began, ended = time.monotonic(), ""
    try:
        await run.measure_noise()
        await run.search_sets()
        await run.confirm_sets()
    except SearchEnded as end:
        ended = str(end)
    return run.result(ended, time.monotonic() - began)


class _Explaining:
    """One explanation while it is made."""

    def __init__(self, job: ExplainJob, asker: Asker) -> None:
        self._job = job
        self._asker = asker
        self._same: SameAction | SameLikelihood | None = None
        self._known = KnownChanges()
        self._found = FoundSets()

    async def measure_noise(self) -> None:
        """Send the unchanged request a few times, and learn how much its answers vary."""
        tries = self._job.wish.tries
        answers = await self._asker.ask_without(NOTHING, tries)
        self._compare_answers()
        if self._tally(NOTHING).changed:
            await self._asker.ask_without(NOTHING, tries + 2)
            self._compare_answers()
        if self._same is None:
            raise SearchEnded(f"the provider refuses the request as it is: {answers[0].problem}")
        tally = self._tally(NOTHING)
        if tally.share >= MOST_NOISE:
            raise SearchEnded(
                f"the answer varies by itself: {tally.changed} of {tally.tries} answers to the unchanged request "
                "were different, so nothing can be said about what it depends on"
            )

    def _compare_answers(self) -> None:
        self._same = same_action(self._job.job.recorded, self._asker.answers_without(NOTHING), self._job.wish.alike)

    async def search_sets(self) -> None:
        """Run the search. Its tests are single answers if the unchanged ones are all the same, else majorities."""
        order = [unit.number for unit in reversed(self._job.units)]  # from the back: the provider's cache holds
        make = search_by_halving if self._job.wish.method == "halving" else search_by_subsets
        search = make(order, self._known)
        try:
            removed = next(search)
            while True:
                removed = search.send(await self._changes(removed))
        except StopIteration as end:
            self._found = end.value

    async def _changes(self, removed: Removed) -> bool:
        tries = self._job.wish.tries if self._tally(NOTHING).changed else 1
        for number in range(1, tries + 1):
            await self._asker.ask_without(removed, number)
            tally = self._tally(removed)
            if max(tally.changed, tally.tries - tally.changed) * 2 > tries:
                break
        tally = self._tally(removed)
        return tally.share > 0.5

    async def confirm_sets(self) -> None:
        """Ask again for each set, and for all units that are in none."""
        rest = frozenset(range(len(self._job.units))) - self._found.members
        for removed in (*sorted(self._found.sets, key=lambda each: (len(each), -max(each))), rest):
            if removed:
                await self._asker.ask_without(removed, self._job.wish.tries)

    def _tally(self, removed: Removed) -> ChangedCount:
        answers = self._asker.answers_without(removed)
        if self._same is None:
            return ChangedCount()
        return ChangedCount(sum(not self._same.is_same(each) for each in answers), len(answers))

    # The result

    def result(self, ended: str, seconds: float) -> Explanation:
        """What is known so far."""
        counts, same = self._asker.counts, self._same
        return Explanation(
            effects=tuple(self._effect(unit) for unit in self._job.units),
            unchanged=self._tally(NOTHING),
            reference=same.reference if same else None,
            is_recorded=bool(same and same.is_recorded),
            complete=self._found.complete and not ended,
            ended=ended,
            sent=counts.sent,
            failed=counts.failed,
            kept=counts.kept,
            cost=counts.cost if counts.is_priced else None,
            seconds=seconds,
            waited=counts.waited,
        )

    def _effect(self, unit: RequestUnit) -> UnitEffect:
        mine = [each for each in self._known.sets if unit.number in each]
        if mine:
            return self._of_set(unit, min(mine, key=len))
        rest = frozenset(range(len(self._job.units))) - self._found.members
        tally = self._tally(rest)
        if self._found.complete and tally.tries:
            verdict: Verdict = "no effect" if tally.share <= 0.5 else "unclear"
            return UnitEffect(unit, verdict, effect_of(tally, self._tally(NOTHING)), drop=self._drop(rest))
        alone = self._known.known_change(frozenset({unit.number})) is False
        return UnitEffect(unit, "no effect alone" if alone else "not tested")

    def _of_set(self, unit: RequestUnit, found: Removed) -> UnitEffect:
        assert self._same is not None
        tally = self._tally(found)
        verdict: Verdict = "needed" if len(found) == 1 else "one of several"
        if tally.share <= 0.5:
            verdict = "unclear"
        common = commonest_answer([each for each in self._asker.answers_without(found) if not self._same.is_same(each)])
        answer, times = common or (None, 0)
        call = plain_call((unit.tool, unit.arguments))
        return UnitEffect(
            unit,
            verdict,
            effect_of(tally, self._tally(NOTHING)),
            tuple(sorted(found - {unit.number})),
            answer_line(answer) if answer and answer.logprob is None else "",
            times,
            bool(answer and unit.tool and answer.logprob is None and call in map(plain_call, answer.calls)),
            self._drop(found),
        )

    def _drop(self, removed: Removed) -> LikelihoodDrop | None:
        scores, calm = ([each.logprob or 0.0 for each in self._scored(which)] for which in (removed, NOTHING))
        if not scores or not calm:
            return None
        value = sum(calm) / len(calm) - sum(scores) / len(scores)
        return LikelihoodDrop(value, min(calm) - max(scores), max(calm) - min(scores), len(scores))

    def _scored(self, removed: Removed) -> list[ReplayAnswer]:
        return [each for each in self._asker.answers_without(removed) if each.logprob is not None]


def answer_line(answer: ReplayAnswer) -> str:
    """An answer in one line: its calls, or the beginning of its text."""
    if answer.problem:
        return answer.problem
    lines = [line for line in answer.lines if line.strip()]
    calls = lines[-len(answer.calls) :] if answer.calls else lines[:1]
    return ", ".join(calls)
