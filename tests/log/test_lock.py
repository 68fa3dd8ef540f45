"""A lock file says who holds it."""

from __future__ import annotations

import os
from pathlib import Path

from workbench.log.lock import WriterLock


def test_a_lock_names_its_holder_and_nobody_from_before(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    path.write_text("1 a process that was killed left a line that is longer\n", encoding="utf-8")
    lock = WriterLock(path)
    assert lock.acquire()
    assert lock.held
    words = path.read_text(encoding="utf-8").split()
    assert len(words) == 2
    assert int(words[0]) == lock.writer() == os.getpid()
