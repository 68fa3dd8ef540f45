"""Record the session again: `python -m workbench.demo.record` writes `session.jsonl` next to this file.

The rehearsal model plays `script.toml`; the project, the tools and their results are real, in a temporary folder whose
path does not get into the recording.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.agent.approvals import Approvals
from workbench.agent.loop import Agent, Steps
from workbench.agent.tools.peek import peek_tools
from workbench.agent.tools.registry import Toolbox
from workbench.agent.turn_services import TurnServices
from workbench.config.settings import Settings
from workbench.context.policy_names import DEFAULT
from workbench.context.setup import PlanOptions, set_up
from workbench.demo.project import create
from workbench.log.codec import encode_event
from workbench.log.events import Event, Override, Setting, UserMessage
from workbench.log.session import Session
from workbench.log.store import Store
from workbench.models.catalogue import REHEARSAL, Catalogue
from workbench.models.gateway import Gateway
from workbench.rehearsal.in_process import rehearse
from workbench.rehearsal.script import Script

HERE = Path(__file__).parent
RECORDING = HERE / "session.jsonl"
TITLE = "A penny short: order 1042"
HOME = "/home/sam/bakery"
"""The project's folder as it appears in the recording."""
KNOBS = ("budget.max_input_tokens=16000",)
"""A small window, so that a short session shows what a long one would: cuts, masks and a summary."""
_INTERPRETER = re.compile(r"/[\w./-]+/python3?[\d.]*:")
"""The path of the interpreter at the start of its error messages."""
ALLOWED = ("run_command", "edit_file")

MESSAGES = (
    "A customer complains: order 1042 is a penny short. Find out why, and change nothing yet. "
    "Whatever we do, it must stay compatible with Python 3.11.",
    "Which other orders of November are wrong?",
    "Fix it, please, as AGENTS.md wants it.",
    "Add a test that names order 1042.",
    "Before I commit: is everything right now?",
    "Remind me: what did we settle about rounding?",
)
"""The user's messages, one per turn."""
PINNED = 2
"""The turn after which the first message is pinned."""
COMPACTED = 4
"""The turn after which the past is compacted."""


def main() -> None:
    """Record the session and replace the file."""
    events = asyncio.run(record())
    RECORDING.write_text("".join(f"{line}\n" for line in lines(events)), encoding="utf-8")
    print(f"{len(events)} events, {RECORDING.stat().st_size:,} bytes: {RECORDING}")


def lines(events: list[Event]) -> Iterator[str]:
    """The lines of the file, in the format of an export."""
    return (encode_event(event) for event in events)


async def record() -> list[Event]:
    """Play the whole session in a temporary folder and return its log."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place).resolve()
        folder = root / "bakery"
        create(folder)
        with _alone(root), Store.open(root / "recording.db") as store, store.create(title=TITLE) as session:
            session.append(Setting("model", REHEARSAL), Setting("policy", DEFAULT), Setting("knobs", list(KNOBS)))
            await _play(session, folder)
            found = [_without_paths(encode_event(event), folder) for event in session.events()]
            with store.import_events(found, "recording") as anonymous:
                return anonymous.events()


def _without_paths(line: str, folder: Path) -> str:
    """An event without the paths of the machine that recorded it."""
    return _INTERPRETER.sub("/usr/bin/python3:", line.replace(str(folder), HOME))


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Without the user's own configuration and instructions."""
    before = os.environ.get("WORKBENCH_CONFIG_DIR")
    os.environ["WORKBENCH_CONFIG_DIR"] = str(root / "config")
    try:
        yield
    finally:
        if before is None:
            del os.environ["WORKBENCH_CONFIG_DIR"]
        else:
            os.environ["WORKBENCH_CONFIG_DIR"] = before


async def _play(session: Session, folder: Path) -> None:
    gateway = Gateway()
    rehearse(Script.load(HERE / "script.toml"))
    try:
        setup = set_up(PlanOptions(model=REHEARSAL, sets=KNOBS), Settings(), Catalogue())
        toolbox = Toolbox(folder, more=peek_tools(session.events))
        agent = Agent(session, setup, TurnServices(gateway, toolbox, Approvals(allow=ALLOWED)))
        for number, text in enumerate(MESSAGES, 1):
            await _finish(agent.turn(text))
            if number == PINNED:
                first = next(event.seq for event in session.events() if isinstance(event.body, UserMessage))
                agent.append(Override("pin", first, first))
            if number == COMPACTED:
                await _finish(agent.compact())
    finally:
        rehearse(None)
        await gateway.close()


async def _finish(steps: Steps) -> None:
    """Run all steps of a turn or a compaction."""
    async for _ in steps:
        pass


if __name__ == "__main__":
    main()
