"""Twenty processes that undo, redo and decide in one session at the same time.

A fault: a change that was acknowledged is not in the log, or another one; something was undone that was undone already;
a refusal that is not one clear line; nobody can write the session in the end.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path

from hostile.forks import forked
from hostile.tally import Tally, call, complaint
from support.calls import Outcome
from workbench.context.control import reverted_events
from workbench.log.events import AssistantMessage, Compaction, Event, Override, Revert, UserMessage
from workbench.log.store import FILE_NAME, Store

AT_ONCE = 20
ATTEMPTS = 6
"""Of each call: mostly another process has the session."""
TURNS = 30


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    tally = Tally("undo among 20 processes")
    path = folder / "workbench_data_dir" / FILE_NAME
    with Store.open(path) as store, store.create(id="s") as session:
        for number in range(TURNS):
            session.append(UserMessage(f"question {number}"), AssistantMessage(f"answer {number}", f"r{number}"))
        session.append(Compaction(1, 9, "what was said"))
    for first in (("override", "s", "pin", "1"), ("undo", "s"), ("undo", "s", "--redo", "--json")):
        call(*first)  # so that forks have all that is to import
    said: dict[int, str] = {}
    told: Counter[str] = Counter()
    while tally.tries < tries:
        calls = [_chosen(chance) for _ in range(AT_ONCE)]
        for words, child in [(words, forked(*words, attempts=ATTEMPTS)) for words in calls]:
            with tally.watching(" ".join(map(str, words))):
                outcome = child.ended()
                told["done" if outcome.code == 0 else "refused"] += 1
                said.update(_acknowledged(words, outcome))
        try:
            _check(path, said)
        except AssertionError as error:
            tally.fault(str(error))
    tally.told = ", ".join(f"{what} {many:,}" for what, many in sorted(told.items()))
    return tally


def _chosen(chance: random.Random) -> tuple[object, ...]:
    at = chance.randrange(1, 2 * TURNS)
    return chance.choice(
        (
            ("undo", "s", "--json"),
            ("undo", "s", "--json"),
            ("undo", "s", "--redo", "--json"),
            ("undo", "s", "--event", 2 * TURNS + 1, "--json"),
            ("override", "s", chance.choice(("pin", "mask", "exclude")), at),
        )
    )


def _acknowledged(words: tuple[object, ...], outcome: Outcome) -> dict[int, str]:
    """By number of the event: what it is said to be."""
    if outcome.code:
        assert not (wrong := complaint(outcome)), wrong
        assert re.search(r"is open in|nothing to|undone already|was not undone|not reverted", outcome.err), outcome.err
        return {}
    if words[0] == "override":
        return {int(outcome.out.split()[1].rstrip(":")): f"{words[2]} {words[3]}"}
    return {each["event"]: f"{each['target']}" for each in json.loads(outcome.out)["changes"]}


def _check(path: Path, said: dict[int, str]) -> None:
    with Store.open(path) as store, store.session("s") as session:
        assert session.writable, session.why_read_only
        events = session.events()
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), "the numbers have gaps"
    for seq, what in said.items():
        assert seq <= len(events), f"event {seq} was acknowledged and is lost"
        assert what in (_words(events, seq), _words(events, seq).split()[0]), (
            f"event {seq} is another one than was said"
        )
    for event in events:
        if isinstance(event.body, Revert):
            assert event.body.target not in reverted_events(events[: event.seq - 1]), f"event {event.seq}: undone twice"


def _words(events: list[Event], seq: int) -> str:
    body = events[seq - 1].body
    if isinstance(body, Override):
        return f"{body.action} {body.first}"
    assert isinstance(body, Revert), body
    found: Event = events[body.target - 1]
    while isinstance(found.body, Revert):  # `redo` names what comes back, not the revert that is reverted
        found = events[found.body.target - 1]
    return str(found.seq)
