"""The command: the full screen by default, headless sub-commands for programs and pipes."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.text import printable
from workbench.config.variables import clear_start_block

OVERRIDES = ("pin", "unpin", "mask", "unmask", "exclude", "include")
"""`OverrideAction`, said again: the events take longer to import than all else that reads the command line."""


class _Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        raise WrongCall(f"{self.prog}: {message} (see {self.prog} --help)")


class _Version(argparse.Action):
    """Prints the version of the installed package; looking it up takes time that no other command should pay for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"workbench {version('workbench')}")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit code."""
    clear_start_block()
    _mend_streams()
    try:
        return _called(arguments)
    finally:
        _leave_streams()


def _called(arguments: Sequence[str] | None) -> int:
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
        return 0  # the reader went away, as `head` does
    except OSError as error:
        return _complain(f"{error.filename or 'output'}: {error.strerror or error}", 1)


def _leave_streams() -> None:
    """What cannot be written any more, because its reader or terminal is gone, is not tried again at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


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
    if not text.isdecimal() or not 0 < int(text[:11]) < 1 << 31:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 up, got {text[:40]!r}")
    return int(text)


def _run(options: argparse.Namespace) -> int:
    """Import the command's module only now: `workbench tokens` needs no screen."""
    module, function = options.run.split(":")
    command: Callable[[argparse.Namespace], int] = getattr(import_module(module), function)
    return command(options)


def _parser() -> _Parser:
    parser = _Parser(prog="workbench", description="See what the model sees.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    parser.set_defaults(run="workbench.cli.screen:run", source=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    _add_open(commands)
    _add_watch(commands)
    _add_serve(commands)
    _add_plan(commands)
    _add_ask(commands)
    _add_files(commands)
    _add_override(commands)
    _add_compact(commands)
    _add_compactions(commands)
    _add_snapshots(commands)
    _add_mcp(commands)
    _add_info(commands)
    _add_sessions(commands)
    _add_agents(commands)
    return parser


Commands = argparse._SubParsersAction  # the only name it has


def _command(commands: Commands[_Parser], name: str, run: str, text: str) -> _Parser:
    parser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(run=f"workbench.{run}")
    return parser


def _add_json(parser: _Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def _add_wishes(parser: _Parser, model: str = "plan for this model") -> None:
    parser.add_argument("--policy", metavar="NAME|FILE", help="a preset, a policy of yours, or a TOML file")
    parser.add_argument("--set", metavar="KNOB=VALUE", action="append", help="set one knob, as in masking.keep_last=3")
    parser.add_argument("--model", "-m", metavar="MODEL", help=model)
    parser.add_argument("--window", type=int, metavar="N", help="a window of N tokens")
    parser.add_argument("--reserve", type=int, metavar="N", help="keep N tokens for the answer")


def _add_open(commands: Commands[_Parser]) -> None:
    parser = _command(commands, "open", "cli.screen:run", "open a session or a file on the full screen")
    parser.add_argument("source", metavar="SOURCE", help="a session or a file")
    parser.add_argument("--follow", action="store_true", help="read a file anew while another agent writes it")
    _add_wishes(parser)


def _add_watch(commands: Commands[_Parser]) -> None:
    text = "open the session of another agent on the full screen, and follow it while it grows"
    parser = _command(commands, "watch", "cli.watch:run", text)
    wanted = "an agent, the id of a session, or a file; by default the session that changed last in this folder"
    parser.add_argument("wanted", metavar="AGENT|FILE|ID", nargs="?", default="", help=wanted)
    _add_wishes(parser)
    parser.add_argument("--json", action="store_true", help="no screen: print a line of JSON for every change")


def _add_serve(commands: Commands[_Parser]) -> None:
    _command(commands, "demo", "cli.screen:run_demo", "a recorded session to look around in; nothing of it is kept")
    parser = _command(commands, "serve", "cli.serve:run", "the full screen in a browser (needs the extra `serve`)")
    parser.add_argument(
        "source", metavar="SOURCE", nargs="?", help="a session or a file; this folder's last session by default"
    )
    parser.add_argument("--host", metavar="HOST", default="127.0.0.1", help="an address of this machine (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="a port there (8000); 0: a free one")


def _add_plan(commands: Commands[_Parser]) -> None:
    parser = _command(commands, "plan", "cli.plan:run", "what the model would see, item by item, and why")
    parser.add_argument("source", metavar="SOURCE", help="a session, a file (FILE#2: its second conversation), or -")
    _add_wishes(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--at", type=int, metavar="SEQ", help="as it was after this event")
    where.add_argument("--nth", type=int, metavar="N", help="the N-th request, as `workbench requests` lists them")
    parser.add_argument("--full", action="store_true", help="cut nothing; with --json, add the original of each item")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--json", action="store_true", help="print JSON, for programs")
    what.add_argument("--request", action="store_true", help="print the request's body itself")
    text = "the requests of a session or a file: what was reported for each, and what of it is known"
    parser = _command(commands, "requests", "cli.requests:run", text)
    parser.add_argument("source", metavar="SOURCE", help="a session, a file (FILE#2: its second conversation), or -")
    _add_json(parser)
    _add_replay(commands)


def _add_replay(commands: Commands[_Parser]) -> None:
    text = "send a recorded request again, as it was or changed, and compare the answers"
    parser = _command(commands, "replay", "cli.replay:run", text)
    parser.add_argument("source", metavar="SOURCE", help="a session or a file that holds requests whole")
    which = "the N-th request, as `workbench requests` lists them; the last one by default"
    parser.add_argument("--at", type=int, metavar="N", help=which)
    _add_wishes(parser, "to this model, which speaks the same dialect")
    what = "leave this out: an event or a range of them, or a path such as messages.7.2; any number of times"
    parser.add_argument("--exclude", metavar="SEQ|PATH", action="append", help=what)
    mask = "put a marker, or a text, in the place of this; any number of times"
    parser.add_argument("--mask", metavar="SEQ|PATH[=TEXT]", action="append", help=mask)
    where = "where it goes: an address, or rehearsal; by default to the provider of its dialect"
    parser.add_argument("--to", default="", metavar="URL", help=where)
    parser.add_argument("-n", type=int, default=1, metavar="K", help="so many times (1)")
    parser.add_argument("--yes", action="store_true", help="do not ask what it may cost")
    _add_json(parser)


def _add_ask(commands: Commands[_Parser]) -> None:
    parser = _command(commands, "ask", "cli.ask:run", "one turn with a model, without a screen")
    _add_wishes(parser)
    parser.add_argument("message", metavar="MESSAGE", help="what to say; - reads standard input")
    parser.add_argument("--session", metavar="SESSION", help="continue this session; a new one by default")
    parser.add_argument("--api-base", metavar="URL", help="the address of a server of your own")
    allowed = "allow calls without asking, as in 'run_command:pytest *' or write_file"
    parser.add_argument("--allow", metavar="PATTERN", action="append", help=allowed)
    without = "do not offer these tools; * and ? are wildcards, as in notes__*"
    parser.add_argument("--without", metavar="TOOL", action="append", help=without)
    instead = "ask this model where the one before cannot answer; any number of times, in this order"
    parser.add_argument("--fallback", metavar="MODEL", action="append", help=instead)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print each event of the log as a line of JSON, for programs")
    more = "like --json, with lines that have the key `step` for the parts of the answer as they come"
    how.add_argument("--stream", action="store_true", help=more)
    parser = _command(commands, "rehearse", "cli.rehearse:run", "serve the rehearsal model over HTTP")
    parser.add_argument("--port", type=int, default=8765, metavar="N", help="on 127.0.0.1 (8765); 0: a free one")
    parser.add_argument("--script", metavar="FILE", help="steps to play, TOML or JSON lines; then the rules answer")
    parser.add_argument("--speed", type=float, metavar="C", help="characters per second; 0: at once (the default)")
    _add_proxy(commands)


def _add_proxy(commands: Commands[_Parser]) -> None:
    told = "stand between an agent and its model: pass requests on, and record them"
    parser = _command(commands, "proxy", "cli.proxy:run", told)
    parser.add_argument("--port", type=int, default=0, metavar="N", help="on 127.0.0.1; a free one by default")
    where = "where requests go: an address, or rehearsal; by default to the provider that each is meant for"
    parser.add_argument("--to", default="", metavar="URL", help=where)
    policy = "mask and cut results of tools on the way as this policy does; by default requests pass as they are"
    parser.add_argument("--policy", metavar="NAME|FILE", help=policy)
    parser.add_argument("--set", metavar="KNOB=VALUE", action="append", help="set one knob of that policy")
    parser.add_argument("--no-record", action="store_true", help="pass requests on and store nothing")
    rule = "hold what this names: every, tokens>N, share>N, tool:NAME, text:WORDS, agent:NAME, error; repeatable"
    parser.add_argument("--break", action="append", default=[], dest="rules", metavar="RULE", help=rule)
    parser.add_argument("--json", action="store_true", help="print the address and the dialects as a line of JSON")
    run = "an agent to start with the right settings, as in -- claude; the proxy ends with it"
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help=run)
    _add_held(commands)


def _add_held(commands: Commands[_Parser]) -> None:
    parser = _command(commands, "break", "cli.held:run_break", "list or set the breakpoints of the proxies that run")
    parser.add_argument("rules", nargs="*", metavar="RULE", help="one to add, as for proxy --break")
    parser.add_argument("--clear", action="store_true", help="remove all others")
    _add_json(parser)
    parser = _command(commands, "held", "cli.held:run_held", "list the requests that wait at a breakpoint")
    parser.add_argument("id", nargs="?", metavar="ID", help="this one, with its items; with --json its body")
    _add_json(parser)
    parser = _command(commands, "release", "cli.held:run_release", "let a request go on that waits at a breakpoint")
    parser.add_argument("id", metavar="ID", help="as held lists it; its last number is enough where only one has it")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--as-it-was", action="store_true", help="unchanged (the default)")
    how.add_argument("--answer", metavar="TEXT", help="send nothing, and answer with this text")
    how.add_argument("--body", metavar="FILE", help="send this JSON in its place; - reads standard input")


def _add_files(commands: Commands[_Parser]) -> None:
    parser = _command(commands, "import", "cli.sessions:run_import", "make a session of a file")
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a transcript or an exported log; FILE#2 is its second conversation; - reads standard input",
    )
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
    parser.add_argument("action", choices=OVERRIDES)
    parser.add_argument("range", metavar="SEQ[-SEQ]", help="one event, or all from one to another")


def _add_compact(commands: Commands[_Parser]) -> None:
    parser = _command(commands, "compact", "cli.compact:run", "replace the past by a summary that can be undone")
    parser.add_argument("source", metavar="SOURCE", help="a session, or a file, of which nothing is stored")
    _add_wishes(parser)
    _add_summariser(parser)
    parser.add_argument("--summary", metavar="FILE", help="this text of yours as the summary; - reads standard input")
    parser.add_argument("--add-lost", action="store_true", help="put what the summary lost behind it")
    parser.add_argument("--dry-run", action="store_true", help="write the summary, and store nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    _add_json(parser)
    parser = _command(commands, "continue", "cli.continuing:run", "start a new session from a summary of another")
    parser.add_argument("session", metavar="SESSION", help="the session to continue from")
    parser.add_argument(
        "--summary", metavar="FILE", help="this text, edited by you, as the summary; - reads standard input"
    )
    parser.add_argument("--model", "-m", metavar="MODEL", help="the model of the new session, and who summarises")
    _add_summariser(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the summary, to be edited, and make no session")
    _add_json(parser)


def _add_summariser(parser: _Parser) -> None:
    parser.add_argument("--digest", action="store_true", help="summarise by rules, without a model")
    parser.add_argument("--api-base", metavar="URL", help="the address of a server of your own")


def _add_compactions(commands: Commands[_Parser]) -> None:
    text = "what was summarised, what comes next, and the counters"
    parser = _command(commands, "compactions", "cli.compactions:run", text)
    parser.add_argument("session", metavar="SESSION")
    _add_wishes(parser)
    _add_json(parser)
    parser = _command(commands, "undo", "cli.compactions:run_undo", "undo the last compaction or override")
    parser.add_argument("session", metavar="SESSION")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all-compactions", action="store_true", help="undo every compaction")
    which.add_argument("--event", type=int, metavar="SEQ", help="undo this compaction or override")
    parser.add_argument("--redo", action="store_true", help="redo what was undone last, or --event SEQ")
    _add_json(parser)


def _add_snapshots(commands: Commands[_Parser]) -> None:
    text = "states of the work tree from before tools changed it"
    parser = _command(commands, "snapshots", "cli.snapshots:run_list", text)
    parser.add_argument("session", metavar="SESSION")
    keep = "first remove all but the newest N of the repository, whichever session they belong to"
    parser.add_argument("--keep", type=_count, metavar="N", help=keep)
    _add_json(parser)
    text = "bring such a state back, after showing what would change and asking; it can be undone"
    parser = _command(commands, "restore", "cli.snapshots:run_restore", text)
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("seq", metavar="SEQ", nargs="?", type=int, help="which snapshot; the latest by default")
    parser.add_argument("--remove-created", action="store_true", help="remove the files that were created since")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--json", action="store_true", help="print JSON; without --yes only what would change")


def _add_mcp(commands: Commands[_Parser]) -> None:
    text = "the tools of the configured MCP servers and the tokens their definitions take"
    parser = _command(commands, "mcp", "cli.mcp:run", text)
    parser.add_argument("--model", "-m", metavar="MODEL", help="count as this model does")
    _add_json(parser)


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
    parser.add_argument("--here", action="store_true", help="those of this folder alone")
    _add_json(parser)
    more = parser.add_subparsers(metavar="rename | fork | delete | search | recover", parser_class=_Parser)
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
    text = "get what can be read out of a damaged store into a new one, and keep a copy of the damaged file"
    recover = _command(more, "recover", "cli.recover:run", text)
    recover.add_argument("file", metavar="FILE", nargs="?", help="the damaged store; your own by default")
    made = "make the new store here and change nothing else; by default it takes the place of the damaged one"
    recover.add_argument("--output", "-o", metavar="FILE", help=made)
    _add_json(recover)


def _add_agents(commands: Commands[_Parser]) -> None:
    text = "the sessions of other agents on this machine, the last changed first"
    parser = _command(commands, "agents", "cli.agents:run", text)
    parser.add_argument(
        "words", metavar="WORDS", nargs="*", help="those with these words in agent, folder, title or model"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--here", action="store_true", help="those of this folder alone")
    where.add_argument("--folder", metavar="DIR", help="those of this folder alone")
    parser.add_argument("--running", action="store_true", help="those alone that are running")
    parser.add_argument("--limit", type=_count, metavar="N", default=30, help="at most so many (30)")
    _add_json(parser)
    text = "a line for each agent that runs, for status bars and scripts; nothing where none does"
    parser = _command(commands, "status", "cli.status:run", text)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("file", metavar="FILE", nargs="?", default="", help="the session in this file, running or not")
    which.add_argument("--here", action="store_true", help="the agents in this folder alone")
    told = "the session that Claude Code tells of on standard input, for its status line"
    which.add_argument("--claude-code", action="store_true", help=told)
    parser.add_argument("--follow", action="store_true", help="print again whenever something has changed")
    _add_json(parser)
