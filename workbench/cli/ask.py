"""`workbench ask`: one turn without a screen."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

from workbench.agent.approvals import Approvals
from workbench.agent.hooks import Hooks, installed_hooks
from workbench.agent.loop import Agent, Means
from workbench.agent.mcp import McpTools, check_config
from workbench.agent.serving import serving
from workbench.agent.steps import Appended, Step, Streamed, Waiting
from workbench.agent.tools.base import Tool
from workbench.agent.tools.registry import Toolbox
from workbench.config.errors import WrongCall
from workbench.config.text import printable, printable_lines
from workbench.context.setup import Setup
from workbench.log.codec import encode
from workbench.log.events import Failure, Setting, ToolCall, ToolResult, text_of
from workbench.log.session import Session
from workbench.models.catalogue import REHEARSAL
from workbench.models.endpoints import Endpoint
from workbench.models.parts import Text
from workbench.traces.desk import Desk
from workbench.traces.source import Source, setting


def run(options: argparse.Namespace) -> int:
    """Run one turn and print it as it comes."""
    message = sys.stdin.read() if options.message == "-" else options.message
    if not message.strip():
        raise WrongCall("ask: expected a message, got nothing")
    with Desk() as desk:
        session = desk.store.session(options.session) if options.session else desk.store.create(title=_title(message))
        with session:
            setup = _set_up(desk, session, options)
            endpoint = Endpoint(options.api_base or desk.settings.api_base(setup.model))
            hooks = Hooks(desk.settings.hooks, installed_hooks())
            approvals = Approvals.load(allow=options.allow or ())
            servers = check_config(desk.settings.mcp, str(desk.settings.file))

            async def turn() -> Failure | None:
                async with serving(setup.model, endpoint) as gateway, McpTools(servers, Path.cwd()) as mcp:
                    means = Means(gateway, _toolbox(setup, mcp.tools), approvals, hooks=hooks)
                    try:
                        return await _turn(Agent(session, setup, means), message, options.json)
                    finally:
                        for problem in mcp.problems:
                            print(printable(f"· {problem}"), file=sys.stderr)

            failed = asyncio.run(turn())
            if not options.json:
                print(f"session {session.id}", file=sys.stderr)
    if failed is None:
        return 0
    return 3 if failed.category == "does_not_fit" else 1


def _toolbox(setup: Setup, more: Sequence[Tool]) -> Toolbox:
    """The project's tools and those of the servers; none for a model that we know to be unable to call them."""
    every = Toolbox(Path.cwd(), more=more)
    unable = setup.info.window_source == "built-in" and "tools" not in setup.info.capabilities
    return Toolbox(Path.cwd(), switched_off=frozenset(every.names), more=more) if unable else every


def _title(message: str) -> str:
    return printable(message)[:60]


def _set_up(desk: Desk, session: Session, options: argparse.Namespace) -> Setup:
    events = session.events()
    model = options.model or setting(events, "model") or desk.settings.model or REHEARSAL
    source = Source(session.id, events, model, setting(events, "policy"), True, False)
    setup = desk.set_up(options, source)
    if setting(events, "model") != model and session.writable:
        session.append(Setting("model", model))
    return setup


async def _turn(agent: Agent, message: str, as_json: bool) -> Failure | None:
    """Print the steps; the failure that ended the turn, if one did."""
    failed: Failure | None = None
    show = _show_json if as_json else _show
    async with aclosing(agent.turn(message)) as steps:
        async for step in steps:
            show(step)
            if isinstance(step, Appended):
                body = step.event.body
                failed = body if isinstance(body, Failure) else None if not isinstance(body, Setting) else failed
    if not as_json:
        print()
    return failed


def _show_json(step: Step) -> None:
    if isinstance(step, Appended):
        print(encode(step.event), flush=True)


def _show(step: Step) -> None:
    """The answer goes to standard output as it streams; what happens around it to standard error."""
    match step:
        case Streamed(Text(text)):
            sys.stdout.write("\n".join(printable_lines(text)))
            sys.stdout.flush()
        case Waiting(wait):
            left = f"{wait.seconds_left:.0f} s until try {wait.try_number}"
            print(printable(f"· {wait.failure.category.replace('_', ' ')}; {left}"), file=sys.stderr)
        case Appended(event):
            match event.body:
                case ToolCall(tool=tool, arguments=arguments):
                    print(printable(f"· {tool} {arguments}")[:160], file=sys.stderr)
                case ToolResult(is_error=True, content=content):
                    print(printable(f"· refused or failed: {text_of(content)}")[:240], file=sys.stderr)
                case Failure() as failure:
                    print(printable(f"· {failure.message}"), file=sys.stderr)
