"""What a plug-in needs: the types of the parts that it registers, and of what it gets.

A package registers its parts as entry points of the groups `workbench.formats`, `workbench.policies`,
`workbench.stages`, `workbench.dialects`, `workbench.agents`, `workbench.tools`, `workbench.themes` and
`workbench.hooks`; see docs/plugins.md. Each name is imported when it is used, so that a theme does not load a dialect.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.agent.tools.base import Tool as Tool
    from workbench.agent.tools.base import ToolContext as ToolContext
    from workbench.agent.tools.base import ToolFailure as ToolFailure
    from workbench.agent.tools.base import ToolOutcome as ToolOutcome
    from workbench.context.stages.plugin import LeaveOut as LeaveOut
    from workbench.context.stages.plugin import Replace as Replace
    from workbench.context.stages.plugin import StageInput as StageInput
    from workbench.context.stages.plugin import StageItem as StageItem
    from workbench.live.agent_starts import AgentStart as AgentStart
    from workbench.live.known_agents import AgentHome as AgentHome
    from workbench.live.known_agents import KnownAgent as KnownAgent
    from workbench.log.events import AssistantMessage as AssistantMessage
    from workbench.log.events import Reasoning as Reasoning
    from workbench.log.events import SlotContent as SlotContent
    from workbench.log.events import SystemMessage as SystemMessage
    from workbench.log.events import ToolCall as ToolCall
    from workbench.log.events import ToolResult as ToolResult
    from workbench.log.events import Usage as Usage
    from workbench.log.events import UserMessage as UserMessage
    from workbench.traces.building import Recording as Recording
    from workbench.traces.format_kinds import Format as Format
    from workbench.traces.format_kinds import TablesFormat as TablesFormat
    from workbench.traces.format_kinds import TextFormat as TextFormat
    from workbench.traces.reading import Document as Document
    from workbench.traces.tables import Tables as Tables
    from workbench.traces.tables import TableSession as TableSession
    from workbench.wire.chat import ChatDialect as ChatDialect
    from workbench.wire.dialect import Dialect as Dialect
    from workbench.wire.dialect import ProviderHome as ProviderHome

_HOMES = {
    "agent.tools.base": ("Tool", "ToolContext", "ToolFailure", "ToolOutcome"),
    "context.stages.plugin": ("LeaveOut", "Replace", "StageInput", "StageItem"),
    "live.agent_starts": ("AgentStart",),
    "live.known_agents": ("AgentHome", "KnownAgent"),
    "log.events": (
        *("AssistantMessage", "Reasoning", "SlotContent", "SystemMessage"),
        *("ToolCall", "ToolResult", "Usage", "UserMessage"),
    ),
    "traces.building": ("Recording",),
    "traces.format_kinds": ("Format", "TablesFormat", "TextFormat"),
    "traces.reading": ("Document",),
    "traces.tables": ("Tables", "TableSession"),
    "wire.chat": ("ChatDialect",),
    "wire.dialect": ("Dialect", "ProviderHome"),
}
_PLACES = {name: f"workbench.{module}" for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'workbench.plugins' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted(_PLACES)
