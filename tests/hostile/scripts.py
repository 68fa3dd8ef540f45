"""Scripts for the rehearsal model: no TOML or JSON, wrong types, numbers without end, deep nesting, odd text.

A fault: anything but one clear error or a script that answers, an answer that fails in another way than the script
says, or memory that a few lines of a file fill.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp

from hostile.tally import Tally, check_one_line
from workbench.config.errors import WorkbenchError
from workbench.rehearsal.script import MOST_STEPS, Script
from workbench.rehearsal.server import RehearsalServer

NUMBERS = (0, -1, 1, 2**31, 2**63, 2**64, 10**15, 10**300, 1e308, 5e-324, -0.0, 0.5, float("inf"), float("nan"), True)
TEXTS = (
    "",
    "x",
    "\ud800",
    "\x00\x1b[31m",
    "\u202e",
    "é" * 5_000,
    "[" * 5_000,
    "a\r\nb",
    "{}",
    '{"a":' * 50,
    "data: x\n\n",
)
FAULTS = (
    "cut", "drop", "html", "bad_json", "error", "no_finish", "no_usage", "length", "refused", "status 429",
    "status 999999",
    "status -1", "status 429 wait 99999999999", "status 99 wait -1", "slow 0", "slow -1", "context 0", "context -5",
    "wat", "",
    "status", "slow x", "status 1e9", "status 200",
)  # fmt: skip
KEYS = ("reply", "calls", "reasoning", "finish", "delay", "speed", "chunk", "usage", "fault", "repeat", "wat", "")
DIALECTS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "m", "messages": [{"role": "user", "content": "hello"}]},
    "/v1/responses": {"model": "m", "input": "hello"},
    "/v1/messages": {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hello"}]},
    "/v1beta/models/m:generateContent": {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]},
}


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: how many scripts."""
    tally = Tally("rehearsal scripts")
    played = 0
    for number in range(tries):
        kind = chance.choice(("toml", "jsonl"))
        path = folder / f"{number}.{kind}"
        steps = [_step(chance) for _ in range(chance.randint(1, 3))]
        with tally.watching(f"{kind}: {steps}"[:300]):
            path.write_bytes(_written(kind, steps, chance))
            try:
                script = Script.load(path)
            except WorkbenchError as error:
                check_one_line(error)
                continue
            assert len(script.steps) <= MOST_STEPS, "a script of a few lines fills memory"
            asyncio.run(_play(script, chance))
            played += 1
    tally.told = f"{played:,} were played"
    return tally


def _step(chance: random.Random) -> dict[str, Any]:
    values: dict[str, Callable[[], Any]] = {
        "reply": lambda: chance.choice(TEXTS),
        "calls": lambda: [{"tool": chance.choice(TEXTS), "arguments": {"x": _value(chance)}}],
        "delay": lambda: chance.choice(NUMBERS),
        "repeat": lambda: chance.choice(NUMBERS),
        "usage": lambda: {"prompt": chance.choice(NUMBERS), "completion": chance.choice(NUMBERS)},
        "fault": lambda: chance.choice(FAULTS),
    }
    if chance.random() < 0.7:
        return _sound_step(chance)
    chosen = chance.sample(KEYS, chance.randint(1, 4))
    return {key: values[key]() if key in values and chance.random() < 0.8 else _value(chance) for key in chosen}


def _sound_step(chance: random.Random) -> dict[str, Any]:
    """A step that may well load, with values at the ends of what is allowed."""
    values: dict[str, Any] = {
        "reply": chance.choice([text for text in TEXTS if text != "\ud800"]),
        "reasoning": "hm",
        "calls": [{"tool": "x", "arguments": {"x": chance.choice((1, "x", [[[]]], 1e308))}}],
        "delay": chance.choice((0, 5e-324, 1e308)),
        "speed": chance.choice((0, 5e-324, 1, 1e308)),
        "chunk": chance.choice((0, 1, 10**12)),
        "usage": {"prompt": chance.choice((0, 10**12)), "cached": chance.choice((0, 10**12))},
        "fault": chance.choice(FAULTS[:10]),
        "repeat": chance.choice((1, 2, 1_000_000)),
    }
    return {key: values[key] for key in chance.sample(list(values), chance.randint(1, 5))}


def _value(chance: random.Random) -> Any:
    nested: Any = chance.choice((1, "x", []))
    for _ in range(chance.choice((0, 0, 3, 100, 250))):
        nested = [nested]
    return chance.choice((nested, chance.choice(NUMBERS), chance.choice(TEXTS), {"a": nested}))


def _written(kind: str, steps: list[dict[str, Any]], chance: random.Random) -> bytes:
    if kind == "toml":
        lines = (("[[step]]", *(f"{_name(key)} = {_toml(value)}" for key, value in step.items())) for step in steps)
        text = "\n".join(line for step in lines for line in step)
        text = chance.choice(("", "speed = 1e300\n", "window = 99999999999999999999\n", "summaries = 1\n")) + text
    else:
        text = "\n".join(map(json.dumps, steps))
    if chance.random() < 0.2:
        at = chance.randrange(len(text) + 1)
        text = text[:at] + chance.choice(("", "\x00", "}", "[", '"', "\n", "[" * 100_000)) + text[at + 1 :]
    return text.encode("utf-8", "surrogatepass")


def _name(key: str) -> str:
    return key or '""'


def _toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case str():
            return '"' + "".join(each if each.isalnum() else f"\\U{ord(each):08x}" for each in value) + '"'
        case list():
            return f"[{', '.join(map(_toml, value))}]"
    return "{" + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + "}"


async def _play(script: Script, chance: random.Random) -> None:
    """The first steps over HTTP; whatever waits longer is left."""
    timeout = aiohttp.ClientTimeout(total=1)
    async with RehearsalServer(script, keep=1) as server, aiohttp.ClientSession(timeout=timeout) as client:
        for step in script.steps[:2]:
            path, body = chance.choice(list(DIALECTS.items()))
            try:
                async with client.post(server.url + path, json={**body, "stream": chance.random() < 0.5}) as answer:
                    await answer.read()
            except (aiohttp.ClientError, TimeoutError):
                continue  # cut, dropped or slow, as scripts may ask for
            asked = step.fault.kind in ("status", "error", "context") if step.fault else False
            assert answer.status < 500 or asked, f"answered with {answer.status}"
