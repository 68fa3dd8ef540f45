"""A bad day: attacks on the program, each tried many times, and a table of what held.

Every attack takes a number of tries, a source of chance and a folder of its own, and gives a tally. What it calls a
fault is in its module's first lines.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from hostile import commands, databases, kills, paths, projects, repositories, serving, transcripts
from hostile.tally import Tally
from workbench.config.text import table

Attack = Callable[[int, random.Random, Path], Tally]
ATTACKS: dict[str, tuple[Attack, int, str]] = {
    "kills": (kills.run, 700, "kill -9 during appends, drafts, turns and compactions"),
    "databases": (databases.run, 365, "damaged databases, and what is recovered of them"),
    "paths": (paths.run, 1_400, "paths out of the project, through every file tool"),
    "projects": (projects.run, 9, "commands in a project full of traps: config, hooks, modules"),
    "commands": (commands.run, 1_000, "commands that try to be more than a pattern allows"),
    "repositories": (repositories.run, 200, "repositories that name programs, and links out of a project"),
    "serve": (serving.run, 300, "requests that `serve` must refuse"),
    "transcripts": (transcripts.run, 20_000, "mutated transcripts through plan, request, compact and export"),
}
"""By option: the attack, its tries in the long form, and what it does."""
SHOWN = 5
"""Faults of an attack that are printed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for, all by default; 1 where anything gave way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, (_, tries, text) in ATTACKS.items():
        parser.add_argument(f"--{name}", type=int, nargs="?", const=tries, metavar="N", help=f"{text} ({tries:,})")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another one makes another day (1)")
    options = parser.parse_args(arguments)
    asked = {name: getattr(options, name) for name in ATTACKS if getattr(options, name) is not None}
    chosen = asked or {name: tries for name, (_, tries, _) in ATTACKS.items()}
    tallies = []
    for name, tries in chosen.items():
        start = time.monotonic()
        tally = attack(name, tries, options.seed)
        tallies.append(tally)
        print(f"{name}: {tally.tries:,} tries in {time.monotonic() - start:.0f} s", flush=True)
        for fault in tally.faults[:SHOWN]:
            print(f"  {fault}")
    rows = [(each.what, f"{each.tries:,}", f"{len(each.faults):,}", each.told) for each in tallies]
    print("\n".join(table(("what", "tries", "faults", "beside"), rows, frozenset({1, 2}))))
    return 1 if any(tally.faults for tally in tallies) else 0


def attack(name: str, tries: int, seed: int = 1) -> Tally:
    """One attack, with folders of its own for config and data."""
    before = {key: os.environ.get(key) for key in ("WORKBENCH_CONFIG_DIR", "WORKBENCH_DATA_DIR")}
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="hostile-") as top:
        folder = Path(os.path.realpath(top))
        for key in before:
            os.environ[key] = str(folder / key.lower())
        try:
            return ATTACKS[name][0](tries, random.Random(f"{name} {seed}"), folder)
        finally:
            os.chdir(here)
            for key, value in before.items():
                os.environ.pop(key)
                if value is not None:
                    os.environ[key] = value
