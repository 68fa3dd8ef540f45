"""How the agents that do not read their address from the usual variables are led through the proxy."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

_GEMINI_ADDRESS: Final = "GOOGLE_GEMINI_BASE_URL"
_GEMINI_SCRIPT: Final = "gemini-through-proxy.cjs"
_PRELOAD: Final = """const from = %s, to = %s, fetched = globalThis.fetch;
globalThis.fetch = (input, init) => {
  const url = typeof input === "string" ? input : input instanceof URL ? input.href : "";
  return url.startsWith(from + "/") ? fetched(to + url.slice(from.length), init) : fetched(input, init);
};
// Gemini CLI starts itself once more, which needs this file, too. The programs that its tools start do not.
if (process.env.GEMINI_CLI_NO_RELAUNCH) {
  const rest = process.env.NODE_OPTIONS.replace(/ ?--require "[^"]*gemini-through-proxy.cjs"/, "");
  if (rest) process.env.NODE_OPTIONS = rest;
  else delete process.env.NODE_OPTIONS;
}
"""
_PI_EXTENSION: Final = "pi-through-proxy.js"


class AgentStart(NamedTuple):
    """What an agent is started with in addition to what the user wrote."""

    arguments: tuple[str, ...] = ()
    """They come before the user's own."""
    environment: Mapping[str, str] = MappingProxyType({})


def codex_start(address: str, _: Path) -> AgentStart:
    """Codex has a setting for the address."""
    return AgentStart(("-c", f'openai_base_url="{address}/v1"'))


def opencode_start(address: str, _: Path) -> AgentStart:
    """Keep the user's own settings in the variable, and add our addresses where they are missing."""
    from workbench.wire.streams import parsed_json  # late: those who only list agents start none
    from workbench.wire.values import dict_in

    bases = {"anthropic": f"{address}/v1", "openai": f"{address}/v1", "google": f"{address}/v1beta"}
    given = parsed_json(os.environ.get("OPENCODE_CONFIG_CONTENT", ""))
    config = given if isinstance(given, dict) else {}
    providers = dict_in(config, "provider")
    for name, base in bases.items():
        own = dict_in(providers, name)
        providers = {**providers, name: {**own, "options": {"baseURL": base, **dict_in(own, "options")}}}
    return AgentStart((), {"OPENCODE_CONFIG_CONTENT": json.dumps({**config, "provider": providers})})


def pi_start(address: str, folder: Path) -> AgentStart:
    """pi reads the addresses of providers from an extension, which is a script."""
    bases = {"anthropic": address, "openai": f"{address}/v1", "google": f"{address}/v1beta"}
    lines = [
        f"  pi.registerProvider({json.dumps(name)}, {{ baseUrl: {json.dumps(base)} }});" for name, base in bases.items()
    ]
    script = folder / _PI_EXTENSION
    script.write_text("\n".join(["export default function (pi) {", *lines, "}", ""]), encoding="utf-8")
    return AgentStart(("-e", str(script)))


def gemini_start(address: str, folder: Path) -> AgentStart:
    """Redirect Gemini CLI's requests for Google to the proxy, with a script that node loads first.

    With an address in the environment, Gemini CLI uses none of its logins unless its settings choose one, and it would
    read settings from us only from a folder that belongs to root. If the user set an address, it is kept.
    """
    if os.environ.get(_GEMINI_ADDRESS):
        return AgentStart()
    from workbench.wire.gemini import GeminiDialect  # late, for the same reason

    script = folder / _GEMINI_SCRIPT
    script.write_text(_PRELOAD % (json.dumps(GeminiDialect.provider.address), json.dumps(address)), encoding="utf-8")
    options = f"{os.environ.get('NODE_OPTIONS', '')} --require {json.dumps(str(script))}".strip()
    return AgentStart((), {_GEMINI_ADDRESS: "", "NODE_OPTIONS": options})


def copilot_start(address: str, _: Path) -> AgentStart:
    """Copilot has a variable of its own for the address."""
    return AgentStart((), {"COPILOT_PROVIDER_BASE_URL": f"{address}/v1"})
