"""The summariser: a model writes the summary, in one request or in parts that are merged.

Any failure of the model becomes a `CompactionRefused` of its kind; the compactor then uses the digest. If a provider
finds a request too long, its limit is learnt, and the source is read again in smaller parts.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from contextlib import aclosing
from functools import partial
from typing import NamedTuple, ParamSpec, TypeVar

from workbench.compaction.progress import CompactionProgress, ReportProgress
from workbench.compaction.prompts import SummaryPrompt
from workbench.compaction.requests import (
    SummaryRequest,
    SummaryRequests,
    SummarySource,
    merge_groups,
    split_into_requests,
    without_stages,
)
from workbench.compaction.values import CompactionRefused
from workbench.config.background import in_background
from workbench.config.garbage import collector_paused
from workbench.config.values import replace
from workbench.context.budget import Limits, model_limits
from workbench.context.render import render_request
from workbench.context.setup import Setup
from workbench.log.events import Event, Usage
from workbench.models.catalogue import Catalogue
from workbench.models.failures import ModelFailure
from workbench.models.gateway import Gateway, SilenceLimits
from workbench.models.ledger import Ledger
from workbench.models.reply_parts import ReplyFinished, ReportedUsage, TextPiece
from workbench.models.retry import RetrySchedule, with_retries
from workbench.models.tokens import TokenCounter, counter_named

MAX_SPLITS = 2
"""How often a source is read again in smaller parts if the provider finds a request too long."""
LIMIT_SHARE = 0.9
"""The share of a provider's own limit that we use: it counts in its own way."""
REFUSE_OVER_CAP = 2
"""A summary over its cap is cut; one longer than this many times its cap is refused."""
SPARE_TOKENS = 2_000
"""Extra tokens for an answer before it is cut off: some models think aloud first."""

_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
"""Thinking that a local server did not separate from the answer."""

ReadSource = Callable[[], SummarySource]
"""Reads what is to be summarised."""
T = TypeVar("T")
P = ParamSpec("P")


async def run_in_thread(work: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """Run slow work in a thread, without garbage collection.

    Collecting a large heap stops every thread, including the event loop's, and this work leaves no cycles behind.
    """

    def quietly() -> T:
        with collector_paused():
            return work(*args, **more)

    return await in_background(quietly)


class _NobodyWaits(Exception):
    """A thread's work is not wanted any more."""


async def run_with_progress(work: Callable[[ReportProgress], T], report: ReportProgress) -> T:
    """Run slow work in a thread and pass its progress reports on in the caller's own thread.

    If the caller stops waiting, the work ends at its next report.
    """
    loop, waiting = asyncio.get_running_loop(), True

    def hand_on(progress: CompactionProgress) -> None:
        if not waiting:
            raise _NobodyWaits
        loop.call_soon_threadsafe(arrived, progress)

    def arrived(progress: CompactionProgress) -> None:
        if waiting:  # the last report may still be on its way when the caller stops
            report(progress)

    try:
        return await run_in_thread(work, hand_on)
    finally:
        waiting = False


def within_cap(text: str, cap: int, counter: TokenCounter) -> tuple[str, tuple[str, ...]]:
    """A summary in at most `cap` tokens, and what was done to it.

    The cut falls on a whole line if that costs little, else between words.
    """
    tokens = counter.count(text).tokens
    if tokens <= cap:
        return text, ()
    kept = text[: counter.head(text, cap)]
    line = kept.rfind("\n")
    kept = kept[:line] if line > 0.8 * len(kept) else kept.rpartition(" ")[0] or kept
    while kept and counter.count(kept.rstrip()).tokens > cap:
        kept = kept[:-1]
    return kept.rstrip(), (f"too_long: the summary had {tokens:,} tokens and was cut to the cap of {cap:,}",)


def without_thinking(text: str) -> str:
    """An answer without the thinking that some local servers leave before it."""
    return _THOUGHT.sub("", text)


class SummariserAccess(NamedTuple):
    """How to reach the summariser."""

    gateway: Gateway
    patience: SilenceLimits | None = None
    """None: the gateway's own."""
    schedule: RetrySchedule = RetrySchedule()


def setup_for(setup: Setup, catalogue: Catalogue) -> Setup:
    """The setup of the summarising model: the session's own, unless the policy names another."""
    policy = setup.loaded.policy
    name = policy.compaction.model
    if not name or name == setup.model:
        return setup
    info = catalogue.find_model(name)
    counted = counter_named(info.tokenizer, None, exact=info.tokenizer_exact, note=info.tokenizer_note)
    return Setup(name, info, setup.loaded, model_limits(info, policy.budget), counted)


def cost_of(usages: Iterable[Usage], catalogue: Catalogue) -> float | None:
    """The cost of requests in dollars: as reported, else by list prices; None if neither is known."""
    total = Ledger.from_events((Event(seq, "", 0, usage) for seq, usage in enumerate(usages, 1)), catalogue).total
    return None if total.uncosted else total.cost


class Summariser:
    """Writes one summary."""

    def __init__(self, setup: Setup, access: SummariserAccess, report: ReportProgress) -> None:
        self._setup = without_stages(setup)
        self._access = access
        self._report = report
        self._asked = 0
        """Tokens of the last request, by our count."""
        self.usages: list[Usage] = []
        """One for each answered request, even if the answer was not used."""

    async def write_summary(self, layout: SummaryRequests, source: ReadSource, prompt: SummaryPrompt, cap: int) -> str:
        """Send these requests, merge their answers, and return the summary. Raises CompactionRefused if there is none.

        The source is read again only if the provider accepts less than expected, and the requests have to be smaller.
        """
        for tries_left in reversed(range(MAX_SPLITS + 1)):
            try:
                return await self._merged(await self._parts(layout), cap)
            except ModelFailure as failure:
                if failure.category != "context_too_long" or not tries_left:
                    raise _refused(failure) from None
                self._setup = replace(self._setup, limits=_smaller(self._setup.limits, failure, self._asked))
                layout = await run_in_thread(lambda: split_into_requests(source(), prompt, self._setup, cap))
        raise AssertionError("the last try returns or raises")

    async def _parts(self, layout: SummaryRequests) -> list[str]:
        """The summaries of the parts, in order, after the previous summary if there is one."""
        texts = [layout.previous] if layout.previous else []
        for number, each in enumerate(layout.requests, 1):
            texts.append(await self._answer(each, CompactionProgress("summarising", number, len(layout.requests))))
        return texts

    async def _merged(self, texts: list[str], cap: int) -> str:
        """One summary of several, in as many rounds as needed."""
        while len(texts) > 1:
            groups = await run_in_thread(merge_groups, texts, self._setup, cap)
            texts = []
            for number, group in enumerate(groups, 1):
                if group.request is None:
                    texts.extend(group.texts)
                else:
                    texts.append(await self._answer(group.request, CompactionProgress("merging", number, len(groups))))
        return texts[0]

    async def _answer(self, request: SummaryRequest, progress: CompactionProgress) -> str:
        """The model's text. A broken stream is requested once more: half a summary is useless."""
        self._asked, progress = request.plan.totals.tokens, progress._replace(model=self._setup.model)
        for last_try in (False, True):
            try:
                return await self._ask_once(request, progress)
            except ModelFailure as failure:
                if failure.category == "context_too_long":
                    raise
                if failure.category != "broken_stream" or last_try:
                    raise _refused(failure) from None
        raise AssertionError("the last try returns or raises")

    async def _ask_once(self, request: SummaryRequest, progress: CompactionProgress) -> str:
        access, model = self._access, self._setup.model
        most = self._output_limit(request)
        body = {**render_request(request.plan), **({"max_tokens": most} if most else {})}
        pieces: list[str] = []
        reported: ReportedUsage | None = None
        reason, size = "", 0
        make = partial(access.gateway.stream, body, patience=access.patience)
        self._report(progress)
        async with aclosing(with_retries(make, access.schedule)) as stream:
            async for part in stream:
                match part:
                    case TextPiece(text):
                        pieces.append(text)
                        size += len(text)
                        self._report(progress._replace(characters=size))
                    case ReportedUsage():
                        reported = part
                    case ReplyFinished():
                        reason = part.reason
        text = without_thinking("".join(pieces)).strip()
        self.usages.append(self._usage(request, text, reported))
        if reason == "refused":
            raise CompactionRefused("model", f"{model} refused to summarise: the provider's filter objected")
        if not text:
            raise CompactionRefused("empty", f"{model} wrote nothing")
        if reason == "length":
            within = f"{most:,} tokens" if most else "its own limit"
            raise CompactionRefused("too_long", f"{model} came to no end within {within}")
        return text

    def _output_limit(self, request: SummaryRequest) -> int:
        """Tokens after which the provider cuts an answer off; 0: no limit, because thinking would count too."""
        info, window = self._setup.info, self._setup.limits.window
        if "reasoning" in info.capabilities:
            return 0
        bounds = [
            REFUSE_OVER_CAP * request.cap + SPARE_TOKENS,
            info.max_output or REFUSE_OVER_CAP * request.cap + SPARE_TOKENS,
        ]
        if not info.input_only:
            bounds.append(window - request.plan.totals.tokens)
        return max(1, min(bounds))

    def _usage(self, request: SummaryRequest, text: str, reported: ReportedUsage | None) -> Usage:
        model, tokens = self._setup.model, request.plan.totals.tokens
        if reported is not None:
            return reported.as_usage(model, tokens)
        return Usage(model, tokens, completion=self._setup.counter.count(text).tokens)


def _refused(failure: ModelFailure) -> CompactionRefused:
    match failure.category:
        case "timeout":
            return CompactionRefused("timeout", str(failure).removeprefix("timeout: "))
        case "context_too_long":
            return CompactionRefused("does_not_fit", _failure_words(failure))
        case _:
            return CompactionRefused("model", _failure_words(failure))


def _failure_words(failure: ModelFailure) -> str:
    """What went wrong, without the advice to compact."""
    return f"context too long: {failure.detail}" if failure.category == "context_too_long" else str(failure)


def _smaller(known: Limits, failure: ModelFailure, asked: int) -> Limits:
    """Limits that the provider should accept: those it names, or else half of what it refused."""
    spent = asked + known.reserve + known.margin
    taken = failure.window(spent, known.window)
    window = int(taken.tokens * LIMIT_SHARE) if taken.named else spent // 2
    return replace(known, window=window, window_source="provider", reserve=min(known.reserve, window // 4), margin=0)
