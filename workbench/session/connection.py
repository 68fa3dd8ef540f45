"""All that serves a turn, put together once for every way in: the model's gateway, models to fall back on, the tools of
MCP servers, approvals, hooks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

from workbench.agent.approvals import Approvals, Ask
from workbench.agent.compacting import AskFirst
from workbench.agent.hooks import Hooks, installed_hooks
from workbench.agent.loop import Agent, TurnServices
from workbench.agent.mcp import McpServer, McpTools
from workbench.agent.mcp import check_config as check_servers
from workbench.agent.serving import Fallbacks, Prepared, serving, summarising
from workbench.agent.tools.base import Tool
from workbench.agent.tools.environment import ToolSettings
from workbench.agent.tools.registry import Toolbox
from workbench.compaction.compactor import Compactor
from workbench.compaction.summariser import setup_for
from workbench.config.background import in_background
from workbench.config.tables import read_table
from workbench.context.setup import Setup
from workbench.models.catalogue import is_local
from workbench.session.going_on import GoingOn, go_on_here
from workbench.session.open_session import OpenSession
from workbench.session.opening import note_model
from workbench.session.tools import toolbox
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import as_source


class TurnPreconditions(NamedTuple):
    """What options and settings say of a turn. Read before a session is touched, a mistake leaves nothing behind."""

    approvals: Approvals
    hooks: Hooks
    servers: Sequence[McpServer]
    pass_env: Sequence[str]
    """Variables that commands may see."""


def preconditions(services: Services, options: Options) -> TurnPreconditions:
    """Raises WrongCall for what cannot be used, also of `[servers]` and `[requests]`, which the routes read."""
    _ = services.routes
    settings, file = services.settings, str(services.settings.file)
    return TurnPreconditions(
        Approvals.load(allow=options.allow),
        Hooks(settings.hooks, installed_hooks(), file=file),
        check_servers(settings.mcp, file),
        read_table(ToolSettings, settings.tools, file, "tools").pass_env,
    )


class TurnConnection:
    """Made before the first turn, and again for another model. Approvals hold as long as the program runs."""

    def __init__(
        self,
        services: Services,
        options: Options,
        *,
        ask: Ask | None = None,
        report: Callable[[str, str], None] | None = None,
        ask_first: AskFirst | None = None,
    ) -> None:
        """Without `ask` and `ask_first` nobody can be asked; `report` is told what commands print."""
        self._services = services
        self._options = options
        self._ask = ask
        self._ask_first = ask_first
        self._report = report
        self._preconditions: TurnPreconditions | None = None
        self._open: AsyncExitStack | None = None
        self._serving: TurnServices | None = None
        self._models = ("", "")
        """The session's, and the one that summarises, where the policy names another."""
        self._opened: OpenSession | None = None
        """Whose turn it is."""
        self._served: tuple[Tool, ...] = ()
        self._offered: tuple[OpenSession, tuple[str, ...]] | None = None
        """Whose tools are offered, and what is switched off of them."""
        self._used: TurnServices | None = None
        """What the session's agent was made with."""
        self._busy = asyncio.Lock()
        """A turn and a compaction that begin at the same time share one agent."""
        self.gone_on: GoingOn | None = None
        """What changed as another agent's session went on here; whoever tells it takes it away."""
        self.problems: list[str] = []
        """What did not work, though the turn can go on without it; whoever tells them takes them out."""

    def check(self) -> TurnPreconditions:
        """Read what options and settings say, once. Raises WorkbenchError."""
        if self._preconditions is None:
            self._preconditions = preconditions(self._services, self._options)
        return self._preconditions

    async def agent(self, opened: OpenSession, *, to_ask: bool = True) -> Agent:
        """The agent of the session, made anew where its model or policy is another. Raises WorkbenchError.

        What another agent recorded stays under its policy until something is asked here: a compaction by hand does not
        change it, and can be undone to the token.
        """
        async with self._busy:
            assert opened.session is not None
            if opened.recorded is not None and to_ask:
                self.gone_on = await in_background(go_on_here, self._services, self._options, opened)
            elif opened.recorded is None and opened.agent is None:
                note_model(opened)
            serving = await self._turn_services(opened)
            if opened.agent is None or serving is not self._used:
                setup = opened.agent.setup if opened.agent is not None else opened.setup
                planner = opened.agent.planner if opened.agent is not None else opened.planner
                opened.agent = Agent(opened.session, setup, serving, planner)
                self._used = serving
            return opened.agent

    async def _turn_services(self, opened: OpenSession) -> TurnServices:
        """The same as before where the session's models are."""
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
        """The tools of a session, those of the servers among them."""
        opened.served = self._served
        self._offered = (opened, opened.off)
        return toolbox(opened, self.check().pass_env, without=self._options.without)

    def forget_approvals(self) -> None:
        """Read again what was saved, before the next turn."""
        self._preconditions = self._serving = None

    async def _connected(self, opened: OpenSession, stack: AsyncExitStack) -> TurnServices:
        services, options = self._services, self._options
        model = opened.setup.model or services.default_model
        routes, settings = services.routes, services.settings
        approvals, hooks, servers, _ = self.check()
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
        """What is needed to ask a model to fall back on."""
        opened = self._opened
        assert opened is not None, "only a turn falls back"
        options = Options(policy=opened.policy, knobs=opened.knobs)
        source = as_source(opened.name, list(opened.events), live=True)._replace(knobs=())
        return await in_background(self._services.fallback, model, options, source)

    async def close(self) -> None:
        """Let go of connections and servers."""
        stack, self._open, self._serving = self._open, None, None
        if stack is not None:
            await stack.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@asynccontextmanager
async def compactor_for(
    services: Services, options: Options, setup: Setup, *, digest: bool = False
) -> AsyncIterator[Compactor]:
    """A compactor with a gateway to the model that summarises, where one is asked; for whoever runs no turn."""
    model = setup_for(setup, services.catalogue).model
    if digest or is_local(model):
        yield Compactor(setup, None, catalogue=services.catalogue)
        return
    routes = services.routes
    endpoint = await in_background(routes.endpoint, model, options.api_base if model == setup.model else "")
    async with serving(model, endpoint, routes.patience(model)) as gateway:
        yield Compactor(setup, gateway, schedule=routes.schedule, catalogue=services.catalogue)
