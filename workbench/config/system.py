"""What differs between operating systems. No other module uses what Windows lacks, which a test checks.

On Windows each function does the nearest thing, and its docstring says what is missing there.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# Signals

ENDING: tuple[signal.Signals, ...] = (signal.SIGTERM,)
"""The signals that ask the program to end."""
QUIT: signal.Signals | None = None
"""The signal that ends the program at once. Windows has none."""
if sys.platform != "win32":
    ENDING = (signal.SIGTERM, signal.SIGHUP)
    QUIT = signal.SIGQUIT

# Processes

HAS_GROUPS = hasattr(os, "killpg")
"""Whether a program and all that it starts can be ended together, even after the program itself has ended."""


def own_group() -> Mapping[str, Any]:
    """The arguments of `Popen` for a program that Ctrl+C in the terminal does not reach, in a group of its own."""
    if sys.platform != "win32":
        found: dict[str, Any] = {"start_new_session": True}
    else:
        import subprocess

        found = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return found


def end_group(pid: int, *, at_once: bool = False) -> bool:
    """Ask a program and all that it started to end, or end them at once. Return whether any of them still ran.

    Windows has no way to ask: there it ends at once, and what a program left behind when it ended is not found.
    """
    if sys.platform != "win32" and HAS_GROUPS:
        return _signal_group(pid, signal.SIGKILL if at_once else signal.SIGTERM)
    return _end_tree(pid)


def group_runs(pid: int) -> bool:
    """Whether a program, or something that it started, still runs."""
    if sys.platform != "win32" and HAS_GROUPS:
        return _signal_group(pid, 0) and _has_live_process(pid)
    import psutil  # slow to import

    return psutil.pid_exists(pid)


def _end_tree(pid: int) -> bool:
    import psutil  # slow to import

    try:
        root = psutil.Process(pid)
        tree = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return False
    for each in tree:
        with suppress(psutil.Error):
            each.kill()
    return True


if sys.platform != "win32":

    def _signal_group(group: int, number: int) -> bool:
        """Send a signal to a group. Return whether the group exists."""
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):  # macOS raises the latter for a group of dead processes
            return False
        return True

    def _has_live_process(group: int) -> bool:
        """Whether a group has live processes. Dead ones stay where nothing collects orphans (in containers)."""
        try:
            found = os.listdir("/proc")
        except FileNotFoundError:
            return True  # not Linux: something always collects orphans
        for name in filter(str.isdigit, found):
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                # pid (name) state parent group ...; the name may contain brackets and blanks
                state, _, owner = file.read().rpartition(b") ")[2].split()[:3]
                if int(owner) == group and state not in (b"Z", b"X"):
                    return True
        return False


def start_copy(action: Callable[[], bytes]) -> Callable[[], bytes] | None:
    """Run an action in a copy of this process, and return a function that waits for its bytes; empty if it failed.

    None where there is no such thing, as on Windows, or where a copy may hang, because other threads run.
    """
    import threading

    if sys.platform == "win32" or threading.active_count() > 1:
        return None
    source, target = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            with open(target, "wb") as file:
                file.write(action())
        finally:
            os._exit(0)  # nothing else here is the copy's to close
    os.close(target)

    def wait_for_bytes() -> bytes:
        with open(source, "rb") as file:
            found = file.read()
        os.waitpid(pid, 0)
        return found

    return wait_for_bytes


def usable_cores() -> int:
    """How many processor cores this process may use."""
    cores = os.cpu_count() or 1
    if sys.platform == "linux":
        cores = len(os.sched_getaffinity(0))
    return cores


def file_limit() -> int:
    """How many files this process may open."""
    if sys.platform != "win32":
        with suppress(ImportError):
            import resource

            soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            if soft != resource.RLIM_INFINITY:
                return soft
    return 1 << 16


# Files


def lock_file(handle: int, *, shared: bool = False) -> bool:
    """Lock an open file until it is closed. False: somebody else has locked it. Windows knows no shared locks."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
    else:
        import fcntl

        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


_LOCKED_BYTE = 1 << 30
"""What is locked on Windows, where nobody can read a locked byte: one far behind the end of the file."""


def open_to_lock(folder: Path) -> int:
    """A handle by which a folder can be locked. Windows cannot open folders: there it is that of a temporary file."""
    place, flags = folder, os.O_RDONLY
    if sys.platform == "win32":
        import hashlib
        import tempfile

        name = hashlib.sha256(os.path.normcase(folder.resolve()).encode()).hexdigest()
        place, flags = Path(tempfile.gettempdir(), f"workbench-{name[:16]}.lock"), os.O_CREAT | os.O_RDWR
    return os.open(place, flags, 0o600)


def copy_owner(handle: int, found: os.stat_result) -> None:
    """Give an open file the owner and the mode of another one. Windows keeps both by the folder."""
    if sys.platform != "win32":
        with suppress(OSError):  # only root may give files away
            os.fchown(handle, found.st_uid, found.st_gid)
        os.fchmod(handle, stat.S_IMODE(found.st_mode))


def write_start(handle: int, data: bytes) -> None:
    """Write to the beginning of an open file."""
    if sys.platform != "win32":
        os.pwrite(handle, data, 0)
    else:
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, data)


@contextmanager
def never_waiting(handle: int) -> Iterator[None]:
    """Let writes to a full pipe or terminal raise BlockingIOError within the block. On Windows they wait."""
    if sys.platform == "win32":
        yield
    else:
        before = os.get_blocking(handle)
        os.set_blocking(handle, False)
        try:
            yield
        finally:
            os.set_blocking(handle, before)


def wait_for_hangup(pipe: int) -> bool:
    """Wait until the other end of a pipe is closed. False: the system cannot wait for that; it is Windows."""
    if sys.platform != "win32":
        watch = select.poll()
        watch.register(pipe, 0)  # no events: poll always reports a hang-up
        watch.poll()
    return sys.platform != "win32"


# The terminal


def restore_keyboard(terminal: int, attributes: Any) -> None:
    """Drop what was typed and give a terminal its attributes back. The terminals of Windows have none."""
    if sys.platform != "win32":
        import termios

        with suppress(termios.error):
            termios.tcflush(terminal, termios.TCIFLUSH)
            termios.tcsetattr(terminal, termios.TCSANOW, attributes)
