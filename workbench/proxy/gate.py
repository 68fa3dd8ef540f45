"""The gate holds requests that match a breakpoint until they are released.

Without breakpoints no request is read, and the gate costs nothing.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, Final, NamedTuple

from msgspec import Struct, field

from workbench.config.background import in_background
from workbench.config.errors import WrongCall
from workbench.config.values import replace
from workbench.log.events import HoldEnd
from workbench.models.calibrated_counts import estimator_for
from workbench.models.catalogue import Catalogue
from workbench.proxy.breakpoints import BreakRule, PassingRequest, first_held, item_name, new_items, parse_rule
from workbench.proxy.control import HeldSummary, ProxyState, ReleaseOrder
from workbench.proxy.routes import Route
from workbench.proxy.senders import Sender, sender_of
from workbench.traces.request_thread import Exchange, common_start
from workbench.wire.parts import split_body
from workbench.wire.rewriting import BodyItem, items_in

REMEMBERED: Final = 50
"""Requests that are remembered, because a later one may continue them."""
LAST: Final = 200
"""Characters of the last item to show in a list of held requests."""


class Release(NamedTuple):
    """How a request is released."""

    end: HoldEnd
    body: dict[str, Any] | None = None
    model: str = ""
    text: str = ""
    pinned: Sequence[str] = ()
    """The ids of calls whose results no policy may change from now on."""


class SeenRequest(Struct, eq=False):
    """A request that passed, for comparison with the next one of its conversation."""

    key: tuple[str, str, str]
    names: Sequence[int]
    """The hashes of all its items."""
    talk: Sequence[int]
    """The hashes of the items that belong to the conversation."""
    refused: str = ""


class HeldRequest(Struct, eq=False):
    """A request that is being held."""

    summary: HeldSummary
    body: dict[str, Any]
    new: tuple[str, ...]
    route: Route
    headers: Mapping[str, str]
    session: Callable[[], str] = lambda: ""
    """Returns the session that records it; empty before it is recorded."""
    released: asyncio.Future[Release] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class _Read(NamedTuple):
    """The facts about a request before it is compared with others."""

    body: dict[str, Any]
    items: list[BodyItem]
    sender: Sender
    model: str
    tokens: int
    window: int


class Gate:
    """The breakpoints of a proxy, and the requests that they hold. Use it only in the event loop's thread."""

    def __init__(
        self, rules: Iterable[str] = (), seconds: float = 600, client: str = "", catalogue: Catalogue | None = None
    ) -> None:
        """`seconds`: then a request is released unchanged; `client`: the agent, if a request does not name it."""
        self.rules: tuple[BreakRule, ...] = ()
        self.seconds = seconds
        self.held: dict[str, HeldRequest] = {}
        self._client = client
        self._catalogue = catalogue or Catalogue()
        self._seen: deque[SeenRequest] = deque(maxlen=REMEMBERED)
        self._numbers = count(1)
        self.set_rules(rules)

    def set_rules(self, rules: Iterable[str]) -> None:
        """Replace all breakpoints. Requests that are held stay held. Raises WrongCall."""
        self.rules = tuple(dict.fromkeys(map(parse_rule, rules)))
        if not self.rules:
            self._seen.clear()

    def watches_route(self, route: Route) -> bool:
        """Whether a request may have to wait: it asks a model, and breakpoints are set."""
        asks = route.dialect is not None and route.name != "counting" and not route.is_wrapped
        return bool(self.rules) and asks

    async def decide_hold(
        self, route: Route, headers: Mapping[str, str], body: Callable[[], dict[str, Any]]
    ) -> tuple[HeldRequest | None, SeenRequest | None]:
        """Decide whether to hold a request, and remember it for the next one. Its body is read in the background."""
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
        held.summary = replace(held.summary, first=before is None)
        return held, seen

    def _read(self, route: Route, headers: Mapping[str, str], read_body: Callable[[], dict[str, Any]]) -> _Read | None:
        dialect, body = route.dialect, read_body()
        if dialect is None or not body or body.get("generate") is False:
            return None
        model = route.model or str(body.get("model") or "")
        exchange = Exchange(dialect, body, {}, model, 0, split_body(dialect, body))
        found = _Read(body, items_in(dialect, body), sender_of(exchange, route, headers), model, 0, 0)
        return self._sized(found) if any(rule.counts for rule in self.rules) else found

    def _sized(self, read: _Read) -> _Read:
        counter = estimator_for(read.model)
        tokens = sum(counter.count(item.text).tokens for item in read.items)
        return read._replace(tokens=tokens, window=self._catalogue.find_model(read.model).window)

    def _before(self, key: tuple[str, str, str], talk: Sequence[int]) -> SeenRequest | None:
        """The request that this one continues: of those with the same beginning, the one with the most in common."""
        best, most = None, 0
        for seen in self._seen:
            if seen.key == key:
                common = common_start(seen.talk, talk)
                if common and common >= most:
                    best, most = seen, common
        return best

    def _held(
        self, route: Route, headers: Mapping[str, str], read: _Read, new: Sequence[BodyItem], rule: BreakRule, why: str
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
        """List a request as held while it waits, which allows it to be released."""
        self.held[held.summary.id] = held
        try:
            yield
        finally:
            del self.held[held.summary.id]

    # Control from outside

    def state(self) -> ProxyState:
        """The rules, and the requests that are held."""
        waiting = (replace(held.summary, session=held.session()) for held in self.held.values())
        return ProxyState(tuple(map(str, self.rules)), tuple(waiting))

    def release(self, ident: str, order: ReleaseOrder, pin: Callable[[], Sequence[str]] = tuple) -> None:
        """Release a held request. `pin` pins the results in the order and returns their calls. Raises WrongCall."""
        held = self.find_held(ident)
        if order.end == "changed" and held.summary.fixed:
            raise WrongCall(held.summary.fixed)
        if order.end == "changed" and not order.body:
            raise WrongCall("expected the body that is sent in its place")
        if order.end == "answered" and not order.text.strip():
            raise WrongCall("expected a text to answer with")
        held.released.set_result(Release(order.end, order.body, order.model, order.text, pin()))

    def find_held(self, ident: str) -> HeldRequest:
        """Find a held request. Raises WrongCall."""
        held = self.held.get(ident)
        if held is None or held.released.done():
            raise WrongCall(f"{ident} is not held any more")
        return held
