"""Patterns of approvals: `run_command:git status *`, `write_file:src/**`, or a tool's name alone for all it does.

A command's pattern is its exact text, or a beginning followed by `*`. What a shell could take as more than one
command never matches a beginning: `git *` is no leave for `git log; rm -rf .`.
"""

from __future__ import annotations

import re
import shlex
from fnmatch import fnmatchcase

from workbench.agent.tools.base import ProposedCall
from workbench.agent.tools.globs import matches
from workbench.config.errors import WrongCall
from workbench.config.settings import shown

COMMAND = "run_command"
"""The one tool whose subject is a line for a shell."""

_CONTROL = re.compile(r"[;&|<>()`\n\r\0]")
"""Anything that starts a second command or a redirection in a shell. Brackets cover `$(...)`, and in zsh `=(...)` and
the glob qualifiers that run code. Quoting is not looked at: to ask once too often does no harm."""

_WIDE = re.compile(
    r"sh|bash|zsh|dash|ksh|fish|python[\d.]*|node|perl|ruby|php|sudo|doas|env|xargs|eval|exec|source|\.|nohup|time|timeout"
    r"|nice|ssh|docker|find|rm|dd|make|npx|uvx"
)
"""Programs that run or remove whatever they are told: no pattern wider than the command itself is offered."""


def check_pattern(pattern: str, where: str) -> str:
    """A pattern that can be used; raises WrongCall that begins with `where`."""
    tool, colon, subject = pattern.partition(":")
    if not re.fullmatch(r"[\w*?.-]+", tool, re.ASCII) or (colon and not subject.strip()):
        raise WrongCall(
            f"{where}: expected TOOL or TOOL:PATTERN such as run_command:git status *, got {shown(pattern)}"
        )
    try:
        pattern.encode()
    except UnicodeEncodeError:
        raise WrongCall(f"{where}: expected text, got {shown(pattern)}") from None
    return pattern


def covers(pattern: str, call: ProposedCall) -> bool:
    """Whether a pattern gives leave for a call."""
    tool, colon, subject = pattern.partition(":")
    if not fnmatchcase(call.tool, tool):
        return False
    if not colon:
        return True
    if call.kind == "run":
        return _covers_command(subject.strip(), call.subject.strip())
    if subject.startswith("/") != call.subject.startswith("/"):
        return False  # `**` is for the project, not for what was allowed beside it
    return matches(subject.split("/"), call.subject.split("/"))


def forbids(pattern: str, call: ProposedCall) -> bool:
    """Whether a pattern that says never speaks of a call; for a command, of any part of it.

    It is a brake and not a wall: a shell has endless ways to say the same thing.
    """
    if covers(pattern, call):
        return True
    if call.kind != "run" or ":" not in pattern:
        return False
    return any(covers(pattern, call._replace(subject=part)) for part in _CONTROL.split(call.subject) if part.strip())


def _covers_command(pattern: str, command: str) -> bool:
    if pattern.endswith("\\*"):
        return command == pattern[:-2] + "*"
    if not pattern.endswith("*"):
        return command == pattern
    if _CONTROL.search(command):
        return False
    start = pattern[:-1]
    return command.startswith(start) or (start.endswith(" ") and command == start.rstrip())


def exact(call: ProposedCall) -> str:
    """The pattern for this call and no other; for one without a subject, its tool."""
    if not call.subject.strip():
        return call.tool
    if call.kind == "run":
        command = call.subject.strip()
        return f"{call.tool}:{command[:-1]}\\*" if command.endswith("*") else f"{call.tool}:{command}"
    return f"{call.tool}:{_escaped(call.subject)}"


def suggestions(call: ProposedCall) -> tuple[str, ...]:
    """Patterns to offer for a call, the narrowest first."""
    found = [exact(call)]
    if found == [call.tool]:
        return (call.tool,)
    if _is_foreign(call):
        found.append(call.tool)
        if call.tool.count("__") == 1:
            found.append(f"{call.tool.partition('__')[0]}__*")
    elif call.kind == "run":
        wider = _wider(call.subject.strip())
        if wider:
            found.append(f"{call.tool}:{wider}")
    elif call.kind == "write":
        folder, slash, _ = call.subject.rpartition("/")
        if folder:
            found.append(f"{call.tool}:{_escaped(folder)}{slash}**")
        found.append(f"{call.tool}:**")
    return tuple(dict.fromkeys(found))


def advised(call: ProposedCall) -> str:
    """The pattern to name to a user who is not there to choose: this call, or for a server's tool all its calls, whose
    arguments are hardly ever the same twice."""
    return call.tool if _is_foreign(call) else exact(call)


def _is_foreign(call: ProposedCall) -> bool:
    """Whether a tool of a server is called, `SERVER__TOOL`: what approvals look at are its arguments, as JSON."""
    return call.kind == "run" and call.tool != COMMAND


def _wider(command: str) -> str:
    """A program with its sub-command, where what follows may vary."""
    if _CONTROL.search(command):
        return ""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    if not words or _WIDE.fullmatch(words[0].rsplit("/", 1)[-1]) or not re.fullmatch(r"[\w./-]+", words[0]):
        return ""
    if len(words) > 1 and re.fullmatch(r"[a-z][\w-]*", words[1]):
        return f"{words[0]} {words[1]} *"
    return f"{words[0]} *"


def _escaped(path: str) -> str:
    return re.sub(r"[*?\[]", r"[\g<0>]", path)
