"""What the engine's thread hands over arrives whole and in order."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.waiting import GIVE_UP
from workbench.models.engine import Engine, ThreadPipe, engine
from workbench.models.gateway import Gateway

pytestmark = pytest.mark.xdist_group("litellm")


@given(st.lists(st.lists(st.integers(), min_size=1, max_size=4), max_size=40), st.lists(st.booleans(), min_size=40))
async def test_all_things_arrive_in_order_however_fast_they_come(batches: list[list[int]], pauses: list[bool]) -> None:
    pipe = ThreadPipe(asyncio.get_running_loop())

    async def fill() -> None:
        for batch, pause in zip(batches, pauses, strict=False):
            pipe.add_items(batch)
            if pause:
                await asyncio.sleep(0)
        pipe.add_items([None], last=True)

    asyncio.run_coroutine_threadsafe(fill(), engine().loop)
    found: list[int | None] = []
    while not found or found[-1] is not None:
        found += await asyncio.wait_for(pipe.take_items(), GIVE_UP)
    assert found == [*(thing for batch in batches for thing in batch), None]


async def test_what_comes_in_one_go_is_handed_over_with_few_wake_ups() -> None:
    pipe = ThreadPipe(asyncio.get_running_loop())
    filled = threading.Event()

    async def fill() -> None:
        for number in range(500):
            pipe.add_items([number])
        filled.set()

    asyncio.run_coroutine_threadsafe(fill(), engine().loop)
    filled.wait(10)  # the loop stands still: nothing is fetched meanwhile
    assert await pipe.take_items() == list(range(500))


async def test_a_closed_loop_is_noticed() -> None:
    gone = asyncio.new_event_loop()
    gone.close()
    with pytest.raises(RuntimeError):
        ThreadPipe(gone).add_items(["x"], last=True)


def test_there_is_one_engine() -> None:
    assert engine() is engine()
    assert isinstance(engine(), Engine)


async def test_warming_up_loads_litellm_and_may_be_asked_for_twice() -> None:
    await Gateway().warm()
    await Gateway().warm()
    assert "litellm" in sys.modules


def test_the_program_ends_when_the_thread_has_finished_its_step() -> None:
    """A thread that was stopped in the middle of an import would keep its locks, and the program might never end."""
    program = """
import asyncio
import threading
from workbench.models.engine import engine

begun = threading.Event()

async def step():
    begun.set()
    threading.Event().wait(0.3)
    print("finished", flush=True)

asyncio.run_coroutine_threadsafe(step(), engine().loop)
begun.wait()
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=GIVE_UP, check=True)
    assert ended.stdout == "finished\n"
    assert ended.stderr == ""
