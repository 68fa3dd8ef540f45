"""The gateway for a model's name: to a provider, to a server of the user's own, or to the embedded model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from workbench.config.background import in_background
from workbench.config.errors import WorkbenchError
from workbench.context.setup import Setup
from workbench.models.catalogue import LOCAL_WINDOW, is_local
from workbench.models.endpoints import Endpoint
from workbench.models.gateway import Gateway, SilenceLimits
from workbench.models.model_routes import ModelRoutes

if TYPE_CHECKING:
    from workbench.models.local.embedded import LocalModel


@asynccontextmanager
async def serving(
    model: str, endpoint: Endpoint, patience: SilenceLimits | None = None, *, may_fail: bool = False
) -> AsyncIterator[Gateway]:
    """A gateway to the model. The embedded model is started first, and stopped at the end.

    `may_fail`: the embedded model need not start, because there are fallback models.
    """
    local: LocalModel | None = None
    if is_local(model):
        from workbench.models.local.embedded import LocalModel  # late: it is asked for seldom

        local = LocalModel(model.partition(":")[2] or None, LOCAL_WINDOW)
    try:
        try:
            gateway = Gateway(await local.start() if local else endpoint, patience)
        except WorkbenchError as error:
            if not may_fail:
                raise
            gateway = Gateway(absent=str(error))
        try:
            yield gateway
        finally:
            await gateway.close()
    finally:
        if local:
            await local.stop()


@asynccontextmanager
async def summarising(routes: ModelRoutes, setup: Setup) -> AsyncIterator[Gateway | None]:
    """A gateway to the model that summarises; None if the policy names none but the session's own."""
    model = setup.loaded.policy.compaction.model
    if model in ("", setup.model) or is_local(model):  # the embedded model is too weak to summarise
        yield None
        return
    endpoint = await in_background(routes.endpoint, model)
    async with serving(model, endpoint, routes.patience(model)) as gateway:
        yield gateway


Prepared = tuple[Setup, Endpoint, SilenceLimits]
"""Everything that is needed to plan for a model and to reach it."""


class ReadyModel(NamedTuple):
    """A model that can be asked."""

    setup: Setup
    gateway: Gateway


class Fallbacks:
    """The fallback models; an async context manager. Each is prepared when it is first needed."""

    def __init__(self, models: Iterable[str] = (), prepare: Callable[[str], Awaitable[Prepared]] | None = None) -> None:
        """`prepare` looks up a model. It may raise WorkbenchError; then the next model is asked."""
        self.models = tuple(models)
        assert prepare is not None or not self.models, "a model can only be asked when it can be prepared"
        self._prepare = prepare
        self._ready: dict[str, ReadyModel] = {}
        self._open = AsyncExitStack()

    async def prepare_model(self, model: str) -> ReadyModel:
        """The model, ready to be asked. Raises WorkbenchError if that is not possible."""
        if model not in self._ready:
            assert self._prepare is not None
            setup, endpoint, patience = await self._prepare(model)
            gateway = await self._open.enter_async_context(serving(model, endpoint, patience))
            self._ready[model] = ReadyModel(setup, gateway)
        return self._ready[model]

    async def __aenter__(self) -> Fallbacks:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()
