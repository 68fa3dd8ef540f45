"""Finds the sources that the words on the command line name: one session, or thousands of files.

A word is a session, a file, a conversation in a file (`FILE#2`), a folder with transcripts, a pattern of files, or an
address (`s3://bucket/runs/*.jsonl`). `agents` means the sessions of other agents on this machine, `sessions` all of our
own, and `-` a list of such words on standard input, one per line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from glob import glob
from typing import NamedTuple

from workbench.config.errors import WrongCall
from workbench.config.folders import project_root
from workbench.config.foreign_files import NotRegularFile, is_regular_file, open_regular_file
from workbench.lab.running.fetching import is_url, remote_files
from workbench.sources.services import Services
from workbench.sources.source import names_file
from workbench.traces.formats import begins_as_transcript
from workbench.traces.references import split_ref

AGENTS = "agents"
SESSIONS = "sessions"
_HEAD = 64
_LONGEST, _MOST_WORDS = 100_000, 1_000_000
"""Limits of a list on standard input: characters per line, and lines."""
_NAMES = (".json", ".jsonl", ".traj")
"""How the names of transcripts end. A file with such a name that cannot be read is never skipped without a word."""
_SKIPPED = frozenset({"node_modules", "__pycache__"})
"""Folders that are skipped, like hidden ones."""


class CorpusEntry(NamedTuple):
    """One source."""

    ref: str
    is_guess: bool = False
    """Whether it may be no transcript: it was found in a folder, and not named itself."""
    error: str = ""
    """Why it cannot be read, where that is known already: a folder that cannot be listed."""


def find_corpus(words: Sequence[str], services: Services) -> list[CorpusEntry]:
    """All sources in order, without repeats. A source that is both named and found in a folder counts as named.

    A file is one source, however many links lead to it, and includes its conversations.
    """
    found: dict[_Place, CorpusEntry] = {}
    for word in words:
        for entry in _entries_for(word, services):
            place = _place_of(entry.ref)
            if place not in found or found[place].is_guess > entry.is_guess:
                found[place] = entry
    for place, entry in list(found.items()):
        whole = place._replace(number=None)
        if place != whole and whole in found:
            found[whole] = found[whole]._replace(is_guess=found[whole].is_guess and entry.is_guess)
            del found[place]
    return list(found.values())


class _Place(NamedTuple):
    """What is the same for all references to a source."""

    path: str
    """Of a file, with links resolved; otherwise the reference itself."""
    number: int | None = None
    """The number of a conversation; None: all that the file has."""


def _place_of(ref: str) -> _Place:
    if not names_file(ref):
        return _Place(ref)
    path, number = split_ref(ref)
    return _Place(os.path.realpath(path), number)


def _entries_for(word: str, services: Services) -> Iterator[CorpusEntry]:
    if not word:
        raise WrongCall("expected a session, a file, a folder or a pattern, got an empty name")
    if word == "-":
        for number, line in enumerate(iter(lambda: sys.stdin.readline(_LONGEST), "")):
            if number == _MOST_WORDS or len(line) == _LONGEST:
                raise WrongCall("standard input: a line is too long, or there are over 1,000,000 lines")
            if line.strip():
                yield from _entries_for(_inside_list(line.strip()), services)
    elif word == AGENTS:
        yield from (CorpusEntry(each.ref) for each in services.agents.find_sessions(os.getcwd(), most=sys.maxsize))
    elif word == SESSIONS:
        yield from (CorpusEntry(each.id) for each in services.store.list())
    elif is_url(word):
        files = remote_files(word)
        if not files:
            raise WrongCall(f"{word}: no file fits this pattern")
        yield from (CorpusEntry(each, is_guess=len(files) > 1) for each in files)
    elif os.path.isdir(path := _with_home(word)):
        yield from _transcripts(path)
    elif any(char in word for char in "*?[") and not names_file(word):
        yield from _files_matching(word)
    else:
        yield CorpusEntry(path if names_file(path) else word)


def _with_home(word: str) -> str:
    """The path that a word means: the shell leaves a `~` as it is in quotes and in a list."""
    return word if os.path.lexists(word) else os.path.expanduser(word)


def _inside_list(word: str) -> str:
    if word == "-":
        raise WrongCall("standard input: expected a list of files or sessions, got - in it")
    return word


def _files_matching(pattern: str) -> Iterator[CorpusEntry]:
    paths = sorted(glob(os.path.expanduser(pattern), recursive=True, include_hidden=True))
    if not paths:
        raise WrongCall(f"{pattern}: no file fits this pattern")
    for path in paths:
        if not os.path.isdir(path):
            yield CorpusEntry(path)


def _transcripts(folder: str) -> Iterator[CorpusEntry]:
    """The files in a folder and below that begin like transcripts, or are named like them; and folders that cannot be
    listed.

    Links from inside the project to outside are skipped. Other folders may be full of links, as caches of datasets are.
    """
    closed: list[OSError] = []
    here = os.path.realpath(os.getcwd())
    root = project_root(here)
    is_ours = os.path.join(os.path.realpath(folder), "").startswith(os.path.join(root, ""))
    for inside, folders, files in os.walk(folder, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        for name in sorted(files):
            path = os.path.join(inside, name)
            if not is_regular_file(path, inside=root if is_ours else None):
                if name.endswith(_NAMES) and not is_regular_file(path):  # a pipe, or a link to nothing
                    yield CorpusEntry(path)
            elif _looks_like_transcript(path):
                yield CorpusEntry(path, is_guess=True)
            elif name.endswith(_NAMES):
                yield CorpusEntry(path)
    for error in closed:
        where = os.fsdecode(error.filename)
        yield CorpusEntry(where, error=f"{where}: cannot be listed: {error.strerror or error}")


def _looks_like_transcript(path: str) -> bool:
    try:
        with open_regular_file(path) as file:
            head = file.read(_HEAD)
    except NotRegularFile:
        return False
    except OSError:  # the reader reports why it cannot be read
        return True
    return begins_as_transcript(head)
