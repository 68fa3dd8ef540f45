"""One append and the new plan, however long the log; and the commit to disk apart."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path

from bench import material, peers
from bench.harness import Rounds, Row, Scale, Work, absolute, beside, faster, now, rounds, timed, wall
from workbench.context.planner import Planner
from workbench.log.events import AssistantMessage, Body, Event, ToolCall, ToolResult, UserMessage
from workbench.log.store import Store
from workbench.models.tokens import TokenCounter

POLICIES = ("workbench", "layers")
PARTS = ("append", "plan", "last 50 rows")
"""What a step is made of; the rows, which a screen would show of the new plan, are not counted as part of it."""
CYCLES = 3
"""How often the cycle of events below is appended in one round; enough that dear and cheap ones are both in."""
SHORT_ROUNDS = 4
"""A round takes a few milliseconds; so there are several where others have one."""

_seeds = count(1_000)


def cycle(seed: int) -> Iterator[Body]:
    """A question, a reply with text and a call, a second call, an answer; texts that nobody has counted yet."""
    user, call, result, second_call, second_result = islice(material.messages(seed), 5)
    answer = next(islice(material.messages(seed), 9, None))
    assert isinstance(call, ToolCall)
    assert isinstance(answer, AssistantMessage)
    yield from (user, AssistantMessage(f"{answer.content} First, look.", call.reply), call, result)
    yield from (second_call, second_result, answer)


class StreamingLines:
    """A planner over a log that goes on growing, and what its steps cost."""

    def __init__(self, policy: str, events: Sequence[Event], counter: TokenCounter) -> None:
        chosen = material.policy(policy)
        limits = material.model_limits(chosen)
        self._make = partial(Planner, chosen, limits, counter, model=material.MODEL)
        self._events = events
        self._begin()
        self._parts: dict[str, float] = {}

    def _begin(self) -> None:
        self._planner = self._make(events=self._events)
        self._length = len(self._events)

    def repeat(self, bodies: list[Body]) -> float:
        """Append events one by one, plan after each and read the outcome; the mean of one such step."""
        if self._length > 1.3 * len(self._events):  # a short log would soon be a long one
            self._begin()
        events = material.number(iter(bodies), self._length)
        self._length += len(events)
        planner = self._planner
        appending = planning = rows = 0.0
        for event in events:
            start = now()
            planner.append_event(event)
            appended = now()
            plan = planner.plan()
            _ = plan.verdict, plan.totals
            planned = now()
            _ = plan.items[-50:]
            rows += now() - planned
            appending, planning = appending + appended - start, planning + planned - appended
        spent = (appending, planning, rows)
        self._parts = {part: each / len(events) for part, each in zip(PARTS, spent, strict=True)}
        return (appending + planning) / len(events)

    def part(self, name: str) -> float:
        """What one part of the last repeat took."""
        return self._parts[name]


def run(scale: Scale) -> Iterator[Row]:
    """At three lengths, beside trimming; and the commit to disk."""
    events = material.log(scale.many)
    counter = material.shared_counter()
    sizes = (scale.few, scale.some, scale.many)
    messages = peers.as_langchain(events[: scale.some])
    memos, bare = peers.memoised(), peers.bare_counter()
    recounted = timed(lambda: peers.trim(messages, bare))
    for policy in POLICIES:
        growing = {size: StreamingLines(policy, events[:size], counter) for size in sizes}
        works: dict[str, Work] = {str(size): partial(_short_step, each) for size, each in growing.items()}
        works |= {memo: partial(timed, partial(peers.trim, messages, each)) for memo, each in memos.items()}
        works["recount"] = lambda: recounted
        for size, each in growing.items():
            works |= {f"{part} {size}": partial(each.part, part) for part in PARTS}
        found = rounds(works, scale.repeats * SHORT_ROUNDS)
        yield from _flat(f"append + plan, {policy}", found, sizes)
        name, some = f"append + plan, {policy}, {scale.some:,}", str(scale.some)
        for memo in memos:
            limit = {peers.SAME_WORK: 250, "by id": 150}.get(memo)
            yield faster(name, found, some, memo, f"langchain trim, memoised {memo}", at_least=limit)
        yield faster(name, found, some, "recount", "langchain trim, tiktoken", at_least=1_000)
        for part in PARTS[:2]:
            yield absolute(f"{part} alone, {policy}, {scale.some:,} events", found[f"{part} {some}"])
        yield from _flat(f"last 50 rows, {policy}", found, sizes, "last 50 rows ")
        if policy == POLICIES[0]:
            yield from _with_large_results(growing, scale)
    yield from _commit(scale)


def _short_step(growing: StreamingLines) -> float:
    """A step with messages of ordinary length."""
    return growing.repeat([body for _ in range(CYCLES) for body in cycle(next(_seeds))])


def _long_step(growing: StreamingLines) -> float:
    """A step of which one in a hundred brings a new result of 50 KB."""
    seed = next(_seeds)
    bodies = list(islice(material.messages(seed), material.LARGE_EVERY))
    call = bodies[material.LARGE_AT - 1]
    assert isinstance(call, ToolCall)
    bodies[material.LARGE_AT] = ToolResult(call.call_id, material.text("log", material.LARGE_SIZE, seed))
    return growing.repeat(bodies)


def _flat(name: str, found: Rounds, sizes: Sequence[int], key: str = "") -> Iterator[Row]:
    """The shortest log, and the longer ones beside it."""
    few, *longer = sizes
    yield absolute(f"{name}, {few:,} events", found[f"{key}{few}"])
    for size in longer:
        at_most = 1.5 if size == max(sizes) else None
        yield beside(f"{name}, {size:,} events", found, f"{key}{size}", f"{key}{few}", f"at {few:,}", at_most)


def _with_large_results(growing: dict[int, StreamingLines], scale: Scale) -> Iterator[Row]:
    """Where large results come in, counting and cutting them is most of the cost."""
    sizes = (scale.few, scale.many)
    found = rounds({str(size): partial(_long_step, growing[size]) for size in sizes}, scale.repeats)
    yield from _flat(f"with 50 KB results, {POLICIES[0]}", found, sizes)


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

        works = {"ours": ours, "peer": peer}
        found = rounds(works, scale.repeats * 10, waits=works)
        yield beside("commit of one event to disk", found, "ours", "peer", "bare SQLite")
        bare.close()
