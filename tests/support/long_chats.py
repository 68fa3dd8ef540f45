"""Long chats with a server on loopback that counts, validates and refuses what is over its window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from support.agents import agent, bodies, said
from support.validity import problems
from workbench.log.events import Compaction, Failure, UserMessage
from workbench.log.session import Session
from workbench.models.endpoints import Endpoint
from workbench.models.gateway import Gateway
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer
from workbench.rehearsal.usage import request_tokens
from workbench.wire.dialects import DIALECTS

FILES = {"small.txt": 20, "medium.txt": 100, "large.txt": 1_200}
"""Files of a project and how many lines each has; a line is about seven tokens."""


@dataclass(slots=True)
class ChatOutcome:
    """What came of a chat."""

    failures: list[str] = field(default_factory=list)
    """The turns that failed, each with the reason."""
    invalid: list[str] = field(default_factory=list)
    """What a provider would refuse in a request."""
    largest: int = 0
    """The tokens of the largest request, counted by the server."""
    requests: int = 0
    compactions: int = 0


def write_project(folder: Path) -> None:
    """Files that the turns read."""
    for name, lines in FILES.items():
        text = "".join(f"{name} line {at}: value {at * 7}\n" for at in range(lines))
        (folder / name).write_text(text)


def tool_messages(turns: int) -> Iterator[str]:
    """Turns that read files, at once and one after another; some talk, and some read more than the window holds."""
    for at in range(1, turns + 1):
        match at % 7:
            case 1 | 4:
                wish = "read small.txt"
            case 2:
                wish = "read small.txt then list . then read medium.txt"
            case 3:
                wish = "read medium.txt"
            case 5:
                wish = f"Remember that port {9_000 + at} is for service {at}. " + "Say more about it. " * 20
            case 6:
                wish = "read small.txt and medium.txt then list ."
            case _:
                wish = "read large.txt" if at % 2 else "explain what you saw"
        yield f"{wish}\n\nThis is turn {at}."


def plain_messages(turns: int, longest: int = 9) -> Iterator[str]:
    """Turns of talk, short and long; the longest have about thirty tokens times `longest`."""
    for at in range(1, turns + 1):
        yield f"turn {at}: remember that port {9_000 + at} is for service {at}. " + "Please go on. " * (
            at % longest * 8
        )


async def hold_chat(
    session: Session, project: Path, messages: Iterator[str], window: int, **options: object
) -> ChatOutcome:
    """Have a chat and look at every request that arrived."""
    outcome = ChatOutcome()
    asked: list[str] = []
    async with RehearsalServer(Script(window=window)) as server:
        gateway = Gateway(Endpoint(f"{server.url}/v1", "key", "openai", plain=True))
        talking = agent(session, project, gateway, model="unheard-of", window=window, **options)
        for number, message in enumerate(messages, 1):
            asked.append(message)
            steps = await said(talking, message)
            steps += [step async for step in talking.settle()]
            failed = [failure for failure in bodies(steps, Failure) if failure.category != "compaction"]
            outcome.failures += [f"turn {number}: {failure.category}: {failure.message}" for failure in failed]
            outcome.compactions += len(bodies(steps, Compaction))
        await gateway.close()
    for received in server.requests:
        outcome.invalid += problems(received.body["messages"])
        outcome.largest = max(
            outcome.largest, request_tokens(DIALECTS["chat"].new_speaker().read_request(received.body))
        )
    outcome.requests = len(server.requests)
    logged = [event.body.content for event in session.events() if isinstance(event.body, UserMessage)]
    assert logged == asked
    return outcome
