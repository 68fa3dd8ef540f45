"""Which calls a client demands (`tool_choice`, Gemini's `toolConfig`): none, at least one, or one of certain tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from workbench.config.values import replace
from workbench.wire.checked_requests import BadRequest, CheckedRequest, Json, tool_name_of
from workbench.wire.values import dict_in, either, list_in, text_in

Mode = Literal["auto", "none", "required"]
_MODES: Final[Mapping[str, Mode]] = {"none": "none", "required": "required", "any": "required"}
"""The modes by their names in the dialects. Any other name leaves the choice to the model."""


class ToolDemand(NamedTuple):
    """Which tools may be called, and whether a call is required."""

    mode: Mode = "auto"
    names: tuple[str, ...] = ()
    """The tools that may be called; empty: any."""

    def offered(self, request: CheckedRequest) -> CheckedRequest:
        """The request with only the tools that may be called."""
        if self.mode == "none":
            return replace(request, tools=())
        tools = tuple(tool for tool in request.tools if not self.names or self._is_named(tool))
        return request if tools == request.tools else replace(request, tools=tools)

    def _is_named(self, tool: Json) -> bool:
        name = tool_name_of(tool)
        return name in self.names or name.rpartition(".")[2] in self.names  # the name without its namespace


def demand_in(body: Json) -> ToolDemand:
    """The demand in a request's body, in any dialect."""
    given = body.get("tool_choice")
    if isinstance(given, str):
        return ToolDemand(_MODES.get(given, "auto"))
    if not isinstance(given, Mapping):
        config = _inside(_inside(body, "toolConfig"), "functionCallingConfig")
        allowed = either(config, "allowedFunctionNames")
        names = tuple(map(str, allowed)) if isinstance(allowed, list) else ()
        return ToolDemand(_MODES.get(text_in(config, "mode").lower(), "auto"), names)
    match text_in(given, "type"):
        case "function" | "custom" | "tool" as kind:
            return ToolDemand("required", (text_in(dict_in(given, kind), "name") or text_in(given, "name"),))
        case "allowed_tools":
            inside: dict[str, Any] = dict_in(given, "allowed_tools") or dict(given)
            names = tuple(tool_name_of(tool) for tool in list_in(inside, "tools") if isinstance(tool, dict))
            return ToolDemand(_MODES.get(text_in(inside, "mode"), "auto"), names)
        case kind:
            return ToolDemand(_MODES.get(kind, "auto"))


def _inside(value: Json, key: str) -> dict[str, Any]:
    found = either(dict(value), key)
    return found if isinstance(found, dict) else {}


def checked_demand(request: CheckedRequest) -> CheckedRequest:
    """Return the request unchanged. Raises BadRequest if it demands a call of a tool that it does not have."""
    demand = demand_in(request.body)
    if demand.mode == "required" and not request.tools:
        raise BadRequest("tool_choice: expected tools to choose from")
    for name in demand.names:
        if not demand._replace(names=(name,), mode="auto").offered(request).tools:
            raise BadRequest(f"tool_choice: {name!r} is not among the tools")
    return request
