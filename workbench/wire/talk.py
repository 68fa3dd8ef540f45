"""Events in the making, from messages as a provider takes and gives them."""

from __future__ import annotations

from typing import Any, Final

from workbench.log.events import Body, Compaction, Content, SlotContent, ToolCall, ToolResult, Unknown, Usage
from workbench.wire.values import as_json, cleaned, dict_in, text_in

AT_PROVIDER: Final = "at_provider"
"""In the notes of a compaction: that the provider made it, while it answered."""
SEALED_SUMMARY: Final = "sealed"
"""In the notes of a compaction: that its summary is encrypted. The words in its place are ours: no model saw them."""


def is_sealed(body: Compaction) -> bool:
    """Whether its summary is encrypted."""
    return body.meta.get(SEALED_SUMMARY) is True


class Talk:
    """What was said so far; a reader of a dialect adds to it."""

    def __init__(self, name: str, bodies: list[Body] | None = None) -> None:
        """`name`: whose words they are, for what is not understood."""
        self.name = name
        self.bodies: list[Body] = [] if bodies is None else bodies
        self.model = ""
        """The model that was named last."""
        self._tools: dict[str, str] = {}
        """By call: the tool, for results that do not name it."""

    def add(self, *bodies: Body) -> None:
        """What comes next."""
        self.bodies.extend(bodies)

    @property
    def last(self) -> int:
        """The sequence number of the newest event."""
        return len(self.bodies)

    def compacted(self, summary: str, by: str, *, all_before: bool = True, sealed: bool = False) -> None:
        """The provider summarised what was said so far; not `all_before`: only what is not here any more.

        `sealed`: the summary is encrypted, and what is given says so.
        """
        first = 1 if all_before else self.last + 1
        noted = {"made_by": by, AT_PROVIDER: True, **({SEALED_SUMMARY: True} if sealed else {})}
        self.add(Compaction(first, self.last, summary, meta=noted))

    def call(self, call_id: str, tool: str, arguments: Any, reply: str) -> None:
        """A call of a tool."""
        self._tools[call_id] = tool
        self.add(ToolCall(call_id, tool, as_json({} if arguments is None else arguments), reply))

    def result(self, call_id: str, content: Content, is_error: bool = False, tool: str = "") -> None:
        """What a tool gave back."""
        self.add(ToolResult(call_id, content, tool or self._tools.get(call_id, ""), is_error))

    def tool(self, definition: Any, place: str = "") -> None:
        """A tool's definition; wrapped as OpenAI has it or bare. One that a provider runs may have a type alone.

        `place`: what tells it from others of its name.
        """
        name = text_in(dict_in(definition, "function"), "name") or text_in(definition, "name")
        name = name or text_in(definition, "type")
        if name:
            self.add(SlotContent("tools", f"{place}.{name}" if place else name, as_json(definition)))
        else:
            self.unknown("tool", definition)

    def unknown(self, kind: str, value: Any) -> None:
        """An entry that is not understood, carried whole."""
        self.add(Unknown(f"{self.name} {kind}".strip(), {"entry": cleaned(value)}))

    def leave_out(self, kind: str, count: int = 1) -> None:
        """Entries that are understood and no part of the conversation."""


def report(model: str, prompt: int, completion: int, **more: Any) -> Usage | None:
    """What a request cost, as the provider says; there is no count of our own from that time."""
    return Usage(model, 0, prompt, completion=completion, **more) if prompt or completion else None


def cost_in(value: Any, key: str) -> float | None:
    """The price under a key; None where there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, int | float) or isinstance(found, bool) or not 0 <= found < _MOST:
        return None
    return float(found)


_MOST = 1e9
"""No request cost more: a number above it is none."""
