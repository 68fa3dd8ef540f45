"""Connects a proxy to its recorder process: the journal, a pipe that wakes it, and a pipe for its feedback."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from workbench.config.background import background
from workbench.config.folders import WorkFolder
from workbench.config.system import never_waiting
from workbench.config.values import replace
from workbench.log.events import Setting
from workbench.proxy.journal import Journal
from workbench.proxy.recorder import Recorder
from workbench.proxy.recorder_process import GATHER, RecorderOptions
from workbench.proxy.records import Feedback, Record, decode_feedback
from workbench.proxy.redacting import RedactingLink

AWAKE: Final = GATHER / 2
"""Seconds for which a recorder that was woken need not be woken again: it waits longer than that before it reads."""
STARTS: Final = 3
"""How often a recorder is started. If it keeps ending, it is not started again."""
ENDED: Final = "the recorder has ended {} times; what passes stays in the journal, and the next proxy records it"


class RecorderProcess:
    """Starts a recorder process, and starts it again if it ends too early."""

    def __init__(self, journal: Journal, options: RecorderOptions) -> None:
        self._journal = journal
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: Future[None] | None = None
        self._is_closing = False
        self._done = 0
        self._woken = 0.0

    def start(self, on_feedback: Callable[[Feedback], None]) -> None:
        """Start it, and read its feedback in a thread."""
        self._start_process()
        self._thread = background(lambda: self._listen(on_feedback))

    def _start_process(self) -> None:
        options = msgspec.json.encode(self._options).decode()
        # -P: no modules from the user's folder. Its own process group: Ctrl+C is for the proxy. The same session:
        # Linux first divides the processor among sessions, so in its own session the niceness would have no effect.
        command = [sys.executable, "-P", "-m", "workbench.proxy.recorder_process", options]
        group = 0 if hasattr(os, "setpgid") else None
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=group, bufsize=0
        )
        assert self._process.stdin is not None
        self._woken = 0.0
        self._wake()  # the journal may already have records

    def _listen(self, on_feedback: Callable[[Feedback], None]) -> None:
        for number in range(1, STARTS + 1):
            before = self._done
            process = self._process
            assert process is not None
            assert process.stdout is not None
            with open(process.stdout.fileno(), "rb", closefd=False) as lines:
                for line in lines:
                    with suppress(msgspec.MsgspecError):
                        feedback = decode_feedback(line)
                        self._done = before + feedback.done
                        on_feedback(replace(feedback, done=self._done))
            process.wait()
            if self._is_closing:
                return
            if number < STARTS:
                self._start_process()
        on_feedback(Feedback(lost={ENDED.format(STARTS): 1}))

    def put_records(self, *records: tuple[Record, Sequence[bytes]]) -> int:
        """Append records to the journal. Raises OSError."""
        size = self._journal.append(*records)
        self._wake()
        return size

    def _wake(self) -> None:
        now, process = time.monotonic(), self._process
        if now - self._woken < AWAKE:
            return
        self._woken = now
        if process is not None and process.stdin is not None:
            # The pipe is full, which means that it is awake; or it has ended.
            with suppress(OSError, ValueError), never_waiting(process.stdin.fileno()):
                os.write(process.stdin.fileno(), b"\n")

    def close(self, seconds: float) -> str:
        """Let it record the rest. A recorder that takes longer continues on its own."""
        self._is_closing = True
        self._journal.close()
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        if self._thread is not None:
            with suppress(TimeoutError):
                self._thread.result(seconds)
        return ""


def in_process(
    report: Callable[[str], None],
    client: str = "",
    folder: WorkFolder = WorkFolder(),  # noqa: B008 - a frozen value
    first: Sequence[Setting] = (),
    redact: Callable[[Any], Any] | None = None,
    journals: Path | None = None,
    store: Path | None = None,
    otlp: str = "",
) -> Recorder:
    """A recorder in its own process.

    `client`, `folder`: the agent and its folder, if a request does not name them; `first`: the settings that each
    session begins with; `journals`, `store`: other places than the usual ones; `otlp`: where spans are sent.
    """
    journal = Journal(journals)
    settings = tuple((each.key, each.value) for each in first)
    options = RecorderOptions(
        *(str(journal.all), journal.folder.name, client, *folder.storable, settings),
        store=str(store) if store is not None else "",
        otlp=otlp,
    )
    link = RecorderProcess(journal, options)
    return Recorder(RedactingLink(link, redact) if redact is not None else link, report, redact)
