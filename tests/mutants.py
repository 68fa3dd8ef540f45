"""Put small faults into the code and see whether tests notice: `uv run python tests/mutants.py [--count N] [PATH...]`.

A path is a folder, a file, or a line (`workbench/log/store.py:40`). Every fault is tried in a copy of the project, with
the nearest test files. With `--reached FILE` the tests that reach the fault are asked: all tests run once to find out
which these are, folder by folder, those of the folders without a screen first. Only faults that survive these need the
others. The file keeps what is known, and `FILE.fates` what became of each fault, so that a run that was cut short goes
on where it was; after a change, the tests that noticed a fault before are asked first. The faults that no test notices
are listed at the end. The exit code is 1 where fewer than nine in ten are noticed; those that `tests/mutants.toml`
explains do not count.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.code_mutants import CodeMutant, NearestTests
    from support.kept_fates import KeptFate, KeptFates
    from support.project_copies import ProjectCopies
    from support.reached_tests import ReachedTests

CORE = (
    *("config", "log", "context", "models", "wire", "compaction", "agent", "traces", "proxy", "sources"),
    *("lab", "views", "session", "library", "judge", "explain", "usage", "live", "rehearsal"),
)
"""The folders without a screen."""
QUIET = 40
"""Seconds of a processor without a word that tests always have, whatever they took without a fault."""
FIRST = 40
"""Tests that are asked first, of those that reach a fault."""
LONGEST = 60
"""Seconds that the others may take: the nearest files, and tests further away."""
SHARE = 0.9
"""Of the faults that have to be noticed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the faults that were asked for; 1 where too few are noticed."""
    sys.path[0] = str(Path(__file__).resolve().parent)
    from support.code_mutants import PROJECT, TESTS, NearestTests, mutants_of
    from support.kept_fates import KeptFates
    from support.project_copies import ProjectCopies

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", help="folders, files or FILE:LINE (all without a screen)")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="so many, chosen by chance (200)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another one chooses others (1)")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="at once (2)")
    parser.add_argument("--reached", type=Path, metavar="FILE", help="which tests reach a fault; made by a run of all")
    options = parser.parse_args(arguments)

    found = [each for path in options.paths or _core(PROJECT) for each in _faults_in(path, mutants_of)]
    chosen = sorted(found, key=lambda each: _draw(options.seed, each))[: options.count]
    known = tomllib.loads((TESTS / "mutants.toml").read_text(encoding="utf-8"))
    accepted = {each["fault"] for each in known.get("accepted", [])}
    files = len({each.file for each in found})
    print(f"{len(chosen):,} of {len(found):,} faults in {files:,} files, seed {options.seed}", flush=True)
    left = [each for each in chosen if each.key not in accepted]
    counted = len(left)
    kept = KeptFates(options.reached and options.reached.with_name(f"{options.reached.name}.fates"))
    with ProjectCopies(PROJECT, options.jobs) as copies:
        trial = _Trial(copies, options.jobs, NearestTests(), kept)
        if options.reached is None:
            left = trial.survivors(left)
        else:
            left = trial.first_survivors(left, _known_reached(options.reached))
            for folders in _folders_of_tests(PROJECT):
                reached = _reached(PROJECT, options.reached, left, folders, options.jobs)
                left = trial.survivors(left, reached, folders)
    dead = counted - len(left)
    print(f"{dead} of {counted} noticed ({dead / max(counted, 1):.0%}), {len(chosen) - counted} accepted")
    for mutant in left:
        print(f"  {mutant.key}")
    return 1 if dead < SHARE * counted else 0


def _draw(seed: int, fault: CodeMutant) -> str:
    """Random, and the same however the rest of the code changes."""
    return sha256(f"{seed} {fault.key}".encode()).hexdigest()


def _core(project: Path) -> list[str]:
    return [str(project / "workbench" / each) for each in CORE]


def _faults_in(path: str, mutants_of: Callable[[Path], list[CodeMutant]]) -> Iterator[CodeMutant]:
    """The faults in a folder, a file, or one line of a file."""
    name, _, line = path.partition(":")
    place = Path(name).resolve()
    for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
        yield from (each for each in mutants_of(file) if not line or each.line == int(line))


def _folders_of_tests(project: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The files of tests by their folder: those of the core, and those of the screen and the commands."""
    core, others = dict[str, list[str]](), dict[str, list[str]]()
    for file in sorted((project / "tests").rglob("test_*.py")):
        path = file.relative_to(project)
        theirs = core if path.parts[1] in CORE else others
        theirs.setdefault(path.parent.as_posix(), []).append(path.as_posix())
    return core, others


def _known_reached(file: Path) -> ReachedTests:
    from support.reached_tests import ReachedTests, load_reached

    return load_reached(file) if file.exists() else ReachedTests({}, {}, {})


def _reached(
    project: Path, file: Path, faults: Iterable[CodeMutant], folders: Mapping[str, list[str]], jobs: int
) -> ReachedTests:
    """Which tests of these folders reach the faults: from the file; the folders that it lacks run."""
    from support.project_copies import HANGS, ProjectCopy
    from support.reached_tests import failed_tests, put_markers

    known = _known_reached(file)
    unknown = [each for each in faults if any(known.lacks(each, folder) for folder in folders)]
    if not unknown:
        return known
    lock = Lock()
    with tempfile.TemporaryDirectory(prefix="mutants-") as top, ThreadPoolExecutor(jobs) as pool:
        copy, notes = ProjectCopy(project, Path(top) / "copy"), Path(top) / "notes"
        put_markers(copy.folder, notes, unknown)

        def ask(folder: str) -> None:
            nonlocal known
            code, output = copy.run(["--durations=0", "--durations-min=0", *folders[folder]], HANGS)
            with lock:
                known = known.with_folder(folder, unknown, notes, output)
                known.save(file)
            failed = len(failed_tests(output))
            print(f"{folder}: {'stuck' if code is None else f'{failed} failed'}", flush=True)

        list(pool.map(ask, [each for each in folders if any(known.lacks(fault, each) for fault in unknown)]))
    reaching = sum(1 for each in unknown if known.tests[each.key])
    print(f"{reaching:,} of {len(unknown):,} faults are reached", flush=True)
    return known


class _Trial:
    """Tries faults, several at once, and says what became of each."""

    def __init__(self, copies: ProjectCopies, jobs: int, nearest: NearestTests, kept: KeptFates) -> None:
        self._copies = copies
        self._jobs = jobs
        self._nearest = nearest
        self._kept = kept

    def survivors(
        self,
        faults: Sequence[CodeMutant],
        reached: ReachedTests | None = None,
        folders: Mapping[str, list[str]] | None = None,
    ) -> list[CodeMutant]:
        """The faults that nobody notices of the tests that reach them, in these folders; else of the nearest files."""
        return self._left([(each, self._rounds(each, reached, folders or {})) for each in faults], reached)

    def first_survivors(self, faults: Sequence[CodeMutant], reached: ReachedTests) -> list[CodeMutant]:
        """The faults that are noticed neither by the tests that did so before, nor by new ones.

        All tests of the nearest files are asked about a fault that was never tried.
        """
        known = reached.names()
        return self._left([(each, self._first_rounds(each, reached, known)) for each in faults], reached)

    def _left(
        self, asked: Sequence[tuple[CodeMutant, list[list[str]]]], reached: ReachedTests | None
    ) -> list[CodeMutant]:
        """The faults that are left when each round of tests was asked."""

        def survives(fault: CodeMutant, rounds: list[list[str]]) -> bool:
            return all(self._end(fault, tests, reached)["fate"] == "survived" for tests in rounds)

        with ThreadPoolExecutor(self._jobs) as pool:
            ends = list(pool.map(survives, *zip(*asked, strict=True))) if asked else []
        left = [fault for (fault, _), survived in zip(asked, ends, strict=True) if survived]
        print(f"{len(left):,} of {len(asked):,} are left", flush=True)
        return left

    def _first_rounds(self, mutant: CodeMutant, reached: ReachedTests, known: set[str]) -> list[list[str]]:
        """Those that noticed it before, and then new ones; of a new fault, or one that hung, the nearest files."""
        from support.code_mutants import listed_tests

        near = self._nearest.of(mutant.file)
        if not self._kept.was_tried(mutant) or self._kept.has_hung(mutant):
            return [self._kept.noticed_by(mutant), near]
        others = [test.partition("::")[0] for test in reached.tests.get(mutant.key, ())]
        files = dict.fromkeys([*near, *self._nearest.of_room(mutant.file), *others])
        new = [each for file in files for each in listed_tests(file) if each not in known]
        return [self._kept.noticed_by(mutant), new]

    def _rounds(
        self, mutant: CodeMutant, reached: ReachedTests | None, folders: Mapping[str, list[str]]
    ) -> list[list[str]]:
        """Which tests to ask first, and which then: a few of the nearest files and of others, many."""
        near = self._nearest.of(mutant.file)
        if reached is None:
            return [[*near, *self._nearest.of_room(mutant.file)]]
        files = {file for theirs in folders.values() for file in theirs}
        near = [each for each in near if each in files]
        tests = [each for each in reached.in_order(mutant, near) if each.partition("::")[0] in files]
        first = sorted(tests[:FIRST], key=lambda each: each.partition("::")[0] not in near)
        further = [each for each in tests[FIRST : 10 * FIRST] if each.partition("::")[0] not in near]
        return [first, reached.within([*near, *further], LONGEST)]

    def _end(self, mutant: CodeMutant, asked: list[str], reached: ReachedTests | None) -> KeptFate:
        """What became of a fault when these tests were asked, now or before."""
        from support.project_copies import HANGS

        with self._copies.one() as copy:
            end = self._kept.known(copy.folder, mutant, asked)
            if end is None and not asked:
                return {"fate": "survived", "by": "", "digest": ""}
            if end is None:
                quiet = QUIET + 10 * reached.longest(asked) if reached else HANGS
                end = self._kept.add(copy.folder, mutant, asked, *copy.tried(mutant, asked, quiet))
        print(f"{end['fate']}: {mutant} {end['by']}".rstrip(), flush=True)
        return end


if __name__ == "__main__":
    sys.exit(main())
