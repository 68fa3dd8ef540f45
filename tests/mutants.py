"""Put small faults into the code and see whether tests notice: `uv run python tests/mutants.py [--count N] [PATH...]`.

A path is a folder, a file, or a line (`workbench/log/store.py:40`). Every fault is tried in a copy of the project, with
the nearest tests of the changed file; if they pass, with the rest of its room and others that import it. The faults
that no test notices are listed at the end. The exit code is 1 where fewer than nine in ten are noticed; those that
`tests/mutants.toml` explains do not count.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from support.code_mutants import CodeMutant

CORE = (
    *("config", "log", "context", "models", "wire", "compaction", "agent", "traces", "proxy", "sources"),
    *("lab", "views", "session", "library", "judge", "explain", "usage", "live", "rehearsal"),
)
"""The folders without a screen."""
HANGS = 900
"""Seconds after which tests with a fault in the code are taken for stuck."""
SHARE = 0.9
"""Of the faults that have to be noticed."""
Fate = Literal["noticed", "noticed further away", "hangs", "survived", "accepted", "no tests"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the faults that were asked for; 1 where too few are noticed."""
    sys.path[0] = str(Path(__file__).resolve().parent)
    from support.code_mutants import PROJECT, TESTS, NearestTests, mutants_of

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", help="folders, files or FILE:LINE (all without a screen)")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="so many, chosen by chance (200)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another one chooses others (1)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="at once (2)")
    options = parser.parse_args(arguments)

    found = [each for path in options.paths or _core(PROJECT) for each in _faults_in(path, mutants_of)]
    chosen = random.Random(options.seed).sample(found, min(options.count, len(found)))
    known = tomllib.loads((TESTS / "mutants.toml").read_text(encoding="utf-8"))
    accepted = {each["fault"] for each in known.get("accepted", [])}
    nearest = NearestTests(further=known.get("tests"))
    files = len({each.file for each in found})
    print(f"{len(chosen):,} of {len(found):,} faults in {files:,} files, seed {options.seed}", flush=True)

    def tried(mutant: CodeMutant) -> Fate:
        if mutant.key in accepted:
            return "accepted"
        tests = [each.relative_to(PROJECT) for each in nearest.of(mutant.file)]
        if not tests:
            return "no tests"
        with copies.one() as copy:
            if (fate := copy.tried(mutant.file, mutant.applied, tests)) != "survived":
                return fate
            if not (further := [each.relative_to(PROJECT) for each in nearest.beyond(mutant.file)]):
                return fate
            fate = copy.tried(mutant.file, mutant.applied, further)
            return "noticed further away" if fate == "noticed" else "survived"

    with _Copies(PROJECT, options.jobs) as copies, ThreadPoolExecutor(options.jobs) as pool:
        fates: dict[Fate, list[CodeMutant]] = {}
        for mutant, fate in zip(chosen, pool.map(tried, chosen), strict=True):
            fates.setdefault(fate, []).append(mutant)
            print(f"{fate}: {mutant}", flush=True)
    alive = [*fates.get("survived", []), *fates.get("no tests", [])]
    dead = sum(len(fates.get(each, [])) for each in ("noticed", "noticed further away", "hangs"))
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


class _Copy:
    """A copy of the project in which one fault at a time is tried."""

    def __init__(self, project: Path, folder: Path) -> None:
        self._folder = folder
        self._sound: set[str] = set()
        """Tests that pass without a fault."""
        self._unsound = list[str]()
        """Options that leave out those that do not."""
        for name in ("workbench", "tests", "themes", "docs"):
            shutil.copytree(project / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for file in project.iterdir():
            if file.is_file():
                shutil.copy(file, folder)

    def tried(self, file: str, change: Callable[[bytes], bytes], tests: Sequence[Path]) -> Fate:
        """What the tests make of a changed file. Who fails with the fault has to pass without it, or is left out."""
        path = self._folder / file
        whole = path.read_bytes()
        while True:
            path.write_bytes(change(whole))
            try:
                failed = self._run(map(str, tests))
            except subprocess.TimeoutExpired:
                return "hangs"
            finally:
                path.write_bytes(whole)
            if not failed:
                return "survived"
            if failed in self._sound or not self._run([failed]):
                self._sound.add(failed)
                return "noticed"
            print(f"left out, as it fails without a fault as well: {failed}", flush=True)
            self._unsound.append(f"--deselect={failed}")

    def _run(self, tests: Iterable[str]) -> str:
        """The first test that fails, or the file that cannot be read."""
        command = (sys.executable, "-m", "pytest", "-xq", "-n0", "--tb=no", "-rfE", "-p", "no:cacheprovider")
        options = "--hypothesis-profile=repeatable"
        paths = {"PYTHONPATH": str(self._folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": options}
        with subprocess.Popen(
            (*command, *self._unsound, *tests),
            cwd=self._folder,
            env={**os.environ, **paths},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
        ) as process:
            try:
                out, _ = process.communicate(timeout=HANGS)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        found = re.search(r"^(?:FAILED|ERROR) (\S+(?: .*\])?)", out, re.MULTILINE)
        assert (process.returncode == 0) == (found is None), out[-2000:]
        return found[1].split(" - ")[0] if found else ""


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
