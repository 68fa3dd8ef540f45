"""The full screen in a real pseudo-terminal: how soon it is there, and what it costs when nothing happens."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.children import command, environment
from bench.harness import Row, Scale, absolute, beside, rounds, wall
from support.terminal import DEADLINE, WORKBENCH, Terminal

WORD = "hello"
QUIT = "\x11"
OURS = "F2 chat"
"""Stands in the first frame."""
READY = "/model"
"""Stands in the status line once a session is open."""
CALM = 0.02
"""The share of a processor below which a program that was started is taken for settled."""


def run(scale: Scale) -> Iterator[Row]:
    """The first frame beside that of a program that shows one word, and the processor's time of an idle second."""
    with TemporaryDirectory() as folder:
        places = {**environment(), "WORKBENCH_DATA_DIR": f"{folder}/data", "WORKBENCH_CONFIG_DIR": f"{folder}/config"}
        works = {
            "ours": lambda: first_frame(WORKBENCH, OURS, places),
            "word": lambda: first_frame(tuple(command("screen")), WORD, places),
        }
        found = rounds(works, scale.slow_repeats)
        yield beside("first frame of the screen", found, "ours", "word", "a Textual app with one word", at_most=1.5)
        if Path("/proc/self/stat").exists():
            seconds = 1.0 if scale.repeats == 1 else 10.0
            yield absolute("processor's time of an idle second", idle(places, seconds), below=0.01)


def first_frame(program: tuple[str, ...], text: str, places: Mapping[str, str]) -> float:
    """Seconds from the start of a program to its first frame."""
    start = wall()
    terminal = Terminal(command=program, **places)
    try:
        terminal.wait_for(text)
        return wall() - start
    finally:
        terminal.press(QUIT)
        terminal.end()


def idle(places: Mapping[str, str], seconds: float) -> float:
    """What a second costs when a session is open, litellm is loaded, and nobody does anything."""
    terminal = Terminal(**places)
    try:
        terminal.wait_for(READY)
        end = time.monotonic() + DEADLINE
        while spent(terminal, 1.0) > CALM and time.monotonic() < end:
            pass
        return spent(terminal, seconds)
    finally:
        terminal.press(QUIT)
        terminal.end()


def spent(terminal: Terminal, seconds: float) -> float:
    """The share of a processor that the program takes over a while, during which its output is read."""
    before, start = used(terminal.process.pid), wall()
    terminal.watch(seconds)
    return (used(terminal.process.pid) - before) / (wall() - start)


def used(process: int) -> float:
    """Seconds of processor's time of a process, all its threads together."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def one_word() -> None:
    """The smallest program there can be."""
    from textual.app import App, ComposeResult
    from textual.widgets import Static

    class Word(App[None]):
        def compose(self) -> ComposeResult:
            yield Static(WORD)

    Word().run()


if __name__ == "__main__":
    sys.exit(one_word())
