"""The process behind one tab of `workbench serve`. It ends when the server ends.

A killed server cannot tell its processes to end, and a screen that nobody sees would keep its session locked.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from workbench.cli.main import main
from workbench.config.system import wait_for_hangup

GRACE = 10.0
"""Seconds for the screen to close its session. Its data is already on disk."""


def end_with(pipe: int) -> None:
    """Wait until the other end of a pipe is closed, then send SIGTERM to this process."""
    if not wait_for_hangup(pipe):
        return
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    sys.exit(main(sys.argv[1:]))
