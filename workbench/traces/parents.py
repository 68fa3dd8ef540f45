"""Entries that name the entry they continue, in files that may lack that entry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from workbench.traces.building import Builder
from workbench.wire.values import text_in

T = TypeVar("T")


def path_to_last(parents: Mapping[str, str]) -> tuple[set[str], int]:
    """The entries that lead to the last one, and how many of them continue an entry that is not in the file.

    `parents`: the parent of each entry, in file order. If it is missing, the path continues with the entry before it in
    the file.
    """
    names = list(parents)
    places = {name: at for at, name in enumerate(names)}
    found: set[str] = set()
    gaps = 0
    at = names[-1] if names else ""
    while at and at not in found:
        found.add(at)
        before = parents[at]
        if before and before not in places:
            gaps += 1
            before = names[places[at] - 1] if places[at] else ""
        at = before
    return found, gaps


def count_missing(values: Iterable[Any], key: str, known: set[str]) -> int:
    """How many entries name a parent under `key` that is not among the known ones."""
    return sum(1 for value in values if (parent := text_in(value, key)) and parent not in known)


def behind_parents(values: Sequence[T], name: Callable[[T], str], parent: Callable[[T], str]) -> list[T]:
    """Entries in their order, but moved after the entry that they continue, if that comes later.

    `name`: an entry's own id; `parent`: that of the entry that it continues.
    """
    places = {own: at for at, value in enumerate(values) if (own := name(value))}
    if not any(places.get(parent(value), -1) > at for at, value in enumerate(values)):
        return list(values)
    found: list[T] = []
    waiting: dict[str, list[T]] = {}
    there: set[str] = set()
    for at, value in enumerate(values):
        before = parent(value)
        if before not in there and (before in waiting or places.get(before, -1) > at):
            waiting.setdefault(before, []).append(value)
            waiting.setdefault(name(value), [])
            continue
        ready = [value]
        while ready:
            each = ready.pop(0)
            found.append(each)
            there.add(name(each))
            ready[:0] = waiting.pop(name(each), [])
    return [*found, *(value for late in waiting.values() for value in late)]


def report_gaps(builder: Builder, gaps: int) -> None:
    """Report that entries continue others that are not in the file."""
    if gaps == 1:
        builder.failure("1 entry goes on from an entry that is not in this file: something before it is missing")
    elif gaps:
        builder.failure(f"{gaps:,} entries go on from entries that are not in this file: something is missing")
