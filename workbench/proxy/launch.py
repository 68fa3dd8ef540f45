"""Starts an agent with the proxy as its provider. Knows how to configure each supported agent for this."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from workbench.config.text import printable
from workbench.live.known_agents import AGENTS, agent_programs, start_of
from workbench.live.processes import program_of
from workbench.models.catalogue import REHEARSAL
from workbench.proxy.routes import KIMI_PATH

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
_KIMI_LOGIN: Final = "credentials/kimi-code.json"


class Launch(NamedTuple):
    """How to start an agent."""

    agent: str
    """Its name; for an unknown agent, the name of its program or script."""
    command: tuple[str, ...]
    environment: dict[str, str]
    """Variables to set in addition to the existing environment."""


def launch_for(command: Sequence[str], address: str, folder: Path, *, rehearsal: bool = False) -> Launch:
    """How to start a command. `folder`: for files that an agent needs."""
    agent = _agent_of(command)
    settings = proxy_environment(address)
    if rehearsal:
        settings |= _rehearsal_settings(agent)
        settings["KIMI_MODEL_BASE_URL"] = f"{address}/v1"
    more, given = start_of(agent, address, folder)
    return Launch(agent or program_of(command), (command[0], *more, *command[1:]), settings | dict(given))


def forward_launch(command: Sequence[str], environment: Mapping[str, str], *, rehearsal: bool = False) -> Launch:
    """How to start a command behind the forward proxy: with its own addresses, and these variables."""
    agent = _agent_of(command)
    settings = {**(_rehearsal_settings(agent) if rehearsal else {}), **environment}
    return Launch(agent or program_of(command), tuple(command), settings)


def _agent_of(command: Sequence[str]) -> str:
    return agent_programs().get(Path(command[0]).name, "")


def _rehearsal_settings(agent: str) -> dict[str, str]:
    """Keys and models for an agent that does not start without them."""
    missing = {name: REHEARSAL for name in KEYS if not os.environ.get(name)}
    if os.environ.get(_GOOGLE):
        missing.pop("GEMINI_API_KEY", None)
    elif not agent and "GEMINI_API_KEY" in missing:
        missing[_GOOGLE] = REHEARSAL
    return missing | {name: model for name, model in MODELS.items() if not os.environ.get(name)}


def silence_message(agent: str) -> str:
    """The message for an agent that ended without sending a request, with the likely reason."""
    known = AGENTS.find_named(agent)
    why = (known.silence if known is not None else "") or (
        "it may have asked no model, have an address in its own settings, or not read the variables that we set"
    )
    return f"{_nothing_passed(agent)}: {why}"


def forward_silence_message(agent: str, untouched: Iterable[str]) -> str:
    """The same for an agent behind the forward proxy. `untouched`: the hosts that it was connected to."""
    hosts = ", ".join(map(printable, untouched))
    why = (
        f"its connections went to other hosts ({hosts}); --tls-host HOST opens one"
        if hosts
        else "it may have asked no model, or not read HTTPS_PROXY"
    )
    return f"{_nothing_passed(agent)}: {why}"


def _nothing_passed(agent: str) -> str:
    return f"no request of {printable(agent)} passed here, and nothing was recorded"


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
        **local_exceptions(),
    }


def local_exceptions() -> dict[str, str]:
    """The variables that keep connections to this machine away from any proxy."""
    return {name: ",".join(filter(None, (os.environ.get(name, ""), _LOCAL))) for name in ("NO_PROXY", "no_proxy")}


def _kimi_address(address: str) -> dict[str, str]:
    """Kimi looks up its login by the address that it was made for. So with a login Kimi keeps its own address."""
    home = os.environ.get("KIMI_CODE_HOME") or Path.home() / ".kimi-code"
    if (Path(home) / _KIMI_LOGIN).exists():
        return {}
    return {"KIMI_CODE_BASE_URL": f"{address}{KIMI_PATH}/v1"}
