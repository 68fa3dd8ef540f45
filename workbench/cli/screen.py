"""`workbench`, `workbench open` and `workbench demo`: the full screen."""

from __future__ import annotations

import argparse

from workbench.cli.options import options_of


def run_screen(arguments: argparse.Namespace) -> int:
    """Show a session or a file."""
    from workbench.tui import start  # late: importing the screen is slow

    return start.show_full_screen(arguments.source or "", options_of(arguments))


def run_demo(arguments: argparse.Namespace) -> int:
    """Show the recorded session, in temporary folders."""
    from workbench.tui import demo, start

    with demo.demo_folders() as session:
        return start.show_full_screen(session, options_of(arguments), demo="")
