"""What a turn needs from outside: the model's gateway, models to fall back on, the servers' tools, approvals, hooks."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from workbench.agent.approvals import Approvals, Ask
from workbench.agent.compacting import AskFirst
from workbench.agent.hooks import Hooks, installed_hooks
from workbench.agent.loop import TurnServices
from workbench.agent.mcp import McpTools, check_config
from workbench.agent.serving import Fallbacks, Prepared, serving, summarising
from workbench.agent.tools.base import Tool
from workbench.agent.tools.environment import check_config as check_tools
from workbench.agent.tools.registry import Toolbox
from workbench.session.open_session import OpenSession, make_setup
from workbench.session.services import Services
from workbench.session.source import Source
from workbench.session.tools import toolbox


class TurnConnection:
    """Made before the first turn, and again for another model. Approvals hold as long as the program runs."""

    def __init__(self, services: Services, ask: Ask, report: Callable[[str, str], None], ask_first: AskFirst) -> None:
        self._services = services
        self._ask = ask
        self._ask_first = ask_first
        self._report = report
        self._approvals: Approvals | None = None
        self._open: AsyncExitStack | None = None
        self._means: TurnServices | None = None
        self._models = ("", "")
        """The session's, and the one that summarises, where the policy names another."""
        self._opened: OpenSession | None = None
        """Whose turn it is."""
        self._served: tuple[Tool, ...] = ()
        self._offered: tuple[OpenSession, tuple[str, ...]] | None = None
        """Whose tools are offered, and what is switched off of them."""
        self.problems: list[str] = []
        """What did not work, though the turn can go on without it; whoever tells them takes them out."""

    async def means(self, opened: OpenSession) -> TurnServices:
        """What turns of this session work with; the same as before where its models are. Raises WorkbenchError."""
        models = (opened.setup.model, opened.setup.loaded.policy.compaction.model)
        self._opened = opened
        if self._means is None or self._models != models:
            await self.close()
            stack = AsyncExitStack()
            try:
                self._means = await self._connected(opened, stack)
            except BaseException:
                await stack.aclose()
                raise
            self._open, self._models = stack, models
        elif self._offered is None or self._offered[0] is not opened or self._offered[1] != opened.off:
            self._means = replace(self._means, toolbox=self._toolbox(opened))
        return self._means

    def _toolbox(self, opened: OpenSession) -> Toolbox:
        """The tools of a session, those of the servers among them."""
        opened.served = self._served
        self._offered = (opened, opened.off)
        settings = self._services.settings
        return toolbox(opened, check_tools(settings.tools, str(settings.file)))

    def forget_approvals(self) -> None:
        """Read again what was saved, before the next turn."""
        self._approvals = self._means = None

    async def _connected(self, opened: OpenSession, stack: AsyncExitStack) -> TurnServices:
        services, model = self._services, opened.setup.model
        self._approvals = self._approvals or Approvals.load()
        servers = check_config(services.settings.mcp, str(services.settings.file))
        hooks = Hooks(services.settings.hooks, installed_hooks())
        others = [name for name in services.settings.fallbacks(model) if name != model]
        endpoint = await asyncio.to_thread(services.routes.endpoint, model)
        gateway = await stack.enter_async_context(serving(model, endpoint, services.routes.patience(model)))
        fallbacks = await stack.enter_async_context(Fallbacks(tuple(dict.fromkeys(others)), self._prepare))
        mcp = await stack.enter_async_context(McpTools(servers, Path.cwd()))
        self.problems += [str(problem) for problem in mcp.problems]
        self._served = mcp.tools
        return TurnServices(
            gateway,
            self._toolbox(opened),
            self._approvals,
            self._ask,
            self._report,
            hooks,
            services.routes.schedule,
            fallbacks,
            self._ask_first,
            await stack.enter_async_context(summarising(services.routes, opened.setup)),
            services.catalogue,
        )

    async def _prepare(self, model: str) -> Prepared:
        """What is needed to ask a model to fall back on."""
        opened = self._opened
        assert opened is not None, "only a turn falls back"

        def look_up() -> Prepared:
            source = Source(opened.name, list(opened.events), model, opened.policy, True, False)
            setup = make_setup(self._services, Namespace(), source, opened.policy, opened.knobs)
            return setup, self._services.routes.endpoint(model), self._services.routes.patience(model)

        return await asyncio.to_thread(look_up)

    async def close(self) -> None:
        """Let go of connections and servers."""
        stack, self._open, self._means = self._open, None, None
        if stack is not None:
            await stack.aclose()
