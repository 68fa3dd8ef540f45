"""A home and a project with a hundred thousand files of other agents in them.

A fault: a command or a screen that does not come to an end in a minute, that takes 300 MB more than in an empty home,
or that ends with anything but success.
"""

from __future__ import annotations

import json
import os
import random
import uuid
from pathlib import Path

from hostile.foreign_files import lay_out, screen_peak
from hostile.measured import ALLOWED, MEGABYTE, environment, measure_fork
from hostile.tally import Tally, complaint

LINES = {
    "home/.claude/projects/-work-{folder}/{name}.jsonl": {
        "type": "user", "cwd": "/work", "sessionId": "s", "message": {"role": "user", "content": "hello"},
    },
    "home/.codex/sessions/2026/11/{folder}/rollout-2026-11-01T00-00-00-{name}.jsonl": {
        "timestamp": "2026-11-01T00:00:00Z", "type": "session_meta", "payload": {"id": "x", "cwd": "/work"},
    },
    "home/.gemini/tmp/{folder}/chats/session-2026-11-01T00-00-{name}.json": {"sessionId": "x", "messages": []},
    "home/.pi/agent/sessions/{folder}/{name}.jsonl": {"type": "session", "id": "x", "cwd": "/work"},
    "home/.config/mini-swe-agent/{name}.traj.json": {"messages": [], "trajectory_format": "mini-swe-agent-1"},
    "project/{name}.traj.json": {"messages": [], "trajectory_format": "mini-swe-agent-1"},
    "project/{folder}/{name}.py": {},
}  # fmt: skip
"""A pattern of paths, and what such a file begins with."""
COMMANDS = (["agents"], ["agents", "--json"], ["status"], ["sessions"])
WATCHED = "hello"
"""What is said in the sessions that are watched."""
IN_A_FOLDER = 500
LINKS = 20_000
"""Names of one file: file systems limit them."""


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: files."""
    tally = Tally("a home of many files")
    empty, full = folder / "empty", folder / "full"
    lay_out(empty)
    lay_out(full)
    _fill(full, tries, chance)
    tally.tries += tries
    most = 0
    for words in COMMANDS:
        with tally.watching(" ".join(words)):
            ordinary = measure_fork(words, empty / "project", environment(empty))
            found = measure_fork(words, full / "project", environment(full))
            wrong = complaint(found.outcome)
            assert not wrong, wrong
            assert found.outcome.code <= ordinary.outcome.code, found.outcome.err
            most = max(most, _beyond(found.peak, ordinary.peak))
    with tally.watching("the screen"):
        ordinary_screen = screen_peak(empty)
        most = max(most, _beyond(screen_peak(full), ordinary_screen))
    with tally.watching("watch"):
        most = max(most, _beyond(screen_peak(full, "watch", "claude-code", shows=WATCHED), ordinary_screen))
    tally.told = f"at most {most // MEGABYTE} MB beyond an empty home"
    return tally


def _beyond(peak: int, ordinary: int) -> int:
    assert peak - ordinary < ALLOWED, f"{(peak - ordinary) // MEGABYTE} MB beyond an empty home"
    return peak - ordinary


def _fill(base: Path, many: int, chance: random.Random) -> None:
    """Make the files; most are further names of one, which takes a tenth of the time."""
    for first, (pattern, line) in enumerate(LINES.items()):
        made: Path | None = None
        for number in range(first, many, len(LINES)):
            place, at = f"{number // len(LINES) // IN_A_FOLDER:02}", number // len(LINES)
            path = base / pattern.format(folder=place, name=uuid.UUID(int=chance.getrandbits(128)))
            if at % IN_A_FOLDER == 0:
                path.parent.mkdir(parents=True, exist_ok=True)
            if made is None or at % LINKS == 0:
                path.write_text(f"{json.dumps(line)}\n", encoding="utf-8")
                made = path
            else:
                os.link(made, path)
