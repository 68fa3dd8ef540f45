"""What the lab and `tune` read: objectives, Parquet files, what was kept, and what workers of a cluster answer.

A fault: anything is run or unpickled; a hang; a traceback; more than one line; figures that are not those of the
transcript.
"""

from __future__ import annotations

import json
import math
import os
import pickle
import random
import sqlite3
from collections import Counter
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from hostile.tally import Tally, call, complaint
from support.talk import words
from workbench.config.errors import WorkbenchError
from workbench.lab.running.clusters import DaskWorkers, packed_outcome, unpack_outcome
from workbench.lab.running.tasks import LabTask, TaskOutcome
from workbench.lab.tuning.objective import NAMES, parse_objective

PIECES = (
    "cost", "misses", "tokens", "9**9**9", "9" * 380, "1e999", "-", "(", ")", "((((", "min(", "max(cost, misses)", ",",
    "/0", "*", "/", "0/0", "nan", "inf", "1_000", "0x10", "1j", "''", "b''", "f'{cost}'", "cost.real", "cost[0]", "x:y",
    "__import__('os').system('touch F')", "().__class__.__bases__[0]", "[x for x in ()]", "(x:=1)", "cost if 1 else 2",
    "not cost", "~cost", "cost@cost", "cost//1", "cost%2", "*cost", "**cost", "yield", "await cost", "\0", "\n",
    "ｃｏｓｔ", "\ud800", "lambda: 1", "...", "True", "None", "print(cost)", "eval('1')", "cost<1", "#", "\\",
)  # fmt: skip
FIGURES: dict[str, Any] = {name: at * 1e300 for at, name in enumerate(NAMES)}


class Touch:
    """Whoever unpickles it makes a file."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self._path,)


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    tally = Tally("inputs of the lab")
    talk, trap = folder / "talk.json", folder / "unpickled"
    talk.write_text(json.dumps([{"role": role, "content": words(30)} for role in ("user", "assistant") * 3]))
    os.chdir(folder)
    right = _figures(talk)
    done: Counter[str] = Counter()
    for number in range(tries):
        attack = ATTACKS[number % len(ATTACKS)]
        with tally.watching(f"{attack.__name__}, try {number}"):
            if attack is kept:
                kept(chance, talk, trap, folder / "workbench_cache_dir" / "lab.db", right)
            else:
                attack(chance, talk, trap)
            assert not trap.exists(), "something was unpickled"
            assert not (folder / "F").exists(), "something was run"
        done[attack.__name__] += 1
    tally.told = ", ".join(f"{what} {many:,}" for what, many in done.items())
    return tally


def _figures(talk: Path) -> Any:
    outcome = call("lab", talk, "--policy", "codex", "--json", "--jobs", 1)
    assert not (said := complaint(outcome)), said
    return outcome.json


def objective(chance: random.Random, _: Path, __: Path) -> None:
    """Expressions that are none, or too large, or code."""
    glue = chance.choice(("", " ", "+", "*", "-"))
    text = glue.join(chance.choice(PIECES) for _ in range(chance.randrange(1, 7)))
    if chance.random() < 0.2:
        deep = chance.randrange(1, 500)
        text = chance.choice(
            ("(" * deep + "cost" + ")" * deep, "-" * deep + "cost", "max(" * deep, "+".join(["cost"] * deep))
        )
    try:
        found = parse_objective(text)
    except WorkbenchError as refused:
        _one_line(refused)
    else:
        assert not math.isnan(found.value(FIGURES))
        assert not math.isnan(found.value(dict.fromkeys(NAMES, 0)))


def _one_line(error: Exception) -> None:
    assert "\n" not in str(error), "more than one line"


def _garbage(chance: random.Random, trap: Path) -> bytes:
    """What a worker may send in place of figures."""
    right = packed_outcome(TaskOutcome(LabTask("x", ()), (), "", is_other=False))
    return chance.choice(
        (
            pickle.dumps(Touch(trap)),
            pickle.dumps(TaskOutcome(LabTask("x", ()))),
            chance.randbytes(chance.randrange(60)),
            right[: chance.randrange(len(right))],
            right + b"\0",
            b"[" * 100_000,
            b"\x91" * 100_000,
            b"\xdd\xff\xff\xff\xff",
            json.dumps([[["s", "m", 1, [None]]], "", False]).encode(),
            json.dumps([[], {}, []]).encode(),
            msgspec.msgpack.encode([[["s", "m", 1, [{"policy": "p", "cost": math.nan}], None]], "", False]),
        )
    )


def answer(chance: random.Random, _: Path, trap: Path) -> None:
    """Bytes of a worker that are no figures."""
    try:
        found = unpack_outcome(_garbage(chance, trap))
    except (ValueError, RecursionError):
        return
    raise AssertionError(f"taken for figures: {found}")


def parcel(chance: random.Random, _: Path, trap: Path) -> None:
    """Whatever comes back for a parcel, everybody who waits hears of it."""
    workers = DaskWorkers.__new__(DaskWorkers)  # without a cluster
    workers._owners = {}
    futures: list[Future[TaskOutcome]] = [Future() for _ in range(chance.randrange(1, 4))]
    right = packed_outcome(TaskOutcome(LabTask("x", ()), (), "it failed"))
    answers: Any = chance.choice(
        (
            None,
            7,
            "x",
            ("owner",),
            ("owner", "bytes"),
            (None, [right]),
            ("owner", []),
            ("owner", [right] * 9),
            ("owner", [_garbage(chance, trap) for _ in futures]),
            ("owner", [b"x", *[right] * (len(futures) - 1)]),
            [["owner"], [right]],
            {"owner": right},
        )
    )
    from workbench.lab.running.clusters import _Order

    workers._answer([_Order(future, "near", b"") for future in futures], answers)
    for future in futures:
        error = future.exception(timeout=0)
        assert error is None or (isinstance(error, WorkbenchError) and "\n" not in str(error)), repr(error)


def kept(chance: random.Random, talk: Path, trap: Path, path: Path, right: Any) -> None:
    """A cache in which something else stands; the figures are the same."""
    wrong: Any = chance.choice(
        (
            None,
            7,
            1.5,
            "text",
            b"",
            chance.randbytes(40),
            pickle.dumps(Touch(trap)),
            bytes(16) + pickle.dumps(Touch(trap)),
        )
    )
    views = ("CREATE TRIGGER t AFTER UPDATE ON runs BEGIN DELETE FROM runs; END", "CREATE TABLE more (x)")
    endless = (
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS key, n AS used, '' AS data FROM r"
    )
    match chance.randrange(5):
        case 0:
            path.write_bytes(
                chance.choice((b"", chance.randbytes(5_000), pickle.dumps(Touch(trap)), b"SQLite format 3\0"))
            )
        case 1:
            path.unlink(missing_ok=True)
            with closing(sqlite3.connect(path)) as db:
                db.execute(f"CREATE VIEW runs AS {endless}")
                db.commit()
        case 2:
            with closing(sqlite3.connect(path)) as db:
                db.execute(chance.choice(views))
                db.commit()
        case _:
            with closing(sqlite3.connect(path)) as db:
                db.execute(
                    "UPDATE runs SET data = ?, used = ?", (wrong, chance.choice((None, "x", -(2**63), 2**63 - 1)))
                )
                db.commit()
    for beside in ("-wal", "-shm"):
        path.with_name(path.name + beside).unlink(missing_ok=True)
    assert _figures(talk) == right, "other figures"
    assert _figures(talk) == right, "other figures the second time"


def parquet(chance: random.Random, talk: Path, trap: Path) -> None:
    """A file that says that it is Parquet, to be replayed, and to be written over."""
    path = talk.with_name("hostile.parquet")
    call("lab", talk, "--policy", "codex", "--parquet", path, "--jobs", 1)
    data = bytearray(path.read_bytes())
    match chance.randrange(4):
        case 0:
            data = data[: chance.randrange(4, len(data))]
        case 1:
            for _ in range(chance.randrange(1, 60)):
                data[chance.randrange(4, len(data))] = chance.randrange(256)
        case 2:
            data = bytearray(b"PAR1" + pickle.dumps(Touch(trap)) + b"\xff\xff\xff\x7fPAR1")
        case _:
            data = bytearray(chance.randbytes(500))
    path.write_bytes(data)
    for command in (("lab", path), ("lab", path, talk), ("plan", path), ("tune", path, "--budget", 1)):
        outcome = call(*command)
        lines = [line for line in outcome.err.splitlines() if not line.startswith("· ")]
        assert "Traceback" not in outcome.err
        assert outcome.code in (0, 1, 2)
        assert len(lines) <= 1, outcome.err
    outcome = call("lab", talk, "--policy", "codex", "--parquet", path, "--jobs", 1)
    assert outcome.code == (0 if data.startswith(b"PAR1") else 3), outcome
    path.unlink()


ATTACKS: tuple[Any, ...] = (*[objective] * 8, *[answer] * 4, parcel, parcel, kept, parquet)
