"""The tools: what each may change, the tokens of its definition, and saved approvals."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple

from msgspec import structs
from textual import work
from textual.binding import Binding, BindingType
from textual.content import Content

from workbench.agent.approvals import FILE_NAME, load_saved
from workbench.agent.mcp import McpServer, McpTools, ToolCost, check_config
from workbench.config.errors import WorkbenchError
from workbench.config.paths import config_dir
from workbench.config.text import counted
from workbench.models.framing import count_tool, tool_style
from workbench.models.tokens import TokenCounter
from workbench.session.open_session import OpenSession
from workbench.session.tools import session_toolbox
from workbench.tui.screens.text_blocks import join_blocks, name_value_rows, paragraph, text_lines
from workbench.tui.widgets.columns import Column, Row
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.finder import Finder, FinderResult
from workbench.tui.widgets.input_line import has_words
from workbench.tui.widgets.main_screen_api import MainScreenApi

KINDS = {"read": "looks only; never asks", "write": "changes files; asks first", "run": "starts programs; asks first"}
APPROVED = {"always": "done without asking, in all sessions", "never": "refused without asking, in all sessions"}


class KnownTool(NamedTuple):
    """A tool, on or off."""

    name: str
    kind: str
    origin: str
    """built in, peek, or the name of its server."""
    tokens: int
    definition: str


class SessionTools(NamedTuple):
    """The tools of a session; made in its thread, used in any."""

    tools: tuple[KnownTool, ...]
    calls: bool
    """Whether the model gets tools at all."""
    served: bool
    """Whether the servers were asked already."""
    counter: TokenCounter
    provider: str
    fixed: str
    """Why nothing can be changed; empty if it can."""


def session_tools(opened: OpenSession) -> SessionTools:
    """All tools of a session, on or off."""
    box, setup = session_toolbox(opened, every=True), opened.setup
    provider = setup.info.provider or "openai"
    found = []
    for definition in box.definitions():
        name, text = definition["function"]["name"], json.dumps(definition, ensure_ascii=False)
        count = count_tool(setup.counter, text, tool_style(provider)).tokens
        found.append(KnownTool(name, box.kind(name), _origin(name), count, text))
    return SessionTools(
        tuple(found),
        setup.calls_tools,
        bool(opened.served),
        setup.counter,
        provider,
        opened.why_read_only,
    )


def _origin(name: str) -> str:
    server, twice, _ = name.partition("__")
    return f"server {server}" if twice else "peek" if name.startswith("peek_") else "built in"


class ToolsScreen(Finder[None]):
    """Tools first, then saved approvals."""

    NAME = "tools"
    COLUMNS = (
        Column("tool"),
        Column("kind", 6, least=36),
        Column("from", 14, least=56),
        Column("tokens", 7, right=True),
        Column("", 8),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "on or off for this session; remove an approval", id="tools.switch", priority=True)
    ]

    def __init__(self, host: MainScreenApi, found: SessionTools) -> None:
        super().__init__(host)
        self._offered = found
        self._off: frozenset[str] = frozenset()
        """The tools that are off now: the session has the last word."""
        self._tools = {tool.name: tool for tool in found.tools}
        self._costs: Sequence[ToolCost] = ()
        self._problems: list[str] = []
        """Of the servers."""
        self._unreadable: list[str] = []
        """Why the saved approvals cannot be read."""
        self._approvals: dict[str, tuple[str, str]] = {}
        """By row: always or never, and the pattern."""

    def on_mount(self) -> None:
        """Ask the servers, if they were not asked yet."""
        self._ask_servers()

    @work
    async def _ask_servers(self) -> None:
        settings = self.host.services.settings
        try:
            servers = check_config(settings.mcp, str(settings.file))
        except WorkbenchError as error:
            self.warning = str(error)
            return
        if servers and not self._offered.served:
            self._problems = ["starting the servers…"]
            ask = partial(_ask, servers, self._offered.counter, self._offered.provider)
            self._costs, self._problems = await self.host.in_background(ask)
            self.refill()

    async def search_rows(self, text: str) -> FinderResult:
        """Find tools and approvals by name."""
        self._off = await self.host.from_session(lambda opened: frozenset(opened.off))
        rows = [self._row(tool) for tool in self._tools.values()]
        rows += [self._cost_row(cost) for cost in self._costs]
        rows += await self.host.in_background(self._saved)
        on = [tool.tokens for tool in self._tools.values() if tool.name not in self._off]
        total = sum(on) + sum(cost.tokens for cost in self._costs if not cost.is_off and cost.name not in self._off)
        total_words = (
            f"{counted(total, 'token')} of definitions in every request"
            if self._offered.calls
            else "this model gets no tools"
        )
        note = " · ".join([total_words, *self._problems, *self._unreadable])
        return FinderResult([row for row in rows if has_words(row.value, text)], note)

    def _row(self, tool: KnownTool) -> Row:
        return Row(tool.name, (tool.name, tool.kind, tool.origin, f"{tool.tokens:,}", self._switch(tool.name)))

    def _cost_row(self, cost: ToolCost) -> Row:
        state = Content.styled("○ config", "$quiet") if cost.is_off else self._switch(cost.name)
        return Row(cost.name, (cost.name, cost.kind, f"server {cost.server}", f"{cost.tokens:,}", state))

    def _switch(self, name: str) -> Content:
        return Content.styled("○ off", "$warning") if name in self._off else Content.styled("● on", "$success")

    def _saved(self) -> list[Row]:
        try:
            saved = load_saved(config_dir() / FILE_NAME)
        except WorkbenchError as error:
            self._approvals, self._unreadable = {}, [str(error)]
            return []
        self._unreadable = []
        self._approvals = {
            f"{choice} {pattern}": (choice, pattern)
            for choice, patterns in structs.asdict(saved).items()
            for pattern in patterns
        }
        return [
            Row(value, (pattern, choice, "your answer", "", Content.styled("saved", "$quiet")))
            for value, (choice, pattern) in self._approvals.items()
        ]

    async def row_details(self, value: str) -> Content:
        """What a tool does, and its definition as the model gets it."""
        if value in self._approvals:
            choice, pattern = self._approvals[value]
            where = name_value_rows([("file", str(config_dir() / FILE_NAME))], self.wide)
            return join_blocks(Content.styled(pattern, "bold"), paragraph(APPROVED[choice]), where)
        tool = self._tools.get(value)
        if tool is None:
            cost = next(cost for cost in self._costs if cost.name == value)
            facts = [("does", KINDS[cost.kind]), ("server", cost.server), ("its name there", cost.own_name)]
            off = paragraph(f"Switched off by mcp.{cost.server}.off in config.toml." if cost.is_off else "")
            return join_blocks(Content.styled(value, "bold"), name_value_rows(facts, self.wide), off)
        function = json.loads(tool.definition)["function"]
        facts = [
            ("does", KINDS[tool.kind]),
            ("from", tool.origin),
            ("definition", f"about {counted(tool.tokens, 'token')}"),
        ]
        schema = json.dumps(function["parameters"], ensure_ascii=False, indent=2)
        title = Content.styled(value, "bold")
        return join_blocks(
            title, paragraph(function["description"]), name_value_rows(facts, self.wide), text_lines(schema)
        )

    # Changing

    def choose_row(self, value: str) -> None:
        """Switch a tool on or off; remove an approval after asking."""
        if value in self._approvals:
            self._forget(value)
        elif self._offered.fixed:
            self.warning = self._offered.fixed
        elif any(cost.name == value and cost.is_off for cost in self._costs):
            self.warning = "the config switches this one off, and only the config switches it on"
        else:
            self.host.model.switch_tool(
                value
            )  # not awaited: it ends after the turn, and closing the screen cancels waits
            self.refill()

    @work(description="forget")
    async def _forget(self, value: str) -> None:
        choice, pattern = self._approvals[value]
        what = f"{pattern} is {'allowed' if choice == 'always' else 'refused'} without asking. Ask again from now on?"
        if await self.app.push_screen_wait(ConfirmDialog("approval", what, "ask again", "cancel")):
            try:
                await self.host.model.forget_approval(pattern)
            except WorkbenchError as error:
                self.warning = str(error)
            self.refill()


def _ask(servers: Sequence[McpServer], counter: TokenCounter, provider: str) -> tuple[Sequence[ToolCost], list[str]]:
    """Start the servers, ask for their tools, and stop the servers."""

    async def ask() -> tuple[Sequence[ToolCost], list[str]]:
        async with McpTools(servers, Path.cwd()) as served:
            return served.costs(counter, tool_style(provider)), list(served.problems)

    return asyncio.run(ask())
