"""A streamed answer of litellm through the adapter, in a process of its own.

litellm calls its callbacks from a worker that it keeps for the whole process; other tests leave that worker in loops
that are gone.
"""

from __future__ import annotations

import asyncio
import json

from adapters.test_streams import COUNTED, REPLY, SAID, recorded, reported
from support.waiting import patiently
from workbench.adapters.litellm import plan_litellm
from workbench.models.engine import import_litellm
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer


async def main() -> None:
    """Print what the context has after a stream."""
    litellm = import_litellm()
    planned = plan_litellm(window=16_000)
    litellm.callbacks = [planned]
    given = {"model": "openai/gpt-4o", "api_key": "any", "messages": SAID, "stream": True, **COUNTED}
    async with RehearsalServer(Script([{"reply": REPLY}])) as server:
        async for _ in await litellm.acompletion(base_url=f"{server.url}/v1", **given):
            pass
        context = planned.workbench.context
        async with patiently():
            while not reported(context):  # the callback is called in a task of its own
                await asyncio.sleep(0.01)
    print(json.dumps([recorded(context), len(reported(context))]))


if __name__ == "__main__":
    asyncio.run(main())
