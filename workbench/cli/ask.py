"""`workbench ask`: one turn without a screen."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import ExitStack, aclosing
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import NamedTuple

from workbench.agent import mcp
from workbench.agent.approvals import Approvals
from workbench.agent.hooks import Hooks, installed_hooks
from workbench.agent.loop import Agent, TurnServices
from workbench.agent.mcp import McpServer, McpTools
from workbench.agent.mentions import with_files
from workbench.agent.serving import Fallbacks, Prepared, serving, summarising
from workbench.agent.steps import Appended
from workbench.agent.tools import environment
from workbench.agent.tools.peek import peek_tools
from workbench.agent.tools.registry import Toolbox
from workbench.cli import signals
from workbench.cli.printing import Complete, Tell, tell_all, tell_events, tell_people
from workbench.config.errors import WrongCall
from workbench.config.text import printable
from workbench.context.setup import LearntWindow, Setup, learnt_window, window_setting
from workbench.log.events import AssistantMessage, Body, Content, Event, Failure, Setting, Usage
from workbench.log.session import Session
from workbench.models.catalogue import REHEARSAL
from workbench.models.retry import Schedule
from workbench.session.services import Services
from workbench.session.source import Source, as_source, setting


class _Ground(NamedTuple):
    """What is read from options and settings before a session is touched, so that a mistake leaves nothing behind."""

    hooks: Hooks
    approvals: Approvals
    servers: Sequence[McpServer]
    pass_env: Sequence[str]
    schedule: Schedule
    tell: Tell


def run(options: argparse.Namespace) -> int:
    """Run one turn and print it as it comes."""
    message = sys.stdin.read() if options.message == "-" else options.message
    if not message.strip():
        raise WrongCall("ask: expected a message, got nothing")
    with Services() as services:
        servers = mcp.check_config(services.settings.mcp, str(services.settings.file))
        _check_without(options.without or (), servers)
        ground = _Ground(
            Hooks(services.settings.hooks, installed_hooks()),
            Approvals.load(allow=options.allow or ()),
            servers,
            environment.check_config(services.settings.tools, str(services.settings.file)),
            services.routes.schedule,
            tell_all if options.stream else tell_events if options.json else tell_people,
        )
        with ExitStack() as stack:
            found = stack.enter_context(services.store.session(options.session)) if options.session else None
            setup = _set_up(services, found.events() if found else [], options)
            session = found or stack.enter_context(services.store.create(title=_title(message)))
            tell = Complete(ground.tell, session, len(found) if found else 0)
            session.append(*_news(session, setup))
            tell.catch_up(len(session))
            failed = signals.run(_ask(services, session, setup, ground._replace(tell=tell), message, options))
            tell.catch_up(len(session))
            if ground.tell is tell_people:
                print(f"session {session.id}", file=sys.stderr)
    if failed is None:
        return 0
    return 3 if failed.category == "does_not_fit" else 1


def _check_without(patterns: Sequence[str], servers: Sequence[McpServer]) -> None:
    """Raises WrongCall for a pattern that can switch nothing off; what tools a server has is known only later."""
    names = Toolbox(Path.cwd(), more=peek_tools(lambda: ())).names
    for pattern in patterns:
        known = any(fnmatchcase(name, pattern) for name in names)
        start = pattern.partition("__")[0]
        if not known and not any(fnmatchcase(server.name, start) for server in servers):
            raise WrongCall(f"--without {pattern}: no such tool; expected one of {', '.join(names)}, or SERVER__TOOL")


def _title(message: str) -> str:
    return printable(message)[:60]


def _set_up(services: Services, events: list[Event], options: argparse.Namespace) -> Setup:
    model = options.model or setting(events, "model") or services.settings.model or REHEARSAL
    return services.set_up(options, _source(events, model))


def _source(events: list[Event], model: str) -> Source:
    return as_source("", events, live=True)._replace(model=model)


def _news(session: Session, setup: Setup) -> list[Body]:
    """What the log has to say of the session's own model from here on: its name, and what a server tells of it."""
    events, model = session.events(), setup.model
    news: list[Body] = [Setting("model", model)] if setting(events, "model") != model else []
    reported = LearntWindow(setup.info.window, "server")
    if setup.info.window_source == "server" and learnt_window(events, model) != reported:
        news.append(window_setting(model, reported))
    return news


async def _ask(
    services: Services, session: Session, setup: Setup, ground: _Ground, message: str, options: argparse.Namespace
) -> Failure | None:
    """The turn, with all that serves it; the failure that ended it, if one did."""
    routes, model = services.routes, setup.model
    endpoint = await asyncio.to_thread(routes.endpoint, model, options.api_base or "")
    others = [name for name in options.fallback or services.settings.fallbacks(model) if name != model]
    async with (
        serving(model, endpoint, routes.patience(model), may_fail=bool(others)) as gateway,
        Fallbacks(dict.fromkeys(others), partial(_prepare, services, session, options)) as fallbacks,
        McpTools(ground.servers, Path.cwd()) as served,
        summarising(routes, setup) as summariser,
    ):
        means = TurnServices(
            gateway,
            Toolbox(
                Path.cwd(),
                switched_off=options.without or (),
                more=(*peek_tools(session.events), *served.tools),
                pass_env=ground.pass_env,
            ),
            ground.approvals,
            hooks=ground.hooks,
            schedule=ground.schedule,
            fallbacks=fallbacks,
            summariser=summariser,
            catalogue=services.catalogue,
        )
        try:
            return await _turn(Agent(session, setup, means), with_files(message, Path.cwd()), ground.tell)
        finally:
            for problem in served.problems:
                print(printable(f"· {problem}"), file=sys.stderr)


async def _prepare(services: Services, session: Session, options: argparse.Namespace, model: str) -> Prepared:
    """What is needed to ask a model to fall back on."""
    source = _source(session.events(), model)
    return await asyncio.to_thread(services.fallback, model, options, source)


def _failed(body: Body, before: Failure | None) -> Failure | None:
    """The failure that a turn ends with, should this be its last event. To decline is one, where nothing was said."""
    match body:
        case Failure():
            return body
        case AssistantMessage(content="", finish="refused"):
            return Failure("refused_content", "declined")
        case Setting() | Usage():
            return before
    return None


async def _turn(agent: Agent, message: Content, tell: Tell) -> Failure | None:
    """Print the steps; the failure that ended the turn, if one did."""
    failed: Failure | None = None
    async with aclosing(agent.turn(message)) as steps:
        async for step in steps:
            tell(step)
            if isinstance(step, Appended):
                failed = _failed(step.event.body, failed)
    async with aclosing(agent.settle()) as steps:
        async for step in steps:
            tell(step)
    return failed
