"""`workbench proxy`: stands between an agent and its model, and records what passes."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.paths import data_dir
from workbench.config.settings import Settings, load_settings
from workbench.config.signals import until_stopped
from workbench.config.tables import read_table
from workbench.context.setup import PlanOptions, Setup, set_up
from workbench.log.store import Store
from workbench.models.catalogue import REHEARSAL, Catalogue
from workbench.proxy.breakpoints import parse_rule
from workbench.proxy.control import registered
from workbench.proxy.gate import Gate
from workbench.proxy.launch import Launch, environment, launch
from workbench.proxy.policies import PassingPolicy
from workbench.proxy.recorder import Recorder
from workbench.proxy.redaction import redacted
from workbench.proxy.routes import ProxySettings, Upstreams
from workbench.proxy.server import ProxyServer
from workbench.proxy.sessions import ProxySessions
from workbench.rehearsal.server import RehearsalServer

DIALECTS = ("chat", "responses", "anthropic", "gemini")
SWITCH = 0.0005
"""Seconds after which the recorder's thread lets the others go on; Python's own are ten times as many."""
KEPT = 10
"""Requests that a rehearsal behind the proxy remembers."""


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C, or until the command that was given ends."""
    if not 0 <= options.port <= 65535:
        raise WrongCall(f"--port: expected a number from 0 to 65535, got {options.port}")
    for rule in options.rules:
        parse_rule(rule)
    settings = load_settings()
    own = read_table(ProxySettings, settings.proxy, str(settings.file), "proxy")
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    sys.setswitchinterval(SWITCH)
    try:
        catalogue = Catalogue(settings.models, str(settings.file))
        return asyncio.run(_serve(options, own, command, catalogue, _policy(options, own, settings, catalogue)))
    except KeyboardInterrupt:
        return 0


def _policy(
    options: argparse.Namespace, own: ProxySettings, settings: Settings, catalogue: Catalogue
) -> PassingPolicy | None:
    """The policy on the way; None: requests pass as they are."""
    if not options.policy and not options.set:
        return None

    def setup_for(model: str) -> Setup:
        return set_up(PlanOptions(options.policy or "", options.set or (), model), settings, catalogue)

    setup_for("")  # one that cannot be read is told now
    return PassingPolicy(setup_for, own.batch_tokens)


async def _serve(
    options: argparse.Namespace,
    own: ProxySettings,
    command: Sequence[str],
    catalogue: Catalogue,
    policy: PassingPolicy | None,
) -> int:
    async with contextlib.AsyncExitStack() as stack:
        to = options.to
        is_rehearsal = to == REHEARSAL
        if is_rehearsal:
            to = (await stack.enter_async_context(RehearsalServer(keep=KEPT))).url
        upstreams = Upstreams(to, own)
        folder = Path(stack.enter_context(_own_folder()))
        agent = launch(command, "", folder).agent if command else ""
        recorder = await stack.enter_async_context(_recording(options, own, agent))
        gate = Gate(options.rules, own.hold_seconds, agent, catalogue)
        server = await stack.enter_async_context(
            ProxyServer(upstreams, recorder, options.port, gate=gate, policy=policy)
        )
        stack.enter_context(registered(server.control, agent))
        if policy is not None:
            stack.callback(lambda: _warn(f"the policy {policy.figures}"))
        _tell(options, server.address, upstreams)
        if command:
            return await _with(launch(command, server.address, folder, rehearsal=is_rehearsal))
        await until_stopped()
        return 0


@contextlib.asynccontextmanager
async def _recording(options: argparse.Namespace, own: ProxySettings, agent: str) -> AsyncIterator[Recorder | None]:
    """The recorder; where there is no store to write to, requests pass all the same."""
    if options.no_record:
        yield None
        return
    opened: list[Store] = []

    def store() -> Store:
        if not opened:
            opened.append(Store.open())
        return opened[0]

    recorder = Recorder(ProxySessions(store, agent, redacted if own.redact else None), _warn)
    try:
        yield recorder
    finally:
        await asyncio.to_thread(recorder.close)
        for each in opened:
            with contextlib.suppress(WorkbenchError):
                each.close()
        if recorder.lost:
            _warn(f"{recorder.lost} requests and answers were not recorded")


def _own_folder() -> tempfile.TemporaryDirectory[str]:
    """For files that agents are given. Some read nothing from the system's own folder for such, where all may write."""
    data_dir().mkdir(mode=0o700, parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix="proxy-", dir=data_dir())


def _warn(line: str) -> None:
    print(f"workbench proxy: {line}", file=sys.stderr, flush=True)


def _tell(options: argparse.Namespace, address: str, upstreams: Upstreams) -> None:
    if options.json:
        print(json.dumps({"address": address, "dialects": DIALECTS, "to": upstreams.listed()}), flush=True)
        return
    print(address, flush=True)
    if not options.command:
        wanted = ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL")
        lines = [f"  export {name}={value}" for name, value in environment(address).items() if name in wanted]
        print("\n".join(["", "Requests to this address are passed on and recorded. For an agent of yours:", *lines]))
        print("  codex -c 'openai_base_url=\"" + address + "/v1\"'")
        print("or start it here: workbench proxy -- COMMAND. Ctrl-C ends it.", flush=True)


async def _with(agent: Launch) -> int:
    """Run the agent to its end; Ctrl-C is its own, and what ends us ends it."""
    try:
        process = await asyncio.create_subprocess_exec(*agent.command, env={**os.environ, **agent.environment})
    except OSError as error:
        raise WrongCall(f"{agent.command[0]}: cannot be started: {error.strerror or error}") from error
    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError):
        loop.add_signal_handler(signal.SIGINT, lambda: None)  # the terminal tells the agent, too
        loop.add_signal_handler(signal.SIGTERM, process.terminate)
    code = await process.wait()
    return code if code >= 0 else 128 - code
