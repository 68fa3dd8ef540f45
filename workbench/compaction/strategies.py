"""What each policy would summarise: one function per strategy.

A strategy chooses among the units that may be summarised. If that is nothing, or not enough, the finished iteration
groups of the open turn may go too (`groups`); if the conversation no longer fits, recent items are not spared
(`tight`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct

from workbench.compaction.candidates import Candidates, ItemUnit
from workbench.config.text import counted
from workbench.context.budget import Limits, capped_tokens
from workbench.context.policy import CompactionPolicy, Selection
from workbench.context.stages.truncate import TruncationRule, truncate_result
from workbench.models.tokens import TokenCounter

MARKED_ROOM = 64
"""A user message that exceeds the budget is cut to what is left; below this many tokens only the marker would be left,
so its beginning is kept, with an ellipsis."""


KEPT_SHARE = 2
"""Kept user messages get at most half of the room that the fixed slots leave: the rest is for what comes."""


class KeptMessage(NamedTuple):
    """A user message that stays next to the summary."""

    unit: ItemUnit
    text: str | None
    """A shortened text; None: unchanged."""
    tokens: int


class StrategyChoice(NamedTuple):
    """What a strategy would do."""

    wanted: Sequence[ItemUnit]
    """The units to summarise."""
    retained: Sequence[KeptMessage]
    why: str
    spares: str = ""
    """The knob that keeps recent items, with its value; empty if none does."""


class StrategyInputs(Struct, frozen=True):
    policy: CompactionPolicy
    limits: Limits
    counter: TokenCounter
    fixed: int = 0
    """Tokens of the fixed slots, which no compaction frees."""
    groups: bool = False
    tight: bool = False


def choose_units(candidates: Candidates, inputs: StrategyInputs) -> StrategyChoice:
    """What the policy's strategy would summarise."""
    choice = _STRATEGIES[inputs.policy.selection](candidates, inputs)
    going_on = candidates.units[candidates.open_from :]
    if going_on and choice.wanted and choice.wanted[-1].number >= going_on[0].number:
        return choice._replace(why=f"{choice.why}; finished iteration groups of the open turn are summarised too")
    return choice


def _fresh(candidates: Candidates, inputs: StrategyInputs) -> list[ItemUnit]:
    """The units that may be summarised and are not yet."""
    return [unit for unit in candidates.takeable(groups=inputs.groups) if not unit.summarised]


def _all(candidates: Candidates, everything: str = "everything") -> str:
    return everything if candidates.latest < 0 else f"{everything} but the latest user message"


def _everything(candidates: Candidates, inputs: StrategyInputs) -> StrategyChoice:
    """The whole conversation."""
    return StrategyChoice(_fresh(candidates, inputs), (), _all(candidates, "the whole conversation"))


def _user_messages(candidates: Candidates, inputs: StrategyInputs) -> StrategyChoice:
    """Everything but the newest user messages; that of an open turn comes first."""
    latest = [unit.cost() for unit in candidates.units if unit.number == candidates.latest]
    retained, why = _retain(_fresh(candidates, inputs), inputs, sum(latest))
    return StrategyChoice(_without(_fresh(candidates, inputs), retained), retained, f"{_all(candidates)}{why}")


def _turns(candidates: Candidates, inputs: StrategyInputs) -> StrategyChoice:
    """Everything before the last turns but the newest user messages."""
    keep = 0 if inputs.tight else inputs.policy.keep_turns
    before = [unit for unit in _fresh(candidates, inputs) if unit.turn <= candidates.turn - keep]
    retained, why = _retain(before, inputs, 0)
    wanted = _without(before, retained)
    spares = f"compaction.keep_turns={keep}" if keep else ""
    last = {0: _all(candidates), 1: "everything before the last turn"}.get(keep)
    last = f"{last or f'everything before the last {keep:,} turns'}{why}"
    if keep and inputs.groups:
        return _with_groups_of_last_turns(candidates, inputs, StrategyChoice(wanted, retained, last, spares))
    return StrategyChoice(wanted, retained, last, spares)


def _with_groups_of_last_turns(
    candidates: Candidates, inputs: StrategyInputs, earlier: StrategyChoice
) -> StrategyChoice:
    """The iteration groups of the last turns, too; their user messages and answers stay."""
    keep = inputs.policy.keep_turns
    recent = [unit for unit in _fresh(candidates, inputs) if unit.turn > candidates.turn - keep and unit.has_calls]
    if not recent:
        return earlier
    turns = min(keep, max(candidates.turn, 1))
    groups = f"the finished iteration groups of the last {'turn' if turns == 1 else counted(turns, 'turn')}"
    why = f"{earlier.why}, and {groups}" if earlier.wanted else groups
    return earlier._replace(wanted=[*earlier.wanted, *recent], why=why)


def _last_messages(candidates: Candidates, inputs: StrategyInputs) -> StrategyChoice:
    """Everything but the last messages. A group that is partly among them stays whole."""
    keep = 0 if inputs.tight else inputs.policy.keep_messages
    left, cut = keep, len(candidates.units)
    while cut and left > 0:
        cut -= 1
        if any(item.in_request for item in candidates.units[cut].items):
            left -= candidates.units[cut].messages
    recent = {unit.number for unit in candidates.units[cut:]}
    wanted = [unit for unit in _fresh(candidates, inputs) if unit.number not in recent]
    spares = f"compaction.keep_messages={keep}" if keep else ""
    return StrategyChoice(wanted, (), f"everything but the last {keep:,} messages", spares)


def _sliding(candidates: Candidates, inputs: StrategyInputs) -> StrategyChoice:
    """The turns since the last compaction, and so many before them again.

    Turns that were summarised before are read again from the log, not from their summary.
    """
    units = candidates.takeable(groups=inputs.groups)
    behind = max((at for at, unit in enumerate(units, 1) if unit.summarised), default=0)
    if behind == len(units):
        return StrategyChoice((), (), "the turns finished since the last compaction")
    new, last = units[behind].turn, units[-1].turn
    # What comes before the first user message is turn 0; it belongs to the first window.
    start = max(new - inputs.policy.overlap, 0) if behind else 0
    again = new - max(start, 1) if behind else 0
    wanted = [unit for unit in units if unit.turn >= start]
    why = f"turns {max(start, 1):,} to {last:,}"
    return StrategyChoice(wanted, (), f"{why}, of which {again:,} are summarised again" if again > 0 else why)


_STRATEGIES: dict[Selection, Callable[[Candidates, StrategyInputs], StrategyChoice]] = {
    "everything": _everything,
    "user_messages": _user_messages,
    "turns": _turns,
    "last_messages": _last_messages,
    "sliding": _sliding,
}


# User messages under a budget


def _without(units: Sequence[ItemUnit], retained: Sequence[KeptMessage]) -> list[ItemUnit]:
    stay = {each.unit.number for each in retained}
    return [unit for unit in units if unit.number not in stay]


def _retain(units: Sequence[ItemUnit], inputs: StrategyInputs, spent: int) -> tuple[list[KeptMessage], str]:
    """User messages from the newest on, as far as the budget reaches, and the words for them.

    The first that exceeds the budget is cut in its middle.
    """
    policy = inputs.policy
    cap = capped_tokens(policy.keep_user_tokens, policy.keep_user_ratio, inputs.limits.window)
    cap = min(cap, max(0, inputs.limits.capacity - inputs.fixed) // KEPT_SHARE)
    room = cap - spent
    retained: list[KeptMessage] = []
    for unit in reversed(units):
        if not unit.is_user:
            continue
        cost = unit.cost()
        if cost > room:
            if room > 0 and unit.items[0].state != "masked":
                cut = _shortened(unit, room, inputs.counter)
                retained += [cut] if cut.tokens <= room else []
            break
        retained.append(KeptMessage(unit, None, cost))
        room -= cost
    retained.reverse()
    tokens = sum(each.tokens for each in retained)
    if not retained:
        return retained, ""
    count = counted(len(retained), "user message")
    return retained, f"; of that, {count} with {tokens:,} tokens are kept (budget {cap:,})"


def _shortened(unit: ItemUnit, room: int, counter: TokenCounter) -> KeptMessage:
    item = unit.items[0]
    if room < MARKED_ROOM:
        return _beginning(unit, room, counter)
    rule = TruncationRule("both", room, 0, 0, 0, 0, False)
    cut = truncate_result(item.original, counter.count(item.original).tokens, rule, counter, item.id)
    # Pictures cost more than their text: then the text alone may fit.
    text, tokens = (cut.text, cut.tokens) if cut else (item.original, counter.count(item.original).tokens)
    return KeptMessage(unit, text, tokens)


def _beginning(unit: ItemUnit, room: int, counter: TokenCounter) -> KeptMessage:
    text = short = unit.items[0].original
    end = counter.head(text, room)
    while end < len(text) and counter.count(short := f"{text[:end]}…").tokens > room and end:
        end -= 1
    return KeptMessage(unit, short, counter.count(short).tokens)
