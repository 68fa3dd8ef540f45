"""The recorder process: reads the journal of its proxy, and writes it to the store.

`RecorderProcess` starts it with its options as JSON. Each byte on its standard input means that there is more to read.
The end of the input means that the proxy has ended, for whatever reason. Then the recorder reads to the end of the
journal, and ends too. After each batch it writes a line of JSON to its standard output.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from workbench.config.errors import WorkbenchError
from workbench.config.folders import WorkFolder
from workbench.config.values import replace
from workbench.config.writing import make_private_folder
from workbench.log.events import Setting
from workbench.log.lock import locked_folder
from workbench.log.store import Store
from workbench.proxy.journal import BrokenJournal, JournalReader, Position, first_position, left_behind
from workbench.proxy.open_requests import OpenRequestsFile
from workbench.proxy.recording import BatchRecording
from workbench.proxy.records import AnsweredRecord, Feedback, encode
from workbench.proxy.sessions import ProxySessions
from workbench.proxy.span_sender import SpanSender

BATCH: Final = 64
"""Records that are stored together."""
BATCH_BYTES: Final = 8 << 20
GATHER: Final = 0.1
"""Seconds to wait for more records: storing quick requests and answers together halves the work for each."""
NICENESS: Final = 10
"""The recorder only gets processor time that the proxy, its agents and everything else do not use."""


class RecorderOptions(msgspec.Struct, frozen=True):
    journals: str
    """The folder with the journals of all proxies."""
    own: str
    """The name of this proxy's journal."""
    client: str = ""
    folder: str = ""
    branch: str = ""
    first: tuple[tuple[str, object], ...] = ()
    """Settings that each session begins with."""
    store: str = ""
    """The path of the database; empty: the usual one."""
    otlp: str = ""
    """Where spans of the requests are sent; empty: nowhere."""


class RecorderLoop:
    """Reads one journal after another."""

    def __init__(self, options: RecorderOptions, report: Callable[[Feedback], None]) -> None:
        self._options = options
        self._report = report
        self._opened: Store | None = None
        folder = WorkFolder(options.folder, options.branch)
        first = [Setting(key, value) for key, value in options.first]
        self._spans = SpanSender(options.otlp) if options.otlp else None
        export = self._spans.send_exchange if self._spans is not None else None
        self._recording = BatchRecording(ProxySessions(self._store, options.client, None, first, folder, export))

    def _store(self) -> Store:
        if self._opened is None:
            self._opened = Store.open(Path(self._options.store) if self._options.store else None)
        return self._opened

    def record_until_end(self, wait: Callable[[], bool]) -> None:
        """Record what earlier proxies left, then follow this proxy. `wait` returns False when the proxy has ended."""
        self._recover()
        folder = Path(self._options.journals) / self._options.own
        try:
            make_private_folder(folder)
            with locked_folder(folder, 1):
                self._follow(folder, wait)
        except OSError:  # the proxy cannot write there either, and reports it
            while wait():
                pass
        self._recording.close()
        if self._spans is not None:
            self._spans.close()
        if self._opened is not None:
            self._opened.close()

    def _recover(self) -> None:
        everyone = Path(self._options.journals)
        with left_behind(everyone, self._options.own) as folders:
            for folder in folders:
                with suppress(WorkbenchError):  # no store: the journals are kept for later
                    self._store()
                    self._follow(folder, lambda: False, is_left=True)

    def _follow(self, folder: Path, wait: Callable[[], bool], *, is_left: bool = False) -> None:
        position = Position()
        with suppress(WorkbenchError):
            position = Position.from_number(self._store().recorded(folder.name))
        reader = JournalReader(folder, max(position, first_position(folder)))
        kept = OpenRequestsFile(folder)
        self._recording.reopen(kept.read_open_at(reader.position.number))
        is_on = True
        while is_on:
            is_on = wait()
            while self._batch(reader, kept, is_left=is_left):
                pass
        end = reader.position.number
        kept.write_open_at(end, {})  # better no note about a request that was cut off than two
        if self._recording.end_open():
            self._recording.finish_batch(folder.name, end)
        kept.close()
        if self._recording.is_stored:
            reader.remove_all()
            with suppress(WorkbenchError):
                self._store().set_recorded(folder.name, 0)

    def _batch(self, reader: JournalReader, kept: OpenRequestsFile, *, is_left: bool) -> bool:
        """Record what can be read now, up to a limit. Return whether there was anything."""
        records = size = answered = 0
        is_broken = False
        while records < BATCH and size < BATCH_BYTES:
            try:
                found = reader.next()
            except BrokenJournal as error:
                self._recording.count_lost(f"a part of the journal cannot be read: {error}")
                is_broken = True
                if not reader.skip_broken():
                    break
                continue
            if found is None:
                break
            record, data, length = found
            self._recording.process_record(record, data, length)
            records, size, answered = records + 1, size + length, answered + isinstance(record, AnsweredRecord)
        if not records and not is_broken:
            return False
        position = reader.position.number
        kept.write_open_at(position, self._recording.open_requests())
        feedback = self._recording.finish_batch(reader.folder.name, position)
        if self._recording.is_stored:
            reader.remove_read()
        self._report(replace(feedback, done=0, recovered=answered) if is_left else feedback)
        return bool(records)


def _wait_for_more() -> bool:
    """Wait until the proxy announces more records. Return False when it has ended."""
    if not os.read(0, 1 << 16):
        return False
    time.sleep(GATHER)
    return True


def _report_feedback(feedback: Feedback) -> None:
    with suppress(OSError):  # the proxy no longer reads this
        os.write(1, encode(feedback) + b"\n")


def main() -> None:
    """Record until the proxy ends."""
    if hasattr(os, "nice"):
        with suppress(OSError):
            os.nice(NICENESS)
    options = msgspec.json.decode(sys.argv[1], type=RecorderOptions)
    RecorderLoop(options, _report_feedback).record_until_end(_wait_for_more)


if __name__ == "__main__":
    main()
