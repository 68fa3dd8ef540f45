"""Reads the use of the requests in a file; of a file that has grown, only what is new."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from io import BufferedReader
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from workbench.config.foreign_files import open_regular_file
from workbench.live.stamps import FileStamp
from workbench.traces import format_names
from workbench.usage.records import SessionUse, UsageEntry
from workbench.usage.usage_lines import ReportLines, ReportSigns

if TYPE_CHECKING:
    from workbench.live.finder import AgentSession

HEAD = 262_144
"""Bytes in which a file shows whose it is."""
_TAIL = 256
"""Bytes before the end of what was read; if they have changed, the file was written again."""


class _QuickReader(NamedTuple):
    start: Callable[[str, str], SessionUse]
    signs: ReportSigns
    add_lines: Callable[[SessionUse, Iterable[bytearray]], None]


@cache
def _quick_reader(agent: str) -> _QuickReader | None:
    """The quick reader of an agent's files. Those of other formats are read as for opening them."""
    if agent == format_names.CLAUDE_CODE:
        from workbench.usage import claude_report_lines, claude_usage  # late: few people use every agent

        return _QuickReader(claude_usage.new_claude_session, claude_report_lines.SIGNS, claude_usage.add_claude_lines)
    if agent == format_names.CODEX:
        from workbench.usage import codex_report_lines, codex_usage

        return _QuickReader(codex_usage.new_codex_session, codex_report_lines.SIGNS, codex_usage.add_codex_lines)
    return None


def is_read_quickly(agent: str) -> bool:
    """Whether the files of an agent need nothing but themselves to be read."""
    return _quick_reader(agent) is not None


def read_usage(
    path: str,
    agent: str,
    stamp: FileStamp,
    known: UsageEntry | None,
    session_at: Callable[[str], AgentSession | None],
) -> UsageEntry | None:
    """What a file reports; None if it cannot be read. `known`: what was read before, if anything."""
    try:
        with open_regular_file(path) as file:
            agent = agent or _found_agent(file)
            quick = _quick_reader(agent)
            if quick is not None:
                return _read_lines(file, quick, agent, path, stamp, known)
    except OSError:
        return None
    from workbench.usage.other_usage import read_other_file  # late: it loads the readers of all formats

    try:
        return UsageEntry(stamp, read_other_file(agent, path, session_at))
    except Exception as error:  # a file may hold anything, and the others count all the same
        return UsageEntry(stamp, [], fault=type(error).__name__)


def _found_agent(file: BufferedReader) -> str:
    from workbench.live.reports import format_of  # late, for the same reason

    return format_of(file.read(HEAD))


def _read_lines(
    file: BufferedReader, quick: _QuickReader, agent: str, path: str, stamp: FileStamp, known: UsageEntry | None
) -> UsageEntry:
    goes_on = known is not None and known.stamp.inode == stamp.inode and known.tail == _tail(file, known.position)
    if known is None or not goes_on or len(known.sessions) != 1:
        known = UsageEntry(stamp, [quick.start(agent, path)])
    lines = ReportLines(file, known.position)
    quick.add_lines(known.sessions[0], lines.lines_with_reports(quick.signs))
    return UsageEntry(stamp, known.sessions, lines.position, _tail(file, lines.position))


def _tail(file: BufferedReader, position: int) -> int:
    start = max(0, position - _TAIL)
    file.seek(start)
    return crc32(file.read(position - start))
