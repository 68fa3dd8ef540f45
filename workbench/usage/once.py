"""Each request once, though an agent's files repeat it and the proxy recorded it as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from workbench.config.values import replace
from workbench.usage.records import RequestUse
from workbench.usage.session_sums import SummedSession

LATER = 60_000
"""Milliseconds between the answer and the agent's own record of it, at most."""
_MOST_STEPS = 50
"""From a sub-agent to its session, or from a fork to the first of them."""


class CountedSession(NamedTuple):
    """A session, and which of its requests count."""

    session: SummedSession
    owner: str
    """The session that they count for."""
    requests: list[RequestUse] | None
    """None: all of them, as they are."""


def counted_once(sessions: Sequence[SummedSession]) -> Iterator[CountedSession]:
    """The requests of all sessions, without copies.

    The agent's file says who asked, and the proxy has the figures: some agents write down the report on an answer
    before it has ended.
    """
    files = sorted((each for each in sessions if not each.used.is_passed), key=_age)
    origins = {each.used.session: each.used.copied_from for each in files if each.used.copied_from}
    owners = {each.used.session: each.used.belongs_to for each in files if each.used.belongs_to}
    passed = _PassedRequests([each for each in sessions if each.used.is_passed])
    # Totals of a thread, as Codex has them, name a request within the thread only.
    groups = [
        (used.agent, _first(used.session, origins) if used.state.get("header") else "")
        for used in (each.used for each in files)
    ]
    sizes = Counter(groups)
    seen: dict[tuple[str, str], set[str]] = {}
    for session, group in zip(files, groups, strict=True):
        owner = _first(session.used.session, owners)
        keys = seen.setdefault(group, set())
        own = session.sums.keys if sizes[group] > 1 else ()
        requests = None
        if passed.has_figures or not keys.isdisjoint(own):
            requests = passed.with_figures(_new_requests(session, keys))
        else:
            keys.update(own)
        yield CountedSession(session, owner, requests)
    yield from passed.left()


def _new_requests(session: SummedSession, keys: set[str]) -> Iterator[RequestUse]:
    """The requests of a session that no other had; their keys are added."""
    for use in session.load_requests():
        if use.key and use.key in keys:
            continue
        keys.add(use.key)
        yield use


def _age(session: SummedSession) -> tuple[int, int, str]:
    """The first of two files with the same beginning is the one that ended first."""
    return session.sums.first, session.sums.last, session.used.ref


def _first(session: str, before: Mapping[str, str]) -> str:
    for _ in range(_MOST_STEPS):
        if session not in before:
            break
        session = before[session]
    return session


class _PassedRequests:
    """What the proxy recorded, to be found by its figures."""

    def __init__(self, sessions: Sequence[SummedSession]) -> None:
        self._sessions = [(each, each.load_requests()) for each in sessions]
        self._used: set[tuple[int, int]] = set()
        self._places: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        keys: set[str] = set()
        for at, (_, requests) in enumerate(self._sessions):
            for number, use in enumerate(requests):
                if use.key in keys:  # a fork of ours
                    self._used.add((at, number))
                elif use.prompt:
                    self._places.setdefault(_figures(use), []).append((at, number))
                keys.add(use.key)

    @property
    def has_figures(self) -> bool:
        """Whether requests have passed the proxy."""
        return bool(self._places)

    def with_figures(self, requests: Iterable[RequestUse]) -> list[RequestUse]:
        """Requests of a file, those that have passed the proxy with its figures."""
        return [self._with_own_figures(use) for use in requests]

    def _with_own_figures(self, use: RequestUse) -> RequestUse:
        places = self._places.get(_figures(use), ())
        near = [(abs(self._at(place).at - use.at), place) for place in places if place not in self._used]
        if not near or min(near)[0] > LATER:
            return use
        place = min(near)[1]
        self._used.add(place)
        found = self._at(place)
        cost = use.cost if use.cost is not None else found.cost
        return replace(use, out=max(use.out, found.out), cost=cost, is_unfinished=False)

    def left(self) -> Iterator[CountedSession]:
        """Those that are in no file."""
        for at, (session, requests) in enumerate(self._sessions):
            left = [use for number, use in enumerate(requests) if (at, number) not in self._used]
            yield CountedSession(session, session.used.session, left)

    def _at(self, place: tuple[int, int]) -> RequestUse:
        return self._sessions[place[0]][1][place[1]]


def _figures(use: RequestUse) -> tuple[int, int, int]:
    return (use.prompt, use.cached, use.written)
