"""The connection to one MCP server: a task that holds it open from start to end.

anyio's cancel scopes must be left in the task that entered them, so the client has its own task. Calls come from other
tasks and only pass messages to it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO, cast

from msgspec import Struct, field

from workbench.agent.tools.base import ToolFailure, ToolOutcome
from workbench.agent.tools.output import OutputEnds
from workbench.config.text import printable
from workbench.config.variables import selected_variables

if TYPE_CHECKING:
    from anyio import CancelScope
    from mcp import Client
    from mcp.types import CallToolResult
    from mcp.types import Tool as Listed

_MOST_PAGES = 100
"""Limit on the pages of a server's list of tools: a list that never ends must not block us."""
_FAREWELL_SECONDS = 5.0
"""How long we may take to close the connection to a server properly."""
_COMPLAINT_BYTES = 4096
"""How many bytes at the end of a server's standard error are read, to find its last line."""


class McpServer(Struct, frozen=True):
    """A server as the config describes it: a program to start, or an address."""

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Environment variables for the program, besides the few harmless ones it inherits (PATH, HOME and the like)."""
    pass_env: tuple[str, ...] = ()
    """Names or patterns of variables that the program gets from our own environment, such as a key that it needs."""
    switched_off: frozenset[str] = frozenset()
    """Tools that are not offered to the model, by the names that the server gives them."""


class McpLink:
    """The connection to one server. It starts at once, in its own task: wait for `settled`."""

    def __init__(self, server: McpServer, cwd: Path) -> None:
        self.server = server
        self.listed: tuple[Listed, ...] = ()
        self.problem = ""
        """Why the server cannot be used, in one line; empty while it can."""
        self.settled = asyncio.Event()
        """Set when the server has listed its tools, or failed."""
        self._cwd = cwd
        self._stop = asyncio.Event()
        self._client: Client | None = None
        self._scope: CancelScope | None = None
        self._errors: TextIO | None = None
        self.task = asyncio.create_task(self._live(), name=f"mcp {server.name}")

    def fail(self, problem: str) -> None:
        """Give up on the server; the first reason is kept."""
        self.problem = self.problem or problem
        self.settled.set()
        self.stop()

    def stop(self) -> None:
        """Start to close the connection: soon for a server that works, at once for one that has not started yet."""
        self._stop.set()
        if self._scope is not None:
            # Ending a program is shielded from this deadline; it takes about seven seconds at most.
            grace = _FAREWELL_SECONDS if self._client is not None else 0
            self._scope.deadline = asyncio.get_running_loop().time() + grace

    async def _live(self) -> None:
        """Connect, and stay connected until `stop` is called or the server fails."""
        import anyio

        # The server's errors go to a file, because a screen may use the terminal. It has no name and is not left over.
        with tempfile.TemporaryFile("w+") as errors:
            self._errors = cast(TextIO, errors)
            try:
                with anyio.CancelScope() as self._scope:
                    await self._connected(self._errors)
            except Exception as error:
                self.fail(f"{'ended' if self.listed else 'cannot be started'}: {self._reason(error)}")
            finally:
                self._client = None
                if not self._stop.is_set():
                    self.fail("ended")

    async def _connected(self, errors: TextIO) -> None:
        from mcp import Client, StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        server = self.server
        if server.url:
            transport = streamable_http_client(server.url)
        else:
            command, *words = server.command
            env = {**selected_variables(server.pass_env), **server.env}
            start = StdioServerParameters(command=command, args=words, env=env, cwd=self._cwd)
            transport = stdio_client(start, errlog=errors)
        async with Client(transport) as client:
            self.listed = await _list(client)
            self._client = client
            self.settled.set()
            await self._stop.wait()

    async def call(self, tool: str, arguments: Mapping[str, Any], seconds: float, most_bytes: int) -> ToolOutcome:
        """Have the server run a tool. Raises ToolFailure if it cannot; an error of the tool itself is an outcome."""
        import anyio
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED

        name, client = self.server.name, self._client
        if client is None or self.problem:
            raise ToolFailure(f"the MCP server {name} is gone: {self.problem or 'stopped'}")
        try:
            with anyio.fail_after(seconds):
                result = await client.call_tool(tool, dict(arguments))
        except TimeoutError:
            raise ToolFailure(f"the MCP server {name} did not answer within {seconds:g} s") from None
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise ToolFailure(f"the MCP server {name} answered: {error.message}") from None
            self.fail(f"ended: {self._reason(error)}")
            raise ToolFailure(f"the MCP server {name} is gone: {self.problem}") from None
        except Exception as error:
            raise ToolFailure(f"the MCP server {name}: {self._reason(error)}") from None
        return ToolOutcome(_text(result, most_bytes), result.is_error)

    def _reason(self, error: BaseException) -> str:
        """An error in one line, with the last line that the server wrote to standard error."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, OSError) and error.strerror:
            message = error.strerror
        else:
            message = getattr(error, "message", "") or f"{type(error).__name__}: {error}".removesuffix(": ")
        complaint = self._complaint()
        return printable(f"{message} ({complaint})" if complaint else message, 400)

    def _complaint(self) -> str:
        """The last line that the server wrote to standard error."""
        if self._errors is None or self._errors.closed:
            return ""
        raw = self._errors.buffer
        raw.seek(max(0, raw.seek(0, 2) - _COMPLAINT_BYTES))
        lines = raw.read().decode(errors="replace").strip().splitlines()
        return lines[-1].strip()[:200] if lines else ""


def import_mcp() -> None:
    """Import the package `mcp`. That takes long, so call this in a thread. What it logs stays off the terminal."""
    import mcp
    import mcp.client.streamable_http

    logging.getLogger(mcp.__name__).addHandler(logging.NullHandler())


async def _list(client: Client) -> tuple[Listed, ...]:
    found: list[Listed] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tuple(found)


def _text(result: CallToolResult, most_bytes: int) -> str:
    """The result of a server as text; parts that are not text get a placeholder."""
    pieces = [_piece(block) for block in result.content]
    if not pieces and result.structured_content is not None:
        pieces = [json.dumps(result.structured_content, ensure_ascii=False)]
    output = OutputEnds(most_bytes // 2, most_bytes // 2)
    output.add_bytes("\n".join(pieces).encode(errors="replace"))
    return output.text() or "(no output)"


def _piece(block: Any) -> str:
    match block.type:
        case "text":
            return str(block.text)
        case "image" | "audio":
            return f"[{block.type}: {block.mime_type}, {_bytes(block.data)} bytes]"
        case "resource":
            resource = block.resource
            if hasattr(resource, "text"):
                return str(resource.text)
            return f"[resource: {resource.uri}, {_bytes(resource.blob)} bytes]"
        case "resource_link":
            return f"[resource: {block.uri}]"
    return f"[{block.type}]"


def _bytes(base64: str) -> int:
    """How many bytes a base64 text encodes."""
    return len(base64.rstrip("=")) * 3 // 4
