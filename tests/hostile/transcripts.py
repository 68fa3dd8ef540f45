"""Transcripts of every format with something wrong in them, planned, sent, compacted and exported.

A fault: an exception that is not one clear line, a hang, sums that are not the sums of their parts, a request that
providers refuse, events that do not read back as they were.
"""

from __future__ import annotations

import asyncio
import copy
import json
import os
import random
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from hostile.tally import Tally, call, complaint
from support.validity import problems
from traces.format_samples import LINES, SAMPLES, WORDS
from workbench.cli.plan import plan_as_json
from workbench.compaction.compactor import Compactor
from workbench.compaction.values import CompactionRefused
from workbench.config.errors import WorkbenchError
from workbench.context.render import render_request
from workbench.log.codec import decode_event, encode_event
from workbench.log.events import Event
from workbench.sources.found_plans import FoundPlan
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import as_source, file_logs
from workbench.traces.openai_messages import to_openai

FOLDER = "HOSTILE_TRANSCRIPTS"
"""A variable that names a folder of real transcripts, to be mutated as well."""
LARGEST = 250_000
COMMANDS = (("plan",), ("plan", "--json"), ("plan", "--request"), ("compact", "--digest", "--dry-run"), ("import",))
CALLED = 40
"""One of so many goes through the commands as a user calls them; the others through what these call."""
POLICIES = ("workbench", "codex", "layers", "sliding", "window", "confirm")
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, 1e308, "", " ", "\0", "\ud800", "\x1b]52;c;eA==\x07", "\u202e", "x" * 20_000, [], {},
    [[]], {"": None}, [None], "NaN", "2026-13-99T99:99", "data:image/png;base64,!!!!", "<|endoftext|>",
)  # fmt: skip


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    tally = Tally("mutated transcripts")
    samples = list(_samples())
    read = 0
    with Services() as services:
        for number in range(tries):
            name, value = chance.choice(samples)
            text = _mutated(name, value, chance)
            with tally.watching(f"{name}, try {number}: {text[:80]!r}"):
                if number % CALLED:
                    read += _through(services, text, chance)
                else:
                    _call(folder / "mutated.json", text, chance)
    tally.told = f"{read:,} could still be read"
    return tally


def _samples() -> Iterator[tuple[str, Any]]:
    """By format: a small conversation, as JSON values."""
    yield from SAMPLES.items()
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}
    turn = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "import os\n" * 200},
        {"role": "assistant", "content": "Found it."},
    ]
    yield "OpenAI", [{"role": "system", "content": "Be brief."}, *turn, *turn]
    lines = (files("workbench") / "demo" / "session.jsonl").read_text("utf-8").splitlines()
    yield "events", [json.loads(line) for line in lines[:60]]
    top = os.environ.get(FOLDER, "")
    for file in sorted(Path(top).rglob("*.json*")) if top else ():
        if file.stat().st_size <= LARGEST:
            text = file.read_text("utf-8")
            try:
                yield file.name, json.loads(text)
            except ValueError:
                yield f"{file.name} lines", [json.loads(line) for line in text.splitlines() if line.strip()]


def _mutated(name: str, value: Any, chance: random.Random) -> str:
    """The sample with up to four parts of it changed, and sometimes with bytes that are wrong."""
    value = copy.deepcopy(value)
    for _ in range(chance.randrange(1, 5)):
        value = _changed(value, chance, depth=0)
    many = isinstance(value, list) and (name in LINES or name == "events" or name.endswith("lines"))
    text = "\n".join(map(json.dumps, value)) if many else json.dumps(value)
    if chance.random() < 0.15 and text:
        at = chance.randrange(len(text))
        piece = chance.choice(("", "\n", "}", '"', "\\", "\0", "\ufeff", "nul", text[:50]))
        text = text[:at] if chance.random() < 0.3 else text[:at] + piece + text[at + chance.randrange(4) :]
    return text


def _changed(value: Any, chance: random.Random, depth: int) -> Any:
    """One part of it, at any depth, is gone, doubled, renamed, moved or something else."""
    if not isinstance(value, dict | list) or not value or chance.random() < 0.03 * depth:
        return copy.deepcopy(chance.choice((*ODD, chance.choice(WORDS))))
    if isinstance(value, list):
        at = chance.randrange(len(value))
        match chance.randrange(12):
            case 0:
                del value[at]
            case 1:
                value.insert(chance.randrange(len(value) + 1), copy.deepcopy(value[at]))
            case 2:
                value.append(value.pop(at))
            case _:
                value[at] = _changed(value[at], chance, depth + 1)
        return value
    key = chance.choice(list(value))
    match chance.randrange(12):
        case 0:
            del value[key]
        case 1:
            value[chance.choice(WORDS)] = value.pop(key)
        case 2:
            value[chance.choice(WORDS)] = copy.deepcopy(chance.choice(ODD))
        case _:
            value[key] = _changed(value[key], chance, depth + 1)
    return value


def _through(services: Services, text: str, chance: random.Random) -> bool:
    """What the commands do with a file; whether it could be read."""
    try:
        logs = file_logs("file", text)
    except WorkbenchError as error:
        _one_line(error)
        return False
    for log in logs[:3]:
        options = Options(policy=chance.choice(POLICIES), window=chance.choice((0, 300, 2_000, 100_000)) or None)
        source = as_source("file", log, is_file=True)
        try:
            setup = services.set_up(options, source)
        except WorkbenchError:
            continue  # a setting of the file's that means nothing
        _check(FoundPlan(setup.plan(log), setup, source, "what-if"))
        _check_requests(RecordedSession(services, Options(), source))
        assert [decode_event(encode_event(event)) for event in log] == log, "an event reads back otherwise"
        json.dumps(to_openai(log), ensure_ascii=False)
        _compact(Compactor(setup, None, catalogue=services.catalogue), log)
    return True


def _check_requests(session: RecordedSession) -> None:
    for each in session.listed:
        made = session.plan(each.number - 1)
        assert made.totals.tokens == each.tokens, "a request has two sizes"
        reported = each.mark.reported
        assert reported is None or each.tokens + (each.unattributed or 0) == made.size == reported, "a sum is wrong"


def _check(shown_plan: FoundPlan) -> None:
    made = shown_plan.plan
    shown = json.loads(json.dumps(plan_as_json(shown_plan, full=True), allow_nan=False))
    totals = shown["totals"]
    assert totals["items"] == sum(row["tokens"] for row in shown["items"]), "a sum is wrong"
    assert totals["tokens"] == totals["items"] + totals["framing"], "a sum is wrong"
    found = problems(render_request(made)["messages"])
    assert not found, found[0]


def _compact(compactor: Compactor, log: list[Event]) -> None:
    async def compact() -> None:
        preview = compactor.preview(log, "manual", digest=True)
        draft = await compactor.draft(log, preview, digest=True)
        body = compactor.body(draft)
        setup, whole = compactor.setup, [*log, Event(len(log) + 1, "compaction", 0, body)]
        _check(FoundPlan(setup.plan(whole), setup, as_source("file", whole, is_file=True), "what-if"))

    try:
        asyncio.run(compact())
    except CompactionRefused as refused:
        _one_line(refused)


def _one_line(error: Exception) -> None:
    assert "\n" not in str(error), "more than one line"


def _call(path: Path, text: str, chance: random.Random) -> None:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    for command, *options in COMMANDS:
        outcome = call(command, path, *options, *(("--policy", chance.choice(POLICIES)) if command != "import" else ()))
        assert not (said := complaint(outcome)), f"{command}: {said}"
        if command == "import" and not outcome.code:
            for line in outcome.out.splitlines()[:2]:
                for form in ("events", "openai"):
                    exported = call("export", line.split()[0], "--format", form)
                    assert not (said := complaint(exported)), f"export: {said}"
