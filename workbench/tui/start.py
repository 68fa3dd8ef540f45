"""The full screen's entry: everything that can be told in one line is told before the screen is touched."""

from __future__ import annotations

import sys
from argparse import Namespace
from concurrent.futures import wait
from functools import partial

from workbench.config.errors import WrongCall
from workbench.traces.desk import Desk
from workbench.tui.background import background
from workbench.tui.bench import open_bench

PATIENCE = 0.25
"""Seconds to wait for the source, so that a mistake in it is told without a flash of the screen.

What takes longer is large, and is read behind the first frame.
"""


def run(options: Namespace) -> int:
    """Show a session or a file; the result is the exit code."""
    if options.source == "-" or not (sys.stdin.isatty() and sys.stdout.isatty()):
        wanted = options.source or "SOURCE"
        raise WrongCall(f"the screen needs a terminal on both ends; `workbench plan {wanted}` needs none")
    with Desk() as desk:
        settings = desk.settings
        opening = background(partial(open_bench, desk, options))
        from workbench.tui.app import WorkbenchApp  # here: the source is read while Textual is imported

        wait([opening], PATIENCE)
        if opening.done():
            opening.result()
        app = WorkbenchApp(opening, options.source or "", settings.theme)
        error = app.run()
        if error is not None:
            raise error
        return app.return_code or 0
