"""Patterns of approvals: `run_command:git status *`, `write_file:src/**`, or a tool's name alone for all its calls.

The pattern of a command is its exact text, or a prefix followed by `*`. A prefix allows a program with its arguments,
and nothing that needs a shell: `git log *` covers neither `git log; rm -rf .` nor `git log $x`. A command that a prefix
allows is started without a shell.
"""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatchcase
from functools import lru_cache

from workbench.agent.tools.base import ProposedCall
from workbench.agent.tools.globs import glob_matches
from workbench.agent.tools.plain_command import BLANK, plain_words
from workbench.agent.tools.reading_commands import READING, reading_name
from workbench.config.errors import WrongCall
from workbench.config.tables import shown_value

COMMAND = "run_command"
"""The only tool whose subject is a shell command line."""

_CONTROL = re.compile(r"[;&|<>()`\n\r\0]")
"""Where a command may begin or end inside another one. Used for "never" patterns."""

_MOST_PARSED = 10_000
"""How many characters of a command's part are parsed to remove its quotes."""


def check_pattern(pattern: str, where: str) -> str:
    """Return the pattern if it is valid. Otherwise raise WrongCall with a message that begins with `where`."""
    tool, colon, subject = pattern.partition(":")
    if not re.fullmatch(r"[\w*?.-]+", tool, re.ASCII) or (colon and not subject.strip()):
        raise WrongCall(
            f"{where}: expected TOOL or TOOL:PATTERN such as run_command:git status *, got {shown_value(pattern)}"
        )
    try:
        pattern.encode()
    except UnicodeEncodeError:
        raise WrongCall(f"{where}: expected text, got {shown_value(pattern)}") from None
    return pattern


def pattern_allows(pattern: str, call: ProposedCall) -> bool:
    tool, colon, subject = pattern.partition(":")
    if not fnmatchcase(call.tool, tool):
        return False
    if not colon:
        return True
    if call.kind == "run":
        return _covers_text(subject, call.subject) and (not is_prefix_pattern(pattern) or _prefix_allows(subject, call))
    if subject.startswith("/") != call.subject.startswith("/"):
        return False  # `**` covers the project, not folders outside it that are allowed too
    return glob_matches(subject.split("/"), call.subject.split("/"))


def _prefix_allows(subject: str, call: ProposedCall) -> bool:
    """Whether a prefix pattern allows a call whose text begins like it. A prefix from the list of suggestions allows
    only commands that read."""
    if call.tool != COMMAND:
        return True
    words = plain_words(call.subject)
    return words is not None and (subject.strip(BLANK)[:-1].rstrip() not in READING or bool(reading_name(words)))


def is_prefix_pattern(pattern: str) -> bool:
    """Whether the pattern of a command is a prefix. A tool's name alone is not."""
    subject = pattern.partition(":")[2].strip(BLANK)
    return subject.endswith("*") and not subject.endswith("\\*")


def needs_shell(call: ProposedCall) -> bool:
    """Whether a call is a command that only a shell can read."""
    return call.tool == COMMAND and plain_words(call.subject) is None


def pattern_forbids(pattern: str, call: ProposedCall) -> bool:
    """Whether a "never" pattern applies to a call; for a command, to any part of it.

    This is a safeguard against mistakes, not a security boundary: a shell has endless ways to write the same command.
    """
    if pattern_allows(pattern, call):
        return True
    tool, colon, subject = pattern.partition(":")
    if call.kind != "run" or not colon or not fnmatchcase(call.tool, tool):
        return False
    return any(_covers_text(subject, each) for each in _possible_texts(call.subject))


@lru_cache(maxsize=8)
def _possible_texts(command: str) -> tuple[str, ...]:
    """The texts that a command may amount to: the whole and its parts, each with and without quotes."""
    parts = [part for part in (command, *_CONTROL.split(command)) if part.strip()]
    return (*parts, *(_unquoted(part) for part in parts))


def _unquoted(command: str) -> str:
    try:
        return " ".join(shlex.split(command[:_MOST_PARSED]))
    except ValueError:
        return command


def _covers_text(pattern: str, command: str) -> bool:
    pattern, command = pattern.strip(BLANK), command.strip(BLANK)
    if pattern.endswith("\\*"):
        return command == pattern[:-2] + "*"
    if not pattern.endswith("*"):
        return command == pattern
    start = pattern[:-1]
    return command.startswith(start) or (start.endswith(" ") and command == start.rstrip())


def exact_pattern(call: ProposedCall) -> str:
    """The pattern for this call alone. For a call without a subject, the tool's name."""
    if not call.subject.strip():
        return call.tool
    if call.kind == "run":
        command = call.subject.strip(BLANK)
        return f"{call.tool}:{command[:-1]}\\*" if command.endswith("*") else f"{call.tool}:{command}"
    return f"{call.tool}:{_escaped(call.subject)}"


def suggested_patterns(call: ProposedCall) -> tuple[str, ...]:
    """The patterns to offer for a call, the narrowest first."""
    found = [exact_pattern(call)]
    if found == [call.tool]:
        return (call.tool,)
    if _is_foreign(call):
        found.append(call.tool)
        if call.tool.count("__") == 1:
            found.append(f"{call.tool.partition('__')[0]}__*")
    elif call.kind == "run":
        wider = _wider(call.subject.strip(BLANK))
        if wider:
            found.append(f"{call.tool}:{wider}")
    elif call.kind == "write":
        folder, slash, _ = call.subject.rpartition("/")
        if folder:
            found.append(f"{call.tool}:{_escaped(folder)}{slash}**")
        found.append(f"{call.tool}:**")
    return tuple(dict.fromkeys(found))


def advised_pattern(call: ProposedCall) -> str:
    """The pattern to recommend when no user is present to choose: this call; for a tool of an MCP server all its calls,
    because their arguments are hardly ever the same twice."""
    return call.tool if _is_foreign(call) else exact_pattern(call)


def _is_foreign(call: ProposedCall) -> bool:
    """Whether the call is for a tool of an MCP server, `SERVER__TOOL`. Its subject is its arguments, as JSON."""
    return call.kind == "run" and call.tool != COMMAND


def _wider(command: str) -> str:
    """A program with its sub-command, if it only reads with any arguments; otherwise empty.

    Interpreters, test runners, `git log --output`, `sed e`, `rg --pre`, `wc --files0-from` and `ruff --output-file` can
    run, write or show more. So may a program that nobody has checked.
    """
    words = plain_words(command)
    name = reading_name(words) if words else ""
    return f"{name} *" if name and re.match(rf"{name}(?:[ \t]|\Z)", command) else ""


def _escaped(path: str) -> str:
    return re.sub(r"[*?\[]", r"[\g<0>]", path)
