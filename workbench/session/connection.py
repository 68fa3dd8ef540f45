"""What a turn needs, for the screen and the command line: the model's gateway, fallback models, the tools of MCP
servers, approvals, hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple, Self

from workbench.agent.approvals import Approvals, Ask
from workbench.agent.compaction_runner import AskFirst
from workbench.agent.hooks import Hooks, installed_hooks
from workbench.agent.loop import Agent
from workbench.agent.mcp import McpServer, McpTools
from workbench.agent.mcp import check_config as check_servers
from workbench.agent.serving import Fallbacks, Prepared, serving, summarising
from workbench.agent.tools.base import Tool
from workbench.agent.tools.environment import ToolSettings
from workbench.agent.tools.registry import Toolbox
from workbench.agent.turn_services import TurnServices
from workbench.config.background import in_background
from workbench.config.tables import read_table
from workbench.config.values import replace
from workbench.session.adopting import AdoptionChanges, adopt_session
from workbench.session.open_session import OpenSession
from workbench.session.opening import note_model, note_policy
from workbench.session.tools import session_toolbox
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source


class TurnPreconditions(NamedTuple):
    """What options and settings say about a turn.

    It is read before a session is changed, so a mistake in the settings leaves nothing behind.
    """

    approvals: Approvals
    hooks: Hooks
    servers: Sequence[McpServer]
    pass_env: Sequence[str]
    """Environment variables that commands may see."""


def read_preconditions(services: Services, options: Options) -> TurnPreconditions:
    """Read options and settings. Raises WrongCall for a wrong one, also in `[servers]` and `[requests]`.

    The routes read those two tables.
    """
    _ = services.routes
    settings, file = services.settings, str(services.settings.file)
    return TurnPreconditions(
        Approvals.load(allow=options.allow),
        Hooks(settings.hooks, installed_hooks(), file=file),
        check_servers(settings.mcp, file),
        read_table(ToolSettings, settings.tools, file, "tools").pass_env,
    )


class TurnConnection:
    """The connections of the turns: opened before the first turn, and again for another model.

    Approvals are valid as long as the program runs.
    """

    def __init__(
        self,
        services: Services,
        options: Options,
        *,
        ask: Ask | None = None,
        report: Callable[[str, str], None] | None = None,
        ask_first: AskFirst | None = None,
    ) -> None:
        """Without `ask` and `ask_first` the user cannot be asked. `report` is called with the output of commands."""
        self._services = services
        self._options = options
        self._ask = ask
        self._ask_first = ask_first
        self._report = report
        self._preconditions: TurnPreconditions | None = None
        self._open: AsyncExitStack | None = None
        self._serving: TurnServices | None = None
        self._models = ("", "")
        """The session's model, and the one that summarises if the policy names another."""
        self._opened: OpenSession | None = None
        """The session whose turn runs."""
        self._served: tuple[Tool, ...] = ()
        self._offered: tuple[OpenSession, tuple[str, ...]] | None = None
        """The session whose tools are offered, and the tools that it switches off."""
        self._used: TurnServices | None = None
        """The services that the session's agent was made with."""
        self._busy = asyncio.Lock()
        """Lets a turn and a compaction that begin at the same time share one agent."""
        self.adoption: AdoptionChanges | None = None
        """What changed when another agent's session was continued here. The caller that shows it resets it to None."""
        self.problems: list[str] = []
        """Problems that do not stop a turn. The caller that shows one removes it."""

    def checked_preconditions(self) -> TurnPreconditions:
        """Read options and settings, once. Raises WorkbenchError."""
        if self._preconditions is None:
            self._preconditions = read_preconditions(self._services, self._options)
        return self._preconditions

    async def agent(self, opened: OpenSession, *, to_ask: bool = True) -> Agent:
        """The agent of the session; a new one if the model or policy has changed. Raises WorkbenchError.

        A session that another agent recorded stays under its policy until a model is asked here. A compaction by hand
        (`to_ask` is false) does not change that, and undoing it restores the same number of tokens.
        """
        async with self._busy:
            opened.begin_writing()
            assert opened.session is not None
            if opened.recorded is not None and to_ask:
                self.adoption = await in_background(adopt_session, self._services, self._options, opened)
            elif opened.recorded is None and opened.agent is None:
                note_model(opened)
            if opened.recorded is None and opened.agent is None:
                note_policy(self._services, opened)
            serving = await self._turn_services(opened)
            if opened.agent is None or serving is not self._used:
                setup = opened.agent.setup if opened.agent is not None else opened.setup
                planner = opened.agent.planner if opened.agent is not None else opened.planner
                opened.agent = Agent(opened.session, setup, serving, planner)
                self._used = serving
            return opened.agent

    async def _turn_services(self, opened: OpenSession) -> TurnServices:
        """The services for a turn: the same as before if the session's models are the same."""
        models = (opened.setup.model, opened.setup.loaded.policy.compaction.model)
        self._opened = opened
        if self._serving is None or self._models != models:
            await self.close()
            stack = AsyncExitStack()
            try:
                self._serving = await self._connected(opened, stack)
            except BaseException:
                await stack.aclose()
                raise
            self._open, self._models = stack, models
        elif self._offered is None or self._offered[0] is not opened or self._offered[1] != opened.off:
            self._serving = replace(self._serving, toolbox=self._toolbox(opened))
        return self._serving

    def _toolbox(self, opened: OpenSession) -> Toolbox:
        """The tools of a session, including those of MCP servers."""
        opened.served = self._served
        self._offered = (opened, opened.off)
        return session_toolbox(opened, self.checked_preconditions().pass_env, without=self._options.without)

    def forget_approvals(self) -> None:
        """Read the saved approvals again before the next turn."""
        self._preconditions = self._serving = None

    async def _connected(self, opened: OpenSession, stack: AsyncExitStack) -> TurnServices:
        services, options = self._services, self._options
        model = opened.setup.model or services.default_model
        routes, settings = services.routes, services.settings
        approvals, hooks, servers, _ = self.checked_preconditions()
        others = [name for name in options.fallbacks or settings.fallbacks(model) if name != model]
        endpoint = await in_background(routes.endpoint, model, options.api_base)
        own = serving(model, endpoint, routes.patience(model), may_fail=bool(others))
        gateway = await stack.enter_async_context(own)
        fallbacks = await stack.enter_async_context(Fallbacks(tuple(dict.fromkeys(others)), self._prepare))
        mcp = await stack.enter_async_context(McpTools(servers, Path.cwd()))
        self.problems += [str(problem) for problem in mcp.problems]
        self._served = mcp.tools
        return TurnServices(
            gateway,
            self._toolbox(opened),
            approvals,
            self._ask,
            self._report,
            hooks,
            routes.schedule,
            fallbacks,
            self._ask_first,
            await stack.enter_async_context(summarising(routes, opened.setup)),
            services.catalogue,
        )

    async def _prepare(self, model: str) -> Prepared:
        """Everything needed to ask a fallback model."""
        opened = self._opened
        assert opened is not None, "only a turn falls back"
        options = Options(policy=opened.policy, knobs=opened.knobs)
        source = as_source(opened.name, list(opened.events), live=True)._replace(knobs=())
        return await in_background(self._services.fallback, model, options, source)

    async def close(self) -> None:
        """Close connections and MCP servers."""
        stack, self._open, self._serving = self._open, None, None
        if stack is not None:
            await stack.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
