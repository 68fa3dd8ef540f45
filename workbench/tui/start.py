"""The full screen's entry: everything that can be told in one line is told before the screen is touched."""

from __future__ import annotations

import sys
from argparse import Namespace

from workbench.config.errors import WrongCall
from workbench.traces.desk import Desk
from workbench.tui.bench import Bench, newest_session

LARGE = 2_000_000
"""Bytes from which on a source is read behind the first frame.

What is smaller is read before it, in no time, so that a mistake in it is told without a flash of the screen.
"""


def run(options: Namespace) -> int:
    """Show a session or a file; the result is the exit code."""
    if options.source == "-" or not (sys.stdin.isatty() and sys.stdout.isatty()):
        wanted = options.source or "SOURCE"
        raise WrongCall(f"the screen needs a terminal on both ends; `workbench plan {wanted}` needs none")
    with Desk() as desk:
        theme = desk.settings.theme
        ref = options.source or newest_session(desk)
        bench = Bench(desk, options, ref) if ref else None
        if bench is not None and bench.weight < LARGE:
            bench.read()
        from workbench.tui.app import WorkbenchApp  # late: a mistake is told before half a second of imports

        app = WorkbenchApp(bench, theme)
        error = app.run()
        if error is not None:
            raise error
        return app.return_code or 0
