"""Conversations to compact, and compactors that ask a scripted model over real HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from support.provider import Answer, piece, text
from workbench.compaction.compactor import Compactor
from workbench.compaction.values import SummaryDraft, Trigger
from workbench.config.settings import Settings
from workbench.context.setup import PlanOptions, Setup, set_up
from workbench.log.events import AssistantMessage, Body, Compaction, Event, ToolCall, ToolResult, UserMessage
from workbench.models.catalogue import Catalogue
from workbench.models.endpoints import Endpoint
from workbench.models.gateway import Gateway, SilenceLimits
from workbench.models.retry import RetrySchedule

MODEL = "scripted"
WINDOW = 20_000


def work(turns: int, lines: int = 40, first: int = 1) -> list[Body]:
    """Finished turns of an agent: a wish with a constraint, a command that fails, a decision."""
    found: list[Body] = []
    for at in range(first, first + turns):
        log = "\n".join(f"{at}.{line} checked module_{line} of the build" for line in range(lines))
        found += [
            UserMessage(f"Fix the bug in src/app{at}.py, but never touch db/schema{at}.sql."),
            ToolCall(f"c{at}", "run_command", f'{{"command": "pytest tests/test_{at}.py"}}', f"r{at}"),
            ToolResult(f"c{at}", f"{log}\nValueError: wrong port 80{at:02}\n[exit status 1]", "run_command"),
            AssistantMessage(f"We decided to use port 90{at:02} instead; see commit abc123{at:x}.", f"a{at}"),
        ]
    return found


def setup(
    policy: str = "workbench", *, model: str = MODEL, window: int | None = WINDOW, sets: Sequence[str] = ()
) -> Setup:
    """A setup with no settings of the user's."""
    options = PlanOptions(
        policy=policy, model=model, window=window, reserve=None if window is None else window // 10, sets=sets
    )
    return set_up(options, Settings(), Catalogue())


def compactor(
    url: str = "", made: Setup | None = None, patience: SilenceLimits | None = None, **more: Any
) -> Compactor:
    """A compactor for the model at an address; without one, for the digest."""
    gateway = Gateway(Endpoint(url, "key", "openai")) if url else None
    return Compactor(made or setup(), gateway, patience=patience, schedule=RetrySchedule(tries=1), **more)


def says(*words: str, finish: str = "stop") -> Answer:
    """An answer of these words."""
    return Answer([*text(*words), piece({}, finish)])


async def drafted(made: Compactor, events: Sequence[Event], trigger: Trigger = "manual", **more: Any) -> SummaryDraft:
    """Preview and draft, by hand unless a trigger is named."""
    preview = made.preview(events, trigger, "by hand", digest=more.get("digest", False))
    return await made.draft(events, preview, **more)


def appended(events: Sequence[Event], body: Compaction) -> list[Event]:
    """The log with a compaction at its end."""
    seq = len(events) + 1
    return [*events, Event(seq, f"e{seq:05d}", 1_700_000_000_000 + seq, body)]
