"""Applies a policy to the contents of a request: plans them as a log, and turns the plan into changes of the body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from workbench.config.values import replace
from workbench.context.items import Item, State
from workbench.context.plan import ContextPlan
from workbench.context.setup import Setup
from workbench.log.events import Body, DialectName, Event, Reasoning, ToolCall, ToolResult
from workbench.wire.body_items import BodyItem
from workbench.wire.dialects import messages_of, reader_for
from workbench.wire.rewriting import Rewrite, items_in

_LEAVES: Final = frozenset({"dropped", "summarised", "excluded"})
_CHANGES: Final = frozenset({"masked", "truncated"})
_APART: Final = ("reasoning", "call", "result")
"""Kinds of items that become one event each. The blocks between them become one event together."""


class ItemChange(NamedTuple):
    """The text that replaces an item."""

    text: str
    freed: int
    """Tokens saved."""
    state: State
    """Masked or truncated."""


class BodyPlan(NamedTuple):
    """A request as events, their plan, and the paths of each event in the body."""

    plan: ContextPlan
    bodies: Sequence[Body]
    items: Sequence[BodyItem]
    paths: Mapping[int, tuple[str, ...]]
    """The paths of each event, by its number: its position in `bodies`, counted from 1."""
    stays: frozenset[str]
    """The paths that cannot change: the last message, calls without a result, and what is removed with either."""

    def rewrite(self) -> Rewrite:
        """The changes of the plan: items left out, masked and cut. Thinking, and the paths in `stays`, are not changed.

        The plan's notice about missing messages is left out: nothing is added to a request.
        """
        gone = (self.paths.get(row.seq or 0, ()) for row in self.plan.items if _can_leave(row))
        exclude = {path for paths in gone if self.stays.isdisjoint(paths) for path in paths}
        return Rewrite(frozenset(exclude), {path: change.text for path, change in self.changes().items()})

    def changes(self) -> dict[str, ItemChange]:
        """The items that the plan masks or cuts, by path, without the id that only our own tools could use."""
        made: dict[str, ItemChange] = {}
        for row in self.plan.items:
            paths = self.paths.get(row.seq or 0, ())
            is_text = row.kind not in ("reasoning", "tool_call") and bool(row.text)
            if row.state in _CHANGES and is_text and len(paths) == 1 and self.can_change(paths[0]):
                text = (row.text or "").replace(f" [id {row.id}]", "")
                made[paths[0]] = ItemChange(text, row.original_tokens - row.tokens, row.state)
        return made

    def can_change(self, path: str) -> bool:
        """Whether an item is not in the last message and does not belong to an open call."""
        return path not in self.stays


def _can_leave(row: Item) -> bool:
    return row.state in _LEAVES and row.kind != "reasoning"


def plan_body(dialect: DialectName, body: dict[str, Any], setup: Setup) -> BodyPlan:
    """Plan a request from its own contents."""
    made = reader_for(dialect)
    head = made.head(body)
    items = items_in(dialect, body)
    by_message: dict[int, list[BodyItem]] = {}
    for item in items:
        section, _, rest = item.path.partition(".")
        if section == "messages":
            by_message.setdefault(int(rest.partition(".")[0]), []).append(item)
    paths: dict[int, tuple[str, ...]] = {}
    for at, message in enumerate(messages_of(dialect, body)[head:], head):
        before = len(made.builder.bodies)
        made.message(message)
        runs = _runs(by_message.get(at, ()))
        for number, event_body in enumerate(made.builder.bodies[before:], before + 1):
            kind = _kind(event_body)
            paths[number] = next((found for each, found in runs if each == kind), ())
    planner = replace(setup, own_form=True).planner(
        (Event(number, f"r{number:05d}", 0, event_body) for number, event_body in enumerate(made.builder.bodies, 1)),
        thinking=True,
    )
    plan = planner.plan()
    setup.counter.flush()
    return BodyPlan(plan, made.builder.bodies, items, paths, _untouchable(items))


def _runs(items: Sequence[BodyItem]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Group the items of a message as its events do: the blocks between two calls or results are one event."""
    for kind, run in groupby(items, lambda item: item.kind if item.kind in _APART else ""):
        found = [item.path for item in run]
        yield from ((kind, (path,)) for path in found) if kind else [("", tuple(found))]


def _kind(body: Body) -> str:
    match body:
        case Reasoning():
            return "reasoning"
        case ToolCall():
            return "call"
        case ToolResult():
            return "result"
    return ""


def _untouchable(items: Sequence[BodyItem]) -> frozenset[str]:
    talk = [item for item in items if item.path.startswith("messages.")]
    last = ".".join(talk[-1].path.split(".")[:2]) if talk else ""
    inside = {item.path for item in talk if f"{item.path}.".startswith(f"{last}.")}
    answered = {item.call_id for item in talk if item.kind == "result"}
    stays = {
        item.call_id
        for item in talk
        if item.call_id and (item.path in inside or (item.kind == "call" and item.call_id not in answered))
    }
    return frozenset(item.path for item in talk if item.path in inside or item.call_id in stays)
