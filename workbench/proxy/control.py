"""Controls the proxies that run on this machine: lists and releases held requests, sets breakpoints and policies.

Each proxy has a file in the data folder with its control address. At that address `GET /state` returns its rules and
held requests, `GET /held/ID` one request with its body, `POST /held/ID` releases it, and `PUT /rules` sets the
breakpoints. `GET /policies` returns the policies of its sessions, `GET` and `PUT /policies/SESSION` one of them.
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
from workbench.config.folders import work_folder
from workbench.config.foreign_files import read_regular_file
from workbench.config.paths import data_dir
from workbench.config.processes import MOST_PID, is_same_process, process_start
from workbench.config.writing import replace_file
from workbench.log.events import DialectName

FOLDER: Final = "proxies"
NONE_RUNS: Final = "no proxy runs; start one with workbench proxy --break RULE -- COMMAND"
SECONDS: Final = 5
"""A proxy that does not answer within this time is left out."""
MOST_OF_FILE: Final = 64 * 1024
MOST_OF_ANSWER: Final = 512 * 1024 * 1024
"""The size limit of an answer in bytes. A held request may be large."""

T = TypeVar("T")


class RunningProxy(Struct, frozen=True):
    """A proxy that runs on this machine."""

    pid: int
    born: float
    """The start time of its process, because process ids are reused."""
    control: str
    """Its control address."""
    agent: str = ""
    """The agent that it started; empty: none."""
    folder: str = ""
    """The folder in which it was started."""


class HeldSummary(Struct, frozen=True):
    """A held request, without its body."""

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
    """The number of its items that are new."""
    since: float
    """Seconds since 1970."""
    until: float
    """The time at which it is released unchanged."""
    last: str = ""
    """The beginning of its last item."""
    fixed: str = ""
    """Why it cannot be replaced by another request; empty: it can be changed."""
    session: str = ""
    """The session that records it; empty: none, or not yet."""
    first: bool = False
    """Whether no earlier request of its conversation is known. Then everything without an answer counts as new."""


class HeldDetail(Struct, frozen=True):
    """A held request with its body."""

    summary: HeldSummary
    body: dict[str, Any]
    new: tuple[str, ...]
    """The paths of the new items."""
    pinned: tuple[str, ...] = ()
    """The paths of items that no policy may change, because the user pinned them."""
    policy: str = ""
    """The policy of its conversation; empty: requests are sent unchanged."""


class ProxyState(Struct, frozen=True):
    """The rules of a proxy, and the requests that it holds."""

    rules: tuple[str, ...]
    held: tuple[HeldSummary, ...]


class ReleaseOrder(Struct, frozen=True):
    """How to release a request."""

    end: Literal["as_it_was", "changed", "answered"]
    body: dict[str, Any] | None = None
    """The body to send instead."""
    model: str = ""
    """The model to send it to, if the address names the model."""
    text: str = ""
    """The text to answer with."""
    pin: tuple[str, ...] = ()
    """The paths of results that no policy may change from now on."""


class RuleOrder(Struct, frozen=True):
    """All breakpoints, replacing the old ones."""

    rules: tuple[str, ...]


class ProxyPolicy(Struct, frozen=True, omit_defaults=True):
    """A policy that a proxy applies to requests."""

    policy: str = ""
    """A preset, a policy file of the user, or a path; empty: the policy in the settings."""
    knobs: tuple[str, ...] = ()
    """Knobs such as `masking.keep_last=3`."""

    def __str__(self) -> str:
        return " ".join((self.policy or "the policy of your settings", *self.knobs))


class PolicyOrder(Struct, frozen=True):
    """The policy for a session from its next request on."""

    do: Literal["set", "off", "default", "undo"]
    """default: the policy of the whole proxy; undo: the results of the last batch are sent whole again."""
    policy: ProxyPolicy = ProxyPolicy()
    """The policy to set, for `set`."""


class SessionPolicy(Struct, frozen=True):
    session: str
    policy: ProxyPolicy | None
    """None: requests are sent unchanged."""
    own: bool = False
    """Whether it was set for this session, not for the whole proxy."""
    results: int = 0
    """The number of results that are now sent masked or cut."""
    batches: int = 0
    """The number of batches that can be undone."""
    leaving: int = 0
    """How many of these results are sent whole again from the next batch on."""
    default: ProxyPolicy | None = None
    """The policy of the whole proxy."""
    agent: str = ""
    """The agent of the session, if known."""


class PolicyList(Struct, frozen=True):
    """The policies of a proxy's sessions, the last used at the end."""

    sessions: tuple[SessionPolicy, ...]


class NotReached(WorkbenchError):
    """Raised if a proxy does not answer: it has ended, or its address now belongs to another program."""


# Running proxies


@contextmanager
def registered_proxy(control: str, agent: str = "") -> Iterator[None]:
    """Register a proxy while it runs. If its file cannot be written, the proxy runs without control from outside."""
    path = data_dir() / FOLDER / f"{os.getpid()}.json"
    found = RunningProxy(os.getpid(), process_start(os.getpid()), control, agent, work_folder().storable.path)
    with suppress(OSError):
        replace_file(path, msgspec.json.encode(found))
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def proxy_files() -> list[Path]:
    """The files of all proxies, perhaps including some that were killed. Very cheap."""
    folder = data_dir() / FOLDER
    try:
        return sorted(folder / name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return []


def running_proxies() -> list[RunningProxy]:
    """The running proxies of this user. Files of proxies that were killed are removed."""
    found = []
    for path in proxy_files():
        proxy = _read_file(path)
        if proxy is None:
            continue  # it is being written or removed, or no proxy wrote it
        if is_same_process(proxy.pid, proxy.born):
            found.append(proxy)
        else:
            with suppress(OSError):
                path.unlink()
    return found


def _read_file(path: Path) -> RunningProxy | None:
    """The contents of a proxy's file; None if it is anything else. Links are not followed."""
    try:
        content = read_regular_file(path, MOST_OF_FILE, follow_links=False)
        proxy = msgspec.json.decode(content, type=RunningProxy)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return proxy if 0 < proxy.pid < MOST_PID and _is_here(proxy.control) else None


def _is_here(address: str) -> bool:
    """Whether an address can be the control address of a proxy."""
    try:
        where = urlsplit(address)
        is_local = (
            (where.scheme, where.hostname) == ("http", "127.0.0.1") and bool(where.port) and "@" not in where.netloc
        )
    except ValueError:
        return False
    return is_local and where.path.strip("/").replace("-", "").replace("_", "").isalnum() and address.isascii()


# Requests to proxies


def proxy_state_of(proxy: RunningProxy) -> ProxyState:
    """The rules of a proxy and the requests that it holds. Raises NotReached."""
    return _call(proxy, "GET", "/state", ProxyState)


def detail_of(proxy: RunningProxy, held: str) -> HeldDetail:
    """A held request with its body."""
    return _call(proxy, "GET", f"/held/{held}", HeldDetail)


def release_request(proxy: RunningProxy, held: str, order: ReleaseOrder) -> ProxyState:
    return _call(proxy, "POST", f"/held/{held}", ProxyState, order)


def set_rules(proxy: RunningProxy, rules: Sequence[str]) -> ProxyState:
    """Replace all breakpoints. Raises WrongCall for an invalid rule."""
    return _call(proxy, "PUT", "/rules", ProxyState, RuleOrder(tuple(rules)))


def policies_of(proxy: RunningProxy) -> tuple[SessionPolicy, ...]:
    return _call(proxy, "GET", "/policies", PolicyList).sessions


def order_policy(proxy: RunningProxy, session: str, order: PolicyOrder) -> SessionPolicy:
    """Set, change or undo the policy of a session. Raises WrongCall."""
    return _call(proxy, "PUT", f"/policies/{session}", SessionPolicy, order)


def find_session(session: str) -> tuple[RunningProxy, SessionPolicy] | None:
    """The running proxy that records a session, and the session's policy; None if no proxy does."""
    for proxy in running_proxies():
        with suppress(NotReached, WrongCall):
            return proxy, _call(proxy, "GET", f"/policies/{session}", SessionPolicy)
    return None


def proxy_states() -> list[tuple[RunningProxy, ProxyState]]:
    """The states of all proxies that answer."""
    found = []
    for proxy in running_proxies():
        with suppress(NotReached):
            found.append((proxy, proxy_state_of(proxy)))
    return found


def find_held(ident: str) -> tuple[RunningProxy, HeldSummary]:
    """Find a held request by its id, or by the end of its id if that is unique. Raises WrongCall."""
    waiting = [(proxy, held) for proxy, state in proxy_states() for held in state.held]
    exact = [each for each in waiting if each[1].id == ident]
    found = exact or [each for each in waiting if each[1].id.endswith(f"-{ident}")]
    if len(found) == 1:
        return found[0]
    known = ", ".join(held.id for _, held in (found or waiting)) or "none is held"
    raise WrongCall(f"{ident}: expected the id of one request that is held: {known}")


def _call(proxy: RunningProxy, method: str, path: str, kind: type[T], order: Struct | None = None) -> T:
    from http.client import HTTPConnection, HTTPException  # imported here: not needed if no proxy runs

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
