"""Breakpoints from outside: the proxies that run on this machine, what they hold, and letting it go.

Each proxy has a file in the data folder, with the address under which it takes orders. There `GET /state` tells its
rules and what it holds, `GET /held/ID` has one request whole, `POST /held/ID` lets it go, and `PUT /rules` sets the
breakpoints.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.paths import data_dir
from workbench.log.events import Dialect

FOLDER: Final = "proxies"
NONE_RUNS: Final = "no proxy runs; start one with workbench proxy --break RULE -- COMMAND"
SECONDS: Final = 5
"""A proxy that does not answer in this time is left out."""

T = TypeVar("T")


class RunningProxy(Struct, frozen=True):
    """A proxy that runs on this machine."""

    pid: int
    born: float
    """When its process began: numbers of processes are used again."""
    control: str
    """Where it takes orders."""
    agent: str = ""
    """The agent that it started; empty: none that we know."""
    folder: str = ""
    """Where it was started."""


class HeldSummary(Struct, frozen=True):
    """A request that waits."""

    id: str
    rule: str
    why: str
    agent: str
    model: str
    dialect: Dialect
    tokens: int
    window: int
    items: int
    new: int
    """How many of its items are new."""
    since: float
    """Seconds since 1970."""
    until: float
    """When it is let go as it was."""
    last: str = ""
    """What stands last in it."""


class HeldDetail(Struct, frozen=True):
    """A request that waits, whole."""

    summary: HeldSummary
    body: dict[str, Any]
    new: tuple[str, ...]
    """The paths of the items that are new."""


class ProxyState(Struct, frozen=True):
    """What a proxy holds, and why."""

    rules: tuple[str, ...]
    held: tuple[HeldSummary, ...]


class ReleaseOrder(Struct, frozen=True):
    """How a request goes on."""

    end: Literal["as_it_was", "changed", "answered"]
    body: dict[str, Any] | None = None
    """What is sent in its place."""
    model: str = ""
    """The same, where the address names the model."""
    text: str = ""
    """What it is answered with."""


class RuleOrder(Struct, frozen=True):
    """All breakpoints, anew."""

    rules: tuple[str, ...]


class NotReached(WorkbenchError):
    """A proxy does not answer: it ended, or it is another's."""


# Proxies that run


@contextmanager
def registered(control: str, agent: str = "") -> Iterator[None]:
    """Make a proxy known while it runs; it is one without breakpoints from outside where that cannot be written."""
    import psutil  # late: it takes a while, and few need it

    path = data_dir() / FOLDER / f"{os.getpid()}.json"
    found = RunningProxy(os.getpid(), psutil.Process().create_time(), control, agent, os.getcwd())
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(msgspec.json.encode(found))
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def proxy_files() -> list[Path]:
    """A file for each proxy, of some perhaps that did not end cleanly. Costs next to nothing."""
    folder = data_dir() / FOLDER
    try:
        return sorted(folder / name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return []


def running_proxies() -> list[RunningProxy]:
    """The proxies of this user; what those left behind that did not end cleanly is removed."""
    found = []
    for path in proxy_files():
        try:
            proxy = msgspec.json.decode(path.read_bytes(), type=RunningProxy)
        except (OSError, msgspec.MsgspecError):
            continue  # it is being written, or removed
        if _lives(proxy):
            found.append(proxy)
        else:
            with suppress(OSError):
                path.unlink()
    return found


def _lives(proxy: RunningProxy) -> bool:
    import psutil  # late: nobody needs it where no proxy runs

    try:
        return abs(psutil.Process(proxy.pid).create_time() - proxy.born) < 1
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True


# What they are asked and told


def state_of(proxy: RunningProxy) -> ProxyState:
    """Its rules and what it holds. Raises NotReached."""
    return _call(proxy, "GET", "/state", ProxyState)


def detail_of(proxy: RunningProxy, held: str) -> HeldDetail:
    """A request that waits, whole."""
    return _call(proxy, "GET", f"/held/{held}", HeldDetail)


def release(proxy: RunningProxy, held: str, order: ReleaseOrder) -> ProxyState:
    """Let a request go on."""
    return _call(proxy, "POST", f"/held/{held}", ProxyState, order)


def set_rules(proxy: RunningProxy, rules: Sequence[str]) -> ProxyState:
    """Set all breakpoints anew. Raises WrongCall for a rule that is none."""
    return _call(proxy, "PUT", "/rules", ProxyState, RuleOrder(tuple(rules)))


def states() -> list[tuple[RunningProxy, ProxyState]]:
    """All proxies that answer."""
    found = []
    for proxy in running_proxies():
        with suppress(NotReached):
            found.append((proxy, state_of(proxy)))
    return found


def find_held(ident: str) -> tuple[RunningProxy, HeldSummary]:
    """A request that waits, by its id, or by the end of it where that is enough. Raises WrongCall."""
    waiting = [(proxy, held) for proxy, state in states() for held in state.held]
    exact = [each for each in waiting if each[1].id == ident]
    found = exact or [each for each in waiting if each[1].id.endswith(f"-{ident}")]
    if len(found) == 1:
        return found[0]
    known = ", ".join(held.id for _, held in (found or waiting)) or "none is held"
    raise WrongCall(f"{ident}: expected the id of one request that is held: {known}")


def _call(proxy: RunningProxy, method: str, path: str, kind: type[T], order: Struct | None = None) -> T:
    from http.client import HTTPConnection, HTTPException  # late: nobody needs it where no proxy runs

    where = urlsplit(proxy.control)
    connection = HTTPConnection(where.hostname or "", where.port, timeout=SECONDS)
    try:
        connection.request(method, where.path + path, msgspec.json.encode(order) if order is not None else None)
        answer = connection.getresponse()
        text = answer.read()
    except (OSError, HTTPException) as error:
        raise NotReached(f"the proxy {proxy.pid} does not answer: {error}") from error
    finally:
        connection.close()
    try:
        if answer.status == 200:
            return msgspec.json.decode(text, type=kind)
        raise WrongCall(msgspec.json.decode(text, type=dict[str, str])["error"])
    except (msgspec.MsgspecError, KeyError) as error:
        raise NotReached(f"the proxy {proxy.pid} answers in other words than expected: {error}") from error
