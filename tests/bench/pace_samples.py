"""Samples the machine's pace while somebody measures: a process of its own, which imports as little as it can."""

from __future__ import annotations

import json
import os
import select
import time

BEGIN, NOW, END = b"b", b"n", b"e"
"""What it is asked to do."""
EVERY = 0.005
"""Seconds between two samples."""
WARM_UP, TIMES = 5, 60
"""How often a line is parsed for one: about a tenth of a millisecond. More would take the processor away from what is
measured."""


def _sample(line: str) -> float:
    """How much work is done in a second. The same line again and again: what others left in the caches is no matter."""
    for _ in range(WARM_UP):
        json.loads(line)
    start = time.thread_time()
    for _ in range(TIMES):
        json.loads(line)
    return 1 / (time.thread_time() - start)


def _sample_as_asked() -> None:
    """Sample from each beginning to its end, until whoever asks has ended."""
    with open(0, "rb", buffering=0, closefd=False) as unbuffered:  # a buffer would keep what is asked next
        line = unbuffered.readline().decode()
    while os.read(0, 1) == BEGIN:
        speeds = [_sample(line)]
        os.write(1, b"\n")
        asked = BEGIN
        while asked != END:
            asked = os.read(0, 1) if select.select([0], [], [], EVERY)[0] else b""
            speeds.append(_sample(line))
            if asked:
                os.write(1, b"%.9f\n" % (len(speeds) / sum(speeds)))


if __name__ == "__main__":
    _sample_as_asked()
