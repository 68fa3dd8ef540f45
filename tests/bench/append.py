"""One append and the new plan, however long the log; and the commit to disk apart."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path

from bench import material, peers
from bench.harness import Rounds, Row, Scale, Work, absolute, beside, faster, now, often, rounds, timed, wall
from workbench.context.planner import Planner
from workbench.log.events import AssistantMessage, Body, Event, ToolCall, ToolResult, UserMessage
from workbench.log.store import Store
from workbench.models.tokens import TokenCounter

POLICIES = ("workbench", "layers")
ROWS = "last 50 rows"
"""Which a screen would show of a new plan."""
CYCLES = 3
"""How often the cycle of events below is appended in one round; enough that dear and cheap ones are both in."""
SHORTEST, SHORT_TRIMS = "by id", 9
"""The way to trim that takes a tenth of the others, and how often it is measured in a round."""
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

    def _begin(self) -> None:
        self._planner = self._make(events=self._events)
        self._length = len(self._events)

    def repeat(self, bodies: list[Body]) -> float:
        """Append events one by one, plan after each and read the outcome; the mean of one such step."""
        events, planner = self._numbered(bodies), self._planner
        start = now()
        for event in events:
            planner.append_event(event)
            plan = planner.plan()
            _ = plan.verdict, plan.totals
        return (now() - start) / len(events)

    def append_alone(self, bodies: list[Body]) -> float:
        """The same without the plans."""
        events, planner = self._numbered(bodies), self._planner
        start = now()
        for event in events:
            planner.append_event(event)
        return (now() - start) / len(events)

    def make_rows(self, bodies: list[Body]) -> float:
        """What it takes to make the last rows of the plan after each event."""
        events, planner = self._numbered(bodies), self._planner
        spent = 0.0
        for event in events:
            planner.append_event(event)
            plan = planner.plan()
            start = now()
            _ = plan.items[-50:]
            spent += now() - start
        return spent / len(events)

    def _numbered(self, bodies: list[Body]) -> list[Event]:
        """The next events."""
        if self._length > 1.3 * len(self._events):  # a short log would soon be a long one
            self._begin()
        events = material.number(iter(bodies), self._length)
        self._length += len(events)
        return events


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
        works: dict[str, Work] = {}
        for size, each in growing.items():
            works[str(size)] = partial(_on_new_events, each.repeat)
            works[f"{ROWS} {size}"] = partial(_on_new_events, each.make_rows)
        works["append"] = partial(_on_new_events, growing[scale.some].append_alone)
        for memo, count_tokens in memos.items():
            trimmed = partial(timed, partial(peers.trim, messages, count_tokens))
            works[memo] = often(trimmed, SHORT_TRIMS) if memo == SHORTEST else trimmed
        works["recount"] = lambda: recounted
        found = rounds(works, scale.repeats * SHORT_ROUNDS, waits=["recount"])
        yield from _flat(f"append + plan, {policy}", found, sizes)
        name, some = f"append + plan, {policy}, {scale.some:,}", str(scale.some)
        for memo in memos:
            limit = {peers.SAME_WORK: 250, SHORTEST: 150}.get(memo)
            yield faster(name, found, some, memo, f"langchain trim, memoised {memo}", at_least=limit)
        yield faster(name, found, some, "recount", "langchain trim, tiktoken", at_least=1_000)
        yield absolute(f"append alone, {policy}, {scale.some:,} events", found["append"])
        yield from _flat(f"{ROWS}, {policy}", found, sizes, f"{ROWS} ")
        if policy == POLICIES[0]:
            yield from _with_large_results(growing, scale)
    yield from _commit(scale)


def _on_new_events(measure: Callable[[list[Body]], float]) -> float:
    """A figure of a growing log, for messages of ordinary length."""
    return measure([body for _ in range(CYCLES) for body in cycle(next(_seeds))])


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
