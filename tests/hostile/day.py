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

from hostile import (
    answers,
    approval_files,
    bodies,
    clocks,
    commands,
    cuts,
    databases,
    doors,
    foreign_files,
    homes,
    kills,
    lab_inputs,
    paths,
    patterns,
    projects,
    read_only,
    replays,
    repositories,
    results,
    screens,
    scripts,
    serving,
    slow,
    sockets,
    tls_doors,
    transcripts,
    undoing,
    watching,
)
from hostile.tally import Tally
from workbench.config.text import table

Attack = Callable[[int, random.Random, Path], Tally]
ATTACKS: dict[str, tuple[Attack, int, str]] = {
    "kills": (kills.run, 1_000, "kill -9 in every writer: sessions, exports, results, settings"),
    "results": (results.run, 400, "results on a full disk, under signals, without packages, in odd places"),
    "undo": (undoing.run, 400, "undo, redo and overrides by 20 processes in one session"),
    "lab": (lab_inputs.run, 1_600, "objectives, Parquet files, kept results and answers of workers that are none"),
    "databases": (databases.run, 365, "damaged databases, and what is recovered of them"),
    "paths": (paths.run, 1_400, "paths out of the project, through every file tool"),
    "projects": (projects.run, 9, "commands in a project full of traps: config, hooks, modules"),
    "commands": (commands.run, 1_000, "commands that try to be more than a pattern allows"),
    "patterns": (patterns.run, 1_500, "two or three offered patterns together: write files, then run a command"),
    "repositories": (repositories.run, 200, "repositories that name programs, and links out of a project"),
    "files": (foreign_files.run, 400, "pipes, devices, links and huge files in the place of files"),
    "homes": (homes.run, 100_000, "a home and a project with very many files of other agents"),
    "watching": (watching.run, 500, "watched files that grow, shrink, are replaced or become something else"),
    "clocks": (clocks.run, 200, "files of impossible times, and a clock that jumps between appends"),
    "approvals": (approval_files.run, 2_000, "files of approvals that are broken, hard to match or links"),
    "read-only": (read_only.run, 500, "approvals, settings, home and data that may not be written"),
    "replays": (replays.run, 1_000, "requests of a foreign log sent again: models, headers, addresses, redirects"),
    "answers": (answers.run, 100, "answers to `replay` that unpack to gigabytes, never end or make no sense"),
    "scripts": (scripts.run, 1_000, "rehearsal scripts with numbers, nesting and text that nobody expects"),
    "serve": (serving.run, 300, "requests that `serve` must refuse"),
    "bodies": (bodies.run, 300, "bodies through the proxy that unpack to gigabytes, and answers that make no sense"),
    "doors": (doors.run, 5_000, "connections to the proxy without its token, and kill -9 while agents ask"),
    "tls": (tls_doors.run, 2_000, "the door of proxy --tls: no CONNECT, half handshakes, odd hosts, clients that wait"),
    "cuts": (cuts.run, 50, "kill -9 while answers stream through the proxy"),
    "sockets": (sockets.run, 450, "frames of websockets that break the protocol, to servers and from providers"),
    "slow": (slow.run, 300, "clients and providers that read or write next to nothing, at the proxy and at serve"),
    "screens": (screens.run, 600, "hostile text on every screen and dialog"),
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
    given = {name: vars(options)[name.replace("-", "_")] for name in ATTACKS}
    asked = {name: tries for name, tries in given.items() if tries is not None}
    chosen = asked or {name: tries for name, (_, tries, _) in ATTACKS.items()}
    tallies = []
    for name, tries in chosen.items():
        start = time.monotonic()
        tally = attack(name, tries, options.seed)
        tallies.append(tally)
        print(f"{name}: {tally.tries:,} tries in {time.monotonic() - start:.0f} s", flush=True)
        for fault in tally.faults[:SHOWN]:
            print(f"  {fault}")
    rows = [(each.what, f"{each.tries:,}", f"{each.held:,}", f"{each.failed:,}", each.told) for each in tallies]
    print("\n".join(table(("attack", "tries", "held", "failed", "details"), rows, frozenset({1, 2, 3}))))
    return 1 if any(tally.faults for tally in tallies) else 0


def attack(name: str, tries: int, seed: int = 1) -> Tally:
    """One attack, with folders of its own for config and data."""
    before = {key: os.environ.get(key) for key in ("WORKBENCH_CONFIG_DIR", "WORKBENCH_DATA_DIR", "WORKBENCH_CACHE_DIR")}
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
