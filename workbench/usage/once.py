"""Each request once, though an agent's files repeat it and the proxy recorded it as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from workbench.usage.records import RequestUse, SessionUse

LATER = 60_000
"""Milliseconds between the answer and the agent's own record of it, at most."""
_MOST_STEPS = 50
"""From a sub-agent to its session, or from a fork to the first of them."""


class CountedRequests(NamedTuple):
    """Requests that count, and whose they are."""

    agent: str
    session: str
    folder: str
    uses: list[RequestUse]


def counted_once(sessions: Sequence[SessionUse]) -> Iterator[CountedRequests]:
    """The requests of all sessions, without copies.

    The agent's file says who asked, and the proxy has the figures: some agents write down the report on an answer
    before it has ended.
    """
    files = sorted((each for each in sessions if not each.is_passed), key=_age)
    origins = {each.session: each.copied_from for each in files if each.copied_from}
    owners = {each.session: each.belongs_to for each in files if each.belongs_to}
    passed = _PassedRequests([each for each in sessions if each.is_passed])
    seen: dict[tuple[str, str], set[str]] = {}
    for used in files:
        first, owner = _first(used.session, origins), _first(used.session, owners)
        # Totals of a thread, as Codex has them, name a request within the thread only.
        keys = seen.setdefault((used.agent, first if used.state.get("header") else ""), set())
        uses = []
        for use in used.requests:
            if use.key and use.key in keys:
                continue
            keys.add(use.key)
            uses.append(use)
        yield CountedRequests(used.agent, owner, used.folder, passed.with_figures(uses))
    yield from passed.left()


def _age(used: SessionUse) -> tuple[int, int, str]:
    """The first of two files with the same beginning is the one that ended first."""
    times = [each.at for each in used.requests]
    return (times[0], times[-1], used.ref) if times else (0, 0, used.ref)


def _first(session: str, before: Mapping[str, str]) -> str:
    for _ in range(_MOST_STEPS):
        if session not in before:
            break
        session = before[session]
    return session


class _PassedRequests:
    """What the proxy recorded, to be found by its figures."""

    def __init__(self, sessions: Sequence[SessionUse]) -> None:
        self._sessions = sessions
        self._used: set[tuple[int, int]] = set()
        self._places: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        keys: set[str] = set()
        for at, used in enumerate(sessions):
            for number, use in enumerate(used.requests):
                if use.key in keys:  # a fork of ours
                    self._used.add((at, number))
                elif use.prompt:
                    self._places.setdefault(_figures(use), []).append((at, number))
                keys.add(use.key)

    def with_figures(self, uses: list[RequestUse]) -> list[RequestUse]:
        """Requests of a file, those that have passed the proxy with its figures."""
        return [self._with_own_figures(use) for use in uses] if self._places else uses

    def _with_own_figures(self, use: RequestUse) -> RequestUse:
        places = self._places.get(_figures(use), ())
        near = [(abs(self._at(place).at - use.at), place) for place in places if place not in self._used]
        if not near or min(near)[0] > LATER:
            return use
        place = min(near)[1]
        self._used.add(place)
        found = self._at(place)
        cost = use.cost if use.cost is not None else found.cost
        return msgspec.structs.replace(use, out=max(use.out, found.out), cost=cost, is_unfinished=False)

    def left(self) -> Iterator[CountedRequests]:
        """Those that are in no file."""
        for at, used in enumerate(self._sessions):
            uses = [use for number, use in enumerate(used.requests) if (at, number) not in self._used]
            yield CountedRequests(used.agent, used.session, used.folder, uses)

    def _at(self, place: tuple[int, int]) -> RequestUse:
        return self._sessions[place[0]].requests[place[1]]


def _figures(use: RequestUse) -> tuple[int, int, int]:
    return (use.prompt, use.cached, use.written)
