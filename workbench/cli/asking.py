"""Yes-or-no questions on the terminal."""

from __future__ import annotations

import select
import signal
import sys
from contextlib import suppress

from workbench.config.errors import Refused
from workbench.config.text import printable

NEEDS_YES = "Say --yes where nobody can be asked"


def require_confirmation(question: str, *, declined: str, unasked: str) -> None:
    """Ask before something costs money or is lost.

    Raises Refused: with `declined` after a no, with `unasked` if there is no terminal to ask on.
    """
    if not sys.stdin.isatty():
        raise Refused(unasked)
    if not user_agrees(printable(question)):
        raise Refused(declined)


def user_agrees(question: str) -> bool:
    """Ask the question; no is the default, and the end of the input means no.

    An event loop reacts to the first Ctrl-C by cancelling its task, but this one blocks in `input()` and would go on
    waiting. So until the question is answered, Ctrl-C raises KeyboardInterrupt as it does without a loop.
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
    """Wait until something is typed; in short steps, because an interrupt just before a long one would wait with it."""
    with suppress(OSError, ValueError):  # some kinds of input cannot be waited for, and on Windows none
        while not select.select([sys.stdin], [], [], 0.2)[0]:
            pass
