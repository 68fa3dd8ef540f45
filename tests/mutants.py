"""Put small faults into the code and see whether tests notice: `uv run python tests/mutants.py [--count N] [PATH...]`.

Every fault is tried in a copy of the project, with the tests that use the changed file. What no test notices is printed
and makes the exit code 1, unless `tests/mutants.toml` says why nobody can notice it.
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
from typing import Literal

CORE = ("config", "log", "context", "models", "wire", "compaction", "agent", "session", "traces", "lab", "proxy")
"""The folders without a screen."""
HANGS = 900
"""Seconds after which tests with a fault in the code are taken for stuck."""
SHARE = 0.9
"""Of the faults that have to be noticed."""
Fate = Literal["noticed", "hangs", "survived", "accepted", "no tests"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the faults that were asked for; 1 where too few are noticed."""
    sys.path[0] = str(Path(__file__).resolve().parent)
    from support.code_mutants import PROJECT, TESTS, CodeMutant, NearestTests, mutants_of

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (the folders without a screen)")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="so many, chosen by chance (200)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another one chooses others (1)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="at once (2)")
    options = parser.parse_args(arguments)

    paths = [Path(each).resolve() for each in options.paths] or [PROJECT / "workbench" / each for each in CORE]
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    found = [mutant for file in files for mutant in mutants_of(file)]
    chosen = random.Random(options.seed).sample(found, min(options.count, len(found)))
    accepted = _accepted(TESTS / "mutants.toml")
    nearest = NearestTests()
    print(f"{len(chosen):,} of {len(found):,} faults in {len(files):,} files, seed {options.seed}", flush=True)

    def tried(mutant: CodeMutant) -> Fate:
        if mutant.key in accepted:
            return "accepted"
        tests = [each.relative_to(PROJECT) for each in nearest.of(mutant.file)]
        if not tests:
            return "no tests"
        with copies.one() as copy:
            return copy.tried(mutant.file, mutant.applied, tests)

    with _Copies(PROJECT, options.jobs) as copies, ThreadPoolExecutor(options.jobs) as pool:
        fates: dict[Fate, list[CodeMutant]] = {}
        for mutant, fate in zip(chosen, pool.map(tried, chosen), strict=True):
            fates.setdefault(fate, []).append(mutant)
            print(f"{fate}: {mutant}", flush=True)
    alive = [*fates.get("survived", []), *fates.get("no tests", [])]
    dead = len(fates.get("noticed", [])) + len(fates.get("hangs", []))
    counted = dead + len(alive)
    print(", ".join(f"{len(each)} {fate}" for fate, each in fates.items()))
    print(f"{dead} of {counted} noticed ({dead / max(counted, 1):.0%})")
    for mutant in alive:
        print(f"  {mutant.key}")
    return 1 if dead < SHARE * counted else 0


def _accepted(file: Path) -> dict[str, str]:
    """Faults that nobody can notice, and why."""
    return {each["fault"]: each["why"] for each in tomllib.loads(file.read_text(encoding="utf-8")).get("accepted", [])}


class _Copy:
    """A copy of the project in which one fault at a time is tried."""

    def __init__(self, project: Path, folder: Path) -> None:
        self._folder = folder
        self._sound: set[str] = set()
        """Tests that pass without a fault."""
        for name in ("workbench", "tests", "themes", "docs"):
            shutil.copytree(project / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for file in project.iterdir():
            if file.is_file():
                shutil.copy(file, folder)

    def tried(self, file: str, change: Callable[[bytes], bytes], tests: Sequence[Path]) -> Fate:
        """What the tests make of a changed file. Who fails with the fault has to pass without it."""
        path = self._folder / file
        whole = path.read_bytes()
        path.write_bytes(change(whole))
        try:
            failed = self._run(map(str, tests))
        except subprocess.TimeoutExpired:
            return "hangs"
        finally:
            path.write_bytes(whole)
        if failed and failed not in self._sound:
            assert not self._run([failed]), f"it fails without a fault as well: {failed}"
            self._sound.add(failed)
        return "noticed" if failed else "survived"

    def _run(self, tests: Iterable[str]) -> str:
        """The first test that fails, or the file that cannot be read."""
        command = (sys.executable, "-m", "pytest", "-xq", "-n0", "--tb=no", "-rfE", "-p", "no:cacheprovider", *tests)
        options = "--hypothesis-profile=repeatable"
        paths = {"PYTHONPATH": str(self._folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": options}
        with subprocess.Popen(
            command,
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
