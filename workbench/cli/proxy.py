"""`workbench proxy`: passes requests between an agent and its model, and records them."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import NamedTuple, get_args

from workbench.cli.proxy_tls import RunningForwardProxy, check_tls, forward_proxy, remove_tls
from workbench.config.ending import at_quit
from workbench.config.errors import WrongCall
from workbench.config.folders import work_folder
from workbench.config.settings import Settings, load_settings
from workbench.config.signals import ending_signals, stop_requested
from workbench.config.tables import read_table
from workbench.config.text import counted, print_json, printable
from workbench.log.events import OwnDialect
from workbench.models.catalogue import REHEARSAL, Catalogue
from workbench.proxy.breakpoints import parse_rule
from workbench.proxy.control import ProxyPolicy, registered_proxy
from workbench.proxy.gate import Gate
from workbench.proxy.launch import Launch, forward_launch, launch_for, proxy_environment, silence_message
from workbench.proxy.own_folder import own_folder
from workbench.proxy.policies import PassingPolicies, SetupFor, setup_maker
from workbench.proxy.policy_notes import policy_note
from workbench.proxy.policy_preview import in_words
from workbench.proxy.recorder import Recorder
from workbench.proxy.recorder_link import in_process
from workbench.proxy.redaction import redacted
from workbench.proxy.routes import ProxySettings, Upstreams
from workbench.proxy.server import ProxyServer
from workbench.proxy.token_server import OncePerMinute
from workbench.rehearsal.server import RehearsalServer
from workbench.wire.dialects import DIALECT_REGISTRY

KEPT = 10
"""Requests that a rehearsal model behind the proxy keeps."""


def run_proxy(options: argparse.Namespace) -> int:
    """Serve until Ctrl+C, or until the given command ends."""
    if options.tls_remove:
        return remove_tls(options)
    if not 0 <= options.port <= 65535:
        raise WrongCall(f"--port: expected a number from 0 to 65535, got {options.port}")
    for rule in options.rules:
        parse_rule(rule)
    check_tls(options)
    if options.otlp:
        options.otlp = _checked_otlp(options)
    settings = load_settings()
    own = read_table(ProxySettings, settings.proxy, str(settings.file), "proxy")
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    try:
        catalogue = Catalogue(settings.models, str(settings.file))
        with _quiet_log():
            return asyncio.run(
                _serve(options, own, command, catalogue, _applied_policy(options, own, settings, catalogue))
            )
    except KeyboardInterrupt:
        return 0


def _checked_otlp(options: argparse.Namespace) -> str:
    """The address to which spans are sent; raises WrongCall if they cannot be."""
    from workbench.traces.otlp_export import check_installed, traces_address  # late: few proxies need it

    if options.no_record:
        raise WrongCall("--otlp: expected a proxy that records: spans are made of what it records")
    address = traces_address(options.otlp)
    check_installed()
    return address


class _AppliedPolicy(NamedTuple):
    """The policy that the proxy applies to requests."""

    setup_for: SetupFor
    policy: ProxyPolicy | None
    """None: requests pass unchanged, unless a session has a policy of its own."""
    about: str
    """What it does, in words."""


def _applied_policy(
    options: argparse.Namespace, own: ProxySettings, settings: Settings, catalogue: Catalogue
) -> _AppliedPolicy:
    """Load the policy; raises WrongCall if that fails."""
    setup_for = setup_maker(settings, catalogue)
    if not options.policy and not options.set:
        return _AppliedPolicy(setup_for, None, "")
    policy = ProxyPolicy(options.policy or "", tuple(options.set or ()))
    name = f"policy {policy}" if policy.policy else str(policy)
    return _AppliedPolicy(setup_for, policy, f"{name}: {in_words(setup_for(policy, ''), own.batch_tokens)}")


async def _serve(
    options: argparse.Namespace,
    own: ProxySettings,
    command: Sequence[str],
    catalogue: Catalogue,
    applied: _AppliedPolicy,
) -> int:
    stopped = stop_requested()
    async with contextlib.AsyncExitStack() as stack:
        to = options.to
        is_rehearsal = to == REHEARSAL
        if is_rehearsal:
            to = (await stack.enter_async_context(RehearsalServer(keep=KEPT))).url
        upstreams = Upstreams(to, own)
        folder = stack.enter_context(own_folder())
        agent = launch_for(command, "", folder).agent if command else ""
        recorder = await stack.enter_async_context(_recording(options, own, agent, applied.policy))
        policies = PassingPolicies(applied.setup_for, own.batch_tokens, applied.policy, recorder)
        gate = Gate(options.rules, own.hold_seconds, agent, catalogue)
        port = 0 if options.tls else options.port
        server = await stack.enter_async_context(
            ProxyServer(upstreams, recorder, port, gate=gate, policies=policies, largest=own.largest)
        )
        tls = await stack.enter_async_context(forward_proxy(options, server, folder, _warn)) if options.tls else None
        if not command and not options.json and sys.stdout.isatty():
            server.passed = lambda request: print(printable(str(request)), flush=True)
        stack.enter_context(registered_proxy(server.control, agent))
        stack.callback(_print_figures, policies, applied)
        _print_address(options, server.address, upstreams, applied.about, tls)
        if command:
            if tls is not None:
                started = forward_launch(command, tls.environment, rehearsal=is_rehearsal)
            else:
                started = launch_for(command, server.address, folder, rehearsal=is_rehearsal)
            code = await _with(started, stopped)
            if not server.requests and not stopped.is_set():
                _warn(silence_message(started.agent) if tls is None else tls.silence_message(started.agent))
            return code
        await stopped.wait()
        return 0


@contextlib.asynccontextmanager
async def _recording(
    options: argparse.Namespace, own: ProxySettings, agent: str, policy: ProxyPolicy | None
) -> AsyncIterator[Recorder | None]:
    """The recorder. Without a store to write to, requests pass all the same."""
    if options.no_record:
        yield None
        return
    first = [policy_note("set", str(policy))] if policy is not None else []
    recorder = in_process(_warn, agent, work_folder(), first, redacted if own.redact else None, otlp=options.otlp)
    try:
        yield recorder
    finally:
        await asyncio.to_thread(recorder.close)
        if recorder.lost:
            _warn(f"not recorded: {counted(recorder.lost, 'request or answer', 'requests and answers')}")


@contextlib.contextmanager
def _quiet_log() -> Iterator[None]:
    """Report errors on standard error, but do not repeat the same one all the time."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("workbench proxy: %(message)s"))
    handler.addFilter(OncePerMinute())
    log = logging.getLogger("workbench.proxy")
    log.addHandler(handler)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = True


def _warn(line: str) -> None:
    print(f"workbench proxy: {line}", file=sys.stderr, flush=True)


def _print_figures(policies: PassingPolicies, applied: _AppliedPolicy) -> None:
    if applied.policy is not None or policies.figures.requests:
        _warn(f"the policy {policies.figures}")


def _print_address(
    options: argparse.Namespace, address: str, upstreams: Upstreams, about: str, tls: RunningForwardProxy | None
) -> None:
    if options.json:
        names = [*get_args(OwnDialect), *DIALECT_REGISTRY.plugins()]
        found = {"address": address, "dialects": names, "to": upstreams.listed(), "policy": about or None}
        print_json({**found, "tls": tls.as_json() if tls is not None else None}, None)
        return
    print(address if tls is None else tls.address, flush=True)
    if about:
        print(printable(about), flush=True)
    if tls is not None:
        print("\n".join(tls.lines_for_people(options.command)), flush=True)
    elif not options.command:
        wanted = ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
        lines = [f"  export {name}={value}" for name, value in proxy_environment(address).items() if name in wanted]
        print("\n".join(["", "Requests to this address are passed on and recorded. For an agent of yours:", *lines]))
        print("  codex -c 'openai_base_url=\"" + address + "/v1\"'")
        print("or start it here: workbench proxy -- COMMAND. Ctrl+C ends it.", flush=True)


async def _with(agent: Launch, stopped: asyncio.Event) -> int:
    """Run the agent to its end. Ctrl+C is for the agent; a signal that ends us ends it, too."""
    if stopped.is_set():
        return 0
    try:
        process = await asyncio.create_subprocess_exec(*agent.command, env={**os.environ, **agent.environment})
    except OSError as error:
        raise WrongCall(f"{agent.command[0]}: cannot be started: {error.strerror or error}") from error

    def end_agent() -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended, and what it asked is still being recorded
            process.terminate()

    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers on its loops
        loop.add_signal_handler(signal.SIGINT, lambda: None)  # the terminal sends it to the agent, too
        for each in ending_signals():
            loop.add_signal_handler(each, end_agent)
        if stopped.is_set():
            end_agent()
    with at_quit(end_agent):
        code = await process.wait()
    return code if code >= 0 else 128 - code
