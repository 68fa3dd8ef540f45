"""Copies of the project, in which tests run with a fault in the code."""

from __future__ import annotations

import compileall
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import SimpleQueue

from support.code_mutants import CodeMutant
from support.kept_fates import Fate
from support.reached_tests import failed_tests
from support.waiting import processor_share

HANGS = 900
"""Seconds without a word after which tests are taken for stuck, if nobody knows how long they take."""
_LOOK_EVERY = 0.5


class ProjectCopy:
    """A copy of the project, in which one fault at a time is tried."""

    def __init__(self, project: Path, folder: Path) -> None:
        self.folder = folder
        self._sound: set[str] = set()
        """Tests that pass without a fault."""
        self._unsound: set[str] = set()
        """Those that do not, and are left out."""
        left_out = shutil.ignore_patterns("__pycache__", ".git", ".venv", ".*_cache", ".hypothesis")
        shutil.copytree(project, folder, ignore=left_out)
        # By default Python tells by time and size whether a file has changed: a fault can leave both as they are.
        compileall.compile_dir(folder / "workbench", quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)

    def tried(self, mutant: CodeMutant, tests: Sequence[str], quiet: float) -> tuple[Fate, str]:
        """What the tests make of a fault, and who noticed it.

        Who fails with the fault has to pass without it, or is left out. Tests hang when they print nothing for `quiet`
        seconds.
        """
        path = self.folder / mutant.file
        whole = path.read_bytes()
        while True:
            path.write_bytes(mutant.applied(whole))
            try:
                failed = self._first_failed([each for each in tests if each not in self._unsound], quiet)
            finally:
                path.write_bytes(whole)
            if failed is None:
                return "hangs", ""
            if not failed:
                return "survived", ""
            if failed in self._sound or self._first_failed([failed], HANGS) == "":
                self._sound.add(failed)
                return "noticed", failed
            print(f"left out, as it fails without a fault as well: {failed}", flush=True)
            self._unsound.add(failed)

    def _first_failed(self, tests: Sequence[str], quiet: float) -> str | None:
        """The first test that fails or is missing, or the file that cannot be read. None if they hang."""
        if not tests:
            return ""
        unsound = [f"--deselect={each}" for each in self._unsound]
        code, out = self.run(["-x", *unsound, *tests], quiet)
        for failed in failed_tests(out):
            return failed
        if code is None:
            return None
        missing = re.search(rf"^ERROR: not found: {re.escape(str(self.folder))}/(.*)$", out, re.MULTILINE)
        assert missing or code in (0, 5), out[-2000:]
        return missing[1] if missing else ""

    def run(self, arguments: Sequence[str], quiet: float) -> tuple[int | None, str]:
        """The exit code of pytest and what it prints. If it prints nothing for `quiet` seconds, it has no exit code."""
        command = (sys.executable, "-m", "pytest", "-q", "-n0", "--tb=no", "-rfE", "-p", "no:cacheprovider")
        options = "--hypothesis-profile=repeatable"
        paths = {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "", "PYTEST_ADDOPTS": options}
        with (
            tempfile.TemporaryFile() as out,
            subprocess.Popen(
                (*command, *arguments),
                cwd=self.folder,
                env={**os.environ, **paths},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process,
        ):
            try:
                size, left = 0, quiet
                while (code := process.poll()) is None and left > 0:
                    time.sleep(_LOOK_EVERY)
                    left -= _LOOK_EVERY * processor_share()
                    if (now := os.fstat(out.fileno()).st_size) != size:
                        size, left = now, quiet
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
            out.seek(0)
            return code, out.read().decode(errors="replace")


class ProjectCopies:
    """As many copies as are used at once."""

    def __init__(self, project: Path, number: int) -> None:
        self._project = project
        self._number = number
        self._free: SimpleQueue[ProjectCopy] = SimpleQueue()

    def __enter__(self) -> ProjectCopies:
        self._top = tempfile.TemporaryDirectory(prefix="mutants-")
        for number in range(self._number):
            self._free.put(ProjectCopy(self._project, Path(self._top.name) / str(number)))
        return self

    def __exit__(self, *_: object) -> None:
        self._top.cleanup()

    @contextmanager
    def one(self) -> Iterator[ProjectCopy]:
        """A copy that nobody uses."""
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)
