"""The process behind one tab of `workbench serve`: the program itself, which ends with its server.

A server that is killed cannot say that it is over; a screen that nobody sees would go on holding its session.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time

from workbench.cli.main import main

GRACE = 10.0
"""Seconds for the screen to close its session; what it has is on disk all the while."""


def end_with(pipe: int) -> None:
    """Wait until the other end of a pipe is closed, and end this process as a signal does."""
    watch = select.poll()
    watch.register(pipe, 0)  # nothing asked for: a pipe that hangs up is told always
    watch.poll()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)


if __name__ == "__main__":
    if hasattr(select, "poll"):
        threading.Thread(target=end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    sys.exit(main(sys.argv[1:]))
