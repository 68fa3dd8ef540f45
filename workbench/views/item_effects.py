"""What `explain` found about the items of a request, for the rows of a context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from workbench.context.items import Item
from workbench.context.setup import Setup
from workbench.explain.kept_answers import KeptAnswers, recorded_digest, were_answers_kept
from workbench.explain.values import UnitFinding
from workbench.log.events import Event
from workbench.proxy.body_plans import BodyPlan, plan_body
from workbench.sources.replaying import event_paths
from workbench.sources.requests import TALK, RequestMark
from workbench.wire.requests import RequestBodies

Place = int | tuple[str, str]
"""An event; for tools and the system prompt, which may be no events, their slot and their name or text."""


class ItemEffect(NamedTuple):
    """How much an item mattered to the answer, in words that may hold foreign text."""

    request: int
    """The number of the request that was explained."""
    model: str
    found: UnitFinding


class ItemEffects(NamedTuple):
    places: Mapping[Place, ItemEffect]

    def of_item(self, item: Item) -> ItemEffect | None:
        """The effect of a row; None if it is not known."""
        return self.places.get(_place_of(item))


def _place_of(item: Item) -> Place:
    if item.slot == "tools":
        return ("tools", item.name)
    if item.slot == "system" or item.seq is None:
        return ("system", item.original)
    return item.seq


def kept_effects(
    events: Sequence[Event], marks: Sequence[RequestMark], at: int | None, setup: Setup
) -> ItemEffects | None:
    """What is kept about a request (None: the last one that the log holds whole). None if nothing is kept."""
    if not were_answers_kept():
        return None
    whole = [place for place, mark in enumerate(marks) if mark.exact and mark.purpose in TALK]
    place = at if at is not None else next(reversed(whole), None)
    if place is None or not marks[place].exact:
        return None
    seq, bodies = marks[place].request, RequestBodies(events)
    if not bodies.is_whole(seq):
        return None
    dialect, body = bodies.request(seq).dialect, bodies.body(seq)
    with KeptAnswers() as kept:
        found = kept.load_findings(recorded_digest(dialect, body))
    if found is None:
        return None
    by_path = {path: ItemEffect(place + 1, found.model, unit) for unit in found.units for path in unit.paths}
    return ItemEffects(dict(_placed(plan_body(dialect, body, setup), events, by_path)))


def _placed(
    planned: BodyPlan, events: Sequence[Event], by_path: Mapping[str, ItemEffect]
) -> Iterator[tuple[Place, ItemEffect]]:
    for item in planned.items:
        if item.path in by_path and item.kind in ("tool", "system"):
            yield ("tools", item.tool) if item.kind == "tool" else ("system", item.text), by_path[item.path]
    for seq, paths in event_paths(planned, events).items():
        effects = {by_path[path] for path in paths if path in by_path}
        if len(effects) == 1:  # an event of several units has no effect of its own
            yield seq, effects.pop()
