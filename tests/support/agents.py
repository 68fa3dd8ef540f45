"""Agents with the rehearsal model, and what their turns tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.agent.approvals import Approvals
from workbench.agent.loop import Agent
from workbench.agent.steps import EventAppended, TurnStep
from workbench.agent.tools.registry import Toolbox
from workbench.agent.turn_services import TurnServices
from workbench.config.settings import Settings
from workbench.context.setup import PlanOptions, set_up
from workbench.log.session import Session
from workbench.models.catalogue import Catalogue
from workbench.models.gateway import Gateway
from workbench.models.retry import RetrySchedule


def agent(session: Session, project: Path, gateway: Gateway, **options: Any) -> Agent:
    """An agent in a project. `means`: what is different from the plainest; `allow`: patterns of calls; else options."""
    allow, more = options.pop("allow", ()), options.pop("means", {})
    options.setdefault("model", "rehearsal")
    setup = set_up(PlanOptions(**options), Settings(), Catalogue())
    approvals = Approvals(allow=allow, path=project.parent / "approvals.toml")
    means = TurnServices(gateway, Toolbox(project), approvals, schedule=RetrySchedule(tries=1), **more)
    return Agent(session, setup, means)


async def said(agent: Agent, message: str) -> list[TurnStep]:
    """All steps of one turn."""
    return [step async for step in agent.turn(message)]


def bodies(steps: list[TurnStep], kind: type) -> list[Any]:
    """The bodies of one kind that were appended."""
    return [step.event.body for step in steps if isinstance(step, EventAppended) and isinstance(step.event.body, kind)]
