"""`workbench`, `workbench open` and `workbench demo`: the full screen."""

from __future__ import annotations

import argparse

from workbench.cli.options import options_of


def run(arguments: argparse.Namespace) -> int:
    """Show a session or a file."""
    from workbench.tui import start  # late: importing the screen is slow

    return start.run(arguments.source or "", options_of(arguments))


def run_demo(arguments: argparse.Namespace) -> int:
    """Show the recorded session, in temporary folders."""
    from workbench.tui import demo, start

    with demo.folders() as session:
        return start.run(session, options_of(arguments), demo="")
