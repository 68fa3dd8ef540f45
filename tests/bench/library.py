"""The library: one plan, and a step of a loop, beside what others have for it; and what importing costs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from tempfile import TemporaryDirectory
from typing import Any

from bench import children, material, peers
from bench.harness import Row, Scale, Work, absolute, beside, faster, now, rounds, timed
from workbench.context.render import render_messages
from workbench.context.setup import Setup
from workbench.library.context import Context
from workbench.library.plans import plan_messages
from workbench.library.setups import setup_for_call

WINDOW = 128_000
STEPS = 10
_numbers = count()


def run(scale: Scale) -> Iterator[Row]:
    """A plan of many messages, steps of a loop, and the import."""
    yield from _planning(scale)
    yield from _looping(scale)
    yield from _trimming(scale)
    with TemporaryDirectory() as folder:
        yield from _importing(scale, folder)


def chat(size: int) -> list[dict[str, Any]]:
    """A long conversation as messages of OpenAI's chat."""
    setup: Setup = setup_for_call("confirm", material.MODEL, 1_000_000_000)
    return render_messages(setup.plan(material.log(size)))


def _planning(scale: Scale) -> Iterator[Row]:
    """One plan of a list whose texts were counted before, beside one call of the peer on the same log."""
    messages, theirs = chat(scale.some), peers.as_langchain(material.log(scale.some))
    memo = peers.memoised_by_content()
    works: dict[str, Work] = {
        "plan": partial(timed, lambda: plan_messages(messages, window=WINDOW).messages),
        "trim": partial(timed, lambda: peers.trim(theirs, memo)),
    }
    found = rounds(works, scale.slow_repeats)
    name = f"workbench.plan of {len(messages):,} messages"
    yield faster(name, found, "plan", "trim", f"langchain trim, memoised {peers.SAME_WORK}")


def _looping(scale: Scale) -> Iterator[Row]:
    """A step of a loop: a call, its result, and whether the request fits; and the request itself."""
    sizes = (scale.few, scale.some)
    contexts = {size: Context(window=WINDOW) for size in sizes}
    for size, context in contexts.items():
        context.extend(chat(size))
    works: dict[str, Work] = {str(size): partial(_steps, context) for size, context in contexts.items()}
    works |= {f"request {size}": partial(timed, context.request) for size, context in contexts.items()}
    theirs, memo = peers.as_langchain(material.log(scale.some)), peers.memoised_by_content()
    works["trim"] = partial(timed, lambda: peers.trim(theirs, memo))
    found = rounds(works, scale.repeats)
    few, some = map(str, sizes)
    yield absolute(f"Context, add + plan at {scale.few:,} events", found[few])
    yield beside(f"Context, add + plan at {scale.some:,} events", found, some, few, f"at {scale.few:,}", at_most=1.5)
    peer = f"langchain trim, memoised {peers.SAME_WORK}"
    yield faster(f"Context, add + plan at {scale.some:,} events", found, some, "trim", peer, at_least=50)
    yield faster(f"Context.request at {scale.some:,} events", found, f"request {some}", "trim", peer)


def _steps(context: Context) -> float:
    """Some steps of a loop; the mean of one message and its plan."""
    start = now()
    for _ in range(STEPS):
        number = next(_numbers)
        function = {"name": "read_file", "arguments": json.dumps({"path": f"src/{number}.py"})}
        call = {"id": f"bench_{number}", "type": "function", "function": function}
        context.add({"role": "assistant", "content": None, "tool_calls": [call]})
        context.add({"role": "tool", "tool_call_id": call["id"], "content": f"line {number} of a file"})
        _ = context.plan.fits
    return (now() - start) / (2 * STEPS)


def _trimming(scale: Scale) -> Iterator[Row]:
    """litellm's trimming and Headroom's compressing, which count every message anew and so are called on fewer."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    from litellm.utils import trim_messages  # late: it takes seconds

    messages = chat(scale.few // 4)
    theirs = [{**message, "content": message["content"] or ""} for message in messages]  # it takes no null
    most = sum(map(len, map(json.dumps, messages))) // 12
    works: dict[str, Work] = {
        "plan": partial(timed, lambda: plan_messages(messages, window=most, reserve=0).messages),
        "trim": partial(timed, lambda: trim_messages(theirs, model=material.MODEL, max_tokens=most)),
    }
    if find_spec("headroom") is not None:  # `uv run --with headroom-ai` brings it; it is too large for every run
        compress = import_module("headroom").compress
        works["compress"] = partial(timed, lambda: compress(theirs, model=material.MODEL, model_limit=most))
    found = rounds(works, scale.slow_repeats)
    name = f"workbench.plan of {len(messages):,} messages"
    yield faster(name, found, "plan", "trim", "litellm trim_messages")
    if "compress" in works:
        yield faster(name, found, "plan", "compress", "headroom compress")


def _importing(scale: Scale, folder: str) -> Iterator[Row]:
    """A process that imports the library and uses it, beside one that imports what most programs need anyway."""
    environment = {**children.environment(), "PYTHONPYCACHEPREFIX": folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the compiled files are there, as after an installation

    def started(code: str) -> float:
        command = [sys.executable, "-c", code]
        return children.processor_time(command, environment)

    works: dict[str, Work] = {
        "usual": partial(started, "import json, sqlite3, asyncio, dataclasses"),
        "import": partial(started, "import workbench"),
        "plan": partial(started, "import workbench; workbench.plan"),
        "context": partial(started, "import workbench; workbench.Context"),
    }
    found = rounds(works, scale.slow_repeats)
    for name, code in (("import", "import workbench"), ("plan", "workbench.plan"), ("context", "workbench.Context")):
        yield beside(f"a process with {code}", found, name, "usual", "with json, sqlite3, asyncio, dataclasses")
