"""Sends bodies of one recorded request's dialect to one place, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from workbench.config.background import in_background
from workbench.config.tables import read_table
from workbench.log.events import DialectName
from workbench.models.catalogue import REHEARSAL
from workbench.sources.replay_answers import ReplayAnswer, priced_answer
from workbench.sources.services import Services
from workbench.wire.dialects import read_answer

if TYPE_CHECKING:
    from workbench.proxy.routes import ProxySettings, Upstreams


class ReplayPlace(NamedTuple):
    """Where requests are sent again, and how."""

    dialect: DialectName
    model: str
    headers: Mapping[str, str]
    """The recorded headers."""
    to: str
    """An address, or the rehearsal model; empty: the provider."""
    sends_key: bool


def proxy_settings(services: Services) -> ProxySettings:
    """The user's settings for where requests of each provider go."""
    from workbench.proxy.routes import ProxySettings

    settings = services.settings
    return read_table(ProxySettings, settings.proxy, str(settings.file), "proxy")


class ReplaySender:
    """Sends requests inside its `async with` block. The rehearsal model is started for it, and ends with it."""

    def __init__(self, services: Services, place: ReplayPlace) -> None:
        self._services = services
        self._place = place
        self._stack = AsyncExitStack()
        self._settings = proxy_settings(services)
        self._upstreams: Upstreams
        self._key = ""

    async def __aenter__(self) -> Self:
        # late: aiohttp takes a fifth of a second
        from workbench.proxy.resending import key_for
        from workbench.proxy.routes import Upstreams
        from workbench.rehearsal.server import RehearsalServer

        place, to = self._place, self._place.to
        if to == REHEARSAL:
            to = (await self._stack.enter_async_context(RehearsalServer(keep=1))).url
        self._upstreams = Upstreams(to, self._settings)
        if place.sends_key:
            self._key = await in_background(lambda: key_for(place.dialect, place.model, needed=not to))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def send_body(self, body: dict[str, Any]) -> ReplayAnswer:
        """Send a body and read the answer. A failure is an answer with a problem."""
        from workbench.proxy.resending import ResentRequest, resend_request

        dialect, model, headers, to, _ = self._place
        sent = ResentRequest(dialect, model, body, headers)
        came = await resend_request(sent, self._upstreams, self._key, self._settings.largest)
        answer, used = read_answer(dialect, came.body)
        made = priced_answer(self._services.catalogue, model, answer, used, (came.took or 0) / 1000)
        problem = came.problem or ("" if answer else "nothing was answered")
        cost = 0.0 if to == REHEARSAL else made.cost
        return made._replace(problem=problem, cost=cost, status=came.status)
