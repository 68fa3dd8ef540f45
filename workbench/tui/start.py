"""The full screen's entry: everything that can be told in one line is told before the screen is touched."""

from __future__ import annotations

import os
import sys
from argparse import Namespace

from workbench.config.errors import WrongCall
from workbench.context.load import load_policy
from workbench.traces.desk import Desk

LARGE = 2_000_000
"""Bytes from which on a source is read behind the first frame.

What is smaller is read before it, in no time, so that a mistake in it is told without a flash of the screen.
"""


def run(options: Namespace) -> int:
    """Show a session or a file; the result is the exit code."""
    in_browser = os.environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver")
    if options.source == "-" or not (in_browser or (sys.stdin.isatty() and sys.stdout.isatty())):
        wanted = options.source or "SOURCE"
        raise WrongCall(f"the screen needs a terminal on both ends; `workbench plan {wanted}` needs none")
    with Desk() as desk:
        check(desk, options)
        from workbench.tui.app import WorkbenchApp  # late: a mistake is told before half a second of imports

        app = WorkbenchApp(desk, options, options.source or "", warm=True)
        error = app.run()
        if error is not None:
            raise error
        return app.return_code or 0


def check(desk: Desk, options: Namespace) -> None:
    """Raise what is wrong with the settings, the policy that was asked for, and a source that is quickly read."""
    policy = getattr(options, "policy", None) or desk.settings.policy
    load_policy(policy or None, sets=getattr(options, "set", None) or ())
    if options.source and desk.weight(options.source) < LARGE:
        desk.source(options.source)
