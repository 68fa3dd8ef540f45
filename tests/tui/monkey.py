"""A monkey at the program that users get: random keys, texts, pastes, clicks and sizes of the terminal.

    uv run python tests/tui/monkey.py --runs 20 --steps 1500 --seed 1

A seed always does the same. A run fails when anything is reported that should not happen, when the program no longer
answers, and when it ends. `test_monkey.py` has a few short runs.
"""

from __future__ import annotations

import argparse
import asyncio
import faulthandler
import os
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from textual import events
from textual.geometry import Size

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from tui.play import full_screen
from workbench.models.failures import ModelFailure
from workbench.models.reply_parts import CallFragment, Finished, Part, Reported, Text
from workbench.session import connection
from workbench.session.fault_reports import FaultReports, latest_report
from workbench.session.services import Services
from workbench.tui.app import WorkbenchApp
from workbench.tui.commands.registry import WorkbenchScreen
from workbench.tui.demo import recording
from workbench.tui.main.screen import MainScreen

PATIENCE = 120
"""Seconds without an answer after which the program is taken for hung."""

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
)
PASTES = ("plain", "two\r\nlines", "\x9b31mred", "x" * 5_000, "語" * 300, "\x00\x07\u202e back", "```\ncode\n```")
WIDTHS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 40, 80, 99, 100, 120, 140, 200)
HEIGHTS = (1, 2, 3, 4, 5, 8, 12, 24, 40, 60)
ANSWERS = (
    "A short answer.",
    "# Title\n\n- one\n- two\n  - three\n\n> quoted\n\n```python\ndef f(x):\n    return x\n```\n",
    "| a | b |\n|---|---|\n| 1 | 語語語 |\n\n1. first\n2. second **bold** `code` [link](https://example.org)\n",
    "word " * 400,
)


class RandomModel:
    """Answers at random: text, calls of tools, failures, and now and then nothing for a while."""

    def __init__(self, random: Random) -> None:
        self._random = random

    async def stream(self, body: Mapping[str, Any], **_: object) -> AsyncGenerator[Part, None]:
        """One answer."""
        random = self._random
        dice = random.random()
        if dice < 0.15:
            raise ModelFailure("authentication" if dice < 0.08 else "bad_request", "the server said \x1b[31mno")
        if dice < 0.45:
            tool = random.choice(("read_file", "list_files", "no_such_tool", "run_command"))
            given = random.choice(('{"path": "note.txt"}', "{}", "not JSON", '{"command": "echo hello"}'))
            yield CallFragment(0, f"call-{random.random()}", tool, given)
            yield Finished("tool_calls")
            return
        text = random.choice(ANSWERS)
        for at in range(0, len(text), 40):
            yield Text(text[at : at + 40])
            await asyncio.sleep(random.choice((0, 0, 0.02)))
        yield Reported(100, 10)
        yield Finished("stop")

    @asynccontextmanager
    async def serving(self, *_: object, **__: object) -> AsyncIterator[RandomModel]:
        """This model, for any."""
        yield self


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

    @property
    def is_well(self) -> bool:
        """Whether nothing was found."""
        return not self.faults and not self.ended

    def told(self) -> str:
        """For whoever mends it."""
        found = "".join("".join(traceback.format_exception(each)[-14:]) for each in self.faults)
        return f"seed {self.seed}, after {self.steps} steps {self.last[-12:]}: {self.ended}\n{found}"


class Monkey:
    """Does things to an app."""

    def __init__(self, app: WorkbenchApp, seed: int, run: MonkeyRun) -> None:
        self._app = app
        self._random = Random(seed)
        self._run = run
        commands = [command for command in WorkbenchScreen.REGISTRY.commands if command.name != "quit"]
        self._slashes = [f"/{command.slashes[0]}" for command in commands if command.slashes]
        self._at = (0, 0)

    async def play(self, steps: int) -> None:
        """So many steps, in bursts as of someone who does not wait."""
        while self._run.steps < steps and not self._app._exit:
            for _ in range(self._random.choice((1, 1, 2, 3, 8))):
                self._step()
            for _ in range(self._random.choice((0, 1, 3, 10))):
                await asyncio.sleep(0)
            if self._random.random() < 0.5:
                await asyncio.sleep(self._random.choice((0.005, 0.02, 0.06)))
            await self._answers()

    async def _answers(self) -> None:
        """Wait until the app has worked through what it got, and the screen too."""
        for pump in (self._app, self._app.screen):
            done = asyncio.Event()
            pump.call_later(done.set)
            if not pump._running:  # the screen was left a moment ago
                continue
            try:
                async with asyncio.timeout(PATIENCE):
                    while not done.is_set() and pump._running and not self._app._exit:
                        await asyncio.sleep(0.002)
            except TimeoutError:
                self._run.ended = f"{pump} does not answer"
                self._app.exit()

    def _step(self) -> None:
        self._run.steps += 1
        doing = self._random.choices(
            (self._key, self._letters, self._slash, self._text, self._paste, self._mouse, self._resize),
            (40, 12, 10, 5, 2, 20, 8),
        )[0]
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


async def play(seed: int, steps: int) -> MonkeyRun:
    """One run, in the folders that the environment names; on a session with a past, or a new one."""
    run, random = MonkeyRun(seed), Random(-seed - 1)
    with Services() as services, _watching(run), patch.object(connection, "serving", RandomModel(random).serving):
        ref = ""
        if random.random() < 0.7:
            with services.store.import_events(recording(), "demo") as session:
                ref = session.id
        app = full_screen(services, ref)
        async with app.run_test(size=random.choice(((120, 40), (80, 24), (160, 50))), notifications=True):
            if random.random() < 0.7:  # else keys come before anything is there
                while not isinstance(app.screen, MainScreen):
                    await asyncio.sleep(0.005)
            monkey = Monkey(app, seed, run)
            await monkey.play(steps)
            if not run.ended and app._exit:
                run.ended = f"the program ended: {app.return_value}"
    return run


@contextmanager
def _folders() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        project = Path(place, "project")
        (project / ".git").mkdir(parents=True)
        (project / "note.txt").write_text("the milk is in the fridge\n")
        os.environ.update(WORKBENCH_DATA_DIR=f"{place}/data", WORKBENCH_CONFIG_DIR=f"{place}/config")
        os.chdir(project)
        try:
            yield
        finally:
            os.chdir(before)


def main() -> int:
    """Run after run; the result is how many found something."""
    parser = argparse.ArgumentParser(description="random keys, clicks and sizes at the program that users get")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=1_500)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; each further one has the next")
    asked = parser.parse_args()
    bad, steps, started = 0, 0, time.monotonic()
    for seed in range(asked.seed, asked.seed + asked.runs):
        faulthandler.dump_traceback_later(3 * PATIENCE + asked.steps, exit=True)
        with _folders():
            run = asyncio.run(play(seed, asked.steps))
        steps += run.steps
        bad += not run.is_well
        if not run.is_well:
            print(run.told(), flush=True)
        print(f"seed {seed}: {run.steps} steps, {len(run.faults)} faults {run.ended}", flush=True)
    faulthandler.cancel_dump_traceback_later()
    alive = sum(thread.is_alive() for thread in threading.enumerate())
    print(f"{asked.runs} runs, {steps:,} steps, {bad} with faults, {time.monotonic() - started:.0f} s, {alive} threads")
    return bad


if __name__ == "__main__":
    sys.exit(min(main(), 100))
