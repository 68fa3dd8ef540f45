"""Work in the background."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from support.waiting import GIVE_UP
from workbench.config.background import background, in_background


def fail(error: BaseException) -> None:
    raise error


def test_what_the_work_gives_or_raises_is_what_the_future_holds() -> None:
    assert background(lambda: 3).result(10) == 3
    assert isinstance(background(lambda: fail(OSError("gone"))).exception(10), OSError)


async def test_work_is_waited_for_with_its_arguments_in_another_thread() -> None:
    assert await in_background(divmod, 7, 2) == (3, 1)
    assert await in_background(threading.get_ident) != threading.get_ident()
    with pytest.raises(OSError, match="gone"):
        await in_background(fail, OSError("gone"))


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), StopIteration()])
async def test_what_would_end_the_loop_is_an_error_like_any_other(error: BaseException) -> None:
    with pytest.raises(RuntimeError, match=type(error).__name__):
        await in_background(fail, error)


async def test_stuck_work_can_be_left_and_holds_up_no_other() -> None:
    over = threading.Event()
    stuck = [asyncio.ensure_future(in_background(over.wait)) for _ in range(40)]
    assert await in_background(str, 1) == "1"
    for each in stuck:
        each.cancel()
    assert all(
        isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*stuck, return_exceptions=True)
    )
    over.set()


def test_a_program_ends_while_work_is_stuck() -> None:
    code = """
import asyncio, threading
from workbench.config.background import background, in_background
background(threading.Event().wait)
async def main():
    try:
        await asyncio.wait_for(in_background(threading.Event().wait), 0.1)
    except TimeoutError:
        print("left")
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GIVE_UP, check=True)
    assert (done.stdout, done.stderr) == ("left\n", "")
