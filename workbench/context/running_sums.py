"""Running sums over units: what everything before a unit costs, so that a cut is found by bisection."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Mapping
from copy import copy
from typing import Final, NamedTuple

NONE: Final = 1 << 60
"""A unit behind all others."""


class UnitCost(NamedTuple):
    """What one unit costs."""

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


class _ApartSums(NamedTuple):
    """Running sums over the units that stand apart."""

    numbers: list[int]
    costs: list[UnitCost]
    """What those before the i-th of them cost."""
    first_sent: int


class RunningSums:
    """`cost[i]`, `framing[i]` and `messages[i]` are what the units before the i-th cost together.

    Units that are always sent stand apart: in the sums they cost nothing.
    """

    def __init__(self, units: int = 0) -> None:
        """So many units, which cost nothing yet."""
        self.cost = [0] * (units + 1)
        self.framing = [0] * (units + 1)
        self.messages = [0] * (units + 1)
        self._apart: dict[int, UnitCost] = {}
        self._apart_sums: _ApartSums | None = None
        """What those cost together; None: it has to be added up."""

    def again(self) -> RunningSums:
        """A copy that grows for itself."""
        made = copy(self)
        made.cost, made.framing, made.messages = self.cost[:], self.framing[:], self.messages[:]
        made._apart = self._apart.copy()
        return made

    def of_units(self, numbers: Mapping[int, int]) -> RunningSums:
        """Those of some of the units, in order, by the numbers that they get."""
        made = RunningSums()
        for number, new in numbers.items():
            made.open()
            if number in self._apart:
                made._apart[new] = self._apart[number]
            else:
                cost, framing, messages = self.of(number)
                made.add(cost - framing, framing, messages)
        return made

    def open(self) -> None:
        """One more unit, which costs nothing yet."""
        self.cost.append(self.cost[-1])
        self.framing.append(self.framing[-1])
        self.messages.append(self.messages[-1])

    def add(self, tokens: int, framing: int, messages: int) -> None:
        """Something more in the newest unit, which does not stand apart."""
        self.cost[-1] += tokens + framing
        self.framing[-1] += framing
        self.messages[-1] += messages

    def of(self, number: int) -> UnitCost:
        """What one unit costs."""
        apart = self._apart.get(number)
        if apart is not None:
            return apart
        before, after = number, number + 1
        return UnitCost(
            self.cost[after] - self.cost[before],
            self.framing[after] - self.framing[before],
            self.messages[after] - self.messages[before],
        )

    def put(self, values: Mapping[int, UnitCost], apart: Container[int]) -> None:
        """New figures for some units; the sums behind the first of them are mended."""
        if not values:
            return
        deltas: dict[int, UnitCost] = {}
        for number, value in values.items():
            was = UnitCost(0, 0, 0) if number in self._apart else self.of(number)
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
        """Some contents cost more or less than before, in units that do not stand apart; all else is the same."""
        _mend(self.cost, deltas)

    def apart_before(self, number: int) -> UnitCost:
        """What the units before one cost together that stand apart."""
        sums = self._added_up()
        return sums.costs[bisect_left(sums.numbers, number)]

    def first_sent(self) -> int:
        """The first unit of which something is sent."""
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
    """Add each unit's difference to all sums behind it."""
    if not deltas:
        return
    shift = 0
    for number in range(min(deltas), len(sums) - 1):
        shift += deltas.get(number, 0)
        sums[number + 1] += shift
