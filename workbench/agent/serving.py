"""Who answers for a model's name: a provider, a server of the user's own, or the model that we run ourselves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from workbench.models.catalogue import LOCAL_WINDOW, is_local
from workbench.models.endpoints import Endpoint
from workbench.models.gateway import Gateway
from workbench.models.local.embedded import LocalModel


@asynccontextmanager
async def serving(model: str, endpoint: Endpoint) -> AsyncIterator[Gateway]:
    """A gateway to the model; the embedded one is started for it and ends with it."""
    local = LocalModel(model.partition(":")[2] or None, LOCAL_WINDOW) if is_local(model) else None
    try:
        gateway = Gateway(await local.start() if local else endpoint)
        try:
            yield gateway
        finally:
            await gateway.close()
    finally:
        if local:
            await local.stop()
