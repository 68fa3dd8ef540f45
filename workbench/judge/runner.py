"""Runs a judgement: control, answers, grades. Whatever is in the record already is not asked again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from workbench.compaction.source import both_ends
from workbench.config.errors import Refused
from workbench.judge.asking import FRAMES, AskedModel
from workbench.judge.budget import BudgetUsedUp, CostEstimate, Spending, estimate_cost
from workbench.judge.context_text import ContextBlock, blocks_around, blocks_holding, joined_blocks
from workbench.judge.contexts import replaced_events
from workbench.judge.grading import grade_by_rule
from workbench.judge.judgement import JudgeTask
from workbench.judge.record_file import FULL, JudgeRecord
from workbench.judge.requests import (
    GRADE,
    PROBES,
    GradedItem,
    JudgePrompt,
    answer_prompt,
    framed_context,
    framed_questions,
    grading_message,
    judge_prompt,
    numbered_answers,
    numbered_grades,
    probes_message,
    single_question,
    written_probes,
)
from workbench.judge.values import Grade, JudgedContext, Probe, ProbeAnswer
from workbench.log.events import Usage
from workbench.models.catalogue import is_built_in, is_local
from workbench.models.failures import ModelFailure

TOGETHER = 10
"""Questions, or answers to grade, in one request."""
ANSWER_TOKENS, GRADE_TOKENS, PROBE_TOKENS = 100, 50, 150
"""Tokens that each of them may take in the reply."""
ITEM_TOKENS = 200
"""Tokens of a question with its expected and given answer, about."""
IN_A_ROW = 3
"""After this many failures in a row, nothing more is asked."""
FOR_GOOD = ("authentication", "unknown_model", "redirected")
"""Failures that the next request would have, too."""
LONGEST_BLOCK = 1_500
"""Characters of each entry that a model reads to write probes."""

T = TypeVar("T")
ReportStep = Callable[[str], None]


class JudgeEnd(NamedTuple):
    """How a run ended."""

    stopped: str = ""
    """Why it stopped early; empty if all was asked."""
    failures: tuple[str, ...] = ()
    """Requests that failed, in words, each reason once."""


class _GivenUp(Exception):
    """Nothing more is asked."""


class JudgeRun:
    """One run. The record gets everything as soon as it is known."""

    def __init__(
        self,
        task: JudgeTask,
        record: JudgeRecord,
        answerer: AskedModel,
        judge: AskedModel,
        spending: Spending,
        report: ReportStep = lambda _: None,
    ) -> None:
        self._task = task
        self._record = record
        self._answerer = answerer
        self._judge = judge
        self._spending = spending
        self._report = report
        self._failures: dict[str, None] = {}
        self._failed_in_a_row = 0
        self._last_context: tuple[tuple[ContextBlock, ...], str] = ((), framed_context(""))
        self._prompt = answer_prompt(task.model)
        self._is_small = is_local(task.model)
        self._together = 1 if self._is_small else TOGETHER
        self._rubric = judge_prompt(GRADE)

    # Before it begins

    def too_large(self, context: JudgedContext) -> bool:
        """Whether a context does not fit the model that answers."""
        return self._size(context.blocks) > self._answerer.room(self._prompt)

    def _size(self, blocks: Iterable[ContextBlock]) -> int:
        return sum(block.size_in(self._answerer.setup.counter) for block in blocks)

    def estimate(self) -> CostEstimate:
        """What the rest of the judgement may cost at most."""
        task, record = self._task, self._record
        usages: list[Usage] = []
        pool = task.pool(record)
        whole = min(self._size(task.source.blocks), self._answerer.room(self._prompt))
        known = {probe.id for probe, _ in task.control_answers(record, pool)}
        left = len(pool) - len(known)
        usages += self._usages(left, whole)
        judged = sum(probe.match == "words" for probe in pool if probe.id not in known)
        asked = task.kept_probes(record, pool) if not left else pool[: task.wanted]
        if self._lacks_probes(pool):
            room = self._answerer.room(judge_prompt(PROBES))
            usages.append(self._answerer.usage(judge_prompt(PROBES), min(whole, room), task.wanted * PROBE_TOKENS))
        for planned in task.contexts:
            size = self._size(planned.context.blocks)
            for attempt in range(1, task.tries + 1):
                missing = [probe for probe in asked if self._lacks(probe, planned.context, attempt)]
                usages += self._usages(len(missing), size)
                judged += sum(probe.match == "words" for probe in missing)
        for some in _groups(range(judged)):
            tokens = len(some) * ITEM_TOKENS
            usages.append(self._judge.usage(self._rubric, tokens, len(some) * GRADE_TOKENS))
        return estimate_cost(usages, self._answerer.catalogue)

    def _usages(self, questions: int, size: int) -> Iterator[Usage]:
        for some in _groups(range(questions), self._together):
            yield self._answerer.usage(self._prompt, size + 60 * len(some), len(some) * ANSWER_TOKENS)

    def _lacks(self, probe: Probe, context: JudgedContext, attempt: int) -> bool:
        return self._record.answer_of(probe.id, context.hash, self._task.model, self._prompt.hash, attempt) is None

    # The run

    async def finish_judgement(self) -> JudgeEnd:
        """Ask and grade what is missing. Ends early if the budget is used up or the model fails again and again."""
        task, record = self._task, self._record
        for prompt in (self._prompt, self._rubric, judge_prompt(PROBES)):
            record.add_prompt(prompt.name, prompt.hash, prompt.text)
        stopped = ""
        try:
            await self._write_probes()
            pool = task.pool(record)
            for probe in pool:
                record.add_probe(probe)
            await self._control(pool)
            kept = task.kept_probes(record, pool)
            for planned in task.contexts:
                for attempt in range(1, task.tries + 1):
                    missing = [probe for probe in kept if self._lacks(probe, planned.context, attempt)]
                    self._report(f"asking about {planned.context.name}, try {attempt} of {task.tries}")
                    for some in _groups(_shuffled(missing, f"{planned.context.hash} {attempt}"), self._together):
                        await self._ask_some(some, planned.context.blocks, planned.context.hash, attempt)
            self._report("grading")
            await self._grade([(p, a) for p in kept for c in task.contexts for a in task.answers(record, c.context, p)])
        except (BudgetUsedUp, _GivenUp) as ended:
            stopped = str(ended)
        return JudgeEnd(stopped, tuple(self._failures))

    async def _control(self, pool: Sequence[Probe]) -> None:
        """Ask every probe with the full context at hand, and grade the answers."""
        task, record, model = self._task, self._record, self._answerer
        known = {probe.id for probe, _ in task.control_answers(record, pool)}
        self._report("asking with the full context")
        for some in _groups([probe for probe in pool if probe.id not in known], self._together):
            events = {event for probe in some for event in probe.events}
            room = model.room(self._prompt) - 100 * len(some)
            blocks = blocks_holding(task.source.blocks, events) if self._is_small else task.source.blocks
            around = blocks_around(blocks, events, room, model.setup.counter)
            await self._ask_some(some, tuple(around), FULL, 1)
        await self._grade(task.control_answers(record, pool))

    async def _ask_some(
        self, probes: Sequence[Probe], context: tuple[ContextBlock, ...], name: str, attempt: int
    ) -> None:
        """Ask some probes; those that the reply leaves out once more, and then they have no answer."""
        missing = list(probes)
        for _ in range(2):
            parts = self._asked_parts(context, [probe.question for probe in missing])
            reply = await self._reply("answer", self._answerer, self._prompt, parts, len(missing) * ANSWER_TOKENS)
            if reply is None:
                return
            given = {1: reply.strip()} if self._is_small else numbered_answers(reply, len(missing))
            for at, probe in enumerate(missing, 1):
                if at in given:
                    self._keep_answer(probe, name, attempt, given[at])
            missing = [probe for at, probe in enumerate(missing, 1) if at not in given]
            if not missing:
                return
        for probe in missing:
            self._keep_answer(probe, name, attempt, "")

    def _asked_parts(self, context: tuple[ContextBlock, ...], questions: Sequence[str]) -> tuple[str, str]:
        if self._is_small:
            return single_question("\n".join(block.content for block in context), questions[0])
        return self._framed(context), framed_questions(questions)

    def _framed(self, context: tuple[ContextBlock, ...]) -> str:
        """The context in its frame, made and measured once for all requests in a row that have it."""
        if context != self._last_context[0]:
            framed = framed_context(joined_blocks(context))
            self._answerer.setup.counter.suppose(framed, self._size(context) + FRAMES)
            self._last_context = context, framed
        return self._last_context[1]

    def _keep_answer(self, probe: Probe, context: str, attempt: int, text: str) -> None:
        self._record.add_answer(ProbeAnswer(probe.id, context, self._task.model, attempt, text, self._prompt.hash))

    async def _grade(self, answers: Sequence[tuple[Probe, ProbeAnswer]]) -> None:
        """Grade by rule, and let the judge grade what is left: in random order, without a word about its context."""
        left: dict[str, tuple[Probe, ProbeAnswer]] = {}
        for probe, answer in answers:
            if self._record.grade_of(answer.hash, self._task.judge) is not None:
                continue
            grade = grade_by_rule(probe, answer.text)
            if grade is None:
                left[answer.hash] = (probe, answer)
            else:
                self._record.add_grade(grade)
        for some in _groups(_shuffled(list(left.values()), self._task.source.key)):
            await self._judge_some(some)

    async def _judge_some(self, answers: Sequence[tuple[Probe, ProbeAnswer]]) -> None:
        """Have the judge grade some answers; those that it leaves out once more, and then they have no grade."""
        missing = list(answers)
        for _ in range(2):
            items = [GradedItem(probe.question, "; ".join(probe.expected), answer.text) for probe, answer in missing]
            parts = (grading_message(items),)
            reply = await self._reply("grade", self._judge, self._rubric, parts, len(items) * GRADE_TOKENS)
            if reply is None:
                return
            given = numbered_grades(reply, len(missing))
            for at, (score, why) in given.items():
                probe, answer = missing[at - 1]
                grade = Grade(probe.id, answer.hash, score, self._task.judge, why, self._rubric.hash)
                self._record.add_grade(grade)
            missing = [each for at, each in enumerate(missing, 1) if at not in given]
            if not missing:
                return

    # Probes of the model

    def _lacks_probes(self, pool: Sequence[Probe]) -> bool:
        """Whether rules found too few decisions or next steps, and the model was not asked for more yet."""
        share = self._task.wanted // 4
        few = any(sum(probe.kind == kind for probe in pool) < share for kind in ("decision", "continuation"))
        asked = f"{self._task.model} {judge_prompt(PROBES).hash}" in self._record.asked_for
        return few and not asked and not is_built_in(self._task.model)

    async def _write_probes(self) -> None:
        task, prompt = self._task, judge_prompt(PROBES)
        if not self._lacks_probes(task.pool(self._record)):
            return
        self._report("asking for probes")
        events = replaced_events(task.source, task.contexts)
        texts = {block.id: both_ends(block.text, LONGEST_BLOCK) for block in task.source.blocks if block.id in events}
        room, count = self._answerer.room(prompt) - 200, self._answerer.setup.counter.count
        chosen = list(texts.values())
        while len(chosen) > 1 and count("\n\n".join(chosen)).tokens > room:
            chosen = chosen[::2]
        parts = (probes_message("\n\n".join(chosen), task.wanted),)
        reply = await self._reply("probes", self._answerer, prompt, parts, task.wanted * PROBE_TOKENS)
        if reply is not None:
            for probe in written_probes(reply, texts, task.model)[: 2 * task.wanted]:
                self._record.add_probe(probe)
            self._record.add_written(task.model, prompt.hash)

    # One request

    async def _reply(
        self, purpose: str, model: AskedModel, prompt: JudgePrompt, parts: Sequence[str], completion: int
    ) -> str | None:
        """A model's reply; None if there is none, and why is noted."""
        try:
            reply = await model.ask_model(prompt, parts, completion, self._spending)
        except BudgetUsedUp:
            raise
        except (ModelFailure, Refused) as failure:
            self._failures.setdefault(str(failure))
            self._failed_in_a_row += 1
            if isinstance(failure, ModelFailure) and failure.category in FOR_GOOD:
                raise _GivenUp(f"{model.name} cannot be asked") from None
            if self._failed_in_a_row == IN_A_ROW:
                raise _GivenUp(f"{model.name} failed {IN_A_ROW} times in a row") from None
            return None
        self._failed_in_a_row = 0
        self._record.add_request(purpose, model.name, reply.tokens, reply.completion, reply.cost)
        return reply.text


def _groups(things: Sequence[T], together: int = TOGETHER) -> Iterator[Sequence[T]]:
    return (things[at : at + together] for at in range(0, len(things), together))


def _shuffled(things: Sequence[T], seed: str) -> list[T]:
    found = list(things)
    random.Random(seed).shuffle(found)
    return found
