"""Results that are written while the disk fills up, a signal comes, a package is missing or the place is odd.

A fault: what was there before is gone or cut; a new file is not whole; something is left next to it; another user can
read it; anything but one clear line; a signal that is not heard.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import stat
import sys
import time
from collections import Counter
from pathlib import Path

from hostile.forks import forked
from hostile.tally import Tally, call, complaint
from support.calls import Outcome
from support.talk import words
from workbench.log.events import UserMessage
from workbench.log.store import FILE_NAME, Store

KINDS = {"csv": b"source,", "html": b"<!doctype html>", "parquet": b"PAR1", "export": b'{"v":1,'}
ENDS = {"csv": b"\n", "html": b"</html>\n", "parquet": b"PAR1", "export": b"}\n"}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
LONGEST = 0.25
"""Seconds until a signal comes, at most: such a call takes about half of that."""
ODD = ("", ".", "missing/file", "talk.json", "talk.json/file", "x" * 300, "/dev/full", "a\0b", "dangling", "link")


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    tally = Tally("results that cannot be written")
    talk = folder / "talk.json"
    talk.write_text(json.dumps([{"role": role, "content": words(60)} for role in ("user", "assistant") * 6]))
    with Store.open(folder / "workbench_data_dir" / FILE_NAME) as store:
        store.create([UserMessage(words(500)) for _ in range(20)], id="s").close()
    call("lab", talk, "--parquet", folder / "warm", "--jobs", 1)  # so that forks have all that is to import
    (folder / "warm").unlink(missing_ok=True)
    ended: Counter[str] = Counter()
    for number in range(tries):
        trouble = (filling, signalled, missing_package, odd_place)[number % 4]
        place = folder / f"place-{number}"
        place.mkdir(0o777)
        with tally.watching(trouble.__name__):
            ended[f"{trouble.__name__} {trouble(place, talk, chance)}"] += 1
    tally.told = ", ".join(f"{what} {many:,}" for what, many in sorted(ended.items()))
    return tally


def _arguments(kind: str, talk: Path, target: object) -> tuple[object, ...]:
    if kind == "export":
        return ("export", "s", "-o", target)
    return ("lab", talk, "--policy", "codex", f"--{kind}", target, "--jobs", 1)


def _before(kind: str, target: Path, chance: random.Random) -> bytes | None:
    """What is there before, if anything."""
    if chance.random() < 0.3:
        return None
    target.write_bytes(KINDS[kind] + bytes(chance.randrange(9_000)))
    target.chmod(0o600)
    return target.read_bytes()


def _check(place: Path, kind: str, target: Path, before: bytes | None, outcome: Outcome) -> str:
    now = target.read_bytes() if target.exists() else None
    if outcome.code == 0:
        assert now is not None
        assert now != before, "said to be written, and is not"
    if now != before:
        assert now is not None, "what was there is gone"
        assert now.startswith(KINDS[kind]), "it begins otherwise"
        assert now.endswith(ENDS[kind]), "it is not whole"
        assert stat.S_IMODE(target.stat().st_mode) == 0o600, "others can read it"
    names = {each.name for each in place.iterdir()}
    assert names <= {target.name}, f"left behind: {sorted(names)}"
    assert "Traceback" not in outcome.err, outcome.err[-300:]
    return "written" if now != before else "as before"


def filling(place: Path, talk: Path, chance: random.Random) -> str:
    """No file can get larger than a few bytes, or than some of the result."""
    kind, size = chance.choice(tuple(KINDS)), chance.choice((0, 1, 4_096, chance.randrange(40_000), 10**9))
    target = place / "file"
    before = _before(kind, target, chance)

    def limit() -> None:
        os.umask(0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    outcome = forked(*_arguments(kind, talk, target), before=limit).ended()
    assert outcome.code in (0, 1), outcome
    return _check(place, kind, target, before, outcome)


def signalled(place: Path, talk: Path, chance: random.Random) -> str:
    """A signal comes at any time."""
    kind, number = chance.choice(tuple(KINDS)), chance.choice(SIGNALS)
    target = place / "file"
    before = _before(kind, target, chance)
    reading, writing = os.pipe()
    child = forked(*_arguments(kind, talk, target), before=lambda: (os.umask(0), os.write(writing, b"!")))
    os.read(reading, 1)
    time.sleep(chance.random() * LONGEST)
    os.kill(child.pid, number)
    outcome = child.ended()
    for each in (reading, writing):
        os.close(each)
    expected = (0, 128 + number, -number)  # the last: before the program was ready for it, or after its end
    assert outcome.code in expected or (number == signal.SIGINT and "KeyboardInterrupt" in outcome.err), outcome
    if outcome.code == 0 and before is not None and target.read_bytes() == before:
        raise AssertionError("said to be written, and is not")
    err = "" if number == signal.SIGINT else outcome.err  # in the moments that are the test's own it is an exception
    return _check(place, kind, target, before, Outcome(1 if outcome.code else 0, outcome.out, err))


def missing_package(place: Path, talk: Path, chance: random.Random) -> str:
    target = place / "file"
    before = _before("parquet", target, chance)

    def remove() -> None:
        sys.modules["pyarrow"] = None  # type: ignore[assignment]  # as Python has it for what cannot be imported
        sys.modules.pop("pyarrow.parquet", None)

    outcome = forked(*_arguments("parquet", talk, target), before=remove).ended()
    assert outcome.code == 2
    assert not (said := complaint(outcome)), said
    return _check(place, "parquet", target, before, outcome)


def odd_place(place: Path, talk: Path, chance: random.Random) -> str:
    """A folder, a transcript, a device, a link, a name that is none."""
    kind, name = chance.choice(tuple(KINDS)), chance.choice(ODD)
    (place / "talk.json").write_bytes(talk.read_bytes())
    (place / "link").symlink_to("talk.json")
    (place / "dangling").symlink_to("nowhere/file")
    outcome = forked(*_arguments(kind, place / "talk.json", name), before=lambda: os.chdir(place)).ended()
    assert not (said := complaint(outcome)), said
    over = kind == "export" and name in ("talk.json", "link")  # an export is written over any file, as `cp` does it
    assert outcome.code == 0 if over else outcome.code in (1, 2, 3), outcome
    assert {each.name for each in place.iterdir()} == {"talk.json", "link", "dangling"}
    assert over or (place / "talk.json").read_bytes() == talk.read_bytes(), "the transcript is written over"
    assert (place / "link").is_symlink()
    assert (place / "dangling").is_symlink()
    return "written" if over else "refused"
