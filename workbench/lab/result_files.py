"""The files that the lab's results are written to, as CSV, HTML or Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, NamedTuple

from workbench.config.errors import Refused, WrongCall
from workbench.config.foreign_files import open_regular_file
from workbench.config.output_files import OutputFile
from workbench.lab.parquet import load_parquet

_BEGINNINGS = {"csv": b"source,", "html": b"<!doctype html>", "parquet": b"PAR1"}
"""How the files of each kind begin."""


class ResultFile(NamedTuple):
    """A file of a kind; `-` is standard output."""

    kind: str
    name: str

    def check(self) -> None:
        """Raise where it cannot be written, before any work is done.

        A pattern behind the option makes the first transcript the file to write to. So a file is only written over
        where it has such results in it already.
        """
        file = self._file
        file.check()
        if self.kind == "parquet":
            load_parquet()
            if file.is_terminal:
                raise WrongCall(f"{file.option} {self.name}: expected a file or a pipe, this is a terminal")
        if not file.is_stream and os.path.isfile(self.name) and os.path.getsize(self.name):
            begins = _BEGINNINGS[self.kind]
            with open_regular_file(self.name) as there:
                if there.read(len(begins)) != begins:
                    raise Refused(f"{file.option} {self.name}: something else is in this file; it stays as it is")

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The file to write to; raises WorkbenchError where that fails."""
        with self._file.writing() as file:
            yield file

    @property
    def _file(self) -> OutputFile:
        return OutputFile(self.name, f"--{self.kind}")
