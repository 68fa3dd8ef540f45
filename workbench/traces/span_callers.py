"""Whose call a span is: the agent's own, or that of a sub-agent that one of its tools runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from workbench.wire.values import dict_in, text_in

_AGENTS: Final = ("invoke_agent", "AGENT", "agent")
_NAMES: Final = ("gen_ai.agent.name", "agent.name", "graph.node.id", "agent_name")
_TOOLS: Final = ("gen_ai.tool.name", "tool.name", "traceloop.entity.name", "ai.toolCall.name")
_DEPTH: Final = 200
"""How many spans above a call are looked at; a file may have spans in a circle."""


class SpanCaller(NamedTuple):
    """Who made a call."""

    tool: str = ""
    """The id of the span of the tool inside which it was made; empty if it was inside none."""
    name: str = ""
    """The name of the agent inside that tool; the tool's own if there is none."""


class SpanCallers:
    """Finds the callers in all spans of a file or of an export."""

    def __init__(self, spans: Iterable[tuple[dict[str, Any], dict[str, Any], str]]) -> None:
        """`spans`: each with its attributes and its kind."""
        self._spans = {id_in(span, "spanId", "span_id"): (span, values, kind) for span, values, kind in spans}

    def caller_of(self, span: dict[str, Any]) -> SpanCaller:
        """The caller of a span: the nearest tool above it, with the agent between the two."""
        name, above = "", _parent(span)
        for _ in range(_DEPTH):
            if above not in self._spans:
                break
            found, values, kind = self._spans[above]
            if kind == "tool":
                return SpanCaller(above, name or _first(values, _TOOLS) or text_in(found, "name"))
            if kind in _AGENTS:
                name = name or _first(values, _NAMES) or text_in(found, "name")
            above = _parent(found)
        return SpanCaller()


def id_in(span: dict[str, Any], *keys: str) -> str:
    """The first of these ids that a span has; some exporters put them into its context."""
    context = dict_in(span, "context")
    return next((found for key in keys if (found := text_in(span, key) or text_in(context, key))), "")


def _parent(span: dict[str, Any]) -> str:
    return id_in(span, "parentSpanId", "parent_span_id", "parent_id")


def _first(values: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((found for key in keys if (found := text_in(values, key))), "")
