"""Starting an agent so that it talks to the proxy: what each agent that we know has to be told, and how."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from workbench.live.processes import PROGRAMS, program_of
from workbench.models.catalogue import REHEARSAL
from workbench.traces import codex, copilot, gemini_cli, opencode, pi
from workbench.wire.streams import loaded
from workbench.wire.values import dict_in

KEYS: Final = (
    *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY"),
    *("GOOGLE_GENERATIVE_AI_API_KEY", "COPILOT_PROVIDER_API_KEY"),
)
"""Where agents look for a key. For the rehearsal model any will do."""
_GOOGLE: Final = "GOOGLE_API_KEY"
"""Some libraries know no other name for Gemini's; those that know both complain of two."""
MODELS: Final = {"COPILOT_MODEL": REHEARSAL}
"""Where agents look for a model that do not start without one."""
_LOCAL: Final = "127.0.0.1,localhost"
_GEMINI_DEFAULTS: Final = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
_PI_EXTENSION: Final = "pi-through-proxy.js"


class Launch(NamedTuple):
    """How an agent is started."""

    agent: str
    """Its name; of one that we do not know, that of its program or script."""
    command: tuple[str, ...]
    environment: dict[str, str]
    """What is set besides what is there already."""


def launch(command: Sequence[str], address: str, folder: Path, *, rehearsal: bool = False) -> Launch:
    """How a command is started; `folder`: for files that an agent has to be given."""
    agent = PROGRAMS.get(Path(command[0]).name, "")
    settings = environment(address)
    if rehearsal:
        missing = {name: REHEARSAL for name in KEYS if not os.environ.get(name)}
        if os.environ.get(_GOOGLE):
            missing.pop("GEMINI_API_KEY", None)
        elif not agent and "GEMINI_API_KEY" in missing:
            missing[_GOOGLE] = REHEARSAL
        settings |= missing
        settings |= {name: model for name, model in MODELS.items() if not os.environ.get(name)}
    told = _TOLD.get(agent)
    more, given = told(address, folder) if told else ((), {})
    return Launch(agent or program_of(command), (command[0], *more, *command[1:]), settings | given)


def environment(address: str) -> dict[str, str]:
    """What most agents and libraries read."""
    return {
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_BASE": address,
        "OPENAI_BASE_URL": f"{address}/v1",
        "OPENAI_API_BASE": f"{address}/v1",
        "GOOGLE_GEMINI_BASE_URL": address,
        "GEMINI_API_BASE": f"{address}/v1beta",
        # Behind another address Claude Code would send the tools whole that it otherwise looks up.
        "ENABLE_TOOL_SEARCH": os.environ.get("ENABLE_TOOL_SEARCH", "true"),
        **{name: ",".join(filter(None, (os.environ.get(name, ""), _LOCAL))) for name in ("NO_PROXY", "no_proxy")},
    }


_Told = tuple[tuple[str, ...], dict[str, str]]
"""Arguments and variables."""


def _codex(address: str, _: Path) -> _Told:
    return ("-c", f'openai_base_url="{address}/v1"'), {}


def _opencode(address: str, _: Path) -> _Told:
    """What the user gave there himself stays, with our addresses where he has none."""
    bases = {"anthropic": f"{address}/v1", "openai": f"{address}/v1", "google": f"{address}/v1beta"}
    given = loaded(os.environ.get("OPENCODE_CONFIG_CONTENT", ""))
    config = given if isinstance(given, dict) else {}
    providers = dict_in(config, "provider")
    for name, base in bases.items():
        own = dict_in(providers, name)
        providers = {**providers, name: {**own, "options": {"baseURL": base, **dict_in(own, "options")}}}
    return (), {"OPENCODE_CONFIG_CONTENT": json.dumps({**config, "provider": providers})}


def _pi(address: str, folder: Path) -> _Told:
    bases = {"anthropic": address, "openai": f"{address}/v1", "google": f"{address}/v1beta"}
    lines = [
        f"  pi.registerProvider({json.dumps(name)}, {{ baseUrl: {json.dumps(base)} }});" for name, base in bases.items()
    ]
    script = folder / _PI_EXTENSION
    script.write_text("\n".join(["export default function (pi) {", *lines, "}", ""]), encoding="utf-8")
    return ("-e", str(script)), {}


def _gemini(_: str, folder: Path) -> _Told:
    """With an address and no choice of its own it would look for a gateway's login, and not start."""
    defaults = folder / "gemini-defaults.json"
    defaults.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}), encoding="utf-8")
    return (), {} if os.environ.get(_GEMINI_DEFAULTS) else {_GEMINI_DEFAULTS: str(defaults)}


def _copilot(address: str, _: Path) -> _Told:
    return (), {"COPILOT_PROVIDER_BASE_URL": f"{address}/v1"}


_TOLD: Final[Mapping[str, Callable[[str, Path], _Told]]] = {
    codex.NAME: _codex,
    opencode.NAME: _opencode,
    pi.NAME: _pi,
    gemini_cli.NAME: _gemini,
    copilot.NAME: _copilot,
}
"""Agents that do not read their address from the usual variables, and how they are told."""
