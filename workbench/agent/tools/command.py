"""`run_command`: a command line in the user's shell, or a program that needs no shell."""

from __future__ import annotations

import codecs
import os
import shutil
import signal
from collections.abc import Mapping, Sequence

from workbench.agent.tools.base import Arguments, Tool, ToolContext, ToolFailure, ToolLimits, ToolOutcome, object_schema
from workbench.agent.tools.guarded_start import guarded_start
from workbench.agent.tools.output import OutputEnds
from workbench.agent.tools.places import AllowedFolders
from workbench.agent.tools.plain_command import plain_words
from workbench.agent.tools.process import EndedProcess, run_process
from workbench.agent.tools.reading_commands import reading_name
from workbench.config.variables import without_keys

_PLAIN_SHELL = "/bin/sh"
_SHELLS = frozenset({"bash", "zsh", "sh", "dash", "ksh", "fish"})
"""Shells that accept `-c COMMAND`."""


def command_tool(places: AllowedFolders, limits: ToolLimits, pass_env: Sequence[str] = ()) -> Tool:
    """The tool for one project. `pass_env`: variables that commands may see although their names look like keys."""
    default = min(limits.command_seconds, limits.max_command_seconds)

    async def run(arguments: Arguments, context: ToolContext) -> ToolOutcome:
        seconds = arguments.get("timeout", default)
        return await _run(arguments["command"], places, seconds, limits, context, without_keys(pass_env))

    return Tool(
        "run_command",
        "run",
        "Run a shell command in the project's folder. No input; background processes are ended with it.",
        object_schema(
            ("command",),
            command={"type": "string", "minLength": 1},
            timeout={
                "type": "integer",
                "minimum": 1,
                "maximum": limits.max_command_seconds,
                "description": f"seconds, default {default:g}",
            },
        ),
        run,
        _subject,
    )


def _subject(arguments: Arguments) -> str:
    command = str(arguments["command"])
    if not command.strip():
        raise ToolFailure("command: expected a command, got blanks")
    return command


def user_shell() -> str:
    """The user's own shell, if it is one of `_SHELLS`; otherwise sh, which Git brings along on Windows."""
    shell = os.environ.get("SHELL", "")
    if os.path.basename(shell) in _SHELLS and os.access(shell, os.X_OK):
        return shell
    return _PLAIN_SHELL if os.path.exists(_PLAIN_SHELL) else shutil.which("sh") or _PLAIN_SHELL


async def _run(
    command: str,
    places: AllowedFolders,
    seconds: float,
    limits: ToolLimits,
    context: ToolContext,
    env: Mapping[str, str],
) -> ToolOutcome:
    half = limits.output_bytes // 2
    output = OutputEnds(half, half)
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def collect(data: bytes) -> None:
        output.add_bytes(data)
        if context.report is not None:
            context.report(decoder.decode(data))

    words = plain_words(command)
    if words is None and not context.shell:
        raise ToolFailure("command: needs a shell, for which it is not allowed")
    argv: Sequence[str] = (user_shell(), "-c", command) if context.shell or words is None else words
    try:
        if words is not None and reading_name(words):
            argv, env = await guarded_start(words, places.roots, seconds)
        ended = await run_process(argv, cwd=places.root, seconds=seconds, output=collect, env=env)
    except (OSError, ValueError) as error:
        raise ToolFailure(f"command: cannot be started: {error}") from None
    text = output.text()
    gap = "\n" if text and not text.endswith("\n") else ""
    return ToolOutcome(f"{text}{gap}[{_ending(ended, seconds)}]", ended.timed_out or ended.status != 0)


def _ending(ended: EndedProcess, seconds: float) -> str:
    if ended.timed_out:
        return f"stopped after {seconds:g} s, with all it had started"
    if ended.status < 0:
        try:
            name = signal.Signals(-ended.status).name
        except ValueError:  # a real-time signal
            name = str(-ended.status)
        how = f"ended by signal {name}"
    else:
        how = f"exit status {ended.status}"
    return how + ("; processes left in the background were ended" if ended.left_behind else "")
