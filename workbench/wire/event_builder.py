"""Collects events from messages in the form in which a provider receives or sends them."""

from __future__ import annotations

from typing import Any, Final

from workbench.log.events import Body, Compaction, Content, SlotContent, ToolCall, ToolResult, Unknown, Usage
from workbench.models.known_costs import known_cost
from workbench.wire.values import cleaned, dict_in, json_text, text_in

AT_PROVIDER: Final = "at_provider"
"""A key in the notes of a compaction: the provider made it while it answered."""
SEALED_SUMMARY: Final = "sealed"
"""A key in the notes of a compaction: its summary is encrypted. Its text is written by us; no model saw it."""


def is_sealed(body: Compaction) -> bool:
    """Whether the summary of a compaction is encrypted."""
    return body.meta.get(SEALED_SUMMARY) is True


class EventBuilder:
    """Builds the events of a conversation. The reader of a dialect adds to it."""

    def __init__(self, name: str, bodies: list[Body] | None = None) -> None:
        """`name`: the provider's or format's name, for entries that are not understood."""
        self.name = name
        self.bodies: list[Body] = [] if bodies is None else bodies
        self.model = ""
        """The model that was named last."""
        self._tools: dict[str, str] = {}
        """The tool of each call, for results that do not name it."""

    def add(self, *bodies: Body) -> None:
        """Add the next events."""
        self.bodies.extend(bodies)

    @property
    def last(self) -> int:
        """The sequence number of the newest event."""
        return len(self.bodies)

    def compacted(self, summary: str, by: str, *, all_before: bool = True, sealed: bool = False) -> None:
        """Add a compaction made by the provider. Without `all_before` it replaces only what is no longer in the input.

        `sealed`: the summary is encrypted, and the given text says so.
        """
        first = 1 if all_before else self.last + 1
        noted = {"made_by": by, AT_PROVIDER: True, **({SEALED_SUMMARY: True} if sealed else {})}
        self.add(Compaction(first, self.last, summary, meta=noted))

    def call(self, call_id: str, tool: str, arguments: Any, reply: str) -> None:
        self._tools[call_id] = tool
        self.add(ToolCall(call_id, tool, json_text({} if arguments is None else arguments), reply))

    def result(self, call_id: str, content: Content, is_error: bool = False, tool: str = "") -> None:
        self.add(ToolResult(call_id, content, tool or self._tools.get(call_id, ""), is_error))

    def tool(self, definition: Any, place: str = "") -> None:
        """Add a tool's definition, wrapped in OpenAI's form or not. A tool that a provider runs may have only a type.

        `place`: distinguishes it from other tools of the same name.
        """
        places = (dict_in(definition, "function"), dict_in(definition, "custom"), definition)
        name = next(filter(None, (text_in(each, "name") for each in places)), "") or text_in(definition, "type")
        if name:
            self.add(SlotContent("tools", f"{place}.{name}" if place else name, json_text(definition)))
        else:
            self.unknown("tool", definition)

    def unknown(self, kind: str, value: Any) -> None:
        """Add an entry that is not understood, with its full contents."""
        self.add(Unknown(f"{self.name} {kind}".strip(), {"entry": cleaned(value)}))

    def leave_out(self, kind: str, count: int = 1) -> None:
        """Count entries that are understood but are not part of the conversation. Does nothing here."""


def usage_report(model: str, prompt: int, completion: int, **more: Any) -> Usage | None:
    """The usage that a provider reports. We have no count of our own for that request. None without any tokens."""
    return Usage(model, 0, prompt, completion=completion, **more) if prompt or completion else None


def cost_in(value: Any, key: str) -> float | None:
    """The price under a key; None if there is none."""
    return known_cost(value.get(key)) if isinstance(value, dict) else None
