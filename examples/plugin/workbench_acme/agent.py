"""An agent: where it keeps its sessions, what its program is called, and how it is led through the proxy."""

from __future__ import annotations

from pathlib import Path

from workbench.plugins import AgentHome, AgentStart, KnownAgent
from workbench_acme.transcripts import NAME


def _start(address: str, folder: Path) -> AgentStart:
    """`folder` is for files that the agent has to read; Acme needs none."""
    return AgentStart(("--base-url", f"{address}/acme/talk"), {"ACME_BASE_URL": address})


AGENT = KnownAgent(
    NAME,
    homes=(AgentHome(NAME, variable="ACME_HOME", inside="", default=".acme", pattern="talks/*.talk"),),
    programs=("acme",),
    start=_start,
)
