"""The command: the full screen by default, headless sub-commands for programs and pipes."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from importlib import import_module
from typing import NoReturn

from workbench.cli import agent_commands as agents
from workbench.cli import own_commands as own
from workbench.cli.arguments import Commands, Parser
from workbench.cli.help import MainParser, add_help
from workbench.config.distribution import installed_version
from workbench.config.ending import ending_by_signals
from workbench.config.errors import WorkbenchError
from workbench.config.garbage import collector_from_here, start_without_collector
from workbench.config.plugins import PROBLEMS
from workbench.config.quiet import silence_libraries
from workbench.config.text import print_json, printable
from workbench.config.variables import clear_start_block


class _Version(argparse.Action):
    """Prints the version of the installed package. Finding it is slow, so only this option does it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(f"workbench {installed_version()}")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    clear_start_block()
    silence_libraries()
    _mend_streams()
    try:
        with ending_by_signals():
            return _called(arguments)
    finally:
        _leave_streams()


def _called(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in given
    try:
        options = make_parser(given).parse_args(given)
        code = _run(options)
        sys.stdout.flush()
        _report_plugins()
        return code
    except WorkbenchError as error:
        _report_plugins()
        return _complain(str(error), error.exit_code, as_json)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0  # the reader has closed the pipe, as `head` does
    except OSError as error:
        return _complain(f"{error.filename or 'output'}: {error.strerror or error}", 1, as_json)


def _leave_streams() -> None:
    """Flush the streams. If a reader or terminal is gone, Python must not try again at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _complain(message: str, code: int, as_json: bool) -> int:
    """Print an error in one line, which for programs is JSON. Standard output may have a part of the result already."""
    line = printable(message)
    if as_json:
        with redirect_stdout(sys.stderr):
            print_json({"error": line, "exit_code": code}, indent=None)
    else:
        print(line if line.startswith("workbench") else f"workbench: {line}", file=sys.stderr)
    return code


def _report_plugins() -> None:
    """Name the plug-ins that failed while the command ran, a line each."""
    for problem in PROBLEMS.unseen():
        print(printable(f"· {problem}"), file=sys.stderr)


def _mend_streams() -> None:
    """Replace closed streams by the null device, write UTF-8, and read whatever bytes come, such as names of files."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long-lived as the program
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _run(options: argparse.Namespace) -> int:
    """Import the command's module and run it. Only now, because `workbench tokens` needs no screen."""
    module, function = options.run.split(":")
    if module not in sys.modules:
        start_without_collector()
        import_module(module)
        collector_from_here()  # also at the end, where Python collects once more
    command: Callable[[argparse.Namespace], int] = getattr(sys.modules[module], function)
    return command(options)


_COMMANDS: tuple[tuple[Callable[[Commands[Parser]], None], str], ...] = (
    (own.add_open, "open"),
    (agents.add_watch, "watch"),
    (own.add_serve, "demo serve"),
    (own.add_plan, "plan requests"),
    (agents.add_replay, "replay"),
    (agents.add_explain, "explain"),
    (agents.add_lab, "lab"),
    (agents.add_judge, "judge"),
    (agents.add_tune, "tune"),
    (agents.add_waste, "waste"),
    (agents.add_check, "check"),
    (agents.add_usage, "usage"),
    (own.add_ask, "ask"),
    (agents.add_rehearse, "rehearse"),
    (agents.add_proxy, "proxy policy break held release"),
    (own.add_files, "import export"),
    (own.add_override, "override"),
    (own.add_compact, "compact continue"),
    (own.add_compactions, "compactions undo"),
    (own.add_snapshots, "snapshots restore"),
    (own.add_mcp, "mcp"),
    (own.add_plugins, "plugins"),
    (own.add_info, "tokens policies models"),
    (own.add_sessions, "sessions"),
    (agents.add_agents, "agents status"),
)
"""What adds which commands. All of them together take longer to add than the screen takes to be drawn."""


def make_parser(arguments: Sequence[str] | None = None) -> Parser:
    """All commands and their options; if the arguments are known, only the command that they name."""
    parser = MainParser(prog="workbench", description="See what the model sees.")
    parser.add_argument("--version", "-V", action=_Version, nargs=0, help="print the version")
    parser.set_defaults(run="workbench.cli.screen:run_screen", source=None)
    if arguments is not None and not arguments:
        return parser
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    named = [add for add, names in _COMMANDS if arguments is not None and arguments[0] in names.split()]
    for add in named or [add for add, _ in _COMMANDS]:
        add(commands)
    if not named:
        add_help(commands, parser)
    return parser
