"""What each policy would summarise: one function per strategy.

A strategy chooses among the units that may be taken at all. `tight` is for a conversation that no longer fits: then the
finished iteration groups of the open turn may go too, and nothing is kept for being recent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workbench.compaction.units import RowUnit, Scene
from workbench.context.budget import Limits
from workbench.context.policy import CompactionPolicy, Selection
from workbench.context.stages.truncate import TruncationRule, truncate
from workbench.models.tokens import TokenCounter

LEAST_ROOM = 64
"""A user message that spills over is cut to what is left of the budget; below so many tokens little but the marker
would be left of it, and it is summarised instead."""


class Retained(NamedTuple):
    """A user message that stays beside the summary."""

    unit: RowUnit
    text: str | None
    """A shortened text; None: as it is."""
    tokens: int


class Choice(NamedTuple):
    """What a strategy would do."""

    wanted: Sequence[RowUnit]
    """What is summarised."""
    retained: Sequence[Retained]
    why: str


@dataclass(frozen=True, slots=True)
class Terms:
    """What the strategies go by."""

    policy: CompactionPolicy
    limits: Limits
    counter: TokenCounter
    tight: bool = False


def capped(tokens: int, ratio: float, window: int) -> int:
    """A cap in tokens that is at most a share of the window; a share of 0 is no bound."""
    return min(tokens, int(window * ratio)) if ratio else tokens


def choose(scene: Scene, terms: Terms) -> Choice:
    """What the policy's strategy would summarise."""
    choice = _STRATEGIES[terms.policy.selection](scene, terms)
    going_on = scene.units[scene.open_from :]
    if going_on and choice.wanted and choice.wanted[-1].number >= going_on[0].number:
        return choice._replace(why=f"{choice.why}; finished iteration groups of the open turn go too")
    return choice


def _fresh(scene: Scene, terms: Terms) -> list[RowUnit]:
    """What may be taken and is not summarised yet."""
    return [unit for unit in scene.takeable(groups=terms.tight) if not unit.summarised]


def _everything(scene: Scene, terms: Terms) -> Choice:
    """The whole conversation."""
    return Choice(_fresh(scene, terms), (), "the whole conversation but the latest user message")


def _user_messages(scene: Scene, terms: Terms) -> Choice:
    """Everything but the newest user messages; the latest one comes first."""
    latest = [unit.cost() for unit in scene.units if unit.number == scene.latest]
    retained, why = _retain(_fresh(scene, terms), terms, sum(latest))
    return Choice(_without(_fresh(scene, terms), retained), retained, f"everything but the latest user message{why}")


def _turns(scene: Scene, terms: Terms) -> Choice:
    """Everything before the last turns but the newest user messages."""
    keep = 0 if terms.tight else terms.policy.keep_turns
    before = [unit for unit in _fresh(scene, terms) if unit.turn <= scene.turn - keep]
    retained, why = _retain(before, terms, 0)
    last = {0: "everything but the latest user message", 1: "everything before the last turn"}.get(keep)
    last = last or f"everything before the last {keep:,} turns"
    return Choice(_without(before, retained), retained, f"{last}{why}")


def _last_messages(scene: Scene, terms: Terms) -> Choice:
    """Everything but the last messages. A group that is partly among them stays whole."""
    keep = 0 if terms.tight else terms.policy.keep_messages
    left, cut = keep, len(scene.units)
    while cut and left > 0:
        cut -= 1
        if any(row.in_request for row in scene.units[cut].rows):
            left -= scene.units[cut].messages
    recent = {unit.number for unit in scene.units[cut:]}
    wanted = [unit for unit in _fresh(scene, terms) if unit.number not in recent]
    return Choice(wanted, (), f"everything but the last {keep:,} messages")


def _sliding(scene: Scene, terms: Terms) -> Choice:
    """The turns since the last compaction, and so many before them again.

    What was summarised before is read again from the log, not from its summary.
    """
    units = scene.takeable(groups=terms.tight)
    behind = max((at for at, unit in enumerate(units, 1) if unit.summarised), default=0)
    if behind == len(units):
        return Choice((), (), "no turn was finished since the last compaction")
    new, last = units[behind].turn, units[-1].turn
    # What stands before the first user message is turn 0; it belongs to the first window.
    start = max(new - terms.policy.overlap, 0) if behind else 0
    again = new - max(start, 1) if behind else 0
    wanted = [unit for unit in units if unit.turn >= start]
    why = f"turns {max(start, 1):,} to {last:,}"
    return Choice(wanted, (), f"{why}, of which {again:,} are summarised again" if again > 0 else why)


_STRATEGIES: dict[Selection, Callable[[Scene, Terms], Choice]] = {
    "everything": _everything,
    "user_messages": _user_messages,
    "turns": _turns,
    "last_messages": _last_messages,
    "sliding": _sliding,
}


# User messages under a budget


def _without(units: Sequence[RowUnit], retained: Sequence[Retained]) -> list[RowUnit]:
    stay = {each.unit.number for each in retained}
    return [unit for unit in units if unit.number not in stay]


def _retain(units: Sequence[RowUnit], terms: Terms, spent: int) -> tuple[list[Retained], str]:
    """User messages from the newest on, as far as the budget reaches, and what to say of them.

    The one that spills over is cut in its middle.
    """
    policy = terms.policy
    cap = capped(policy.keep_user_tokens, policy.keep_user_ratio, terms.limits.window)
    room = cap - spent
    retained: list[Retained] = []
    for unit in reversed(units):
        if not unit.is_user:
            continue
        cost = unit.cost()
        if cost > room:
            if room >= LEAST_ROOM and unit.rows[0].state != "masked":
                retained.append(_shortened(unit, room, terms.counter))
            break
        retained.append(Retained(unit, None, cost))
        room -= cost
    retained.reverse()
    tokens = sum(each.tokens for each in retained)
    if not retained:
        return retained, ""
    count = "1 user message" if len(retained) == 1 else f"{len(retained):,} user messages"
    return retained, f"; of that, {count} with {tokens:,} tokens stay (budget {cap:,})"


def _shortened(unit: RowUnit, room: int, counter: TokenCounter) -> Retained:
    row = unit.rows[0]
    rule = TruncationRule("both", room, 0, 0, 0, 0, False)
    cut = truncate(row.original, counter.count(row.original).tokens, rule, counter, row.id)
    # Pictures cost more than their text: then the text alone may fit.
    text, tokens = (cut.text, cut.tokens) if cut else (row.original, counter.count(row.original).tokens)
    return Retained(unit, text, tokens)
