"""Tools of MCP servers: programs that are started, or addresses that speak streamable HTTP.

A server that cannot be used becomes a line in `problems` and never ends a session.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple
from urllib.parse import urlsplit

from msgspec import Meta, field

from workbench.agent.mcp_link import McpLink, McpServer, import_mcp
from workbench.agent.tools.base import Arguments, Kind, Tool, ToolContext, ToolLimits, ToolOutcome
from workbench.agent.tools.environment import VariableNames
from workbench.config.background import in_background
from workbench.config.errors import WrongCall
from workbench.config.tables import Table, escaped_name, read_table, shown_value
from workbench.config.variables import is_secret, remember_key
from workbench.models.framing import Style, count_tool
from workbench.models.tokens import TokenCounter

if TYPE_CHECKING:
    from mcp.types import Tool as Listed

__all__ = ["McpServer", "McpTools", "ToolCost", "check_config"]

START_SECONDS = 30.0
CALL_SECONDS = 120.0
_LEAVE_SECONDS = 10.0
"""Time limit for all servers to end; they end at the same time."""
_MOST_NAME = 64
"""The providers' limit on the characters of a tool's name."""
_CommandWords = tuple[Annotated[str, Meta(pattern=r"\A[^\0]*\Z")], ...]


class _Entry(Table, frozen=True):
    """A server's table. It has a command or an address."""

    command: Annotated[_CommandWords, Meta(description="a list of words such as a program and its options")] | None = (
        None
    )
    url: Annotated[str, Meta(description="an http or https address")] | None = None
    env: Annotated[dict[str, Any], Meta(description="a table of names and texts")] = field(default_factory=dict)
    pass_env: VariableNames = ()
    off: Annotated[frozenset[str], Meta(description="a list of tools")] = frozenset()


def check_config(table: Mapping[str, Any], file: str = "config.toml") -> tuple[McpServer, ...]:
    """Check the `[mcp]` table, which has a table for each server. Raises WrongCall for anything else."""
    return tuple(_check_server(name, entry, file) for name, entry in table.items())


def _check_server(name: str, value: Any, file: str) -> McpServer:
    where = f"{file}: mcp.{escaped_name(name)}"
    # Short enough to leave room for the tool's name after it.
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", name):
        raise WrongCall(f"{where}: expected a name of up to 32 letters, digits, _ and -")
    entry = read_table(_Entry, value, file, f"mcp.{name}")
    if (entry.command is None) == (entry.url is None):
        raise WrongCall(f"{where}: expected either command or url")
    if entry.command is not None and not (entry.command and entry.command[0]):
        raise WrongCall(f"{where}.command: expected a program first, got {shown_value(list(entry.command))}")
    if entry.url is not None and not _is_address(entry.url):
        raise WrongCall(f"{where}.url: expected an http or https address, got {shown_value(entry.url)}")
    if entry.url is not None and (entry.env or entry.pass_env):
        key = "env" if entry.env else "pass_env"
        raise WrongCall(f"{where}.{key}: expected only with a command; a url has no environment")
    for variable, text in entry.env.items():
        if not variable or "=" in variable or "\0" in variable:
            raise WrongCall(f"{where}.env.{escaped_name(variable)}: expected the name of a variable")
        # The value may be a secret, so it is not shown.
        if not isinstance(text, str) or "\0" in text:
            raise WrongCall(f"{where}.env.{escaped_name(variable)}: expected text")
        if is_secret(variable, text):
            remember_key(text)
    return McpServer(name, entry.command or (), entry.url or "", entry.env, entry.pass_env, entry.off)


def _is_address(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("http", "https") and bool(urlsplit(url).hostname)
    except ValueError:
        return False


class ToolCost(NamedTuple):
    """A tool of a server, and the cost of offering it to the model."""

    server: str
    own_name: str
    """The server's name for it, which `off` in the config uses too."""
    name: str
    """The model's name for it."""
    kind: Kind
    tokens: int
    is_off: bool


class _FoundTool(NamedTuple):
    server: str
    own_name: str
    tool: Tool
    is_off: bool


class McpTools:
    """The servers of a session; an async context manager."""

    def __init__(
        self,
        servers: Iterable[McpServer],
        cwd: Path,
        *,
        start_seconds: float = START_SECONDS,
        call_seconds: float = CALL_SECONDS,
        limits: ToolLimits | None = None,
    ) -> None:
        """`start_seconds`: for each server to start and list its tools. `call_seconds`: for each call."""
        self._servers = tuple(servers)
        self._cwd = cwd
        self._start_seconds = start_seconds
        self._call_seconds = call_seconds
        self._most_bytes = (limits or ToolLimits()).output_bytes
        self._links: list[McpLink] = []
        self._off_problems: list[str] = []
        """One line per name in `off` that no tool has."""
        self._all_tools: tuple[_FoundTool, ...] = ()
        """Also those that are switched off."""
        self.tools: tuple[Tool, ...] = ()
        """For the toolbox. Tools of a server that ends later stay, and answer with an error."""

    @property
    def problems(self) -> list[str]:
        """The problems so far, one line each."""
        return [f"mcp.{link.server.name}: {link.problem}" for link in self._links if link.problem] + self._off_problems

    async def __aenter__(self) -> McpTools:
        if not self._servers:
            return self
        await in_background(import_mcp)
        self._links = [McpLink(server, self._cwd) for server in self._servers]
        try:
            await asyncio.gather(*map(self._wait_for, self._links))
        except BaseException:
            await self._leave()
            raise
        self._all_tools = tuple(self._find_tools())
        self.tools = tuple(found.tool for found in self._all_tools if not found.is_off)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._leave()

    async def _wait_for(self, link: McpLink) -> None:
        try:
            async with asyncio.timeout(self._start_seconds):
                await link.settled.wait()
        except TimeoutError:
            link.fail(f"did not name its tools within {self._start_seconds:g} s")

    async def _leave(self) -> None:
        """End all servers at the same time. None is left running unless it cannot even be killed."""
        for link in self._links:
            link.stop()
        tasks = [link.task for link in self._links]
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=_LEAVE_SECONDS)
        for task in late:
            task.cancel()

    def costs(self, counter: TokenCounter, style: Style = "openai") -> list[ToolCost]:
        """What each tool's definition costs per request, in tokens; for a switched-off tool, what it would cost."""
        return [
            ToolCost(
                found.server,
                found.own_name,
                found.tool.name,
                found.tool.kind,
                count_tool(counter, _definition(found.tool), style).tokens,
                found.is_off,
            )
            for found in self._all_tools
        ]

    def _find_tools(self) -> Iterable[_FoundTool]:
        """The tools of all servers, under names for the model; notes names in `off` that no tool has."""
        taken: set[str] = set()
        for link in self._links:
            server = link.server
            if link.listed:
                unknown = sorted(server.switched_off - {each.name for each in link.listed})
                self._off_problems += [
                    f"mcp.{server.name}.off: no tool called {escaped_name(name)}" for name in unknown
                ]
            # A tool that is switched off keeps its name, so that the others' names, which approvals and policies use,
            # do not depend on what is switched off.
            for listed in link.listed:
                name = _free_name(f"{server.name}__{listed.name}", taken)
                taken.add(name)
                yield _FoundTool(
                    server.name, listed.name, self._tool(name, link, listed), listed.name in server.switched_off
                )

    def _tool(self, name: str, link: McpLink, listed: Listed) -> Tool:
        # Only a hint, which the server may get wrong; the user who configured the server trusts it.
        harmless = listed.annotations is not None and listed.annotations.read_only_hint is True
        return Tool(
            name=name,
            kind="read" if harmless else "run",
            description=listed.description or listed.title or "",
            parameters={"type": "object", "properties": {}, **_without_boolean_schemas(listed.input_schema)},
            run=partial(self._run, link, listed.name),
            subject=_subject,
        )

    async def _run(self, link: McpLink, tool: str, arguments: Arguments, context: ToolContext) -> ToolOutcome:
        return await link.call(tool, arguments, self._call_seconds, self._most_bytes)


def _free_name(wanted: str, taken: set[str]) -> str:
    clean = re.sub(r"[^A-Za-z0-9_-]", "_", wanted)
    name, number = clean[:_MOST_NAME], 2
    while name in taken:
        ending = f"_{number}"
        name, number = clean[: _MOST_NAME - len(ending)] + ending, number + 1
    return name


def _subject(arguments: Arguments) -> str:
    """The arguments as JSON, always in the same order; empty if there are none."""
    return json.dumps(arguments, ensure_ascii=False, sort_keys=True) if arguments else ""


def _without_boolean_schemas(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Replace boolean schemas in `properties` and `items`: our check and some providers do not understand them."""
    plain = dict(schema)
    if isinstance(plain.get("properties"), Mapping):
        plain["properties"] = {name: _plain(each) for name, each in plain["properties"].items()}
    if "items" in plain:
        plain["items"] = _plain(plain["items"])
    return plain


def _plain(schema: Any) -> Any:
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return _without_boolean_schemas(schema) if isinstance(schema, Mapping) else schema


def _definition(tool: Tool) -> str:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return json.dumps({"type": "function", "function": function}, ensure_ascii=False)
