"""A question on the terminal, to be answered with yes or no."""

from __future__ import annotations

import select
import signal
import sys
from contextlib import suppress


def agrees(question: str) -> bool:
    """Ask; no is the default, and the end of the input means no.

    An event loop takes the first Ctrl-C for a request to cancel its task, which here waits for an answer and would wait
    on. So while the question stands, Ctrl-C ends it as it would without a loop.
    """
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        print(f"{question} [y/N] ", end="", flush=True)
        _wait()
        return input().strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False
    finally:
        signal.signal(signal.SIGINT, handler)


def _wait() -> None:
    """Until something is typed; in short waits, because an interrupt just before a read would wait with it."""
    with suppress(OSError, ValueError):  # where the input is nothing that can be waited for
        while not select.select([sys.stdin], [], [], 0.2)[0]:
            pass
