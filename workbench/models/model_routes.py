"""Where models answer, with which key, and how long to wait for them: from the settings and from servers found.

The `[requests]` table says how long a provider may be silent, and how often a request is tried again.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from workbench.config.settings import Settings
from workbench.config.tables import Table, read_table
from workbench.config.values import replace
from workbench.models.catalogue import Catalogue, is_local
from workbench.models.endpoints import Endpoint
from workbench.models.gateway import SilenceLimits
from workbench.models.keys import KeyOrigin, find_key
from workbench.models.local.offers import (
    PATIENT,
    OfferedModel,
    check_ports,
    endpoint_of,
    look_around,
    offers_of,
    pick_offer,
    server_kind_of,
)
from workbench.models.retry import RetrySchedule

LOCAL_FIRST = 600.0
"""Seconds for the embedded model to begin: on a slow machine, reading a full prompt takes minutes."""

_LONGEST = 86_400
_Span = Annotated[float, Meta(ge=0, le=_LONGEST, description=f"seconds from 0 to {_LONGEST}")]
_Silence = Annotated[float, Meta(ge=1, le=_LONGEST, description=f"seconds from 1 to {_LONGEST}")]


class RequestSettings(Table, frozen=True):
    """The table; None means the default for the model."""

    first_token_seconds: _Silence | None = None
    between_tokens_seconds: _Silence | None = None
    tries: Annotated[int, Meta(ge=1, le=100, description="a whole number from 1 to 100")] = RetrySchedule().tries
    retry_seconds: _Span = RetrySchedule().seconds

    def patience(self, model: str) -> SilenceLimits:
        """How long a model may be silent."""
        usual = SilenceLimits(first=LOCAL_FIRST) if is_local(model) else SilenceLimits()
        return SilenceLimits(self.first_token_seconds or usual.first, self.between_tokens_seconds or usual.between)

    def schedule(self) -> RetrySchedule:
        """How long and how often requests are tried again."""
        return replace(RetrySchedule(), tries=self.tries, seconds=self.retry_seconds)


class ModelRoutes:
    """The endpoints of all models, for one run of the program. Every search is made only once."""

    def __init__(self, settings: Settings, catalogue: Catalogue) -> None:
        """Raises WrongCall for a `[servers]` or `[requests]` table that cannot be used."""
        self.ports = check_ports(settings.servers, str(settings.file))
        """Where model servers on this machine listen."""
        self._requests = read_table(RequestSettings, settings.requests, str(settings.file), "requests")
        self._settings = settings
        self._catalogue = catalogue
        self._offers: dict[str, OfferedModel | None] = {}

    def all_offers(self) -> list[OfferedModel]:
        """The models of all servers on this machine that answer quickly."""
        return offers_of(look_around(self.ports))

    def offer(self, model: str, api_base: str = "") -> OfferedModel | None:
        """What a server on this machine reports about a model; None for other models, and if an address is given."""
        kind = server_kind_of(model)
        if kind is None or self.address(model, api_base):
            return None
        if model not in self._offers:
            self._offers[model] = pick_offer(model, look_around({kind: self.ports[kind]}, PATIENT))
        return self._offers[model]

    def address(self, model: str, api_base: str = "") -> str:
        """The address that the user gave, in this call or in the settings; empty: none."""
        return api_base or self._settings.api_base(model)

    def endpoint(self, model: str, api_base: str = "") -> Endpoint:
        """Where the requests to a model go, and the key, if it comes from the key store."""
        address = self.address(model, api_base)
        if server_kind_of(model) is not None:
            return endpoint_of(model, address, self.ports, self.offer(model, address))
        key = self.key(model)
        # A server of the user's own may need no key.
        missing = key.variables[0] if key.origin == "none" and key.variables and not address else ""
        return Endpoint(address, key.value, lacks_key=missing)

    def key(self, model: str) -> KeyOrigin:
        """Where the key for a model comes from."""
        return find_key(model, self._catalogue.find_model(model).provider)

    def patience(self, model: str) -> SilenceLimits:
        """How long a model may be silent."""
        return self._requests.patience(model)

    @property
    def schedule(self) -> RetrySchedule:
        """How long and how often requests are tried again."""
        return self._requests.schedule()
