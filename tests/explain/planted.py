"""Answers that depend on known items, for the searches."""

from __future__ import annotations

from collections.abc import Callable, Collection

from workbench.explain.minimal_sets import FoundSets, Removed, Search

Changed = Callable[[Removed], bool]


def depends_on(sets: Collection[Collection[int]]) -> Changed:
    """Whether the answer changes: when one of these sets is left out whole."""
    wanted = [frozenset(each) for each in sets]
    return lambda removed: any(each <= removed for each in wanted)


def answer_search(search: Search, changed: Changed, most: int = 10_000) -> tuple[FoundSets, list[Removed]]:
    """Run a search to its end. Return the result and the tests, in order."""
    tests: list[Removed] = []
    try:
        asked = next(search)
        while True:
            tests.append(asked)
            assert len(tests) <= most, "the search does not end"
            asked = search.send(changed(asked))
    except StopIteration as end:
        return end.value, tests
