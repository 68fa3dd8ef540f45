"""The files that results are written to: tables and pages of the lab, and exports."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, NamedTuple

from workbench.config.errors import Refused, WrongCall
from workbench.config.foreign_files import open_regular_file
from workbench.config.output_files import OutputFile

_BEGINNINGS = {
    "csv": b"source,",
    "events": b'{"v":',
    "html": b"<!doctype html>",
    "openai": b'{\n  "messages":',
    "otlp": b'{"resourceSpans"',
    "parquet": b"PAR1",
}
"""How the files of each kind begin."""


class ResultFile(NamedTuple):
    """A file for results of one kind; `-` is standard output."""

    kind: str
    name: str
    option: str = ""
    """The option that the user gave it with, if it is not named after the kind."""

    def check_writable(self) -> None:
        """Raise before any work is done if the file cannot be written.

        With a pattern after the option (`--csv *.jsonl`), the first transcript would be the file to write. So only a
        file that already holds such results is overwritten.
        """
        file = self._file
        file.check_writable()
        if self.kind == "parquet":
            from workbench.lab.parquet import load_parquet  # late: a page needs none of the lab

            load_parquet()
            if file.is_terminal:
                raise WrongCall(f"{file.option} {self.name}: expected a file or a pipe, this is a terminal")
        if not file.is_stream and os.path.isfile(self.name) and os.path.getsize(self.name):
            begins = _BEGINNINGS[self.kind]
            with open_regular_file(self.name) as there:
                if there.read(len(begins)) != begins:
                    raise Refused(f"{file.option} {self.name}: something else is in this file; it stays as it is")

    @contextmanager
    def open_result(self) -> Iterator[IO[bytes]]:
        """Open the file for writing. Raises WorkbenchError where that fails."""
        with self._file.writing() as file:
            yield file

    @property
    def _file(self) -> OutputFile:
        return OutputFile(self.name, self.option or f"--{self.kind}")
