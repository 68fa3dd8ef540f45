"""Where a command writes its result: a file, standard output (`-`), a pipe or a device.

A file is checked before the work begins, so that no work is wasted. It appears whole or not at all.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.writing import replacing_file

STANDARD = "-"
_FAILURES = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
"""Failures of the disk, not of the call."""
_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_NUMBERED = re.compile(r"/(?:dev|proc/self|proc/thread-self)/fd/(\d{1,9})")
_PROBE = bytes(4096)
"""A disk without room for this has no room for any result."""


class OutputFile(NamedTuple):
    """An output file as the user named it."""

    name: str
    option: str = ""
    """The option that the user gave it with, for messages."""

    def check_writable(self) -> None:
        """Raise if it cannot be written: WrongCall, or WorkbenchError where the disk is full."""
        if not self.name or "\0" in self.name:
            raise WrongCall(f"{self.option or '-o'}: expected a file")
        if self.is_stream:
            return
        if os.path.isdir(self.name):
            raise WrongCall(f"{self._named_for_user}: expected a file, this is a folder")
        path = self._path
        folder = path.parent
        if not folder.is_dir():
            raise WrongCall(f"{self._named_for_user}: there is no folder {os.path.dirname(self.name) or folder}")
        if path.exists() and not os.access(path, os.W_OK):
            raise WrongCall(f"{self._named_for_user}: is write-protected")
        with self._with_clear_errors():
            _probe(folder)

    @property
    def is_stream(self) -> bool:
        """Whether this is standard output, another open file of this process, a pipe or a device."""
        if self.name == STANDARD or self._descriptor is not None:
            return True
        try:
            mode = os.stat(self.name).st_mode
        except (OSError, ValueError):
            return False
        return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads the output as it comes."""
        if self.name == STANDARD:
            return sys.stdout.isatty()
        return self._descriptor is not None and os.isatty(self._descriptor)

    @contextmanager
    def writing(self) -> Iterator[IO[bytes]]:
        """The file to write to. Makes no folders. Raises WorkbenchError where writing fails."""
        with self._with_clear_errors():
            if self.name == STANDARD:
                sys.stdout.flush()
                yield sys.stdout.buffer
                sys.stdout.buffer.flush()
            elif self.is_stream:
                sys.stdout.flush()
                # Write an open file at its current position: opened by name, it would be overwritten from the start.
                descriptor = self._descriptor
                with open(self.name if descriptor is None else os.dup(descriptor), "wb") as stream:
                    yield stream
            else:
                path = self._path
                if not path.parent.is_dir():
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
                with replacing_file(path) as file:
                    yield file

    @property
    def _path(self) -> Path:
        """With links resolved, so that the user's own link stays."""
        return Path(os.path.realpath(self.name))

    @property
    def _descriptor(self) -> int | None:
        """The number of the open file behind a name such as `/dev/stdout`."""
        name = os.path.normpath(os.path.abspath(self.name))
        if name in _STREAMS:
            return _STREAMS[name]
        found = _NUMBERED.fullmatch(name)
        return int(found[1]) if found else None

    @property
    def _named_for_user(self) -> str:
        return f"{self.option} {self.name}".strip()

    @contextmanager
    def _with_clear_errors(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise  # the reader closed the pipe, which is no error
        except OSError as error:
            kind = WorkbenchError if error.errno in _FAILURES else WrongCall
            raise kind(f"{self._named_for_user}: cannot be written: {error.strerror or error}") from None


def _probe(folder: Path) -> None:
    """Raise OSError where no file can be written in a folder."""
    with suppress(_Fits), replacing_file(folder / ".workbench-probe") as file:
        file.write(_PROBE)
        file.flush()
        os.fsync(file.fileno())
        raise _Fits


class _Fits(Exception):
    """Leaves the block that tests whether the disk has room, so that its file is dropped."""
