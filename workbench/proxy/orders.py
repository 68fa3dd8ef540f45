"""Handles control requests to the proxy: sets breakpoints, releases held requests, sets policies for sessions.

`proxy/control` sends them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from aiohttp import web
from msgspec import Struct

from workbench.config.background import in_background
from workbench.config.errors import WorkbenchError, WrongCall
from workbench.proxy.control import HeldDetail, PolicyList, PolicyOrder, ReleaseOrder, RuleOrder
from workbench.proxy.gate import Gate, HeldRequest
from workbench.proxy.policies import PassingPolicies

T = TypeVar("T")


async def follow_order(
    incoming: web.BaseRequest, path: str, gate: Gate, policies: PassingPolicies | None
) -> web.Response:
    """Answer a control request. An invalid one gets an error with one sentence."""
    held = path.removeprefix("/held/") if path.startswith("/held/") else ""
    session = path.removeprefix("/policies/") if path.startswith("/policies/") else ""
    try:
        match incoming.method, path:
            case "GET", "/state":
                return _json_response(gate.state())
            case "GET", _ if held:
                return _json_response(await in_background(_detail, gate.find_held(held), policies))
            case "POST", _ if held:
                order = await _read(incoming, ReleaseOrder)
                gate.release(held, order, lambda: _pin(gate.find_held(held), policies, order.pin))
                return _json_response(gate.state())
            case "PUT", "/rules":
                gate.set_rules((await _read(incoming, RuleOrder)).rules)
                return _json_response(gate.state())
            case "GET", "/policies":
                return _json_response(PolicyList(policies.listed() if policies is not None else ()))
            case "GET", _ if session and policies is not None:
                return _json_response(policies.session_policy(session))
            case "PUT", _ if session and policies is not None:
                return _json_response(await in_background(policies.order, session, await _read(incoming, PolicyOrder)))
        expected = "GET /state, GET or POST /held/ID, PUT /rules, GET /policies, or GET or PUT /policies/SESSION"
        raise WrongCall(f"{incoming.method} {path}: expected {expected}")
    except WorkbenchError as error:
        return web.json_response({"error": str(error)}, status=400)


def _detail(held: HeldRequest, policies: PassingPolicies | None) -> HeldDetail:
    if policies is None:
        return HeldDetail(held.summary, held.body, held.new)
    policy = policies.policy_for_request(held.route, held.headers, held.body)
    pinned = policies.pinned_in(held.summary.dialect, held.body)
    return HeldDetail(held.summary, held.body, held.new, pinned, "" if policy is None else str(policy))


def _pin(held: HeldRequest, policies: PassingPolicies | None, paths: Sequence[str]) -> Sequence[str]:
    if not paths:
        return ()
    if policies is None:
        raise WrongCall("this proxy takes no policies: there is nothing to pin against")
    return policies.pin(held.summary.dialect, held.body, frozenset(paths))


async def _read(incoming: web.BaseRequest, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(await incoming.read(), type=kind)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise WrongCall(f"the order cannot be read: {error}") from error


def _json_response(value: Struct) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
