"""A question on the terminal, to be answered with yes or no."""

from __future__ import annotations

import signal


def agrees(question: str) -> bool:
    """Ask; no is the default, and the end of the input means no.

    An event loop takes the first Ctrl-C for a request to cancel its task, which here waits for an answer and would wait
    on. So while the question stands, Ctrl-C ends it as it would without a loop.
    """
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False
    finally:
        signal.signal(signal.SIGINT, handler)
