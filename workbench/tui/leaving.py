"""The terminal as it was before the screen, restored by a program that ends in this moment.

Textual restores it through threads and locks, which a program that is stuck may never get.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.driver import Driver

LEAVE = b"".join(
    b"\x1b[" + mode
    for mode in (
        *(b"?2026l", b"0m", b"?2004l", b"?7h", b"?2048l"),  # whole frames, colours, pastes, line wrap, resizing
        *(b"?1000l", b"?1003l", b"?1015l", b"?1006l", b"?1016l"),  # the mouse
        *(b"<u", b"?1049l", b"?25h", b"?1004l"),  # the keyboard, the alternate screen, the cursor, the focus
    )
)
"""What Textual writes when it stops, and the end of a frame and of its colours, which may be half written."""
PATIENCE = 1.0
"""Seconds for a terminal that takes nothing now, because it is stopped or still draws."""


def leave_terminal(driver: Driver | None) -> None:
    """Restore the terminal of a driver, where it has one. Waits for nothing but the terminal, and not long."""
    file, attributes = getattr(driver, "_file", None), getattr(driver, "attrs_before", None)
    if file is None or attributes is None:  # before the first frame, or in a browser
        return
    import termios  # late: not on every platform

    ours, keys = os.dup(file.fileno()), getattr(driver, "fileno", 0)
    with suppress(OSError):  # what the writing thread still has goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
    _write(ours, LEAVE)
    with suppress(termios.error):
        termios.tcflush(keys, termios.TCIFLUSH)
        termios.tcsetattr(keys, termios.TCSANOW, attributes)


def _write(terminal: int, data: bytes) -> None:
    """Write what the terminal takes in time."""
    was = os.get_blocking(terminal)
    os.set_blocking(terminal, False)
    end = time.monotonic() + PATIENCE
    while data and time.monotonic() < end:
        try:
            data = data[os.write(terminal, data) :]
        except BlockingIOError:
            time.sleep(0.005)
        except OSError:  # it is gone
            break
    os.set_blocking(terminal, was)
