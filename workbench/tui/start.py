"""Starts the full screen. Mistakes in the call are reported before the screen is drawn."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from workbench.config import signals
from workbench.config.ending import at_quit
from workbench.config.errors import WrongCall
from workbench.config.garbage import start_without_collector
from workbench.config.settings import load_settings
from workbench.sources.options import Options

if TYPE_CHECKING:
    from workbench.tui.main.screen import MainScreen

NOTE = "A recorded session, in a folder of its own: nothing you do here is kept. Ctrl+Q goes back to where you were."
LARGE = 2_000_000
"""From this size in bytes on, a source is read after the first frame.

A smaller one is read before, which is fast, so that an error is reported without a flash of the screen.
"""


def show_full_screen(source: str, options: Options, demo: str | None = None, note: str = "") -> int:
    """Show a session or a file, or this folder's last session; returns the exit code.

    `demo`: a note about the demo; None: this is not the demo. `note`: another notice for the start.
    """
    in_browser = os.environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver")
    if source == "-" or not (in_browser or (sys.stdin.isatty() and sys.stdout.isatty())):
        wanted = source if source and demo is None else "SOURCE"
        raise WrongCall(f"the screen needs a terminal on both ends; `workbench plan {wanted}` needs none")
    settings = load_settings()
    if source:
        check_source(source, options)
    start_without_collector()
    from workbench.tui.app import WorkbenchApp  # late: report mistakes before importing the screen
    from workbench.tui.leaving import leave_terminal

    with ExitStack() as stack:
        app = WorkbenchApp(settings, lambda: load_main_screen(source, options, stack, demo, note))
        with at_quit(lambda: leave_terminal(app.driver)):
            ended = signals.run_until_signal(app.run_async(), app.end)
    if isinstance(ended, Exception):
        raise ended
    if ended is not None:
        from workbench.tui.demo import demo_folders  # late: the log is not needed before the first frame

        with demo_folders() as session:
            show_full_screen(session, Options(), NOTE)
        return show_full_screen(ended.back, options)
    return app.return_code or 0


def load_main_screen(
    source: str, options: Options, stack: ExitStack, demo: str | None = None, note: str = ""
) -> Callable[[], MainScreen]:
    """Import what the main screen needs and return a function that makes it; `stack` closes the services."""
    from workbench.sources.services import Services
    from workbench.tui.commands.registry import WorkbenchScreen

    services = stack.enter_context(Services())
    return lambda: WorkbenchScreen(services, options, source, warm=True, demo=demo, note=note)


def check_source(source: str, options: Options) -> None:
    """Raise for a wrong policy, or for a small source that cannot be read."""
    from workbench.context.load import load_policy
    from workbench.sources.services import Services

    with Services() as services:
        policy = options.policy or services.settings.policy
        load_policy(policy or None, sets=options.knobs)
        if services.source_bytes(source) < LARGE:
            services.source(source, growing=options.follow)
