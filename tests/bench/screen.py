"""The full screen in a real pseudo-terminal: how soon it is there, and what it costs when nothing happens."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from tempfile import TemporaryDirectory

from bench.children import environment, spent_by
from bench.harness import Row, Scale, Yardstick, in_units, rounds, wall
from bench.pace import end_samples, sample_anew, step_aside
from support.terminal import WORKBENCH, Terminal
from support.waiting import GIVE_UP

WORD = "hello"
ONE_WORD_CODE = f"""
from textual.app import App
from textual.widgets import Static

class Word(App):
    def compose(self):
        yield Static("{WORD}")

Word().run()
"""
"""The smallest program there can be, without anything of ours in its process."""
ONE_WORD_PROGRAM = (sys.executable, "-c", ONE_WORD_CODE)
QUIT = "\x11"
OURS = "Workbench"
"""Stands in the first frame."""
READY = "no model configured"
"""Stands in the welcome once a session is open."""
TYPED = "zzz"
"""In no frame before it is typed."""
FIRST_FRAME, FIRST_TYPED = 1.15, 1.3
IDLE = 0.85
CALM = 0.005
"""The share of a processor below which a program that was started is taken for settled."""


def run(scale: Scale) -> Iterator[Row]:
    """The first frame beside that of a program that shows one word, and the processor's time of an idle second."""
    with TemporaryDirectory() as folder:
        places = {**environment(), "WORKBENCH_DATA_DIR": f"{folder}/data", "WORKBENCH_CONFIG_DIR": f"{folder}/config"}
        works = {
            "ours": lambda: first_frame(WORKBENCH, OURS, places),
            "typed": lambda: first_frame(WORKBENCH, OURS, places, TYPED),
        }
        tiny = scale.repeats == 1
        found = rounds(works, scale.repeats, warm_up=not tiny, yardstick=ONE_WORD)
        yield in_units("first frame of the screen", found, "ours", FIRST_FRAME)
        yield in_units("typing on the screen is seen", found, "typed", FIRST_TYPED)
        share = {"idle": lambda: idle(places, scale.idle, 0.0 if tiny else GIVE_UP)}
        yield in_units("processor's time of an idle second", rounds(share, 1, warm_up=False), "idle", IDLE)


def first_frame(program: tuple[str, ...], text: str, places: Mapping[str, str], typed: str = "") -> float:
    """The processor's time of a program until its first frame, or until what is typed into that is seen."""
    terminal = Terminal(command=program, **places)
    step_aside()
    try:
        terminal.wait_for(text)
        if typed:
            terminal.press(typed)
            terminal.wait_for(typed)
        spent = spent_by(terminal.process.pid)
        end_samples()
        return spent
    finally:
        terminal.press(QUIT)
        terminal.end()


ONE_WORD = Yardstick(
    "a Textual app with one word",
    lambda: first_frame(ONE_WORD_PROGRAM, WORD, environment()),
)
"""For what is on the screen."""


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
        sample_anew()
        return spent(terminal, seconds)
    finally:
        terminal.press(QUIT)
        terminal.end()


def spent(terminal: Terminal, seconds: float) -> float:
    """The share of a processor that the program takes over a while, during which its output is read."""
    before, start = spent_by(terminal.process.pid), wall()
    terminal.watch(seconds)
    return (spent_by(terminal.process.pid) - before) / (wall() - start)
