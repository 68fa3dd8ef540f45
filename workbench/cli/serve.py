"""`workbench serve`: the full screen in a browser."""

from __future__ import annotations

import argparse
import ipaddress
import socket
import sys
from importlib.util import find_spec

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.text import printable
from workbench.sources.services import Services

EXTRA = "textual_serve"


def run_serve(options: argparse.Namespace) -> int:
    """Serve until Ctrl+C. Mistakes in the call are reported here, before a browser is opened."""
    if find_spec(EXTRA) is None:
        raise WrongCall("workbench serve: expected the package textual-serve; install workbench with its extra `serve`")
    if options.source:
        with Services() as services:
            services.source(options.source)
    from workbench.cli.web import WebPage  # late: it takes a third of a second, and needs the extra

    with _listening(options.host, options.port) as listening:
        if not ipaddress.ip_address(listening.getsockname()[0]).is_loopback:
            warning = "anyone who has the address that follows can type here, and run what you allow"
            warning = f"{printable(options.host)} is no loopback address: {warning}, without encryption"
            print(f"workbench: {warning}", file=sys.stderr)
        WebPage(visit_command(options.source or ""), options.host, listening).serve()
    return 0


def visit_command(source: str) -> list[str]:
    """The command to start for each visit. -P: import no modules from the current folder; its files are not ours."""
    return [sys.executable, "-P", "-m", "workbench.cli.web_process", *(["open", source] if source else [])]


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise WorkbenchError(f"{host} port {port}: cannot be opened: {error}") from None
