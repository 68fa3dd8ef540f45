"""One append and the new plan, however long the log; and the commit to disk apart."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import count, islice
from pathlib import Path
from statistics import median

from bench import material, peers
from bench.harness import Row, Scale, Work, absolute, beside, faster, medians, now, timed, wall

from workbench.context.planner import Planner
from workbench.log.events import AssistantMessage, Body, Event, ToolCall, ToolResult, UserMessage
from workbench.log.store import Store
from workbench.models.tokens import TokenCounter

POLICIES = ("workbench", "layers")
CYCLES = 10
"""How often the cycle of events below is appended in one repeat; enough that dear and cheap ones are both in."""

_seeds = count(1_000)


def cycle(seed: int) -> Iterator[Body]:
    """A question, a reply with text and a call, a second call, an answer; texts that nobody has counted yet."""
    user, call, result, second_call, second_result = islice(material.messages(seed), 5)
    answer = next(islice(material.messages(seed), 9, None))
    assert isinstance(call, ToolCall)
    assert isinstance(answer, AssistantMessage)
    yield from (user, AssistantMessage(f"{answer.content} First, look.", call.reply), call, result)
    yield from (second_call, second_result, answer)


class Growing:
    """A planner over a log that goes on growing, and what its steps cost."""

    def __init__(self, policy: str, events: list[Event], counter: TokenCounter) -> None:
        chosen = material.policy(policy)
        limits = material.model_limits(chosen)
        self._make = partial(Planner, chosen, limits, counter, model=material.MODEL)
        self._events = events
        self._planner = self._make(events=events)
        self._length = len(events)
        self.parts: dict[str, list[float]] = {"append alone": [], "plan alone": [], "last 50 rows": []}
        """Per repeat: what the parts of a step took, and the rows that a screen would show of the new plan."""

    def again(self) -> None:
        """Back to the length it began with; for a short log, which would soon be twice as long."""
        self._planner = self._make(events=self._events)
        self._length = len(self._events)

    def repeat(self, bodies: list[Body]) -> float:
        """Append events one by one, plan after each and read the outcome; the mean of one such step."""
        events = material.number(iter(bodies), self._length)
        self._length += len(events)
        planner = self._planner
        appending = planning = rows = 0.0
        for event in events:
            start = now()
            planner.append(event)
            appended = now()
            plan = planner.plan()
            _ = plan.verdict, plan.totals
            planned = now()
            _ = plan.rows[-50:]
            rows += now() - planned
            appending, planning = appending + appended - start, planning + planned - appended
        for part, spent in zip(self.parts.values(), (appending, planning, rows), strict=True):
            part.append(spent / len(events))
        return (appending + planning) / len(events)

    def part(self, name: str) -> float:
        """The median of one part."""
        return median(self.parts[name][1:])


def run(scale: Scale) -> Iterator[Row]:
    """At three lengths, beside trimming; and the commit to disk."""
    events = material.log(scale.many)
    counter = material.fresh_counter()
    steps = {}
    for policy in POLICIES:
        growing = {size: Growing(policy, events[:size], counter) for size in (scale.few, scale.some, scale.many)}
        found = _measured(growing, scale.repeats)
        steps[policy] = found[scale.some]
        yield from _flat(f"append + plan, {policy}", found)
        for part in ("append alone", "plan alone"):
            yield absolute(f"{part}, {policy}, {scale.some:,} events", growing[scale.some].part(part))
        yield from _flat(f"last 50 rows, {policy}", {size: each.part("last 50 rows") for size, each in growing.items()})
        if policy == POLICIES[0]:
            yield from _with_large_results(growing, scale)
    yield from _beside_trimming(events[: scale.some], steps, scale.repeats)
    yield from _commit(scale)


def _measured(growing: dict[int, Growing], repeats: int) -> dict[int, float]:
    """A step at each length; the lengths take turns."""

    def one(each: Growing) -> float:
        bodies = [body for _ in range(CYCLES) for body in cycle(next(_seeds))]
        if each is growing[min(growing)]:
            each.again()
        return each.repeat(bodies)

    works: dict[str, Work] = {str(size): partial(one, each) for size, each in growing.items()}
    return {int(size): figure for size, figure in medians(works, repeats).items()}


def _flat(name: str, found: dict[int, float]) -> Iterator[Row]:
    (few, base), *longer = found.items()
    yield absolute(f"{name}, {few:,} events", base)
    for size, figure in longer:
        last = size == max(found)
        yield beside(f"{name}, {size:,} events", figure, base, f"at {few:,}", at_most=1.5 if last else None)


def _with_large_results(growing: dict[int, Growing], scale: Scale) -> Iterator[Row]:
    """The same with a new result of 50 KB in each hundred events: counting and cutting it dwarfs the rest."""

    def one(each: Growing) -> float:
        seed = next(_seeds)
        bodies = list(islice(material.messages(seed), material.LARGE_EVERY))
        call = bodies[material.LARGE_AT - 1]
        assert isinstance(call, ToolCall)
        large = material.text("log", material.LARGE_SIZE, seed)
        bodies[material.LARGE_AT] = ToolResult(call.call_id, large)
        if each is growing[scale.few]:
            each.again()
        return each.repeat(bodies)

    sizes = (scale.few, scale.many)
    works: dict[str, Work] = {str(size): partial(one, growing[size]) for size in sizes}
    found = medians(works, scale.repeats)
    yield from _flat(f"with 50 KB results, {POLICIES[0]}", {int(size): figure for size, figure in found.items()})


def _beside_trimming(events: list[Event], steps: dict[str, float], repeats: int) -> Iterator[Row]:
    messages = peers.as_langchain(events)
    memoised, bare = peers.memoised_counter(), peers.bare_counter()
    known = medians({"": lambda: timed(lambda: peers.trim(messages, memoised))}, repeats)[""]
    recounted = timed(lambda: peers.trim(messages, bare))
    for policy, step in steps.items():
        name = f"append + plan, {policy}, {len(events):,}"
        yield faster(name, step, known, "langchain trim, memoised", at_least=250)
        yield faster(name, step, recounted, "langchain trim, tiktoken", at_least=1_000)


def _commit(scale: Scale) -> Iterator[Row]:
    """An event on disk, beside a bare row in SQLite with the same settings."""
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "workbench.db") as store:
        session = store.create(islice(material.messages(), scale.few))
        bare = sqlite3.connect(Path(folder) / "bare.db", isolation_level=None)
        bare.execute("PRAGMA journal_mode = WAL")
        bare.execute("PRAGMA synchronous = FULL")
        bare.execute("CREATE TABLE rows(data TEXT)")
        bodies = material.messages(1)

        def ours() -> float:
            return timed(lambda: session.append(next(bodies)), wall)

        def peer() -> float:
            body = next(bodies)
            said = body.content if isinstance(body, UserMessage | ToolResult) else str(body)
            return timed(lambda: bare.execute("INSERT INTO rows VALUES(?)", (str(said),)), wall)

        found = medians({"ours": ours, "peer": peer}, scale.repeats * 10)
        bare.close()
    yield beside("commit of one event to disk", found["ours"], found["peer"], "bare SQLite")
