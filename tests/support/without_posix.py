"""Takes away what Windows lacks, so that what needs it fails here, too. For processes of their own, and as a plug-in:

    uv run pytest -n 0 -p support.without_posix tests/context tests/traces

It does not make a Windows of Linux: files, pipes and processes behave as before.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
NAMES: dict[str, tuple[str, ...]] = {
    "os": (
        *("chown", "environb", "fchmod", "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getpgid"),
        *("getpgrp", "getpriority", "getsid", "getuid", "initgroups", "killpg", "lchown", "lockf", "mkfifo"),
        *("mknod", "nice", "openpty", "posix_fadvise", "posix_fallocate", "pread", "preadv", "pwrite", "pwritev"),
        *("sched_getaffinity", "sched_setaffinity", "sched_yield", "sendfile", "setegid", "seteuid", "setgid"),
        *("setpgid", "setpriority", "setsid", "setuid", "statvfs", "sync", "sysconf", "tcgetpgrp", "ttyname"),
        *("uname", "wait", "wait3", "wait4", "O_CLOEXEC", "O_DIRECTORY", "O_DSYNC", "O_NOCTTY", "O_NOFOLLOW"),
        *("O_NONBLOCK", "O_SYNC"),
    ),
    "signal": (
        *("SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGTSTP"),
        *("SIGTTIN", "SIGTTOU", "SIGUSR1", "SIGUSR2", "SIGWINCH", "alarm", "pause", "pthread_kill"),
        *("pthread_sigmask", "setitimer", "sigpending", "sigwait", "siginterrupt"),
    ),
    "select": ("epoll", "poll"),
}
"""By module: what Windows lacks in it."""


def take_away() -> None:
    """Import the program once, as it is; then forget it, and let its modules see what Windows has."""
    import workbench

    import_all(workbench)
    flock, exclusive = _flock()
    for name in [each for each in sys.modules if each.partition(".")[0] == "workbench"]:
        del sys.modules[name]
    for module in (os, select, signal):
        for name in NAMES[module.__name__]:
            if hasattr(module, name):
                delattr(module, name)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]  # which makes an import of it fail
    sys.modules["msvcrt"] = locking = ModuleType("msvcrt")
    locking.LK_NBLCK = exclusive  # type: ignore[attr-defined]
    locking.locking = lambda handle, mode, size: flock(handle, mode)  # type: ignore[attr-defined]
    sys.platform = "win32"


def import_all(package: ModuleType) -> int:
    """Import every module of a package but the adapters, whose frameworks take seconds. Return how many there are."""
    found = [each.name for each in walk_packages(package.__path__, f"{package.__name__}.")]
    for name in found:
        if not name.endswith("__main__") and ".adapters." not in name:
            import_module(name)
    return len(found)


def _flock() -> tuple[Callable[[int, int], None], int]:
    import fcntl

    return fcntl.flock, fcntl.LOCK_EX | fcntl.LOCK_NB


def pytest_configure() -> None:
    take_away()
