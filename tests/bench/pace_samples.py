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
    """Samples per second of the processor: the same line again and again, so that it is in the caches."""
    for _ in range(WARM_UP):
        json.loads(line)
    spent = 0.0
    while spent <= 0:  # on a virtual machine the clock has been seen to stand still
        start = time.thread_time()
        for _ in range(TIMES):
            json.loads(line)
        spent = time.thread_time() - start
    return 1 / spent


def _sample_as_asked() -> None:
    """Sample from each beginning to its end, until whoever asks has ended."""
    with open(0, "rb", buffering=0, closefd=False) as unbuffered:  # a buffer would keep what is asked next
        line = unbuffered.readline().decode()
    while os.read(0, 1) == BEGIN:
        speeds, samples = _sample(line), 1
        os.write(1, b"\n")
        asked = BEGIN
        while asked != END:
            is_asked = select.select([0], [], [], EVERY)[0]
            asked = os.read(0, 1) if is_asked else b""
            if is_asked and not asked:
                return
            speeds, samples = speeds + _sample(line), samples + 1
            if asked:
                os.write(1, b"%.12f\n" % (samples / speeds))


if __name__ == "__main__":
    _sample_as_asked()
