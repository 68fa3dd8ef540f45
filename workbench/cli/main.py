"""The command: the full screen by default, headless sub-commands for programs and pipes."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn, get_args

from workbench import __version__
from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.text import printable
from workbench.log.events import OverrideAction


class _Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        raise WrongCall(f"{self.prog}: {message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit code."""
    _mend_streams()
    try:
        options = _parser().parse_args(arguments)
        code = _run(options)
        sys.stdout.flush()
        return code
    except WorkbenchError as error:
        return _complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader went away, as `head` does. Nothing more can be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _complain(f"{error.filename or 'output'}: {error.strerror or error}", 1)


def _complain(message: str, code: int) -> int:
    line = printable(message)
    print(line if line.startswith("workbench") else f"workbench: {line}", file=sys.stderr)
    return code


def _mend_streams() -> None:
    """A closed stream reads as empty and swallows what is written, and what is written is UTF-8."""
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long-lived as the program
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def _count(text: str) -> int:
    """A number of rows."""
    number = int(text)
    if not 0 < number < 1 << 31:
        raise ValueError
    return number


def _run(options: argparse.Namespace) -> int:
    """Import the command's module only now: `workbench tokens` needs no screen."""
    module, function = options.run.split(":")
    command: Callable[[argparse.Namespace], int] = getattr(import_module(module), function)
    return command(options)


def _parser() -> _Parser:
    parser = _Parser(prog="workbench", description="See what the model sees.")
    parser.add_argument("--version", action="version", version=f"workbench {__version__}")
    parser.set_defaults(run="workbench.tui.start:run", source=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    _add_open(commands)
    _add_plan(commands)
    _add_ask(commands)
    _add_files(commands)
    _add_override(commands)
    _add_info(commands)
    _add_sessions(commands)
    return parser


Commands = argparse._SubParsersAction  # the only name it has


def _command(commands: Commands[_Parser], name: str, run: str, text: str) -> _Parser:
    parser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(run=f"workbench.{run}")
    return parser


def _add_json(parser: _Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def _add_wishes(parser: _Parser) -> None:
    parser.add_argument("--policy", metavar="NAME|FILE", help="a preset, a policy of yours, or a TOML file")
    parser.add_argument("--set", metavar="KNOB=VALUE", action="append", help="set one knob, as in masking.keep_last=3")
    parser.add_argument("--model", "-m", metavar="MODEL", help="plan for this model")
    parser.add_argument("--window", type=int, metavar="N", help="a window of N tokens")
    parser.add_argument("--reserve", type=int, metavar="N", help="keep N tokens for the answer")


def _add_open(commands: Commands[_Parser]) -> None:
    parser = _command(commands, "open", "tui.start:run", "open a session or a file on the full screen")
    parser.add_argument("source", metavar="SOURCE", help="a session or a file")
    _add_wishes(parser)


def _add_plan(commands: Commands[_Parser]) -> None:
    parser = _command(commands, "plan", "cli.plan:run", "what the model would see, item by item, and why")
    parser.add_argument("source", metavar="SOURCE", help="a session, a file (FILE#2: its second conversation), or -")
    _add_wishes(parser)
    parser.add_argument("--at", type=int, metavar="SEQ", help="as it was after this event")
    parser.add_argument("--full", action="store_true", help="cut nothing; with --json, add the original of each item")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--json", action="store_true", help="print JSON, for programs")
    what.add_argument("--request", action="store_true", help="print the request's body itself")


def _add_ask(commands: Commands[_Parser]) -> None:
    parser = _command(commands, "ask", "cli.ask:run", "one turn with a model, without a screen")
    _add_wishes(parser)
    parser.add_argument("message", metavar="MESSAGE", help="what to say; - reads standard input")
    parser.add_argument("--session", metavar="SESSION", help="go on with this session; a new one by default")
    parser.add_argument("--api-base", metavar="URL", help="the address of a server of your own")
    allowed = "allow calls without asking, as in 'run_command:git *' or write_file"
    parser.add_argument("--allow", metavar="PATTERN", action="append", help=allowed)
    _add_json(parser)
    parser = _command(commands, "rehearse", "cli.rehearse:run", "serve the rehearsal model over HTTP")
    parser.add_argument("--port", type=int, default=8765, metavar="N", help="on 127.0.0.1 (8765); 0: a free one")
    parser.add_argument("--script", metavar="FILE", help="steps to play, TOML or JSON lines; then the rules answer")
    parser.add_argument("--speed", type=float, metavar="C", help="characters per second; 0: at once (the default)")


def _add_files(commands: Commands[_Parser]) -> None:
    parser = _command(commands, "import", "cli.sessions:run_import", "make a session of a file")
    parser.add_argument("file", metavar="FILE", help="OpenAI-style messages or an exported log; - reads standard input")
    parser.add_argument("--title", help="the session's title; the file's name by default")
    parser.add_argument("--model", "-m", help="the model the session is for")
    _add_json(parser)
    parser = _command(commands, "export", "cli.sessions:run_export", "write a session to a file")
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("--format", choices=("events", "openai"), default="events")
    parser.add_argument("--output", "-o", metavar="FILE", help="standard output by default")


def _add_override(commands: Commands[_Parser]) -> None:
    parser = _command(commands, "override", "cli.sessions:run_override", "decide yourself what becomes of some items")
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("action", choices=get_args(OverrideAction))
    parser.add_argument("range", metavar="SEQ[-SEQ]", help="one event, or all from one to another")


def _add_info(commands: Commands[_Parser]) -> None:
    parser = _command(commands, "tokens", "cli.info:run_tokens", "count a text")
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="- (the default) reads standard input")
    parser.add_argument("--model", "-m", metavar="MODEL", help="count as this model does")
    _add_json(parser)

    parser = _command(commands, "policies", "cli.info:run_policies", "the policies there are")
    _add_json(parser)
    more = parser.add_subparsers(metavar="show NAME", parser_class=_Parser)
    show = _command(more, "show", "cli.info:run_policy", "all knobs of a policy and where each value came from")
    show.add_argument("name", metavar="NAME|FILE")
    show.add_argument("--set", metavar="KNOB=VALUE", action="append", help="set one knob")
    _add_json(show)

    parser = _command(commands, "models", "cli.info:run_models", "the models that are known by name")
    _add_json(parser)
    parser.set_defaults(query=[])
    more = parser.add_subparsers(metavar="show NAME | find WORDS | local", parser_class=_Parser)
    _add_json(_command(more, "local", "cli.info:run_local", "servers on this machine and the models they offer"))
    show = _command(more, "show", "cli.info:run_model", "all that is known of a model")
    show.add_argument("name", metavar="NAME")
    _add_json(show)
    find = _command(more, "find", "cli.info:run_models", "models with these words in their name")
    find.add_argument("query", metavar="WORDS", nargs="+")
    _add_json(find)


def _add_sessions(commands: Commands[_Parser]) -> None:
    parser = _command(commands, "sessions", "cli.sessions:run_list", "the sessions, the last changed first")
    parser.add_argument("--limit", type=_count, metavar="N", help="at most so many")
    parser.add_argument("--query", help="a part of the title")
    _add_json(parser)
    more = parser.add_subparsers(metavar="rename | fork | delete | search", parser_class=_Parser)
    rename = _command(more, "rename", "cli.sessions:run_rename", "give a session another title")
    rename.add_argument("session", metavar="SESSION")
    rename.add_argument("title", metavar="TITLE")
    fork = _command(more, "fork", "cli.sessions:run_fork", "copy a session, up to an event")
    fork.add_argument("session", metavar="SESSION")
    fork.add_argument("--at", type=int, metavar="SEQ", help="the last event of the copy; all by default")
    delete = _command(more, "delete", "cli.sessions:run_delete", "delete a session as a whole, after asking")
    delete.add_argument("session", metavar="SESSION")
    delete.add_argument("--yes", action="store_true", help="do not ask")
    search = _command(more, "search", "cli.sessions:run_search", "find events by their words")
    search.add_argument("words", metavar="WORDS", nargs="+")
    search.add_argument("--session", metavar="SESSION", help="in this session alone")
    search.add_argument("--limit", type=_count, metavar="N", default=50, help="at most so many (50)")
    _add_json(search)
