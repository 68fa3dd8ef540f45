"""A monkey at the program that users get: random keys, texts, pastes, clicks and sizes of the terminal.

    uv run python tests/tui/monkey.py --runs 20 --steps 1500 --seed 1

A seed always means the same steps; what they meet depends on how quick the program is, so that one seed is worth
several runs. What it finds at first goes by the seed too (`monkey_worlds.py`). A run fails when anything is reported
that should not happen, when the program no longer answers, and when it ends. `test_monkey.py` has a few short runs.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import gc
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from unittest.mock import patch

from textual import events
from textual.geometry import Size

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support.drawn import drawn_faults
from tui.monkey_frames import Frames
from tui.monkey_worlds import WORLDS, RandomModel, own_folders
from tui.play import ASKING, full_screen, until
from workbench.session.fault_reports import FaultReports, latest_report
from workbench.sources.services import Services
from workbench.tui.app import WorkbenchApp
from workbench.tui.commands.registry import WorkbenchScreen
from workbench.tui.main.screen import MainScreen

LOOKS = 30_000
"""Looks for an answer after which the program is taken for hung; on a busy machine they are further apart."""
STUCK = 1_800
"""Seconds without a step after which the loop itself is taken for stuck."""

DRAWN = 0.2
"""How often what is drawn is looked at."""
DEEP = 4
"""With more screens than these over each other, every second step is Escape: a deep stack is slow to paint."""
EVERY_FRAME = 0.2
"""How often a burst is painted frame by frame."""
PAINTED = 0.6
"""How often any other burst is painted when it is over."""

KEYS = (
    *(f"f{number}" for number in range(1, 13)),
    *(f"ctrl+{letter}" for letter in "abcdefghijklmnoprstuvwxyz"),  # but not ctrl+q, which ends the program
    *("up", "down", "left", "right", "pageup", "pagedown", "home", "end", "enter", "tab", "shift+tab", "backspace"),
    *("ctrl+up", "ctrl+down", "ctrl+home", "ctrl+end", "shift+up", "shift+down", "shift+right", "delete", "space"),
    *("escape", "escape", "escape", "enter", "tab"),
)
LETTERS = "abcdefghijklmnoprstuvwxyzUNRG0123456789/?[]{}.,:<>=-\"'é語"
TEXTS = (
    "hello there",
    "read note.txt",
    "@note.txt what is it",
    ">" + "9" * 30,
    "state:sent tool:read >2k",
    "a line\nanother line",
    "/break every",
    "/policy workbench masking.keep_last=1",
    "/policy off",
    "/open run.jsonl",
    "/set masking.keep_last=2",
    "/lab",
    "/waste",
    "/replay -n 1",
    "/rename [b]x[/b",
    "[@click=app.quit()]X",
)
PASTES = ("plain", "two\r\nlines", "\x9b31mred", "x" * 5_000, "語" * 300, "\x00\x07\u202e back", "```\ncode\n```")
WIDTHS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 40, 80, 99, 100, 120, 140, 200)
HEIGHTS = (1, 2, 3, 4, 5, 8, 12, 24, 40, 60)


@dataclass(slots=True)
class MonkeyRun:
    """What came of one run."""

    seed: int
    steps: int = 0
    faults: list[BaseException] = field(default_factory=list)
    ended: str = ""
    """Why it is over before its time."""
    last: list[str] = field(default_factory=list)
    """The steps before the first fault."""
    drawn: list[str] = field(default_factory=list)
    """What was wrong with what the screen showed."""
    screens: set[str] = field(default_factory=set)
    """Those that were seen."""

    @property
    def is_well(self) -> bool:
        """Whether nothing was found."""
        return not self.faults and not self.ended and not self.drawn

    def told(self) -> str:
        """For whoever mends it."""
        found = "".join("".join(traceback.format_exception(each)[-14:]) for each in self.faults)
        return f"seed {self.seed}, after {self.steps} steps {self.last[-12:]}: {self.ended} {self.drawn}\n{found}"


class Monkey:
    """Does things to an app."""

    def __init__(self, app: WorkbenchApp, seed: int, run: MonkeyRun, frames: Frames) -> None:
        self._app = app
        self._random = Random(seed)
        self._run = run
        self._slashes = [f"/{each.slashes[0]}" for each in WorkbenchScreen.REGISTRY.commands if each.slashes]
        self._at = (0, 0)
        self._frames = frames

    async def play(self, steps: int) -> None:
        """So many steps, in bursts as of someone who does not wait."""
        while self._run.steps < steps and not self._app._exit:
            if __name__ == "__main__" and sys.__stderr__ is not None:
                faulthandler.dump_traceback_later(STUCK, exit=True, file=sys.__stderr__)
            self._frames.held_back = self._random.random() >= EVERY_FRAME
            for _ in range(self._random.choice((1, 1, 2, 3, 8))):
                self._step()
            for _ in range(self._random.choice((0, 1, 3, 10))):
                await asyncio.sleep(0)
            if self._random.random() < 0.3:
                await asyncio.sleep(self._random.choice((0.005, 0.02, 0.06)))
            await self._answers()
            if self._random.random() < PAINTED:
                self._frames.paint(self._app)

    async def _answers(self) -> None:
        """Wait until the app has worked through what it got, and the screen too."""
        self._run.screens.add(type(self._app.screen).__name__)
        if self._app.screen.is_mounted and self._random.random() < DRAWN:
            self._run.drawn += [each for each in drawn_faults(self._app) if each not in self._run.drawn][:5]
        for pump in (self._app, self._app.screen):
            done = asyncio.Event()
            pump.call_later(done.set)
            if not pump._running:  # the screen was left a moment ago
                continue
            for _ in range(LOOKS):
                if done.is_set() or not pump._running or self._app._exit:
                    break
                await asyncio.sleep(0.002)
            else:
                self._run.ended = f"{pump} does not answer"
                self._app.exit()

    def _step(self) -> None:
        self._run.steps += 1
        doing = self._random.choices(
            (self._own_key, self._key, self._letters, self._slash, self._text, self._paste, self._mouse, self._resize),
            (25, 25, 8, 10, 6, 2, 16, 8),
        )[0]
        if self._random.random() < 0.5 and len(self._app.screen_stack) > DEEP:
            doing = self._escape
        said = doing()
        if not self._run.faults:
            self._run.last = [*self._run.last[-40:], said]

    def _send(self, event: events.Event) -> None:
        driver = self._app._driver
        if driver is not None:
            driver.process_message(event)

    def _press(self, key: str, character: str | None = None) -> None:
        self._send(events.Key(key, character))

    def _type(self, text: str) -> None:
        for each in text:
            self._press("enter" if each == "\n" else "space" if each == " " else each, "\r" if each == "\n" else each)

    def _key(self) -> str:
        key = self._random.choice(KEYS)
        self._press(key, " " if key == "space" else None)
        return key

    def _escape(self) -> str:
        self._press("escape")
        return "escape"

    def _own_key(self) -> str:
        """One that does something in the screen that is seen: its windows open others, which only such keys reach."""
        dice = self._random.random()
        keys = sorted({*self._app.screen.active_bindings} - {"ctrl+q"})
        key = keys[int(dice * len(keys))]
        self._press(key, key if len(key) == 1 else None)
        return key

    def _letters(self) -> str:
        text = "".join(self._random.choices(LETTERS, k=self._random.choice((1, 1, 2, 6))))
        self._type(text)
        return repr(text)

    def _slash(self) -> str:
        text = self._random.choice(self._slashes)
        self._press("escape")
        self._type(f"{text}\n")
        return text

    def _text(self) -> str:
        text = self._random.choice(TEXTS)
        self._type(f"{text}\n")
        return repr(text)

    def _paste(self) -> str:
        self._send(events.Paste(self._random.choice(PASTES)))
        return "paste"

    def _mouse(self) -> str:
        wide, high = self._app.size
        random = self._random
        if random.random() < 0.7:
            self._at = (random.randrange(max(wide, 1)), random.randrange(max(high, 1)))
        kinds = random.choice(
            (
                (events.MouseMove, events.MouseDown, events.MouseUp),
                (events.MouseMove, events.MouseDown, events.MouseMove),
                (events.MouseUp,),
                (events.MouseScrollDown,),
                (events.MouseScrollUp,),
                (events.MouseMove,),
            )
        )
        for kind in kinds:
            button = 0 if kind is events.MouseMove else random.choice((1, 1, 1, 3))
            x, y = self._at
            self._send(kind(None, x, y, 0, 0, button, False, False, random.random() < 0.1, x, y))
        return f"mouse at {self._at}"

    def _resize(self) -> str:
        size = Size(self._random.choice(WIDTHS), self._random.choice(HEIGHTS))
        if self._random.random() < 0.4:
            size = Size(120, 40)
        self._app._driver._size = size  # type: ignore[union-attr]  # as Textual's pilot does
        self._send(events.Resize(size, size))
        return f"{size.width} by {size.height}"


@contextmanager
def _watching(run: MonkeyRun) -> Iterator[None]:
    """Note what is reported, of which a program tells each place once."""
    plain: Callable[[FaultReports, BaseException], str] = FaultReports.report

    def report(reports: FaultReports, error: BaseException) -> str:
        said = plain(reports, error)
        if said:
            run.faults.append(error)
            if isinstance(error, RecursionError):
                print((latest_report() or Path(os.devnull)).read_text(), flush=True)
        return said

    with patch.object(FaultReports, "report", report):
        yield


async def _stay(screen: MainScreen, detour: object = None) -> None:
    """In place of leaving: whoever quits, or goes to the demo, is not at fault, and goes on here."""


async def play(seed: int, steps: int) -> MonkeyRun:
    """One run, in the folders that the environment names. That the program does not end well is a fault of it."""
    run = MonkeyRun(seed)
    try:
        await _play(run, steps)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        run.faults.append(error)
        run.ended = "the program did not end well"
    return run


async def _play(run: MonkeyRun, steps: int) -> None:
    seed, random, frames = run.seed, Random(-run.seed - 1), Frames()
    answering, stack = RandomModel(random).serving, ExitStack()
    for module in ASKING:
        stack.enter_context(patch.object(module, "serving", answering))
    with Services() as services, _watching(run), stack, frames.fewer(), patch.object(MainScreen, "leave", _stay):
        async with WORLDS[seed % len(WORLDS)](services) as world:
            app = full_screen(services, world.ref, follow=world.follow)
            async with app.run_test(size=random.choice(((120, 40), (80, 24), (160, 50))), notifications=True):
                if random.random() < 0.7:  # else keys come before anything is there
                    await until(lambda: isinstance(app.screen, MainScreen))
                await Monkey(app, seed, run, frames).play(steps)
                if not run.ended and app._exit:
                    run.ended = f"the program ended: {app.return_value}"


def main() -> int:
    """Run after run; the result is how many found something."""
    parser = argparse.ArgumentParser(description="random keys, clicks and sizes at the program that users get")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=1_500)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each further one has the next")
    asked = parser.parse_args()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)  # what was imported is large, and takes a quarter of the time to go through
    bad, steps, started, screens = 0, 0, time.monotonic(), set[str]()
    for seed in range(asked.seed, asked.seed + asked.runs):
        try:
            with own_folders():
                run = asyncio.run(play(seed, asked.steps))
        except Exception as error:  # one run must not take the others along
            run = MonkeyRun(seed, faults=[error], ended="the program did not end well")
        steps += run.steps
        screens |= run.screens
        bad += not run.is_well
        if not run.is_well:
            print(run.told(), flush=True)
        print(
            f"seed {seed}: {run.steps} steps, {len(run.faults)} faults {run.ended} {len(run.drawn)} drawn", flush=True
        )
    faulthandler.cancel_dump_traceback_later()
    print(f"screens seen: {', '.join(sorted(screens))}")
    alive = sum(thread.is_alive() for thread in threading.enumerate())
    print(f"{asked.runs} runs, {steps:,} steps, {bad} with faults, {time.monotonic() - started:.0f} s, {alive} threads")
    return bad


if __name__ == "__main__":
    sys.exit(min(main(), 100))
