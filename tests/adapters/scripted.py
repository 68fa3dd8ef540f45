"""One run for every adapter: an agent's 200 requests in ten turns, with facts that later answers need.

The model is the rehearsal server, which follows a script whatever it is sent, so that all runs are the same run.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from workbench.rehearsal.script import Script

TURNS = 10
STEPS = 20
"""Requests per turn: the last one is answered with text, the others with calls."""
REQUESTS = TURNS * STEPS
WINDOW = 16_000
MODEL = "gpt-4o"
"""Counted in o200k, as the rehearsal server counts."""
SYSTEM = "You look after a small service. Read before you change, and keep the rules that the user gives."

FOUND_AT = (4, 11, 16)
"""The requests of a turn whose calls find a fact."""
LONG_EVERY = 17
"""Each result with this number is a long one."""
SAID_BEFORE = (0, 2, 5)
"""The answer of a turn needs what the user said so many turns before."""

WORDS = ("cache", "queue", "worker", "retry", "index", "shard", "replica", "bucket", "token", "timer", "parser")
BIRDS = ("heron", "plover", "avocet", "dunlin", "curlew", "godwit", "stilt", "sanderling", "whimbrel", "redshank")


@dataclass(frozen=True)
class Fact:
    """Something that a later answer needs."""

    text: str
    source: Literal["user", "result"]
    turn: int


def said(turn: int) -> Fact:
    """What the user says in a turn."""
    return Fact(f"{BIRDS[turn]}-{4100 + 37 * turn}", "user", turn)


def found(turn: int, step: int) -> Fact:
    """What a call of a turn finds."""
    return Fact(f"port {20_000 + 100 * turn + step}", "result", turn)


def question(turn: int) -> str:
    """The user's message at the beginning of a turn."""
    return f"Part {turn + 1}: look through the logs. From now on the release is called {said(turn).text}."


def needed(request: int) -> list[Fact]:
    """The facts that the answer to a request needs: the answer that ends a turn needs those of this turn and before."""
    turn, step = divmod(request, STEPS)
    if step != STEPS - 1:
        return []
    before = [said(turn - back) for back in SAID_BEFORE if turn >= back]
    earlier = [found(turn - 1, FOUND_AT[-1])] if turn else []
    return [*before, *earlier, *(found(turn, at) for at in FOUND_AT)]


def read_log(number: int) -> str:
    """The one tool of the run: a log of some lines, the same for the same number."""
    turn, step = divmod(number // 2, STEPS)
    made = random.Random(number)
    lines = 140 if number % LONG_EVERY == 0 else made.randint(10, 40)
    text = [f"{at:04d} {' '.join(made.choices(WORDS, k=6))} {made.randint(1, 999)} ms" for at in range(lines)]
    if number % 2 == 0 and step in FOUND_AT:
        text.insert(lines // 2, f"---- listening on {found(turn, step).text}")
    return "\n".join(text)


def script(window: int = 0) -> Script:
    """The answers of the run. With a window, longer requests are refused."""
    return Script(list(_steps()), window=window, summaries=False)


def _steps() -> Iterator[dict[str, Any]]:
    for request in range(REQUESTS):
        turn, step = divmod(request, STEPS)
        if step == STEPS - 1:
            yield {"reply": f"Part {turn + 1} is done."}
        else:
            count = 2 if step % 6 == 5 else 1  # some answers have two calls
            calls = [{"tool": "read_log", "arguments": {"number": 2 * request + each}} for each in range(count)]
            yield {"calls": calls, "reply": "Next I read this log." if step % 5 == 0 else ""}


def questions(turns: int = TURNS) -> list[str]:
    """The user's messages, in order."""
    return [question(turn) for turn in range(turns)]
