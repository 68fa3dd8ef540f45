"""Starts an agent with the proxy as its provider. Knows how to configure each supported agent for this."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from workbench.config.text import printable
from workbench.live.processes import PROGRAMS, program_of
from workbench.models.catalogue import REHEARSAL
from workbench.proxy.routes import GOOGLE, KIMI_PATH, PROVIDERS
from workbench.traces import codex, copilot, gemini_cli, kimi, opencode, pi
from workbench.wire.streams import parsed_json
from workbench.wire.values import dict_in

KEYS: Final = (
    *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY"),
    *("GOOGLE_GENERATIVE_AI_API_KEY", "COPILOT_PROVIDER_API_KEY", "KIMI_MODEL_API_KEY"),
)
"""Variables in which agents look for a key. The rehearsal model accepts any key."""
_GOOGLE: Final = "GOOGLE_API_KEY"
"""Some libraries only know this name for Gemini's key; those that know both warn if both are set."""
MODELS: Final = {"COPILOT_MODEL": REHEARSAL, "KIMI_MODEL_NAME": REHEARSAL}
"""Variables in which agents look for a model that they cannot start without."""
_LOCAL: Final = "127.0.0.1,localhost"
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
_KIMI_LOGIN: Final = "credentials/kimi-code.json"
_PI_EXTENSION: Final = "pi-through-proxy.js"


class Launch(NamedTuple):
    """How to start an agent."""

    agent: str
    """Its name; for an unknown agent, the name of its program or script."""
    command: tuple[str, ...]
    environment: dict[str, str]
    """Variables to set in addition to the existing environment."""


def launch_for(command: Sequence[str], address: str, folder: Path, *, rehearsal: bool = False) -> Launch:
    """How to start a command. `folder`: for files that an agent needs."""
    agent = PROGRAMS.get(Path(command[0]).name, "")
    settings = proxy_environment(address)
    if rehearsal:
        missing = {name: REHEARSAL for name in KEYS if not os.environ.get(name)}
        if os.environ.get(_GOOGLE):
            missing.pop("GEMINI_API_KEY", None)
        elif not agent and "GEMINI_API_KEY" in missing:
            missing[_GOOGLE] = REHEARSAL
        settings |= missing
        settings |= {name: model for name, model in MODELS.items() if not os.environ.get(name)}
        settings["KIMI_MODEL_BASE_URL"] = f"{address}/v1"
    configure = _CONFIGURED.get(agent)
    more, given = configure(address, folder) if configure else ((), {})
    return Launch(agent or program_of(command), (command[0], *more, *command[1:]), settings | given)


def silence_message(agent: str) -> str:
    """The message for an agent that ended without sending a request, with the likely reason."""
    known = {
        kimi.NAME: "a login of Kimi Code keeps its own address; with a key its requests pass here",
        gemini_cli.NAME: "with a Google login it talks to another service; with a key its requests pass here",
    }
    why = known.get(
        agent,
        "it may have asked no model, have an address in its own settings, or not read the variables that we set",
    )
    return f"no request of {printable(agent)} passed here, and nothing was recorded: {why}"


def proxy_environment(address: str) -> dict[str, str]:
    """The variables that most agents and libraries read."""
    return {
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_BASE": address,
        "OPENAI_BASE_URL": f"{address}/v1",
        "OPENAI_API_BASE": f"{address}/v1",
        "GOOGLE_GEMINI_BASE_URL": address,
        "GEMINI_API_BASE": f"{address}/v1beta",
        "OLLAMA_HOST": address,
        "OLLAMA_API_BASE": address,
        **_kimi_address(address),
        # With another address Claude Code would send all tools in full instead of searching for them.
        "ENABLE_TOOL_SEARCH": os.environ.get("ENABLE_TOOL_SEARCH", "true"),
        **{name: ",".join(filter(None, (os.environ.get(name, ""), _LOCAL))) for name in ("NO_PROXY", "no_proxy")},
    }


def _kimi_address(address: str) -> dict[str, str]:
    """Kimi looks up its login by the address that it was made for. So with a login Kimi keeps its own address."""
    home = os.environ.get("KIMI_CODE_HOME") or Path.home() / ".kimi-code"
    if (Path(home) / _KIMI_LOGIN).exists():
        return {}
    return {"KIMI_CODE_BASE_URL": f"{address}{KIMI_PATH}/v1"}


_Configuration = tuple[tuple[str, ...], dict[str, str]]
"""Arguments and variables for an agent."""


def _codex(address: str, _: Path) -> _Configuration:
    return ("-c", f'openai_base_url="{address}/v1"'), {}


def _opencode(address: str, _: Path) -> _Configuration:
    """Keep the user's own settings in the variable, and add our addresses where they are missing."""
    bases = {"anthropic": f"{address}/v1", "openai": f"{address}/v1", "google": f"{address}/v1beta"}
    given = parsed_json(os.environ.get("OPENCODE_CONFIG_CONTENT", ""))
    config = given if isinstance(given, dict) else {}
    providers = dict_in(config, "provider")
    for name, base in bases.items():
        own = dict_in(providers, name)
        providers = {**providers, name: {**own, "options": {"baseURL": base, **dict_in(own, "options")}}}
    return (), {"OPENCODE_CONFIG_CONTENT": json.dumps({**config, "provider": providers})}


def _pi(address: str, folder: Path) -> _Configuration:
    bases = {"anthropic": address, "openai": f"{address}/v1", "google": f"{address}/v1beta"}
    lines = [
        f"  pi.registerProvider({json.dumps(name)}, {{ baseUrl: {json.dumps(base)} }});" for name, base in bases.items()
    ]
    script = folder / _PI_EXTENSION
    script.write_text("\n".join(["export default function (pi) {", *lines, "}", ""]), encoding="utf-8")
    return ("-e", str(script)), {}


def _gemini(address: str, folder: Path) -> _Configuration:
    """Redirect Gemini CLI's requests for Google to the proxy, with a script that node loads first.

    With an address in the environment, Gemini CLI uses none of its logins unless its settings choose one, and it would
    read settings from us only from a folder that belongs to root. If the user set an address, it is kept.
    """
    if os.environ.get(_GEMINI_ADDRESS):
        return (), {}
    script = folder / _GEMINI_SCRIPT
    script.write_text(_PRELOAD % (json.dumps(PROVIDERS[GOOGLE].address), json.dumps(address)), encoding="utf-8")
    options = f"{os.environ.get('NODE_OPTIONS', '')} --require {json.dumps(str(script))}".strip()
    return (), {_GEMINI_ADDRESS: "", "NODE_OPTIONS": options}


def _copilot(address: str, _: Path) -> _Configuration:
    return (), {"COPILOT_PROVIDER_BASE_URL": f"{address}/v1"}


_CONFIGURED: Final[Mapping[str, Callable[[str, Path], _Configuration]]] = {
    codex.NAME: _codex,
    opencode.NAME: _opencode,
    pi.NAME: _pi,
    gemini_cli.NAME: _gemini,
    copilot.NAME: _copilot,
}
"""Agents that do not read their address from the usual variables, and how to configure them."""
