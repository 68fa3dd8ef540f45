"""Running sums over units: what everything before a unit costs, so that a cut is found by bisection."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Mapping
from copy import copy
from typing import NamedTuple


class UnitCost(NamedTuple):
    """What one unit costs."""

    cost: int
    """Content and framing."""
    framing: int
    messages: int


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

    def again(self) -> RunningSums:
        """A copy that grows for itself."""
        made = copy(self)
        made.cost, made.framing, made.messages = self.cost[:], self.framing[:], self.messages[:]
        made._apart = self._apart.copy()
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
                value = UnitCost(0, 0, 0)
            else:
                self._apart.pop(number, None)
            deltas[number] = UnitCost(value.cost - was.cost, value.framing - was.framing, value.messages - was.messages)
        for index, sums in enumerate((self.cost, self.framing, self.messages)):
            _mend(sums, {number: delta[index] for number, delta in deltas.items() if delta[index]})

    def shift(self, deltas: Mapping[int, int]) -> None:
        """Some contents cost more or less than before, in units that do not stand apart; all else is the same."""
        _mend(self.cost, deltas)

    def first_sent(self) -> int:
        """The first unit of which something is sent."""
        apart = (number for number, cost in self._apart.items() if cost.messages)
        return min(bisect_right(self.messages, 0) - 1, min(apart, default=len(self.messages)))


def _mend(sums: list[int], deltas: Mapping[int, int]) -> None:
    """Add each unit's difference to all sums behind it."""
    if not deltas:
        return
    shift = 0
    for number in range(min(deltas), len(sums) - 1):
        shift += deltas.get(number, 0)
        sums[number + 1] += shift
