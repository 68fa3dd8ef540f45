"""The user's instructions: `AGENTS.md` in the config folder, in the project's root, and in each folder below it.

Files on a real disk may be linked in circles, too large, or not text at all. None of that stops a session. Files that
could not be used are reported, and a text that was cut says so where the model can read it.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from workbench.config.foreign_files import NotRegularFile, open_regular_file
from workbench.context.fixed_slots import cut_marker
from workbench.context.policy import InstructionsPolicy

FILE_NAME = "AGENTS.md"


class InstructionFile(Struct, frozen=True):
    """One file as it is sent."""

    path: Path
    """Where it was found; for a link its own path, not its target."""
    text: str
    """The text that is sent, including the marker of a cut."""
    original_bytes: int
    """Size of the whole text, in bytes of UTF-8."""
    cut: bool


class Instructions(Struct, frozen=True):
    """All instructions for one working directory, the most general first; or the user's preferences."""

    files: tuple[InstructionFile, ...] = ()
    problems: tuple[str, ...] = ()
    """Files that could not be used, or not unchanged; one line each that begins with the path."""
    total_bytes: int = 0
    """Bytes of UTF-8 of all texts together, including markers."""


class FileText(NamedTuple):
    """The part of a text file that was read."""

    text: str
    size: int
    """Bytes of UTF-8 of the whole text; the part that was not read counts with its size on disk."""
    problem: str
    """What is wrong with the text, although it can be used; empty if nothing is."""


class UnusableError(Exception):
    """A file exists but cannot be used; the text says why."""


def load_instructions(cwd: Path, config_folder: Path, policy: InstructionsPolicy) -> Instructions:
    """Read every `AGENTS.md` that applies to `cwd`, each file once, all together within `policy.max_bytes`."""
    files: list[InstructionFile] = []
    problems: list[str] = []
    seen: set[str] = set()
    room = policy.max_bytes
    root, *below = _project_folders(cwd, policy.root_markers)
    for folder in (config_folder, root, *below):
        path = folder / FILE_NAME
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        try:
            if folder != config_folder:
                _check_inside(real, root)
            reading = read_text(path, policy.max_bytes)
        except UnusableError as error:
            problems.append(f"{encodable_path(path)}: {error}")
            continue
        if reading is None or not reading.text.strip():
            continue
        if reading.problem:
            problems.append(f"{encodable_path(path)}: {reading.problem}")
        file = fit_instructions(path, reading, room)
        if file is None:
            problems.append(f"{encodable_path(path)}: left out, {room} of {policy.max_bytes} bytes are left")
            continue
        files.append(file)
        room -= len(file.text.encode())
    return Instructions(tuple(files), tuple(problems), policy.max_bytes - room)


def _check_inside(real: str, root: Path) -> None:
    """Raise UnusableError for a link out of the project: it may come from anybody, so such files are not sent."""
    if not Path(real).is_relative_to(root):
        raise UnusableError(f"is a link out of the project {encodable_path(root)}; not read")


def _project_folders(cwd: Path, markers: tuple[str, ...]) -> Iterator[Path]:
    """The folders from the project's root down to the working directory; outside a project, only the latter."""
    here = Path(os.path.realpath(cwd))
    upwards: list[Path] = []
    for folder in (here, *here.parents):
        upwards.append(folder)
        if any(os.path.lexists(folder / marker) for marker in markers):
            yield from reversed(upwards)
            return
    yield here


def read_text(path: Path, limit: int) -> FileText | None:
    """Read the beginning of a text file, at most a little more than `limit` bytes; None if the file does not exist."""
    try:
        with open_regular_file(path) as file:
            # More than the limit, even without a byte order mark and a character that is split at the end.
            data = file.read(limit + 8)
            unread = max(os.fstat(file.fileno()).st_size - len(data), 0)
    except FileNotFoundError:
        if path.is_symlink():
            raise UnusableError("expected a file, got a link to one that is not there") from None
        return None
    except NotRegularFile as error:
        raise UnusableError(error.strerror) from None
    except OSError as error:
        raise UnusableError(f"cannot be read: {error.strerror or error}") from None
    data = data.removeprefix(codecs.BOM_UTF8)
    problem = ""
    try:
        text, split = _decoded(data, unread == 0, "strict")
    except UnicodeDecodeError as error:
        problem = f"expected UTF-8, got the byte {data[error.start]:#04x} at {error.start}; replaced such bytes"
        text, split = _decoded(data, unread == 0, "replace")
    return FileText(text, len(text.encode()) + split + unread, problem)


def _decoded(data: bytes, whole: bool, errors: str) -> tuple[str, int]:
    """Decode bytes to text. If only a part was read, the bytes of a character that is split at the end are left off."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    text = decoder.decode(data, final=whole)
    return text, len(decoder.getstate()[0])


def fit_instructions(path: Path, reading: FileText, room: int) -> InstructionFile | None:
    """Fit a file into `room` bytes, with a marker if it was cut; None if not even the marker fits."""
    if reading.size <= room:
        return InstructionFile(path, reading.text, reading.size, cut=False)
    # The number of bytes kept has at most as many digits as the size.
    name = encodable_path(path)
    left = room - len(cut_marker(name, reading.size, reading.size).encode())
    if left < 0:
        return None
    # One byte is for a newline before the marker, in case the cut is inside a line.
    kept = _beginning(reading.text, max(left - 1, 0))
    gap = "\n" if kept and not kept.endswith("\n") else ""
    text = kept + gap + cut_marker(name, len(kept.encode()), reading.size)
    return InstructionFile(path, text, reading.size, cut=True)


def encodable_path(path: Path) -> str:
    """A path as text that can be encoded as UTF-8; not every file name can."""
    return str(path).encode(errors="replace").decode()


def _beginning(text: str, room: int) -> str:
    """At most `room` bytes of whole characters, and of whole lines unless that would lose more than half."""
    start = text.encode()[:room].decode(errors="ignore")
    lines = start[: start.rfind("\n") + 1]
    return lines if 2 * len(lines) >= len(start) else start
