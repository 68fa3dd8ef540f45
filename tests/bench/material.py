"""What the benchmarks work on: texts and agent logs, the same in every run.

An agent's log as other tools write it: a question, four calls with their results, an answer; messages of about 200
characters, and in every hundred messages one result of 50 KB, as when a tool reads a file.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from itertools import count, islice
from pathlib import Path

from workbench.context import budget
from workbench.context.budget import Limits
from workbench.context.load import load_policy
from workbench.context.policy import Policy
from workbench.log.events import AssistantMessage, Body, Event, ToolCall, ToolResult, UserMessage
from workbench.models.catalogue import Catalogue
from workbench.models.encoders import load_encoder
from workbench.models.tokens import TokenCounter

MODEL = "gpt-4o"
TOKENIZER = "o200k_base"
MESSAGE_SIZE = 200
LARGE_SIZE = 50_000
LARGE_EVERY = 100
LARGE_AT = 12
"""Which of a hundred messages is the large one; the pattern of ten below has a result there."""
LARGE_TEXTS = 100
"""How many different large texts there are; a longer log reads the same files again."""


def _words(line: str) -> tuple[str, ...]:
    return tuple(line.split())


_WORDS = _words(
    "the plan of a session holds what model sees and why each message stays or goes when its window is full "
    "tokens are counted once by content hash then kept in memory while events append to log on disk before anyone "
    "hears about it planner keeps running sums over units so that cuts fall out of two bisections without looking "
    "at older messages again tool results above their cap lose middle first then masking replaces whole results with "
    "short markers under which full text can be fetched later naïve approaches recount everything every time"
)
_NAMES = _words("load parse render append count measure settle restore encode window budget policy events history")
_CHINESE = "模型看到的内容由日志决定每条消息为什么保留或者删除都要说明上下文窗口预算历史工具结果截断标记缓存令牌"


@cache
def _pool(kind: str) -> tuple[str, ...]:
    """Lines of one kind; making each line anew would take longer than what is measured."""
    rng = random.Random(kind)
    return tuple(_LINES[kind](rng) for _ in range(2_000))


def text(kind: str, size: int, seed: int) -> str:
    """A text of one kind (prose, code, json, log, cjk) and so many characters; another for every seed."""
    return _text(kind, size, random.Random(f"{kind} {seed}"))


def _text(kind: str, size: int, rng: random.Random) -> str:
    pool = _pool(kind)
    lines = [f"{rng.getrandbits(32)} {rng.choice(pool)}"]
    length = len(lines[0])
    while length < size:
        line = rng.choice(pool)
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines)[:size]


def _prose(rng: random.Random) -> str:
    said = " ".join(rng.choices(_WORDS, k=rng.randint(8, 22)))
    return f"{said.capitalize()}, {rng.choice(_WORDS)} {rng.randint(1, 9999)}."


def _code(rng: random.Random) -> str:
    a, b, c = rng.choices(_NAMES, k=3)
    indent = "    " * rng.randint(0, 3)
    return indent + rng.choice(
        [
            f"def {a}_{b}(self, {c}: int = {rng.randint(0, 512)}) -> dict[str, int]:",
            f"return [{a}.{b} for {a} in self._{c}s if {a}.size > {rng.randint(1, 99)}]",
            f'if not isinstance({a}, {b.title()}): raise ValueError(f"expected {c}, got {{{a}!r}}")',
            f"self.{a}[{b}] = {c}({a}_{rng.randint(1, 99)}, {b}={rng.random():.3f})  # {rng.choice(_WORDS)}",
        ]
    )


def _json(rng: random.Random) -> str:
    row = {name: rng.choice([rng.randint(0, 99_999), rng.choice(_WORDS), None]) for name in rng.sample(_NAMES, 4)}
    return json.dumps({"id": f"{rng.getrandbits(48):012x}", **row}) + ","


def _log(rng: random.Random) -> str:
    clock = f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}.{rng.randint(0, 999):03}"
    return f"2025-03-0{rng.randint(1, 9)} {clock} INFO {rng.choice(_NAMES)}.py:{rng.randint(1, 400)} {_prose(rng)}"


def _cjk(rng: random.Random) -> str:
    return "，".join("".join(rng.choices(_CHINESE, k=rng.randint(5, 14))) for _ in range(rng.randint(2, 4))) + "。"


_LINES = {"prose": _prose, "code": _code, "json": _json, "log": _log, "cjk": _cjk}
KINDS = tuple(_LINES)


@cache
def large_text(number: int) -> str:
    """One of the large results."""
    return text(KINDS[number % 4], LARGE_SIZE, number % LARGE_TEXTS)


def messages(seed: int = 0) -> Iterator[Body]:
    """The messages of an agent's log without end, each of them one event."""
    rng = random.Random(seed)
    for number in count():
        place = number % 10
        call_id = f"call_{seed}_{number - (place + 1) % 2}"
        if place == 0:
            yield UserMessage(_text("prose", MESSAGE_SIZE, rng))
        elif place == 9:
            yield AssistantMessage(_text("prose", MESSAGE_SIZE, rng), reply=f"reply_{seed}_{number}")
        elif place % 2:
            yield ToolCall(call_id, rng.choice(_TOOLS), _arguments(rng), reply=f"reply_{seed}_{number}")
        elif number % LARGE_EVERY == LARGE_AT:
            yield ToolResult(call_id, large_text(number // LARGE_EVERY % LARGE_TEXTS))
        else:
            yield ToolResult(call_id, _text(rng.choice(("code", "json", "log")), MESSAGE_SIZE, rng))


_TOOLS = ("read_file", "run_command", "search", "edit_file")


def _arguments(rng: random.Random) -> str:
    path = f"src/{rng.choice(_NAMES)}/{rng.choice(_NAMES)}.py"
    return json.dumps({"path": path, "query": _text("prose", MESSAGE_SIZE - 50, rng)})


@cache
def log(size: int) -> tuple[Event, ...]:
    """An agent's log of so many events, each of them one message."""
    return tuple(number(islice(messages(), size)))


def number(bodies: Iterator[Body], after: int = 0) -> list[Event]:
    """Bodies as events."""
    return [Event(seq, f"e{seq:012d}", 1_700_000_000_000 + seq, body) for seq, body in enumerate(bodies, after + 1)]


def fresh_counter() -> TokenCounter:
    """A counter that has counted nothing yet, with a tokenizer of its own: they may remember words, too."""
    load_encoder.cache_clear()
    made = TokenCounter(TOKENIZER, None, True, "")
    made.count("")
    return made


@cache
def shared_counter() -> TokenCounter:
    """A counter for what is measured with all counts known; it remembers from one benchmark to the next."""
    return fresh_counter()


def policy(name: str) -> Policy:
    """A preset, whatever this machine's user has set."""
    return load_policy(name, env={}, folder=Path("no-such-folder")).policy


def model_limits(chosen: Policy) -> Limits:
    """The limits of the model under a policy."""
    return budget.model_limits(Catalogue().find_model(MODEL), chosen.budget)
