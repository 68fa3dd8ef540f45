"""A server for each test, and a client for it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from workbench.rehearsal.server import RehearsalServer


@pytest.fixture
async def server() -> AsyncIterator[RehearsalServer]:
    """A server without a script: the rules answer."""
    async with RehearsalServer() as running:
        yield running


@pytest.fixture
async def client(server: RehearsalServer) -> AsyncIterator[httpx.AsyncClient]:
    """A plain HTTP client for it."""
    async with httpx.AsyncClient(base_url=server.url, timeout=30, trust_env=False) as client:
        yield client
