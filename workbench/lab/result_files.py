"""Where results are written: looked at before the work begins, so that no work is done for nothing and no file lost."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, NamedTuple

from workbench.config.errors import Refused, WrongCall

_BEGINNINGS = {"csv": b"source,", "html": b"<!doctype html>", "parquet": b"PAR1"}
"""How the files of each kind begin."""


class ResultFile(NamedTuple):
    """A file of a kind; `-` is standard output."""

    kind: str
    name: str

    def check(self) -> None:
        """Whether it can be written. A pattern behind the option makes the first transcript the file to write to, so
        that what is there is only written over if it is such results itself."""
        option = f"--{self.kind}"
        if not self.name:
            raise WrongCall(f"{option}: expected a file")
        if self.name == "-":
            if self.kind == "parquet" and sys.stdout.isatty():
                raise WrongCall(f"{option} -: expected a file or a pipe, this is a terminal")
            return
        if os.path.isdir(self.name):
            raise WrongCall(f"{option} {self.name}: expected a file, this is a folder")
        folder = os.path.dirname(self.name) or "."
        if not os.path.isdir(folder):
            raise WrongCall(f"{option} {self.name}: there is no folder {folder}")
        if os.path.isfile(self.name) and os.path.getsize(self.name):
            begins = _BEGINNINGS[self.kind]
            with open(self.name, "rb") as file:
                if file.read(len(begins)) != begins:
                    raise Refused(f"{option} {self.name}: something else is in this file; it stays as it is")

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """To be written."""
        if self.name == "-":
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            with open(self.name, "wb") as file:
                yield file
