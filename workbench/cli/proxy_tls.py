"""`workbench proxy --tls`: a forward proxy, for agents whose model address cannot be set."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from workbench.config.errors import WrongCall
from workbench.config.optional_packages import import_optional
from workbench.config.text import counted, print_json, printable
from workbench.proxy.authority_files import REMOVE, AuthorityFiles
from workbench.proxy.launch import forward_silence_message
from workbench.proxy.opened_hosts import opened_hosts
from workbench.proxy.server import ProxyServer
from workbench.proxy.trusted_files import forward_environment

if TYPE_CHECKING:
    from workbench.proxy.forward_proxy import ForwardProxy


def check_tls(options: argparse.Namespace) -> None:
    """Raise WrongCall if the options for TLS are wrong, or a package is missing."""
    if options.tls_host and not options.tls:
        raise WrongCall("--tls-host: expected --tls with it")
    opened_hosts(options.tls_host)
    if options.tls:
        import_optional("cryptography", "--tls", "tls")


def remove_tls(options: argparse.Namespace) -> int:
    """Delete the certificate authority, and say what was deleted."""
    files = AuthorityFiles()
    deleted = [str(file) for file in files.remove()]
    if options.json:
        print_json({"deleted": deleted})
    elif deleted:
        print("\n".join(f"deleted {printable(file)}" for file in deleted))
    else:
        print(f"nothing to delete: no certificate authority in {printable(str(files.folder))}")
    return 0


class RunningForwardProxy(Struct, frozen=True):
    proxy: ForwardProxy
    authority: Path
    """The file with the certificate that clients have to trust."""
    hosts: tuple[str, ...]
    environment: Mapping[str, str]
    """The variables for its clients."""

    @property
    def address(self) -> str:
        return self.proxy.address

    def as_json(self) -> dict[str, Any]:
        """What programs need to use it."""
        return {
            "address": self.address,
            "authority": str(self.authority),
            "hosts": list(self.hosts),
            "environment": dict(self.environment),
        }

    def lines_for_people(self, command: Sequence[str]) -> list[str]:
        """How it is used: what is set for the agent that is started, or what to set for another."""
        about = f"Opened and recorded: connections to {counted(len(self.hosts), 'host')} of providers (--json lists"
        about += " them). All others pass untouched."
        if command:
            names = ", ".join(sorted(self.environment))
            return [f"{about} Set for the agent alone: {names}."]
        lines = [
            f"  {printable(f'export {name}={shlex.quote(value)}')}" for name, value in sorted(self.environment.items())
        ]
        how = "or start it here: workbench proxy --tls -- COMMAND. Ctrl+C ends it."
        return ["", f"{about} For an agent of yours:", *lines, how]

    def silence_message(self, agent: str) -> str:
        """The message for an agent that ended without a request to a host that is opened."""
        return forward_silence_message(agent, list(self.proxy.untouched)[:5])


@asynccontextmanager
async def forward_proxy(
    options: argparse.Namespace, server: ProxyServer, folder: Path, warn: Callable[[str], None]
) -> AsyncIterator[RunningForwardProxy]:
    """A forward proxy in front of a server. `folder`: a private one, for files that its clients need."""
    # Late: they need a package of an extra.
    from workbench.proxy.certificates import HostCertificates, find_authority
    from workbench.proxy.forward_proxy import ForwardProxy

    hosts, files = opened_hosts(options.tls_host), AuthorityFiles()
    authority, why = find_authority(files, {each.host for each in hosts})
    async with ForwardProxy(server, HostCertificates(authority, folder), hosts, options.port) as proxy:
        if why:
            made = f"made a certificate authority, as {why}: {files.public}, until {authority.last_day}"
            warn(printable(f"{made}. No program trusts it unless it is given this file. {REMOVE} deletes it"))
        if not options.command and not options.json and sys.stdout.isatty():
            proxy.tunnelled = lambda target: print(
                f"{datetime.now():%H:%M:%S} untouched: {printable(target.host)}:{target.port}", flush=True
            )
        environment = forward_environment(proxy.address, authority.pem, folder)
        names = tuple(f"{each.host}:{each.port}" for each in hosts)
        yield RunningForwardProxy(proxy, files.public, names, environment)
