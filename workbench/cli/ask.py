"""`workbench ask`: one turn without a screen."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import aclosing
from fnmatch import fnmatchcase
from pathlib import Path

from workbench.agent.loop import Agent
from workbench.agent.mcp import McpServer
from workbench.agent.mentions import with_files
from workbench.agent.steps import EventAppended
from workbench.agent.tools.peek import peek_tools
from workbench.agent.tools.plugin_tools import plugin_tools
from workbench.agent.tools.registry import Toolbox
from workbench.cli.options import options_of
from workbench.cli.printing import StepPrinter, print_all, print_events, print_for_people
from workbench.config import signals
from workbench.config.errors import WrongCall
from workbench.config.text import printable, without_surrogates
from workbench.log.events import AssistantMessage, Body, Content, Failure, Setting, ToolCall, Usage
from workbench.session import opening
from workbench.session.connection import TurnConnection
from workbench.session.open_session import OpenSession
from workbench.sources.options import Options
from workbench.sources.services import Services

LONGEST = 16 * 1024 * 1024
"""Characters of a message on standard input; more than any model takes."""


def run_ask(arguments: argparse.Namespace) -> int:
    """Run one turn and print the answer as it streams in."""
    message = without_surrogates(_typed() if arguments.message == "-" else arguments.message)
    if not message.strip():
        raise WrongCall("ask: expected a message, got nothing")
    options = options_of(arguments)
    show = print_all if arguments.stream else print_events if arguments.json else print_for_people
    with Services() as services:
        connection = TurnConnection(services, options)
        # Before a session is created, so that a mistake leaves nothing behind.
        _check_without(options.without, connection.checked_preconditions().servers)
        opened, known = _open(services, options, arguments.session, message)
        assert opened.session is not None
        with opened.session as session:
            printer = StepPrinter(show, session, known)
            printer.catch_up(len(session))
            failed = signals.run_until_signal(_ask(connection, opened, message, printer))
            printer.catch_up(len(session))
            if show is print_for_people:
                print(f"session {session.id}", file=sys.stderr)
    if failed is None:
        return 0
    return 3 if failed.category == "does_not_fit" else 1


def _typed() -> str:
    """The message on standard input."""
    message = sys.stdin.read(LONGEST + 1)
    if len(message) > LONGEST:
        raise WrongCall(f"standard input: expected a message of at most {LONGEST:,} characters")
    return message


def _open(services: Services, options: Options, ref: str | None, message: str) -> tuple[OpenSession, int]:
    """The named session or a new one, and the number of events that it already had."""
    if not ref:
        return opening.new_session(services, options, opening.title_of(message), fill=False), 0
    session = services.store.session(ref)
    known = len(session)
    try:
        return opening.open_session(services, options, session), known
    except BaseException:
        session.close()
        raise


def _check_without(patterns: Sequence[str], servers: Sequence[McpServer]) -> None:
    """Raise WrongCall for a pattern that matches no tool. Which tools a server has is known only later."""
    names = Toolbox(Path.cwd(), more=[*peek_tools(lambda: ()), *plugin_tools()]).names
    for pattern in patterns:
        known = any(fnmatchcase(name, pattern) for name in names)
        start = pattern.partition("__")[0]
        if not known and not any(fnmatchcase(server.name, start) for server in servers):
            raise WrongCall(f"--without {pattern}: no such tool; expected one of {', '.join(names)}, or SERVER__TOOL")


async def _ask(connection: TurnConnection, opened: OpenSession, message: str, printer: StepPrinter) -> Failure | None:
    """Connect, run the turn and return the failure that ended it, if any."""
    async with connection:
        agent = await connection.agent(opened)
        if connection.adoption is not None:
            print(printable(f"· {connection.adoption.words}"), file=sys.stderr)
        try:
            return await _turn(agent, with_files(message, Path.cwd()), printer)
        finally:
            for problem in connection.problems:
                print(printable(f"· {problem}"), file=sys.stderr)


def _failed(body: Body, before: Failure | None, acted: bool) -> Failure | None:
    """The failure that a turn ends with if this is its last event.

    A refusal without any text is a failure. So is an empty answer, unless a tool was called before.
    """
    match body:
        case Failure():
            return body
        case AssistantMessage(content="", finish="refused"):
            return Failure("refused_content", "declined")
        case AssistantMessage(finish="empty") if not acted:
            return Failure("empty", "nothing was said")
        case Setting() | Usage():
            return before
    return None


async def _turn(agent: Agent, message: Content, printer: StepPrinter) -> Failure | None:
    """Print the steps and return the failure that ended the turn, if any."""
    failed: Failure | None = None
    acted = False
    spent: Usage | None = None
    async with aclosing(agent.turn(message)) as steps:
        async for step in steps:
            printer(step)
            if isinstance(step, EventAppended):
                acted = acted or isinstance(step.event.body, ToolCall)
                failed = _failed(step.event.body, failed, acted)
                spent = step.event.body if isinstance(step.event.body, Usage) else spent
    if spent is not None:
        printer.print_window_use(spent, agent.plan.limits.window)
    async with aclosing(agent.settle()) as steps:
        async for step in steps:
            printer(step)
    return failed
