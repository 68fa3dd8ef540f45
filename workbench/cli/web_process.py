"""The process behind one tab of `workbench serve`. It ends when the server ends.

A killed server cannot tell its processes to end, and a screen that nobody sees would keep its session locked.
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
"""Seconds for the screen to close its session. Its data is already on disk."""


def end_with(pipe: int) -> None:
    """Wait until the other end of a pipe is closed, then send SIGTERM to this process."""
    watch = select.poll()
    watch.register(pipe, 0)  # no events: poll always reports a hang-up
    watch.poll()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)


if __name__ == "__main__":
    if hasattr(select, "poll"):
        threading.Thread(target=end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    sys.exit(main(sys.argv[1:]))
