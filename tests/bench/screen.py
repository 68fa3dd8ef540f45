"""The full screen in a real pseudo-terminal: how soon it is there, and what it costs when nothing happens."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.children import environment
from bench.harness import Row, Scale, absolute, beside, rounds, wall
from support.terminal import WORKBENCH, Terminal
from support.waiting import GIVE_UP

WORD = "hello"
ONE_WORD = f"""
from textual.app import App
from textual.widgets import Static

class Word(App):
    def compose(self):
        yield Static("{WORD}")

Word().run()
"""
"""The smallest program there can be, without anything of ours in its process."""
QUIT = "\x11"
OURS = "Workbench"
"""Stands in the first frame."""
READY = "no model configured"
"""Stands in the welcome once a session is open."""
CALM = 0.005
"""The share of a processor below which a program that was started is taken for settled."""


def run(scale: Scale) -> Iterator[Row]:
    """The first frame beside that of a program that shows one word, and the processor's time of an idle second."""
    with TemporaryDirectory() as folder:
        places = {**environment(), "WORKBENCH_DATA_DIR": f"{folder}/data", "WORKBENCH_CONFIG_DIR": f"{folder}/config"}
        works = {
            "ours": lambda: first_frame(WORKBENCH, OURS, places),
            "word": lambda: first_frame((sys.executable, "-c", ONE_WORD), WORD, places),
        }
        tiny = scale.repeats == 1
        found = rounds(works, scale.slow_repeats, warm_up=not tiny)
        yield beside("first frame of the screen", found, "ours", "word", "a Textual app with one word", at_most=1.5)
        if Path("/proc/self/stat").exists():
            share = idle(places, scale.idle, 0.0 if tiny else GIVE_UP)
            yield absolute("processor's time of an idle second", share, below=0.01)


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


def idle(places: Mapping[str, str], seconds: float, patience: float) -> float:
    """What a second costs when a session is open, litellm is loaded, and nobody does anything.

    `patience`: seconds to wait for all that was started to settle.
    """
    terminal = Terminal(**places)
    try:
        terminal.wait_for(READY)
        end = time.monotonic() + patience
        while patience and spent(terminal, 3.0) > CALM and time.monotonic() < end:
            pass  # the cursor blinks for ten seconds
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
