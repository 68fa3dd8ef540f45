"""Restores the terminal when the program ends abruptly.

Textual restores it with threads and locks, on which a stuck program may wait for ever.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from workbench.config.system import never_waiting, restore_keyboard

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
"""What Textual writes when it stops, after the end of a frame and a reset of colours, which may be half written."""
PATIENCE = 1.0
"""Seconds to wait for a terminal that accepts no output at the moment."""


def leave_terminal(driver: Driver | None) -> None:
    """Restore the terminal of a driver, if it has one. Waits only for the terminal, and not long."""
    file, attributes = getattr(driver, "_file", None), getattr(driver, "attrs_before", None)
    if file is None or attributes is None:  # before the first frame, or in a browser
        return
    ours, keys = os.dup(file.fileno()), getattr(driver, "fileno", 0)
    with suppress(OSError):  # drop the output that the writer thread still has
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
    _write(ours, LEAVE)
    restore_keyboard(keys, attributes)


def _write(terminal: int, data: bytes) -> None:
    """Write as much as the terminal accepts in time."""
    end = time.monotonic() + PATIENCE
    with never_waiting(terminal):
        while data and time.monotonic() < end:
            try:
                data = data[os.write(terminal, data) :]
            except BlockingIOError:
                time.sleep(0.005)
            except OSError:  # it is gone
                break
