"""An order that the proxy does not know is refused, and the answer lists those that it knows."""

from __future__ import annotations

import json

import pytest
from aiohttp.test_utils import make_mocked_request

from workbench.config.settings import Settings
from workbench.models.catalogue import Catalogue
from workbench.proxy.gate import Gate
from workbench.proxy.orders import follow_order
from workbench.proxy.policies import PassingPolicies, setup_maker


async def answer(method: str, path: str, *, with_policies: bool) -> tuple[int, str]:
    policies = PassingPolicies(setup_maker(Settings(), Catalogue()), 0) if with_policies else None
    made = await follow_order(make_mocked_request(method, path), path, Gate(), policies)
    assert isinstance(made.body, bytes)
    return made.status, json.loads(made.body).get("error", "")


@pytest.mark.parametrize("path", ["/nothing", "/policies/", "/held/", "/"])
@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "DELETE"])
async def test_an_unknown_order_is_refused(method: str, path: str) -> None:
    for with_policies in (True, False):
        status, error = await answer(method, path, with_policies=with_policies)
        assert (status, error.partition(":")[0]) == (400, f"{method} {path}")
        assert "expected GET /state" in error


async def test_a_proxy_without_policies_knows_no_session() -> None:
    for method in ("GET", "PUT"):
        assert (await answer(method, "/policies/some", with_policies=False))[0] == 400
    assert await answer("GET", "/policies", with_policies=False) == (200, "")
    assert await answer("GET", "/state", with_policies=True) == (200, "")
