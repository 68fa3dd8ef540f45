"""Compactors for a source that is only viewed, without a turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from workbench.agent.serving import serving
from workbench.compaction.compactor import Compactor
from workbench.compaction.summariser import setup_for
from workbench.config.background import in_background
from workbench.context.setup import Setup
from workbench.models.catalogue import is_local
from workbench.sources.options import Options
from workbench.sources.services import Services


@asynccontextmanager
async def compactor_for(
    services: Services, options: Options, setup: Setup, *, digest: bool = False
) -> AsyncIterator[Compactor]:
    """A compactor, with a gateway to the summarising model if one is needed."""
    model = setup_for(setup, services.catalogue).model
    if digest or is_local(model):
        yield Compactor(setup, None, catalogue=services.catalogue)
        return
    routes = services.routes
    endpoint = await in_background(routes.endpoint, model, options.api_base if model == setup.model else "")
    async with serving(model, endpoint, routes.patience(model)) as gateway:
        yield Compactor(setup, gateway, schedule=routes.schedule, catalogue=services.catalogue)
