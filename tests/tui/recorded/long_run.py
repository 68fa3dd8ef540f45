"""A session that another agent recorded: many requests with their reports, some of them not the conversation's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from support.talk import words
from tui.play import ONE_PANE, program, settle
from workbench.context.policy_names import RECORDED
from workbench.log.codec import encode_event
from workbench.log.events import (
    AssistantMessage,
    Body,
    Request,
    RequestPart,
    Setting,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from workbench.sources.services import Services
from workbench.sources.source import number_events
from workbench.tui.main.screen import MainScreen

MODEL = "claude-opus-4-5"
FIXED = 27_300
"""Tokens of a system prompt and tools that the file does not have."""
STEPS = 60


def step(at: int, reported: int) -> list[Body]:
    """A call, its report and its result."""
    return [
        ToolCall(f"c{at}", "read", f'{{"path": "src/file_{at}.py"}}', f"r{at}"),
        Usage(MODEL, 0, reported, reported - 90, completion=40),
        ToolResult(f"c{at}", words(300, f"file{at}"), "read"),
    ]


def other(seq: int, purpose: Any, agent: str = "") -> list[Body]:
    """A request beside the conversation, which is in the log whole; its part has the sequence number `seq`."""
    return [
        RequestPart(f"p{seq}", {"role": "user", "content": f"a title for {seq}"}),
        Request("anthropic", MODEL, purpose, agent, messages=(f"p{seq}",)),
        Usage(MODEL, 0, 900, completion=9, request=seq + 1),
    ]


def run(steps: int = STEPS, *, others: bool = True) -> list[Body]:
    """A turn of so many steps; a title and a sub-agent's request after the second and the fourth."""
    made: list[Body] = [UserMessage("Why does the login test fail? Look at every file.")]
    for at in range(1, steps + 1):
        made += step(at, FIXED + 60 + at * 410)
        if others and at == 2:
            made += other(len(made) + 1, "side")
        if others and at == 4:
            made += other(len(made) + 1, "sub-agent", "explorer")
    made.append(AssistantMessage("The fixture opened it twice.", "last", model=MODEL))
    made.append(Usage(MODEL, 0, FIXED + 60 + (steps + 1) * 410, completion=12))
    return [
        *made,
        UserMessage("And now?"),
        Setting("model", MODEL),
        Setting("title", "the login test"),
        Setting(RECORDED, "pi"),
    ]


LAST = FIXED + 60 + (STEPS + 1) * 410
"""What was reported for the last request."""
REQUESTS = STEPS + 3


def as_file(folder: Path, bodies: list[Body]) -> str:
    """A file that holds the log."""
    path = folder / "run.jsonl"
    path.write_text("".join(f"{encode_event(event)}\n" for event in number_events(bodies)), "utf-8")
    return str(path)


def as_session(services: Services, bodies: list[Body]) -> str:
    """A session of the store that was imported."""
    with services.store.create(bodies) as session:
        return session.id


@asynccontextmanager
async def inspector(
    services: Services, ref: str, size: tuple[int, int] = ONE_PANE, **options: Any
) -> AsyncIterator[tuple[Pilot[Any], MainScreen]]:
    """The program with the focus on the rows."""
    async with program(services, size, ref, **options) as (pilot, screen):
        screen.focus_pane("context")
        await settle(pilot)
        yield pilot, screen
