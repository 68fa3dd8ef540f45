"""Finds the smallest sets of items without which the answer is another one, with few tests.

It assumes that leaving out more never undoes a change: if the answer is another one without A, it is another one
without A and B. Then the result is exact, and everything that is in no set has no effect, alone or together.

The searches are generators: they yield the numbers of the items to leave out, and are sent whether the answer changed.
They ask nobody themselves, so tests can answer for the model.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence

from msgspec import Struct

Removed = frozenset[int]
"""The numbers of the items that are left out of a request."""

MOST_KEPT = 64
"""How many combinations of items to keep are tried; beyond that, the list of sets may be incomplete."""


class FoundSets(Struct, frozen=True):
    """The sets that a search found."""

    sets: tuple[Removed, ...] = ()
    """Each changes the answer if it is left out whole, and does not if any one item of it stays."""
    enough: Removed | None = None
    """The fewest items that give the same answer without all others; None if the search ended before it knew."""
    complete: bool = False
    """Whether there are no other sets."""

    @property
    def members(self) -> Removed:
        """The items that are in any set."""
        return frozenset().union(*self.sets)


Search = Generator[Removed, bool, FoundSets]


class KnownChanges:
    """The tests made so far, and what follows from them without a test."""

    def __init__(self) -> None:
        self._same: list[Removed] = [frozenset()]
        self._changed: list[Removed] = []
        self.sets: list[Removed] = []
        """The sets found so far, also if the search is stopped."""

    def known_change(self, removed: Removed) -> bool | None:
        """Whether leaving these out changes the answer; None if only a test can say."""
        if any(removed <= each for each in self._same):
            return False
        return True if any(each <= removed for each in self._changed) else None

    def changes(self, removed: Removed) -> Generator[Removed, bool, bool]:
        """Whether leaving these out changes the answer: known, or tested."""
        known = self.known_change(removed)
        if known is not None:
            return known
        changed = yield removed
        (self._changed if changed else self._same).append(removed)
        return changed


def search_by_halving(order: Sequence[int], known: KnownChanges | None = None) -> Search:
    """All minimal sets, by halving. `order`: the items, those to leave out first at the beginning.

    Each set of k items takes about k times the logarithm of the number of items. When the items that are kept hit
    every set that was found, and all others are left out and nothing changes, there is no other set.
    """
    known = known or KnownChanges()
    tried: set[Removed] = set()
    enough: list[Removed] = []
    while True:
        open_sets = [kept for kept in hitting_sets(known.sets) if kept not in tried]
        if not open_sets or len(tried) >= MOST_KEPT:
            return FoundSets(tuple(known.sets), min(enough, key=len, default=None), complete=not open_sets)
        kept = min(open_sets, key=lambda each: (len(each), sorted(each)))
        rest = [number for number in order if number not in kept]
        if (yield from known.changes(frozenset(rest))):
            known.sets.append((yield from _minimal_set(rest, known)))
        else:
            tried.add(kept)
            enough.append(kept)


def _minimal_set(order: Sequence[int], known: KnownChanges) -> Generator[Removed, bool, Removed]:
    """A minimal set among these items, which together change the answer.

    Found from the back: the last item of the shortest beginning that still changes the answer belongs to the set.
    """
    found: Removed = frozenset()
    end = len(order)
    parts = len(known.sets) + 2  # where many items matter, the next one is near
    while end:
        low = 1
        while low < end:
            middle = low + (end - low) // parts
            if (yield from known.changes(found.union(order[:middle]))):
                end, parts = middle, 2
            else:
                low = middle + 1
        end -= 1
        found |= {order[end]}
        if (yield from known.changes(found)):
            break
    return found


def hitting_sets(sets: Iterable[Collection[int]], most: int = MOST_KEPT) -> list[Removed]:
    """The smallest choices with an item of each set; with no sets, the empty choice. At most `most` per set."""
    made: list[Removed] = [frozenset()]
    for each in sets:
        wider = {hit if hit.intersection(each) else hit | {number} for hit in made for number in each}
        made = []
        for hit in sorted(wider, key=lambda one: (len(one), sorted(one))):
            if not any(smaller <= hit for smaller in made):
                made.append(hit)
        del made[most:]
    return made
