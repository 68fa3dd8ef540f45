"""Single stages: normalising, truncating, and looking up a row or a count."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from bench import material, peers
from bench.harness import Row, Scale, Work, absolute, in_units, now, rounds, timed
from workbench.context.planner import plan
from workbench.context.policy import Policy, Strategy, TruncationPolicy
from workbench.context.stages.truncate import rule_for, truncate_result
from workbench.log.events import Body, ToolCall, ToolResult, UserMessage
from workbench.models.tokens import TokenCounter

STRATEGIES: tuple[Strategy, ...] = ("head", "tail", "both", "lines")


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
    counter = material.shared_counter()
    policy = Policy()
    limits = material.model_limits(policy)

    def planned() -> float:
        return timed(lambda: plan(events, policy, limits, counter))

    def shown() -> float:
        return timed(lambda: list(plan(events, policy, limits, counter).items))

    found = rounds({"plan": planned, "rows": shown}, scale.repeats)
    yield in_units(f"normalise {scale.few:,} items (whole plan)", found, "plan", 0.85)
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
    """A new text of 1 MB in each round, its count known: from this run, or from an earlier one."""
    stored = _Stored()
    counters = {"": material.fresh_counter(), ", count from disk": TokenCounter(material.TOKENIZER, stored, True, "")}
    base = material.text("log", scale.text, 1)
    window = material.model_limits(Policy()).window
    said: list[str] = []

    def renew() -> float:
        """Not a figure: the text of this round, counted."""
        start = len(base) * len(said) // (scale.repeats + 1)
        said.append(base[start:] + base[:start])
        stored.tokens = 0
        stored.tokens = counters[""].count(said[-1]).tokens
        counters[", count from disk"].count(said[-1])
        stored.tokens = 0  # what is counted while cutting is new
        return 0.0

    def cut(strategy: Strategy, counter: TokenCounter) -> float:
        rule = rule_for(TruncationPolicy(strategy=strategy), "", window)
        tokens = counter.count(said[-1]).tokens
        start = now()
        found = truncate_result(said[-1], tokens, rule, counter, f"e{len(said):012d}")
        spent = now() - start
        assert found is not None
        return spent

    works: dict[str, Work] = {"": renew}
    for strategy in STRATEGIES:
        for how, counter in counters.items():
            works[strategy + how] = partial(cut, strategy, counter)
    found = rounds(works, scale.repeats)
    for name in filter(None, works):
        yield in_units(f"truncate {scale.text / 1e6:g} MB, {name}", found, name, 0.42)


def lookup(scale: Scale) -> Iterator[Row]:
    """A row of a long plan by its number, the first one of a new plan too; and a count that is known."""
    events = material.log(scale.some)
    counter = material.shared_counter()
    policy = material.policy("workbench")
    limits = material.model_limits(policy)
    made = plan(events, policy, limits, counter)
    numbers = [random.Random(1).randrange(scale.some) for _ in range(1_000)]
    texts = peers.texts_of(events)

    def first() -> float:
        new = plan(events, policy, limits, counter)
        return timed(lambda: new.items[scale.some // 2])

    def rows() -> float:
        return timed(lambda: [made.items[number] for number in numbers]) / len(numbers)

    def counts() -> float:
        return timed(lambda: [counter.count(text) for text in texts]) / len(texts)

    found = rounds({"first": first, "rows": rows, "counts": counts}, scale.repeats)
    yield in_units(f"lookup of the first row, {scale.some:,} events", found, "first", 0.085)
    yield in_units(f"lookup of any row, {scale.some:,} events", found, "rows", 0.085)
    yield in_units("lookup of a known count", found, "counts", 0.085)
