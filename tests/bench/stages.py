"""Single stages: normalising, truncating, and looking up a row or a count."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count

from bench import material
from bench.harness import Row, Scale, absolute, medians, now, timed

from workbench.context.planner import plan
from workbench.context.policy import Policy, TruncationPolicy
from workbench.context.stages.truncate import rule_for, truncate
from workbench.log.events import Body, ToolCall, ToolResult, UserMessage
from workbench.models.tokens import TokenCounter

STRATEGIES = ("head", "tail", "both", "lines")

_seeds = count(50_000)


def broken(size: int) -> Iterator[Body]:
    """A careless transcript: in each ten items calls without a result, results without a call, a second result, an id
    used twice."""
    yield UserMessage("Begin.")
    for number in range(1, size):
        body: Body
        match number % 10:
            case 1 | 4 | 7:
                body = ToolCall(f"call_{number}", "search", f'{{"query": "item {number}"}}')
            case 2 | 5:
                body = ToolResult(f"call_{number - 1}", f"found {number} lines")
            case 3:
                body = ToolResult(f"call_{number - 2}", f"found {number} lines again")
            case 6 | 9:
                body = ToolResult(f"nobody_{number}", f"an answer to nothing, {number}")
            case 8:
                body = ToolCall(f"call_{number - 7}", "search", f'{{"query": "an id used before, {number}"}}')
            case _:
                body = ToolResult(f"call_{number - 2}", f"found {number} lines for the second use")
        yield body


def normalise(scale: Scale) -> Iterator[Row]:
    """The whole plan of a log with broken pairs, rows included: more than normalising alone."""
    events = material.number(broken(scale.few))
    counter = material.fresh_counter()
    policy = Policy()
    limits = material.model_limits(policy)

    def planned() -> float:
        return timed(lambda: plan(events, policy, limits, counter))

    def shown() -> float:
        return timed(lambda: list(plan(events, policy, limits, counter).rows))

    found = medians({"plan": planned, "rows": shown}, scale.repeats)
    yield absolute(f"normalise {scale.few:,} items (whole plan)", found["plan"], below=0.010)
    yield absolute(f"normalise {scale.few:,} items (and all rows)", found["rows"])


class _Stored:
    """A store that knows the count of a long text: then nothing else about the text is in memory."""

    def __init__(self) -> None:
        self.tokens = 0

    def load_count(self, tokenizer: str, digest: bytes) -> tuple[int, bool] | None:
        """What was counted in an earlier run; 0 when it was not."""
        return (self.tokens, True) if self.tokens else None

    def save_counts(self, rows: object) -> None:
        """Nothing is kept."""


def truncation(scale: Scale) -> Iterator[Row]:
    """A new text of 1 MB each time, its count known: from this run, or from an earlier one."""
    stored = _Stored()
    fresh = material.fresh_counter()
    earlier = TokenCounter(material.TOKENIZER, stored, True, "")
    works = {}
    for strategy in STRATEGIES:
        works[strategy] = lambda strategy=strategy: _cut(scale, strategy, fresh, fresh, stored)
        works[f"{strategy}, count from disk"] = lambda strategy=strategy: _cut(scale, strategy, fresh, earlier, stored)
    for name, figure in medians(works, scale.repeats).items():
        yield absolute(f"truncate {scale.text / 1e6:g} MB, {name}", figure, below=0.005)


def _cut(scale: Scale, strategy: str, counting: TokenCounter, cutting: TokenCounter, stored: _Stored) -> float:
    rule = rule_for(TruncationPolicy(strategy=strategy), "", material.model_limits(Policy()).window)
    seed = next(_seeds)
    text = material.text("log", scale.text, seed)
    stored.tokens = 0
    stored.tokens = counting.count(text).tokens
    tokens = cutting.count(text).tokens
    stored.tokens = 0  # what is counted while cutting is new
    start = now()
    cut = truncate(text, tokens, rule, cutting, f"e{seed:012d}")
    spent = now() - start
    assert cut is not None
    return spent


def lookup(scale: Scale) -> Iterator[Row]:
    """A row of a long plan by its number, the first one of a new plan too; and a count that is known."""
    events = material.log(scale.some)
    counter = material.fresh_counter()
    policy = material.policy("workbench")
    limits = material.model_limits(policy)
    made = plan(events, policy, limits, counter)
    numbers = [random.Random(1).randrange(scale.some) for _ in range(1_000)]
    texts = [body.content for event in events if isinstance(body := event.body, ToolResult)]

    def first() -> float:
        new = plan(events, policy, limits, counter)
        return timed(lambda: new.rows[scale.some // 2])

    def rows() -> float:
        return timed(lambda: [made.rows[number] for number in numbers]) / len(numbers)

    def counts() -> float:
        return timed(lambda: [counter.count(text) for text in texts]) / len(texts)

    found = medians({"first": first, "rows": rows, "counts": counts}, scale.repeats)
    yield absolute(f"lookup of the first row, {scale.some:,} events", found["first"], below=0.001)
    yield absolute(f"lookup of any row, {scale.some:,} events", found["rows"], below=0.001)
    yield absolute("lookup of a known count", found["counts"], below=0.001)
