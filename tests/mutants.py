"""Put small faults into the code and see whether tests notice: `uv run python tests/mutants.py [--count N] [PATH...]`.

A path is a folder, a file, or a line (`workbench/log/store.py:40`). Every fault is tried in a copy of the project, with
the nearest test files. With `--reached FILE` the tests that reach the fault are asked first: all tests run once to
find out which these are, and the file keeps it for the next time. The faults that no test notices are listed at the
end. The exit code is 1 where fewer than nine in ten are noticed; those that `tests/mutants.toml` explains do not count.
"""

from __future__ import annotations

import argparse
import compileall
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import SimpleQueue
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from support.code_mutants import CodeMutant
    from support.reached_tests import ReachedTests

CORE = (
    *("config", "log", "context", "models", "wire", "compaction", "agent", "traces", "proxy", "sources"),
    *("lab", "views", "session", "library", "judge", "explain", "usage", "live", "rehearsal"),
)
"""The folders without a screen."""
HANGS = 900
"""Seconds after which tests with a fault in the code are taken for stuck, if nobody knows how long they take."""
FIRST = 40
"""Tests that are asked first, of those that reach a fault."""
LONGEST = 180
"""Seconds that the others may take: the nearest files, and tests further away."""
SHARE = 0.9
"""Of the faults that have to be noticed."""
Fate = Literal["noticed", "hangs", "survived", "accepted"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the faults that were asked for; 1 where too few are noticed."""
    sys.path[0] = str(Path(__file__).resolve().parent)
    from support.code_mutants import PROJECT, TESTS, NearestTests, mutants_of

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", help="folders, files or FILE:LINE (all without a screen)")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="so many, chosen by chance (200)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another one chooses others (1)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="at once (2)")
    parser.add_argument("--reached", type=Path, metavar="FILE", help="which tests reach a fault; made by a run of all")
    options = parser.parse_args(arguments)

    found = [each for path in options.paths or _core(PROJECT) for each in _faults_in(path, mutants_of)]
    chosen = random.Random(options.seed).sample(found, min(options.count, len(found)))
    known = tomllib.loads((TESTS / "mutants.toml").read_text(encoding="utf-8"))
    accepted = {each["fault"] for each in known.get("accepted", [])}
    nearest = NearestTests()
    files = len({each.file for each in found})
    print(f"{len(chosen):,} of {len(found):,} faults in {files:,} files, seed {options.seed}", flush=True)
    reached = _reached(PROJECT, options.reached, chosen, options.jobs + 1) if options.reached else None

    def tried(mutant: CodeMutant) -> Fate:
        if mutant.key in accepted:
            return "accepted"
        near = nearest.of(mutant.file)
        with copies.one() as copy:
            if reached is None:
                return copy.tried(mutant, [*near, *nearest.of_room(mutant.file)], HANGS)
            tests = reached.in_order(mutant, near)
            further = [each for each in tests[FIRST : 10 * FIRST] if each.partition("::")[0] not in near]
            for asked in (tests[:FIRST], reached.within([*near, *further], LONGEST)):
                fate = copy.tried(mutant, asked, 120 + 10 * reached.total(asked))
                if fate != "survived":
                    break
            return fate

    with _Copies(PROJECT, options.jobs) as copies, ThreadPoolExecutor(options.jobs) as pool:
        fates: dict[Fate, list[CodeMutant]] = {}
        for mutant, fate in zip(chosen, pool.map(tried, chosen), strict=True):
            fates.setdefault(fate, []).append(mutant)
            tests = f" ({len(reached.tests.get(mutant.key, ()))} tests reach it)" if reached else ""
            print(f"{fate}: {mutant}{tests}", flush=True)
    alive = fates.get("survived", [])
    dead = sum(len(fates.get(each, [])) for each in ("noticed", "hangs"))
    counted = dead + len(alive)
    print(", ".join(f"{len(each)} {fate}" for fate, each in fates.items()))
    print(f"{dead} of {counted} noticed ({dead / max(counted, 1):.0%})")
    for mutant in alive:
        print(f"  {mutant.key}")
    return 1 if dead < SHARE * counted else 0


def _core(project: Path) -> list[str]:
    return [str(project / "workbench" / each) for each in CORE]


def _faults_in(path: str, mutants_of: Callable[[Path], list[CodeMutant]]) -> Iterator[CodeMutant]:
    """The faults in a folder, a file, or one line of a file."""
    name, _, line = path.partition(":")
    place = Path(name).resolve()
    for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
        yield from (each for each in mutants_of(file) if not line or each.line == int(line))


def _reached(project: Path, file: Path, faults: Sequence[CodeMutant], processes: int) -> ReachedTests:
    """Which tests reach the faults: from the file; if that lacks some, a run of all tests adds them."""
    from support.reached_tests import ReachedTests, load_reached, put_markers, read_notes

    known = load_reached(file) if file.exists() else ReachedTests({}, {})
    faults = [each for each in faults if each.key not in known.tests]
    if not faults:
        return known
    with tempfile.TemporaryDirectory(prefix="mutants-") as top:
        copy, notes = _Copy(project, Path(top) / "copy"), Path(top) / "notes"
        put_markers(copy.folder, notes, faults)
        code, output = copy.run([f"-n{processes}", "--durations=0", "tests"], timeout=None)
        assert code in (0, 1), output[-2000:]
        new = read_notes(notes, faults, output)
    found = ReachedTests(known.tests | new.tests, known.seconds | new.seconds)
    found.save(file)
    print(f"{sum(map(bool, new.tests.values())):,} of {len(faults):,} faults are reached", flush=True)
    return found


class _Copy:
    """A copy of the project in which one fault at a time is tried."""

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

    def tried(self, mutant: CodeMutant, tests: Sequence[str], timeout: float) -> Fate:
        """What the tests make of a fault. Who fails with the fault has to pass without it, or is left out."""
        path = self.folder / mutant.file
        whole = path.read_bytes()
        while True:
            path.write_bytes(mutant.applied(whole))
            try:
                failed = self._first_failed([each for each in tests if each not in self._unsound], timeout)
            except subprocess.TimeoutExpired:
                return "hangs"
            finally:
                path.write_bytes(whole)
            if not failed:
                return "survived"
            if failed in self._sound or not self._first_failed([failed], HANGS):
                self._sound.add(failed)
                return "noticed"
            print(f"left out, as it fails without a fault as well: {failed}", flush=True)
            self._unsound.add(failed)

    def _first_failed(self, tests: Sequence[str], timeout: float) -> str:
        """The first test that fails or is missing, or the file that cannot be read."""
        if not tests:
            return ""
        unsound = [f"--deselect={each}" for each in self._unsound]
        code, out = self.run(["-x", "-n0", *unsound, *tests], timeout)
        found = re.search(r"^(?:FAILED|ERROR) (\S+(?: .*\])?)", out, re.MULTILINE)
        if found:
            return found[1].split(" - ")[0]
        missing = re.search(rf"^ERROR: not found: {re.escape(str(self.folder))}/(.*)$", out, re.MULTILINE)
        assert missing or code in (0, 5), out[-2000:]
        return missing[1] if missing else ""

    def run(self, arguments: Sequence[str], timeout: float | None) -> tuple[int, str]:
        """The exit code of pytest, and what it prints."""
        command = (sys.executable, "-m", "pytest", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider")
        options = "--hypothesis-profile=repeatable"
        paths = {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "", "PYTEST_ADDOPTS": options}
        with subprocess.Popen(
            (*command, *arguments),
            cwd=self.folder,
            env={**os.environ, **paths},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        ) as process:
            try:
                out, _ = process.communicate(timeout=timeout)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        return process.returncode, out


class _Copies:
    """As many copies as are used at once."""

    def __init__(self, project: Path, number: int) -> None:
        self._project = project
        self._number = number
        self._free: SimpleQueue[_Copy] = SimpleQueue()

    def __enter__(self) -> _Copies:
        self._top = tempfile.TemporaryDirectory(prefix="mutants-")
        for number in range(self._number):
            self._free.put(_Copy(self._project, Path(self._top.name) / str(number)))
        return self

    def __exit__(self, *_: object) -> None:
        self._top.cleanup()

    @contextmanager
    def one(self) -> Iterator[_Copy]:
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)


if __name__ == "__main__":
    sys.exit(main())
