"""The program in a fork of this process, which takes a hundredth of the time that Python takes to start."""

from __future__ import annotations

import os
import signal
import tempfile
import traceback
from collections.abc import Callable
from typing import IO, NamedTuple

from support.calls import Outcome
from workbench.cli.main import main


class Fork(NamedTuple):
    """A call of the program that runs."""

    pid: int
    out: IO[bytes]
    err: IO[bytes]

    def ended(self) -> Outcome:
        """Wait for its end."""
        _, status = os.waitpid(self.pid, 0)
        return self.said(os.waitstatus_to_exitcode(status))

    def said(self, code: int) -> Outcome:
        """What it wrote, for a process that has ended."""
        texts = []
        for file in (self.out, self.err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
            file.close()
        return Outcome(code, *texts)


def forked(*arguments: object, before: Callable[[], object] | None = None, attempts: int = 1) -> Fork:
    """Start the program; `before`: what is done in the new process first; `attempts`: so often where it fails."""
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - closed at the end
    pid = os.fork()
    if pid:
        return Fork(pid, out, err)
    code = 99
    try:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        _standard_streams()
        for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM):
            signal.signal(each, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if before is not None:
            before()
        code = main([str(argument) for argument in arguments])
        while code and (attempts := attempts - 1):
            for stream in (1, 2):
                os.ftruncate(stream, 0)
                os.lseek(stream, 0, os.SEEK_SET)
            code = main([str(argument) for argument in arguments])
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _standard_streams() -> None:
    """Python's own streams again: tests put others in their place."""
    import sys

    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - as long-lived as the process
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
