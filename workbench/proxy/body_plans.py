"""What a policy would make of a request's own contents: planned as a log, and told as changes of the body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from workbench.context.plan import ContextPlan
from workbench.context.setup import Setup
from workbench.log.events import Body, Dialect, Event, Reasoning, ToolCall, ToolResult
from workbench.wire.body_items import BodyItem
from workbench.wire.dialects import NAMES, messages_of, reader
from workbench.wire.rewriting import Rewrite, items_in
from workbench.wire.talk import Talk

_LEAVES: Final = frozenset({"dropped", "summarised", "excluded"})
_CHANGES: Final = frozenset({"masked", "truncated"})
_APART: Final = ("reasoning", "call", "result")
"""Kinds that are an event each; the blocks between them are one together."""


class BodyPlan(NamedTuple):
    """A request as events, their plan, and where each stands in the body."""

    plan: ContextPlan
    bodies: Sequence[Body]
    items: Sequence[BodyItem]
    paths: Mapping[int, tuple[str, ...]]
    """By the number of an event, which is its place among `bodies` counted from 1."""

    def rewrite(self) -> Rewrite:
        """What the plan leaves out, masks and cuts. The last message, open calls and thinking stay as they are.

        A plan's notice of what is missing is no part of it: nothing is added to a request.
        """
        kept = _untouchable(self.items)
        exclude: set[str] = set()
        mask: dict[str, str] = {}
        for row in self.plan.rows:
            paths = self.paths.get(row.seq or 0, ())
            if not paths or row.kind == "reasoning" or not kept.isdisjoint(paths):
                continue
            if row.state in _LEAVES:
                exclude.update(paths)
            elif row.state in _CHANGES and len(paths) == 1 and row.kind != "tool_call" and row.text:
                mask[paths[0]] = row.text
        return Rewrite(frozenset(exclude), mask)


def plan_body(dialect: Dialect, body: dict[str, Any], setup: Setup) -> BodyPlan:
    """Plan a request from its own contents."""
    made = reader(dialect, Talk(NAMES[dialect]))
    head = made.head(body)
    items = items_in(dialect, body)
    by_message: dict[int, list[BodyItem]] = {}
    for item in items:
        section, _, rest = item.path.partition(".")
        if section == "messages":
            by_message.setdefault(int(rest.partition(".")[0]), []).append(item)
    paths: dict[int, tuple[str, ...]] = {}
    for at, message in enumerate(messages_of(dialect, body)[head:], head):
        before = len(made.talk.bodies)
        made.message(message)
        runs = _runs(by_message.get(at, ()))
        for number, said in enumerate(made.talk.bodies[before:], before + 1):
            kind = _kind(said)
            paths[number] = next((found for each, found in runs if each == kind), ())
    planner = setup.planner(
        (Event(number, f"r{number:05d}", 0, said) for number, said in enumerate(made.talk.bodies, 1)), thinking=True
    )
    plan = planner.plan()
    setup.counter.flush()
    return BodyPlan(plan, made.talk.bodies, items, paths)


def _runs(items: Sequence[BodyItem]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The things of a message as its events have them: what was said between two calls or results is one."""
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


def _untouchable(items: Sequence[BodyItem]) -> set[str]:
    """The last message, calls without a result, and what leaves with either."""
    talk = [item for item in items if item.path.startswith("messages.")]
    last = ".".join(talk[-1].path.split(".")[:2]) if talk else ""
    answered = {item.call_id for item in talk if item.kind == "result"}
    stays = {
        item.call_id
        for item in talk
        if item.call_id and (_is_in(item.path, last) or (item.kind == "call" and item.call_id not in answered))
    }
    return {item.path for item in talk if _is_in(item.path, last) or item.call_id in stays}


def _is_in(path: str, message: str) -> bool:
    return path == message or path.startswith(f"{message}.")
