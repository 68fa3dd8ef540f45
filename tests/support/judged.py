"""A piece of work with facts, files, decisions and next steps, and summaries of it with known holes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import cache

from support.logs import number
from support.talk import COUNTER, ROOMY, preset
from workbench.compaction.requests import without_stages
from workbench.context.load import LoadedPolicy
from workbench.context.planner import plan
from workbench.context.setup import Setup
from workbench.judge.asking import AskedModel
from workbench.judge.context_text import ContextBlock, context_blocks, conversation_items, joined_blocks
from workbench.judge.contexts import JudgedSource, PlannedContext
from workbench.judge.judgement import JudgeTask
from workbench.judge.values import JudgedContext, ProbeKind, text_hash
from workbench.log.events import AssistantMessage, Body, ToolCall, ToolResult, UserMessage
from workbench.models.catalogue import Catalogue
from workbench.models.endpoints import Endpoint
from workbench.models.gateway import Gateway
from workbench.models.retry import RetrySchedule
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

AT_ONCE = RetrySchedule(first_wait=0.0, longest_wait=0.0, jitter=0.0)
RECALL = (
    "The connection pool of the payment service holds 48 connections per worker.",
    "The nightly export of invoices is written to reports/nightly/export.csv every evening.",
    "The customer reported that parse_invoice_header loses umlauts in company names.",
)
DECISIONS = (
    "We decided to store sessions in SQLite because the deployment has no Redis server.",
    "The migration is going with additive columns instead of renaming existing tables.",
    "The public endpoints must keep their old names because mobile clients read them.",
)
STEPS = ("Write the rollback script", "Measure the importer with production data")
COMMANDS = {"pytest -q tests/pool": "1", "make lint": "0"}
FILES = ("src/pool/worker.py", "src/pool/limits.py")
ERROR = "ValueError: pool size 48 exceeds the limit of 32"


def call(at: int, tool: str, arguments: Mapping[str, object], result: str) -> list[Body]:
    """A call and its result."""
    return [ToolCall(f"c{at}", tool, json.dumps(arguments), f"g{at}"), ToolResult(f"c{at}", result)]


def piece_of_work() -> list[Body]:
    """What was said and done."""
    plan_call = {"todos": [{"content": step, "status": "pending"} for step in STEPS]}
    failed, passed = COMMANDS
    return [
        UserMessage(f"Please look at the pool. {RECALL[0]} {DECISIONS[2]}"),
        AssistantMessage(f"{RECALL[1]} {DECISIONS[0]}", "a1"),
        *call(1, "edit_file", {"path": FILES[0], "old": "a", "new": "b"}, "done"),
        *call(2, "edit_file", {"path": FILES[1], "old": "a", "new": "b"}, "done"),
        *call(3, "run_command", {"command": failed}, f"E   {ERROR}\nexit status: 1"),
        *call(4, "run_command", {"command": passed}, "all clean\nexit status: 0"),
        UserMessage(RECALL[2]),
        AssistantMessage(DECISIONS[1], "a2"),
        *call(5, "todo_write", plan_call, "ok"),
        AssistantMessage("That is where it is at the moment.", "a3"),
    ]


LINES: dict[ProbeKind, tuple[str, ...]] = {
    "recall": RECALL,
    "artefact": (
        *(f"- {path} (written)" for path in FILES),
        *(f"- `{command}`: exit status {status}" for command, status in COMMANDS.items() if status == "0"),
        f"- `pytest -q tests/pool`: exit status 1, {ERROR}",
    ),
    "decision": DECISIONS,
    "continuation": (*(f"- [ ] {step}" for step in STEPS), "- failed: `pytest -q tests/pool`"),
}
"""What a perfect summary says, by what it is about."""


def summary_without(*missing: ProbeKind) -> str:
    """A summary with nothing about these kinds."""
    return "\n".join(line for kind, lines in LINES.items() if kind not in missing for line in lines)


def judged_work(bodies: Iterable[Body] = ()) -> JudgedSource:
    """The conversation, ready to make probes of."""
    made = plan(number(list(bodies) or piece_of_work()), preset("recorded"), ROOMY, COUNTER)
    items = conversation_items(made)
    blocks = context_blocks(items)
    return JudgedSource("work", items, blocks, text_hash(joined_blocks(blocks)))


@cache
def usual_work() -> JudgedSource:
    """That of a piece of work, made once."""
    return judged_work()


def after_summary(source: JudgedSource, name: str, summary: str) -> PlannedContext:
    """A context that has nothing but this summary."""
    block = ContextBlock("s1", "[s1 summary]", summary)
    context = JudgedContext(name, (block,), block.size_in(COUNTER), "somebody", summary)
    return PlannedContext(context, frozenset(item.id for item in source.items))


def judge_task(source: JudgedSource, contexts: Iterable[PlannedContext], **more: int) -> JudgeTask:
    """A task for the rehearsal model behind a server."""
    figures = {"wanted": 20, "tries": 1, **more}
    return JudgeTask(source, tuple(contexts), "answerer", "grader", figures["wanted"], figures["tries"])


def setup_of(model: str) -> Setup:
    """A setup with room for everything."""
    policy = preset("recorded")
    return Setup(model, Catalogue().find_model(model), LoadedPolicy(policy, {}), ROOMY, COUNTER)


@asynccontextmanager
async def served_model(name: str, script: Script | None = None) -> AsyncIterator[AskedModel]:
    """The rehearsal model under another name, behind a real server."""
    async with RehearsalServer(script) as server:
        gateway = Gateway(Endpoint(f"{server.url}/v1", "key", "openai", plain=True))
        yield AskedModel(without_stages(setup_of(name)), gateway, Catalogue(), AT_ONCE)
        await gateway.close()
