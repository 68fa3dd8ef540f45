"""The gate: requests that a breakpoint names wait here until they are let go.

While there is no breakpoint nothing is looked at, and nothing costs anything.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, NamedTuple

from msgspec import structs

from workbench.config.background import in_background
from workbench.config.errors import WrongCall
from workbench.log.events import HoldEnd
from workbench.models.catalogue import Catalogue
from workbench.models.tokens import estimator_for
from workbench.proxy.breakpoints import BreakRule, PassingRequest, first_held, item_name, new_items, parse_rule
from workbench.proxy.control import HeldSummary, ProxyState, ReleaseOrder
from workbench.proxy.routes import Route
from workbench.proxy.senders import Sender, sender_of
from workbench.traces.request_thread import Exchange, common_start
from workbench.wire.parts import split
from workbench.wire.rewriting import BodyItem, items_in

REMEMBERED: Final = 50
"""Requests that a later one may continue."""
LAST: Final = 200
"""Characters of what stands last, in a list of what is held."""


class Release(NamedTuple):
    """How a request goes on."""

    end: HoldEnd
    body: dict[str, Any] | None = None
    model: str = ""
    text: str = ""
    pinned: Sequence[str] = ()
    """The calls whose results no policy on the way is to change from now on."""


@dataclass(slots=True, eq=False)
class SeenRequest:
    """A request that passed, as the next one of its conversation is compared with it."""

    key: tuple[str, str, str]
    names: Sequence[int]
    """Of all its items."""
    talk: Sequence[int]
    """Of those of the conversation."""
    refused: str = ""


@dataclass(slots=True, eq=False)
class HeldRequest:
    """A request that waits."""

    summary: HeldSummary
    body: dict[str, Any]
    new: tuple[str, ...]
    route: Route
    headers: Mapping[str, str]
    session: Callable[[], str] = lambda: ""
    """What it is recorded in, once it is."""
    released: asyncio.Future[Release] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class _Read(NamedTuple):
    """What is known of a request before it is compared with others."""

    body: dict[str, Any]
    items: list[BodyItem]
    sender: Sender
    model: str
    tokens: int
    window: int


class Gate:
    """The breakpoints of a proxy, and what waits at them. Used in the loop's thread."""

    def __init__(
        self,
        rules: Iterable[str] = (),
        seconds: float = 600,
        client: str = "",
        catalogue: Catalogue | None = None,
    ) -> None:
        """`seconds`: after which a request is released unchanged; `client`: who asks, where a request does not tell."""
        self.rules: tuple[BreakRule, ...] = ()
        self.seconds = seconds
        self.held: dict[str, HeldRequest] = {}
        self._client = client
        self._catalogue = catalogue or Catalogue()
        self._seen: deque[SeenRequest] = deque(maxlen=REMEMBERED)
        self._numbers = count(1)
        self.set_rules(rules)

    def set_rules(self, rules: Iterable[str]) -> None:
        """All breakpoints, anew. Raises WrongCall. What waits already goes on waiting."""
        self.rules = tuple(dict.fromkeys(map(parse_rule, rules)))
        if not self.rules:
            self._seen.clear()

    def looks_at(self, route: Route) -> bool:
        """Whether a request may have to wait: it asks a model, and there are breakpoints."""
        return bool(self.rules) and route.dialect is not None and route.name != "counting"

    async def look(
        self, route: Route, headers: Mapping[str, str], body: Callable[[], dict[str, Any]]
    ) -> tuple[HeldRequest | None, SeenRequest | None]:
        """Whether a request is to wait; and by what the next one knows it. Its body is read in the background."""
        read = await in_background(self._read, route, dict(headers), body)
        if read is None:
            return None, None
        key = (read.sender.session, read.sender.agent, str(route.dialect))
        talk = [item_name(item) for item in read.items if item.kind not in ("system", "tool")]
        before = self._before(key, talk)
        seen = SeenRequest(key, [item_name(item) for item in read.items], talk)
        self._seen.append(seen)
        new = new_items(read.items, before.names if before else None)
        agents = (read.sender.client or self._client, read.sender.agent, read.sender.purpose or "")
        refused = before.refused if before else ""
        found = first_held(self.rules, PassingRequest(new, [*filter(None, agents)], read.tokens, read.window, refused))
        if found is None:
            return None, seen
        if not read.tokens:
            read = await in_background(self._sized, read)
        held = self._held(route, headers, read, new, *found)
        held.summary = structs.replace(held.summary, first=before is None)
        return held, seen

    def _read(self, route: Route, headers: Mapping[str, str], read_body: Callable[[], dict[str, Any]]) -> _Read | None:
        dialect, body = route.dialect, read_body()
        if dialect is None or not body or body.get("generate") is False:
            return None
        model = route.model or str(body.get("model") or "")
        exchange = Exchange(dialect, body, {}, model, 0, split(dialect, body))
        found = _Read(body, items_in(dialect, body), sender_of(exchange, route, headers), model, 0, 0)
        return self._sized(found) if any(rule.counts for rule in self.rules) else found

    def _sized(self, read: _Read) -> _Read:
        counter = estimator_for(read.model)
        tokens = sum(counter.count(item.text).tokens for item in read.items)
        return read._replace(tokens=tokens, window=self._catalogue.find(read.model).window)

    def _before(self, key: tuple[str, str, str], talk: Sequence[int]) -> SeenRequest | None:
        """The request that this one continues: of those with the same beginning the one that has most in common."""
        best, most = None, 0
        for seen in self._seen:
            if seen.key == key:
                common = common_start(seen.talk, talk)
                if common and common >= most:
                    best, most = seen, common
        return best

    def _held(
        self,
        route: Route,
        headers: Mapping[str, str],
        read: _Read,
        new: Sequence[BodyItem],
        rule: BreakRule,
        why: str,
    ) -> HeldRequest:
        assert route.dialect is not None
        sender, now = read.sender, time.time()
        agent = " ".join(filter(None, (sender.client or self._client, sender.agent, sender.name)))
        last = " ".join(read.items[-1].text.split())[:LAST] if read.items else ""
        summary = HeldSummary(
            f"{os.getpid()}-{next(self._numbers)}",
            str(rule),
            why,
            agent,
            read.model,
            route.dialect,
            read.tokens,
            read.window,
            len(read.items),
            len(new),
            now,
            now + self.seconds,
            last,
        )
        return HeldRequest(summary, read.body, tuple(item.path for item in new), route, headers)

    @contextmanager
    def holding(self, held: HeldRequest) -> Iterator[None]:
        """It can be let go meanwhile."""
        self.held[held.summary.id] = held
        try:
            yield
        finally:
            del self.held[held.summary.id]

    # From outside

    def state(self) -> ProxyState:
        """What it holds, and why."""
        waiting = (structs.replace(held.summary, session=held.session()) for held in self.held.values())
        return ProxyState(tuple(map(str, self.rules)), tuple(waiting))

    def release(self, ident: str, order: ReleaseOrder, pin: Callable[[], Sequence[str]] = tuple) -> None:
        """Let a request go on; `pin` does what the order says of that, and gives the calls. Raises WrongCall."""
        held = self.find(ident)
        if order.end == "changed" and held.summary.fixed:
            raise WrongCall(held.summary.fixed)
        if order.end == "changed" and not order.body:
            raise WrongCall("expected the body that is sent in its place")
        if order.end == "answered" and not order.text.strip():
            raise WrongCall("expected a text to answer with")
        held.released.set_result(Release(order.end, order.body, order.model, order.text, pin()))

    def find(self, ident: str) -> HeldRequest:
        """A request that waits. Raises WrongCall."""
        held = self.held.get(ident)
        if held is None or held.released.done():
            raise WrongCall(f"{ident} is not held any more")
        return held
