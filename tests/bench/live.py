"""Other agents' sessions: a thousand files are listed at once, and the second time in far less."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.harness import Row, Scale, beside, in_units, rounds, timed
from workbench.live.finder import AgentSessionFinder

FILES = 1_000


def run(scale: Scale) -> Iterator[Row]:
    """A home of Claude Code's with transcripts of 100 KB each."""
    count = min(FILES, scale.few)
    with tempfile.TemporaryDirectory() as home:
        _fill(Path(home), count)
        known = AgentSessionFinder({"HOME": home})
        assert len(known.find_sessions()) == count
        works = {
            "new": lambda: timed(lambda: AgentSessionFinder({"HOME": home}).find_sessions()),
            "known": lambda: timed(known.find_sessions),
        }
        found = rounds(works, scale.repeats)
        yield in_units(f"list {count:,} sessions of other agents", found, "new", 85)
        yield beside(f"list {count:,} sessions again", found, "known", "new", "the first time", at_most=0.3)


def _fill(home: Path, count: int) -> None:
    said = {"type": "user", "cwd": "/srv/bakery", "message": {"role": "user", "content": "Why is the dough flat?"}}
    answer = {"type": "assistant", "message": {"role": "assistant", "model": "claude-opus-5-5", "content": "x" * 2_000}}
    text = "\n".join(json.dumps(each) for each in (said, *[answer] * 50))
    for number in range(count):
        path = home / ".claude" / "projects" / f"-srv-{number % 30}" / f"{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
