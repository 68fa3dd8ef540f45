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
from workbench.cli.arguments import Parser
from workbench.cli.help import MainParser, add_help
from workbench.config.distribution import installed_version
from workbench.config.ending import ending_by_signals
from workbench.config.errors import WorkbenchError
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
    as_json = "--json" in (sys.argv[1:] if arguments is None else arguments)
    try:
        options = make_parser().parse_args(arguments)
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
    """Replace closed streams by the null device, and write UTF-8."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long-lived as the program
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _run(options: argparse.Namespace) -> int:
    """Import the command's module and run it. Only now, because `workbench tokens` needs no screen."""
    module, function = options.run.split(":")
    command: Callable[[argparse.Namespace], int] = getattr(import_module(module), function)
    return command(options)


def make_parser() -> Parser:
    """All commands and their options."""
    parser = MainParser(prog="workbench", description="See what the model sees.")
    parser.add_argument("--version", "-V", action=_Version, nargs=0, help="print the version")
    parser.set_defaults(run="workbench.cli.screen:run_screen", source=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    own.add_open(commands)
    agents.add_watch(commands)
    own.add_serve(commands)
    own.add_plan(commands)
    agents.add_replay(commands)
    agents.add_explain(commands)
    agents.add_lab(commands)
    agents.add_judge(commands)
    agents.add_tune(commands)
    agents.add_waste(commands)
    agents.add_check(commands)
    agents.add_usage(commands)
    own.add_ask(commands)
    agents.add_rehearse(commands)
    agents.add_proxy(commands)
    own.add_files(commands)
    own.add_override(commands)
    own.add_compact(commands)
    own.add_compactions(commands)
    own.add_snapshots(commands)
    own.add_mcp(commands)
    own.add_plugins(commands)
    own.add_info(commands)
    own.add_sessions(commands)
    agents.add_agents(commands)
    add_help(commands, parser)
    return parser
