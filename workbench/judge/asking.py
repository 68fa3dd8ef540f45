"""Asks a model: one request, planned and rendered like any other, tried again where that helps, within the budget."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import NamedTuple

from msgspec import Struct

from workbench.agent.serving import serving
from workbench.compaction.prompts import SummaryPrompt
from workbench.compaction.requests import GAP, summary_request_plan, without_stages
from workbench.compaction.summariser import cost_of, without_thinking
from workbench.config.background import in_background
from workbench.config.errors import Refused
from workbench.context.plan import ContextPlan
from workbench.context.render import render_request
from workbench.context.setup import Setup
from workbench.judge.budget import Spending
from workbench.judge.requests import JudgePrompt
from workbench.log.events import Usage
from workbench.models.catalogue import REHEARSAL, Catalogue, is_local
from workbench.models.failures import ModelFailure
from workbench.models.gateway import Gateway, SilenceLimits
from workbench.models.reply_parts import ReportedUsage, TextPiece
from workbench.models.retry import RetrySchedule, with_retries
from workbench.sources.options import Options
from workbench.sources.services import Services

FRAMES = 100
"""Tokens for the frames around what is asked, and for differences in counting."""
SPARE = 1_000
"""Extra tokens for an answer before it is cut off."""


class JudgeReply(NamedTuple):
    """A model's reply, and what it used."""

    text: str
    tokens: int
    completion: int
    cost: float | None


class AskedModel(Struct, frozen=True):
    """A model that answers or grades."""

    setup: Setup
    gateway: Gateway
    catalogue: Catalogue
    schedule: RetrySchedule
    patience: SilenceLimits | None = None

    @property
    def name(self) -> str:
        return self.setup.model

    def room(self, prompt: JudgePrompt) -> int:
        """Tokens that a request to it has room for, besides the prompt and the answer."""
        return self.setup.limits.capacity - self.setup.counter.count(prompt.text).tokens - FRAMES

    def usage(self, prompt: JudgePrompt, tokens: int, completion: int) -> Usage:
        """What a request of this size would use at most."""
        size = tokens + self.setup.counter.count(prompt.text).tokens + FRAMES
        return Usage(self.name, size, completion=completion + SPARE)

    async def ask_model(
        self, prompt: JudgePrompt, parts: Sequence[str], completion: int, spending: Spending
    ) -> JudgeReply:
        """Send a message. `completion`: tokens that the answer may have. Raises ModelFailure or BudgetUsedUp.

        A part that several messages have, such as a long context, is counted once.
        """
        counter, message = self.setup.counter, "\n\n".join(parts)
        counter.suppose(message, sum(counter.count(part).tokens + GAP for part in parts))
        plan = summary_request_plan(self.setup, SummaryPrompt(prompt.name, prompt.text), message)
        if not plan.verdict.fits:
            raise Refused(f"a request to {self.name} does not fit: {plan.verdict.why}")
        tokens = plan.totals.tokens
        spending.check_budget(cost_of([Usage(self.name, tokens, completion=completion + SPARE)], self.catalogue))
        most = completion if is_local(self.name) else completion + SPARE  # the embedded model does not stop by itself
        text, reported = await self._whole_answer(plan, most)
        used = Usage(self.name, tokens, completion=counter.count(text).tokens)
        if reported is not None:
            used = reported.as_usage(self.name, tokens)
        cost = cost_of([used], self.catalogue)
        spending.note_cost(cost)
        return JudgeReply(text, tokens if used.prompt is None else used.prompt, used.completion, cost)

    async def _whole_answer(self, plan: ContextPlan, most: int) -> tuple[str, ReportedUsage | None]:
        """A broken stream is requested once more: half of the answers are of little use."""
        try:
            return await self._stream(plan, most)
        except ModelFailure as failure:
            if failure.category != "broken_stream":
                raise
            return await self._stream(plan, most)

    async def _stream(self, plan: ContextPlan, most: int) -> tuple[str, ReportedUsage | None]:
        unlimited = "reasoning" in self.setup.info.capabilities or is_rehearsed(self.name)
        body = {**render_request(plan), **({} if unlimited else {"max_tokens": most})}
        if is_local(self.name):  # so small a model guesses otherwise
            body["temperature"] = 0
        pieces: list[str] = []
        reported: ReportedUsage | None = None
        make = partial(self.gateway.stream, body, patience=self.patience)
        async with aclosing(with_retries(make, self.schedule)) as stream:
            async for part in stream:
                match part:
                    case TextPiece(text):
                        pieces.append(text)
                    case ReportedUsage():
                        reported = part
        return without_thinking("".join(pieces)), reported


def is_rehearsed(model: str) -> bool:
    """Whether a model answers by rule: always the same."""
    return model.partition("/")[0] == REHEARSAL


@asynccontextmanager
async def asked_model(services: Services, model: str) -> AsyncIterator[AskedModel]:
    """A model that is ready to be asked. Raises Refused if its key is missing."""
    setup = without_stages(services.set_up(Options(model=model)))
    routes = services.routes
    endpoint = await in_background(routes.endpoint, model)
    if endpoint.lacks_key:
        raise Refused(f"there is no key for {model}: set {endpoint.lacks_key}; rehearsal and local need none")
    async with serving(model, endpoint, routes.patience(model)) as gateway:
        yield AskedModel(setup, gateway, services.catalogue, routes.schedule, routes.patience(model))
