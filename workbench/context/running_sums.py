"""Running sums over units: the cost of everything before a unit, so that a cut is found by bisection."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Mapping
from copy import copy
from typing import Final, NamedTuple

NONE: Final = 1 << 60
"""A unit after all others."""


class UnitCost(NamedTuple):
    """The cost of one unit."""

    cost: int
    """Content and framing."""
    framing: int
    messages: int

    def plus(self, other: UnitCost) -> UnitCost:
        """Both together."""
        return UnitCost(self.cost + other.cost, self.framing + other.framing, self.messages + other.messages)

    def minus(self, other: UnitCost) -> UnitCost:
        """This without the other."""
        return UnitCost(self.cost - other.cost, self.framing - other.framing, self.messages - other.messages)


NO_COST: Final = UnitCost(0, 0, 0)


class _ApartSums(NamedTuple):
    """Running sums over the units that are always sent."""

    numbers: list[int]
    costs: list[UnitCost]
    """The cost of those before the i-th of them."""
    first_sent: int


class RunningSums:
    """`cost[i]`, `framing[i]` and `messages[i]` are the sums over the units before the i-th.

    Units that are always sent are kept apart: in the sums they cost nothing.
    """

    def __init__(self, units: int = 0) -> None:
        """So many units, which cost nothing yet."""
        self.cost = [0] * (units + 1)
        self.framing = [0] * (units + 1)
        self.messages = [0] * (units + 1)
        self._apart: dict[int, UnitCost] = {}
        self._apart_sums: _ApartSums | None = None
        """The sums of those kept apart; None: to be computed."""

    def copy(self) -> RunningSums:
        """An independent copy."""
        made = copy(self)
        made.cost, made.framing, made.messages = self.cost[:], self.framing[:], self.messages[:]
        made._apart = self._apart.copy()
        return made

    def of_units(self, numbers: Mapping[int, int]) -> RunningSums:
        """The sums of some of the units, in order, by the numbers that they get."""
        made = RunningSums()
        for number, new in numbers.items():
            if number in self._apart:
                made.add_unit(new)
                made._apart[new] = self._apart[number]
            else:
                cost, framing, messages = self.cost_of(number)
                made.add_unit(new, cost - framing, framing, messages)
        return made

    def add_unit(self, number: int, tokens: int = 0, framing: int = 0, messages: int = 0) -> None:
        """Add a unit, which gets this number, with its cost so far."""
        self.cost.append(self.cost[number] + tokens + framing)
        self.framing.append(self.framing[number] + framing)
        self.messages.append(self.messages[number] + messages)

    def add_cost(self, number: int, tokens: int, framing: int, messages: int) -> None:
        """Add a cost to the newest unit, which has this number and is not kept apart."""
        after = number + 1  # from the front: an index from the end takes three times as long
        self.cost[after] += tokens + framing
        self.framing[after] += framing
        self.messages[after] += messages

    def cost_of(self, number: int) -> UnitCost:
        """The cost of one unit."""
        apart = self._apart.get(number)
        if apart is not None:
            return apart
        before, after = number, number + 1
        return UnitCost(
            self.cost[after] - self.cost[before],
            self.framing[after] - self.framing[before],
            self.messages[after] - self.messages[before],
        )

    def set_costs(self, values: Mapping[int, UnitCost], apart: Container[int]) -> None:
        """Set new costs for some units; the sums after the first of them are updated."""
        if not values:
            return
        deltas: dict[int, UnitCost] = {}
        for number, value in values.items():
            was = UnitCost(0, 0, 0) if number in self._apart else self.cost_of(number)
            if number in apart:
                self._apart[number] = value
                self._apart_sums = None
                value = UnitCost(0, 0, 0)
            elif self._apart.pop(number, None) is not None:
                self._apart_sums = None
            deltas[number] = UnitCost(value.cost - was.cost, value.framing - was.framing, value.messages - was.messages)
        for index, sums in enumerate((self.cost, self.framing, self.messages)):
            _mend(sums, {number: delta[index] for number, delta in deltas.items() if delta[index]})

    def shift(self, deltas: Mapping[int, int]) -> None:
        """Add to the cost of some units that are not kept apart; nothing else changes."""
        _mend(self.cost, deltas)

    def apart_before(self, number: int) -> UnitCost:
        """The cost of the units kept apart before a unit."""
        sums = self._added_up()
        return sums.costs[bisect_left(sums.numbers, number)]

    def first_sent(self) -> int:
        """The first unit with something to send."""
        return min(bisect_right(self.messages, 0) - 1, self._added_up().first_sent)

    def _added_up(self) -> _ApartSums:
        if self._apart_sums is None:
            numbers = sorted(self._apart)
            costs = [UnitCost(0, 0, 0)]
            for number in numbers:
                costs.append(costs[-1].plus(self._apart[number]))
            sent = (number for number in numbers if self._apart[number].messages)
            self._apart_sums = _ApartSums(numbers, costs, next(sent, NONE))
        return self._apart_sums


def _mend(sums: list[int], deltas: Mapping[int, int]) -> None:
    """Add each unit's difference to all sums after it."""
    if not deltas:
        return
    shift = 0
    for number in range(min(deltas), len(sums) - 1):
        shift += deltas.get(number, 0)
        sums[number + 1] += shift
