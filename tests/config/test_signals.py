"""A program that is told to end cleans up first, and its exit code says what ended it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from support.terminal import WORKBENCH
from support.waiting import GIVE_UP
from workbench.config.signals import run_for_result, run_until_signal

PROGRAM = """
import asyncio, signal, sys
from workbench.config.signals import run_until_signal
# Set either way: the tests themselves may run under nohup, and what is ignored is handed on.
signal.signal(signal.SIGHUP, signal.SIG_IGN if "ignore" in sys.argv else signal.SIG_DFL)
async def work():
    try:
        print("ready", flush=True)
        return await asyncio.to_thread(sys.stdin.readline) if "ignore" in sys.argv else await asyncio.sleep(600)
    finally:
        print("cleaned up", flush=True)
run_until_signal(work())
"""


def start(*arguments: str) -> subprocess.Popen[str]:
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    return program


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_the_work(number: signal.Signals) -> None:
    program = start()
    program.send_signal(number)
    assert program.communicate(timeout=GIVE_UP)[0] == "cleaned up\n"
    assert program.returncode == 128 + number


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    program = start("ignore")
    program.send_signal(signal.SIGHUP)
    assert program.communicate("go\n", timeout=GIVE_UP)[0] == "cleaned up\n"
    assert program.returncode == 0


def test_what_is_done_comes_back_in_any_thread() -> None:
    async def work() -> str:
        return "done"

    found: list[str] = [run_until_signal(work())]
    thread = threading.Thread(target=lambda: found.append(run_until_signal(work())))
    thread.start()
    thread.join(GIVE_UP)
    assert found == ["done", "done"]


def test_a_cancellation_of_the_works_own_is_no_signal() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run_until_signal(work())


QUITTING = """
import os, signal
from workbench.config.ending import at_quit, ending_by_signals, finished_before_quit
with ending_by_signals():
    with finished_before_quit():
        os.kill(os.getpid(), signal.SIGQUIT)
        os.write(1, b"begun ")
        with finished_before_quit():
            os.write(1, b"inside ")
        clearing = at_quit(lambda: os.write(1, b"cleared up"))
        clearing.__enter__()
    os.write(1, b"went on")
"""


def test_what_must_be_whole_is_finished_before_the_program_quits() -> None:
    ended = subprocess.run([sys.executable, "-c", QUITTING], stdout=subprocess.PIPE, timeout=GIVE_UP, check=False)
    assert (ended.stdout, ended.returncode) == (b"begun inside cleared up", 128 + signal.SIGQUIT)


COMMANDS: dict[str, tuple[str, ...]] = {
    "import": ("import", "-"),
    "plan": ("plan", "-"),
    "lab": ("lab", "-", "--html", "results"),
    "rehearse": ("rehearse", "--port", "0"),
    "proxy": ("proxy", "--to", "rehearsal"),
    "watch": ("watch", "talk.json", "--json"),
}
READING = ("import", "plan", "lab")
"""They wait for the end of their input."""


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
PAIRS = [
    pytest.param(name, number, marks=[pytest.mark.wide] if (at + place) % len(SIGNALS) else [])
    for at, name in enumerate(COMMANDS)
    for place, number in enumerate(SIGNALS)
]


@pytest.mark.parametrize(("name", "number"), PAIRS)
def test_every_command_ends_by_every_signal(tmp_path: Path, talk: Path, name: str, number: signal.Signals) -> None:
    def heard() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)

    program = subprocess.Popen(
        [*WORKBENCH, *COMMANDS[name]], cwd=tmp_path, preexec_fn=heard,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert program.stdin is not None
    assert program.stdout is not None
    if name in READING:
        program.stdin.write(b"[" + b" " * 99_000)  # more than a pipe holds: it is read
    else:
        assert program.stdout.readline()
    program.send_signal(number)
    said = program.communicate(timeout=GIVE_UP)[1]
    served = name in ("rehearse", "proxy", "watch") and number != signal.SIGQUIT
    assert program.returncode == 128 + number or (served and program.returncode == 0)
    assert b"Traceback" not in said
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["talk.json"]


class Noticed:
    """Notices that it is written out."""

    is_written = False

    def __repr__(self) -> str:
        self.is_written = True
        return "long"


def test_a_large_result_is_handed_on_without_being_written_out() -> None:
    result = Noticed()

    async def work() -> Noticed:
        return result

    assert run_for_result(work()) is result
    assert not result.is_written
