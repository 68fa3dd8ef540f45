"""`workbench mcp`: the configured servers, their tools, and the tokens of the definitions."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.agent.mcp import McpServer, McpTools, ToolCost, check_config
from workbench.cli.options import options_of
from workbench.config.text import print_json, printable, table
from workbench.context.setup import Setup
from workbench.models.framing import tool_style
from workbench.sources.services import Services


def run_mcp(options: argparse.Namespace) -> int:
    """Start the servers, ask for their tools, and print the tools with their tokens."""
    with Services() as services:
        servers = check_config(services.settings.mcp, str(services.settings.file))
        setup = services.set_up(options_of(options))
        costs, problems = asyncio.run(_ask(servers, setup))
    if options.json:
        print_json({"servers": [_as_json(server, costs) for server in servers], "problems": problems})
        return 0
    if not servers:
        print("no MCP servers: name them under [mcp.NAME] in config.toml")
        return 0
    rows = [
        (printable(each.name), f"{each.tokens:,}", "free" if each.kind == "read" else "to be allowed", _state(each))
        for each in costs
    ]
    if rows:
        print("\n".join(table(("tool", "tokens", "calls", ""), rows, frozenset({1}))))
    offered = [each.tokens for each in costs if not each.is_off]
    print(f"tools offered: {len(offered)}, about {sum(offered):,} tokens in every request ({setup.counter.name})")
    for problem in problems:
        print(printable(f"· {problem}"))
    return 0


async def _ask(servers: Sequence[McpServer], setup: Setup) -> tuple[list[ToolCost], list[str]]:
    async with McpTools(servers, Path.cwd()) as tools:
        return tools.costs(setup.counter, tool_style(setup.info.provider or "openai")), tools.problems


def _state(cost: ToolCost) -> str:
    return f"off, as mcp.{cost.server}.off says" if cost.is_off else ""


def _as_json(server: McpServer, costs: Sequence[ToolCost]) -> dict[str, Any]:
    return {
        "name": server.name,
        "from": server.url or list(server.command),
        "tools": [
            {"name": cost.name, "own_name": cost.own_name, "kind": cost.kind, "tokens": cost.tokens, "off": cost.is_off}
            for cost in costs
            if cost.server == server.name
        ],
    }
