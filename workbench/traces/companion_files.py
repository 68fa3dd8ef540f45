"""Files next to a transcript that belong to it."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.config.errors import WrongCall
from workbench.config.file_limits import largest_file
from workbench.config.foreign_files import Place, read_regular_file
from workbench.traces.reading import Document, decode_text, read_json, whole_lines

MOST = 1_000
"""Files that are read for one transcript."""


def read_files(files: Iterable[str], inside: Place) -> tuple[list[Document], list[WrongCall]]:
    """Their JSON lines, and what could not be read. An unfinished last line is left out.

    `inside`: the folder that no link may lead out of. All files together may have as many bytes as one transcript.
    """
    found: list[Document] = []
    broken: list[WrongCall] = []
    left = largest_file()
    for file in files:
        try:
            raw = read_regular_file(file, left, inside=inside)
            document = read_json(file, decode_text(file, whole_lines(raw)), skip=True)
        except OSError as error:
            broken.append(WrongCall(f"{file}: {error.strerror or error}"))
        except WrongCall as error:
            broken.append(error)
        else:
            left -= len(raw)
            broken.extend(document.broken)
            found.append(document)
    return found, broken
