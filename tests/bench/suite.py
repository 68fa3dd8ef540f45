"""All benchmarks, one after the other: a table to read and JSON to keep."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from bench import (
    append,
    compacting,
    corpora,
    counting,
    decoding,
    estimates,
    full_plan,
    growth,
    judging,
    labs,
    large_files,
    library,
    live,
    long_log,
    memory,
    opening,
    pausing,
    proxying,
    rows,
    screen,
    settling,
    stages,
    streaming,
    turns,
    usages,
)
from bench.harness import FULL, QUICK, Insistence, Row, Scale, Unit

Benchmark = Callable[[Scale], Iterator[Row]]

BENCHMARKS: dict[str, Benchmark] = {
    "append": append.run,
    "full_plan_known": full_plan.known,
    "full_plan_new": full_plan.new,
    "normalise": stages.normalise,
    "truncate": stages.truncation,
    "lookup": stages.lookup,
    "compacting": compacting.run,
    "memory": memory.run,
    "count_speed": counting.run,
    "decode": decoding.run,
    "open": opening.run,
    "ask": long_log.asking,
    "open_screen": long_log.opening,
    "settle": settling.run,
    "compact_long": long_log.compaction,
    "estimates": estimates.run,
    "lab": labs.run,
    "corpus": corpora.run,
    "judge": judging.run,
    "library": library.run,
    "agents": live.run,
    "usage": usages.run,
    "large_file": large_files.run,
    "proxy": proxying.run,
    "turn": turns.turn,
    "stream": turns.stream,
    "growth": growth.run,
    "screen": screen.run,
    "pausing": pausing.run,
    "chat": streaming.run,
    "inspector": rows.run,
}

RESULTS = Path("bench-results.json")
HEADER = ("name", "ours", "peer", "ratio", "target", "ok")


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; 1 when a benchmark crashed, whatever the figures."""
    options = _options(arguments)
    scale = QUICK if options.quick else FULL
    if options.turns:
        scale = scale._replace(turns=options.turns)
    Insistence.most = 3 if options.sure else 1
    began, before = time.perf_counter(), conditions()
    rows: list[tuple[str, Row]] = []
    crashed: list[str] = []
    print(", ".join(f"{name}: {value}" for name, value in before.items()))
    print(_line(HEADER), flush=True)
    for name in options.names or BENCHMARKS:
        try:
            for row in BENCHMARKS[name](scale):
                rows.append((name, row))
                print(_line(cells(row)), flush=True)
        except Exception:
            crashed.append(name)
            print(f"{name} crashed:\n{traceback.format_exc()}", flush=True)
    seconds = time.perf_counter() - began
    options.json.write_text(json.dumps(as_json(rows, scale, seconds, crashed, before), indent=1) + "\n", "utf-8")
    over = [row.name for _, row in rows if row.ok is False]
    unsure = [row.name for _, row in rows if row.target is not None and row.ok is None]
    print(
        f"{len(rows)} figures in {seconds:.0f} s, {len(over)} over their target, {len(unsure)} unsure; "
        f"load {conditions()['load']} at the end; written to {options.json}"
    )
    return 1 if crashed else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Benchmarks of Workbench, each beside its peer.")
    parser.add_argument("--quick", action="store_true", help="fewer repeats, turns and chunks: half of the time")
    parser.add_argument("--sure", action="store_true", help="up to three times the rounds where there is no verdict")
    parser.add_argument("--json", type=Path, default=RESULTS, metavar="FILE", help="default: %(default)s")
    parser.add_argument("--turns", type=int, metavar="N", help="turns of the long conversation (1,000; --quick: 80)")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; default: all")
    options = parser.parse_args(arguments)
    if options.turns is not None and options.turns < 3:
        parser.error(f"--turns: expected a number from 3 up, got {options.turns}")
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark named {unknown[0]!r}; expected one of {', '.join(BENCHMARKS)}")
    return options


def conditions() -> dict[str, Any]:
    """What a figure may depend on beside the code."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "bytecode of the suite": "not written" if sys.dont_write_bytecode else "written",
        "bytecode of what it starts": "written",
    }


def as_json(
    rows: Iterable[tuple[str, Row]], scale: Scale, seconds: float, crashed: list[str], before: dict[str, Any]
) -> dict[str, Any]:
    """The results, with what they were measured on and how.

    Of each result: `ours` and `peer` in `unit` (times in seconds), the peer being a yardstick where there is no other;
    `ratio`, ours by the peer's, or the peer's time by ours where the target is "at least", after both are divided by
    the machine's pace; `target`, a rule and a limit for `ratio`; `moved`, how far the peer moved between the rounds
    beyond that pace; `ok`, if the target is met. What a result does not
    have is null, and so is `ok` where the peer moved too far.
    """
    return {
        **before,
        "load at the end": conditions()["load"],
        "scale": scale._asdict(),
        "seconds": seconds,
        "crashed": crashed,
        "results": [
            {
                "benchmark": benchmark,
                "name": row.name,
                "ours": row.ours,
                "unit": row.unit,
                "peer": row.peer,
                "peer_name": row.peer_name,
                "ratio": row.ratio,
                "target": None if row.target is None else row.target._asdict(),
                "moved": row.moved,
                "middle": row.middle,
                "ok": row.ok,
            }
            for benchmark, row in rows
        ],
    }


def cells(row: Row) -> tuple[str, ...]:
    """A row of the table."""
    peer = "" if row.peer is None else f"{shown(row.peer, row.unit)} {row.peer_name}"
    ratio = "" if row.ratio is None else f"{row.ratio:,.2f}" if row.ratio >= 0.1 else f"{row.ratio:.4f}"
    target = ok = ""
    if row.target is not None:
        target = f"{ {'at most': '<=', 'at least': '>='}[row.target.rule] } {row.target.limit:,g}"
        ok = {True: "ok", False: "over", None: f"unsure: {row.why_unsure}"}[row.ok]
    return row.name, shown(row.ours, row.unit), peer, ratio, target, ok


def shown(value: float, unit: Unit) -> str:
    """A figure with three digits that matter and the unit that suits it."""
    if unit != "s":
        return f"{value:.1f} {unit}"
    if value >= 1:
        return f"{value:.3g} s"
    return f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.3g} µs"


def _line(values: Iterable[str]) -> str:
    name, ours, peer, ratio, target, ok = values
    return f"{name:<52} {ours:>10}  {peer:<36} {ratio:>9} {target:>10}  {ok}".rstrip()
