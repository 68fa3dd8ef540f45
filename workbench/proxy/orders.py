"""The proxy takes orders: breakpoints are set, and what they hold is let go. `proxy/control` is who gives them."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from aiohttp import web
from msgspec import Struct

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.proxy.control import ReleaseOrder, RuleOrder
from workbench.proxy.gate import Gate

T = TypeVar("T")


async def take_order(incoming: web.Request, path: str, gate: Gate) -> web.Response:
    """Answer an order; what is wrong with it is told in a sentence."""
    held = path.removeprefix("/held/") if path.startswith("/held/") else ""
    try:
        match incoming.method, path:
            case "GET", "/state":
                return _told(gate.state())
            case "GET", _ if held:
                return _told(gate.detail(held))
            case "POST", _ if held:
                gate.release(held, await _read(incoming, ReleaseOrder))
                return _told(gate.state())
            case "PUT", "/rules":
                gate.set_rules((await _read(incoming, RuleOrder)).rules)
                return _told(gate.state())
        raise WrongCall(f"{incoming.method} {path}: expected GET /state, GET or POST /held/ID, or PUT /rules")
    except WorkbenchError as error:
        return web.json_response({"error": str(error)}, status=400)


async def _read(incoming: web.Request, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(await incoming.read(), type=kind)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise WrongCall(f"the order cannot be read: {error}") from error


def _told(value: Struct) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
