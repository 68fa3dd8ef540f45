"""The proxies that run on this machine, from outside: what they hold, letting it go, and policies on the way.

Each proxy has a file in the data folder, with the address under which it takes orders. There `GET /state` tells its
rules and what it holds, `GET /held/ID` has one request whole, `POST /held/ID` lets it go, and `PUT /rules` sets the
breakpoints; `GET /policies` tells what its sessions are sent under, `GET` and `PUT /policies/SESSION` one of them.
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
from workbench.config.foreign_files import read_regular_file
from workbench.config.paths import data_dir
from workbench.config.writing import replace_file
from workbench.log.events import DialectName

FOLDER: Final = "proxies"
NONE_RUNS: Final = "no proxy runs; start one with workbench proxy --break RULE -- COMMAND"
SECONDS: Final = 5
"""A proxy that does not answer in this time is left out."""
MOST_OF_FILE: Final = 64 * 1024
MOST_OF_ANSWER: Final = 512 * 1024 * 1024
"""Bytes. A held request may be large."""
MOST_PID: Final = 1 << 31

T = TypeVar("T")


class RunningProxy(Struct, frozen=True):
    """A proxy that runs on this machine."""

    pid: int
    born: float
    """When its process began: numbers of processes are used again."""
    control: str
    """Where it takes orders."""
    agent: str = ""
    """The agent that it started; empty: none."""
    folder: str = ""
    """Where it was started."""


class HeldSummary(Struct, frozen=True):
    """A request that waits."""

    id: str
    rule: str
    why: str
    agent: str
    model: str
    dialect: DialectName
    tokens: int
    window: int
    items: int
    new: int
    """How many of its items are new."""
    since: float
    """Seconds since 1970."""
    until: float
    """When it is released unchanged."""
    last: str = ""
    """What stands last in it."""
    fixed: str = ""
    """Why nothing else may be sent in its place; empty: it may be changed."""
    session: str = ""
    """What it is recorded in; empty: nothing is, or not yet."""
    first: bool = False
    """Whether no earlier request of its conversation is known: then what is new is what the model has not answered."""


class HeldDetail(Struct, frozen=True):
    """A request that waits, whole."""

    summary: HeldSummary
    body: dict[str, Any]
    new: tuple[str, ...]
    """The paths of the items that are new."""
    pinned: tuple[str, ...] = ()
    """The paths of the items that no policy on the way changes, because somebody said so."""
    policy: str = ""
    """What requests of its conversation are sent under; empty: as they are."""


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
    pin: tuple[str, ...] = ()
    """The paths of results that no policy on the way is to change from now on."""


class RuleOrder(Struct, frozen=True):
    """All breakpoints, anew."""

    rules: tuple[str, ...]


class WayPolicy(Struct, frozen=True, omit_defaults=True):
    """A policy on the way."""

    policy: str = ""
    """A preset, a file of the user's, or a path; empty: the one of the settings."""
    knobs: tuple[str, ...] = ()
    """As `masking.keep_last=3`."""

    def __str__(self) -> str:
        return " ".join((self.policy or "the policy of your settings", *self.knobs))


class PolicyOrder(Struct, frozen=True):
    """What a session is to be sent under from its next request on."""

    do: Literal["set", "off", "default", "undo"]
    """default: as the proxy does with all others; undo: what the last batch changed is sent as it was."""
    policy: WayPolicy = WayPolicy()
    """For `set`."""


class SessionPolicy(Struct, frozen=True):
    """What a session is sent under."""

    session: str
    policy: WayPolicy | None
    """None: it is sent as it is."""
    own: bool = False
    """Whether that was said of this session, and not of the whole proxy."""
    results: int = 0
    """Those that are sent in other words now."""
    batches: int = 0
    """Those that can be undone."""
    leaving: int = 0
    """Of the results, those that are sent as they were from the next batch on."""
    default: WayPolicy | None = None
    """What the proxy sends all others under."""
    agent: str = ""
    """Whose session it is, where something tells."""


class PolicyList(Struct, frozen=True):
    """What the sessions of a proxy are sent under, the one that was used last at the end."""

    sessions: tuple[SessionPolicy, ...]


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
        replace_file(path, msgspec.json.encode(found))
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
        proxy = _read_file(path)
        if proxy is None:
            continue  # it is being written, or removed, or no proxy wrote it
        if _lives(proxy):
            found.append(proxy)
        else:
            with suppress(OSError):
                path.unlink()
    return found


def _read_file(path: Path) -> RunningProxy | None:
    """What a proxy wrote about itself; None for anything else. Links are not followed."""
    try:
        content = read_regular_file(path, MOST_OF_FILE, follow_links=False)
        proxy = msgspec.json.decode(content, type=RunningProxy)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return proxy if 0 < proxy.pid < MOST_PID and _is_here(proxy.control) else None


def _is_here(address: str) -> bool:
    """Whether an address is one under which proxies take orders."""
    try:
        where = urlsplit(address)
        is_local = (
            (where.scheme, where.hostname) == ("http", "127.0.0.1") and bool(where.port) and "@" not in where.netloc
        )
    except ValueError:
        return False
    return is_local and where.path.strip("/").replace("-", "").replace("_", "").isalnum() and address.isascii()


def _lives(proxy: RunningProxy) -> bool:
    import psutil  # late: nobody needs it where no proxy runs

    try:
        return abs(psutil.Process(proxy.pid).create_time() - proxy.born) < 1
    except (psutil.NoSuchProcess, ValueError, OverflowError):
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


def policies_of(proxy: RunningProxy) -> tuple[SessionPolicy, ...]:
    """What its sessions are sent under."""
    return _call(proxy, "GET", "/policies", PolicyList).sessions


def order_policy(proxy: RunningProxy, session: str, order: PolicyOrder) -> SessionPolicy:
    """Set, change or undo what a session is sent under. Raises WrongCall."""
    return _call(proxy, "PUT", f"/policies/{session}", SessionPolicy, order)


def find_session(session: str) -> tuple[RunningProxy, SessionPolicy] | None:
    """The proxy that writes a session of the store, and what it is sent under; None: no proxy that runs does."""
    for proxy in running_proxies():
        with suppress(NotReached, WrongCall):
            return proxy, _call(proxy, "GET", f"/policies/{session}", SessionPolicy)
    return None


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
        text = answer.read(MOST_OF_ANSWER)
    except (OSError, HTTPException, ValueError) as error:
        raise NotReached(f"the proxy {proxy.pid} does not answer: {error}") from error
    finally:
        connection.close()
    try:
        if answer.status == 200:
            return msgspec.json.decode(text, type=kind)
        raise WrongCall(msgspec.json.decode(text, type=dict[str, str])["error"])
    except (msgspec.MsgspecError, KeyError, UnicodeError, RecursionError) as error:
        raise NotReached(f"the proxy {proxy.pid} answers in other words than expected: {error}") from error
