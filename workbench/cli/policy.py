"""`workbench policy`: show and change the policies that running proxies apply to their sessions.

`policy --json` prints `{"sessions": [...]}`, an object for each of them:

    {"session", "title", "pid", "agent", "policy", "knobs", "own", "results", "batches", "leaving"}

where `policy` is null for one that is sent unchanged, `own` says whether this was set for this session, `results` are
those of its last request that were masked or cut, `batches` those that can be undone, and `leaving` the results that
are whole again from the next batch on. `policy SESSION --json` prints that object alone, with `preview` in it if a
policy was named: `{"tokens", "masked", "cut", "freed", "whole", "cache", "is_due"}`.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import Any

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.text import line_width, print_json, printable, table
from workbench.proxy import control
from workbench.proxy.control import PolicyOrder, ProxyPolicy, RunningProxy, SessionPolicy
from workbench.proxy.policy_notes import DEFAULT, NO_PROXY, OFF
from workbench.sources.on_the_way import PolicyForecast, foresee_policy, policy_words
from workbench.sources.services import Services


def run_proxy_policy(options: argparse.Namespace) -> int:
    """List the sessions, or show one. With a policy: show what it would change, and set it."""
    if not options.session:
        if options.name or options.set or options.undo:
            raise WrongCall("expected a session: workbench policy lists those that pass a proxy")
        return _list(options)
    with Services() as services:
        session, title = _found(services, options.session)
        at = control.find_session(session)
        wish = _wish(options, at[1] if at is not None else None)
        if at is None and not options.dry_run:
            raise WrongCall(f"{title}: {NO_PROXY}")
        ahead = None if wish is None or wish.do == "undo" else _ahead(services, session, wish, at[1] if at else None)
    if ahead is not None and not options.json:
        print(printable(ahead.words))
        print(printable(f"{ahead.preview}") if ahead.preview else "the log has no whole request of it yet")
    if wish is not None and at is not None and not options.dry_run:
        at = at[0], control.order_policy(at[0], session, wish)
    if options.json:
        shown = {"session": session, "title": title} if at is None else _as_json(*at, title)
        print_json(shown | ({"preview": ahead.preview and ahead.preview._asdict()} if ahead is not None else {}))
    elif at is not None and not (options.dry_run and ahead is not None):
        print(printable(f"{title}: {policy_words(at[1])}"))
    return 0


def _found(services: Services, ref: str) -> tuple[str, str]:
    """The id and the title of a session."""
    info = services.store.info(ref)
    return info.id, info.title or info.id


def _wish(options: argparse.Namespace, now: SessionPolicy | None) -> PolicyOrder | None:
    knobs = tuple(options.set or ())
    if options.undo:
        if options.name or knobs:
            raise WrongCall("--undo: expected no policy with it")
        return PolicyOrder("undo")
    if options.name in (OFF, DEFAULT):
        if knobs:
            raise WrongCall(f"--set: expected a policy whose knobs they are, got {options.name}")
        return PolicyOrder("off" if options.name == OFF else "default")
    if not options.name and not knobs:
        return None
    named = options.name or (now.policy.policy if now is not None and now.policy is not None else "")
    return PolicyOrder("set", ProxyPolicy(named, knobs))


def _ahead(services: Services, session: str, wish: PolicyOrder, now: SessionPolicy | None) -> PolicyForecast:
    events = services.source(session).events
    policy = {"set": wish.policy, "default": now.default if now is not None else None}.get(wish.do)
    return foresee_policy(services, events, policy, now.policy if now is not None else None)


def _list(options: argparse.Namespace) -> int:
    found: list[tuple[RunningProxy, SessionPolicy]] = []
    proxies = control.running_proxies()
    for proxy in proxies:
        with suppress(WorkbenchError):
            found += ((proxy, each) for each in control.policies_of(proxy))
    with Services() as services:
        titles = {each.session: _title(services, each.session) for _, each in found}
    if options.json:
        print_json({"sessions": [_as_json(proxy, each, titles[each.session]) for proxy, each in found]})
    elif not found:
        print(
            "(nothing has passed the proxies that run yet)"
            if proxies
            else "(no proxy runs; start one with workbench proxy -- COMMAND)"
        )
    else:
        heads = ("session", "agent", "title", "on the way")
        rows = [
            tuple(
                map(
                    printable,
                    (each.session, each.agent or proxy.agent or "–", titles[each.session], policy_words(each)),
                )
            )
            for proxy, each in found
        ]
        print("\n".join(table(heads, rows, frozenset(), line_width())))
    return 0


def _title(services: Services, session: str) -> str:
    with suppress(WorkbenchError):
        return services.store.info(session).title
    return ""


def _as_json(proxy: RunningProxy, about: SessionPolicy, title: str) -> dict[str, Any]:
    policy = about.policy
    return {
        "session": about.session,
        "title": title,
        "pid": proxy.pid,
        "agent": about.agent or proxy.agent or None,
        "policy": policy and policy.policy,
        "knobs": [] if policy is None else list(policy.knobs),
        "own": about.own,
        "results": about.results,
        "batches": about.batches,
        "leaving": about.leaving,
    }
