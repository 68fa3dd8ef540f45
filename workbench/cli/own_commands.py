"""The arguments of the commands for own sessions, models and policies."""

from __future__ import annotations

from workbench.cli.arguments import (
    Commands,
    Parser,
    add_command,
    add_flag,
    add_json,
    add_notify,
    add_plan_options,
    count_argument,
)

OVERRIDES = ("pin", "unpin", "mask", "unmask", "exclude", "include")
"""The same as `OverrideAction`. Importing it would take longer than all the rest of the parser."""


def add_open(commands: Commands[Parser]) -> None:
    parser = add_command(commands, "open", "cli.screen:run_screen", "open a session or a file on the full screen")
    parser.add_argument("source", metavar="SOURCE", help="a session or a file")
    add_flag(parser, "--follow", "read a file again while another agent writes it")
    add_notify(parser)
    add_plan_options(parser)


def add_serve(commands: Commands[Parser]) -> None:
    """`demo`, `serve`."""
    add_command(commands, "demo", "cli.screen:run_demo", "a recorded session to look around in; nothing you do is kept")
    parser = add_command(
        commands, "serve", "cli.serve:run_serve", "the full screen in a browser (needs the extra `serve`)"
    )
    parser.add_argument(
        "source", metavar="SOURCE", nargs="?", help="a session or a file; this folder's last session by default"
    )
    parser.add_argument("--host", metavar="HOST", default="127.0.0.1", help="an address of this machine (127.0.0.1)")
    parser.add_argument("--port", type=int, default=8000, metavar="N", help="a port there (8000); 0: a free one")


def add_plan(commands: Commands[Parser]) -> None:
    """`plan`, `requests`."""
    parser = add_command(commands, "plan", "cli.plan:run_plan", "what the model would see, item by item, and why")
    parser.add_argument("source", metavar="SOURCE", help="a session, a file (FILE#2: its second conversation), or -")
    add_plan_options(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--at", type=int, metavar="SEQ", help="as it was after this event")
    where.add_argument("--nth", type=int, metavar="N", help="the N-th request, as `workbench requests` lists them")
    add_flag(parser, "--full", "cut nothing; with --json, add the original of each item")
    what = parser.add_mutually_exclusive_group()
    add_json(what)
    add_flag(what, "--request", "print the request's body itself")
    text = "the requests of a session or a file: what was reported for each, and how much is known"
    parser = add_command(commands, "requests", "cli.requests:run_requests", text)
    parser.add_argument("source", metavar="SOURCE", help="a session, a file (FILE#2: its second conversation), or -")
    add_json(parser)


def add_ask(commands: Commands[Parser]) -> None:
    parser = add_command(commands, "ask", "cli.ask:run_ask", "one turn with a model, without a screen")
    add_plan_options(parser)
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
    add_flag(how, "--json", "print each event of the log as a line of JSON, for programs")
    more = "like --json, with lines that have the key `step` for the parts of the answer as they come"
    add_flag(how, "--stream", more)


def add_files(commands: Commands[Parser]) -> None:
    """`import`, `export`."""
    parser = add_command(commands, "import", "cli.sessions:run_import", "make a session of a file")
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a transcript or an exported log; FILE#2 is its second conversation; - reads standard input",
    )
    parser.add_argument("--title", help="the session's title; the file's name by default")
    parser.add_argument("--model", "-m", help="the model the session is for")
    add_json(parser)
    parser = add_command(commands, "export", "cli.sessions:run_export", "write a session to a file, or as a page")
    parser.add_argument("session", metavar="SOURCE", help="a session; with --html or --otlp also a file, or -")
    parser.add_argument("--format", choices=("events", "openai"), help="the log itself (the default), or messages")
    parser.add_argument("--output", "-o", metavar="FILE", help="standard output by default")
    page = "write a page for a browser, which needs nothing else: rows, bar, timeline, search"
    parser.add_argument("--html", metavar="FILE", help=page)
    which = "with --html: the N-th request alone, as `workbench requests` lists them"
    parser.add_argument("--request", type=int, metavar="N", help=which)
    add_flag(parser, "--redact", "mask keys and passwords, and say how many")
    spans = (
        "write its requests as spans of OpenTelemetry (OTLP as JSON lines), or send them to a collector "
        "(needs the extra `otel`)"
    )
    parser.add_argument("--otlp", metavar="URL|FILE", help=spans)


def add_override(commands: Commands[Parser]) -> None:
    parser = add_command(
        commands, "override", "cli.sessions:run_override", "decide yourself what becomes of some items"
    )
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("action", choices=OVERRIDES)
    parser.add_argument("range", metavar="SEQ[-SEQ]", help="one event, or all from one to another")


def add_compact(commands: Commands[Parser]) -> None:
    """`compact`, `continue`."""
    parser = add_command(
        commands, "compact", "cli.compact:run_compact", "replace the past by a summary that can be undone"
    )
    parser.add_argument("source", metavar="SOURCE", help="a session, or a file, of which nothing is stored")
    add_plan_options(parser)
    _add_summariser(parser)
    parser.add_argument("--summary", metavar="FILE", help="this text of yours as the summary; - reads standard input")
    add_flag(parser, "--add-lost", "put what the summary lost behind it")
    add_flag(parser, "--dry-run", "write the summary, and store nothing")
    add_flag(parser, "--yes", "do not ask")
    add_json(parser)
    parser = add_command(
        commands, "continue", "cli.continuing:run_continue", "start a new session from a summary of another"
    )
    parser.add_argument("session", metavar="SESSION", help="the session to continue from")
    parser.add_argument(
        "--summary", metavar="FILE", help="this text, edited by you, as the summary; - reads standard input"
    )
    parser.add_argument("--model", "-m", metavar="MODEL", help="the model of the new session, and who summarises")
    _add_summariser(parser)
    add_flag(parser, "--dry-run", "print the summary, to be edited, and make no session")
    add_json(parser)


def _add_summariser(parser: Parser) -> None:
    add_flag(parser, "--digest", "summarise by rules, without a model")
    parser.add_argument("--api-base", metavar="URL", help="the address of a server of your own")


def add_compactions(commands: Commands[Parser]) -> None:
    """`compactions`, `undo`."""
    text = "what was summarised, what comes next, and the counters"
    parser = add_command(commands, "compactions", "cli.compactions:run_compactions", text)
    parser.add_argument("session", metavar="SESSION")
    add_plan_options(parser)
    add_json(parser)
    parser = add_command(commands, "undo", "cli.compactions:run_undo", "undo the last compaction or override")
    parser.add_argument("session", metavar="SESSION")
    which = parser.add_mutually_exclusive_group()
    add_flag(which, "--all-compactions", "undo every compaction")
    which.add_argument("--event", type=int, metavar="SEQ", help="undo this compaction or override")
    add_flag(parser, "--redo", "redo what was undone last, or --event SEQ")
    add_json(parser)


def add_snapshots(commands: Commands[Parser]) -> None:
    """`snapshots`, `restore`."""
    text = "states of the work tree from before tools changed it"
    parser = add_command(commands, "snapshots", "cli.snapshots:run_snapshot_list", text)
    parser.add_argument("session", metavar="SESSION")
    keep = "first remove all but the newest N of the repository, whichever session they belong to"
    parser.add_argument("--keep", type=count_argument, metavar="N", help=keep)
    add_json(parser)
    text = "bring such a state back, after showing what would change and asking; it can be undone"
    parser = add_command(commands, "restore", "cli.snapshots:run_restore", text)
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("seq", metavar="SEQ", nargs="?", type=int, help="which snapshot; the latest by default")
    add_flag(parser, "--remove-created", "remove the files that were created since")
    add_flag(parser, "--yes", "do not ask")
    add_flag(parser, "--json", "print JSON; without --yes only what would change")


def add_mcp(commands: Commands[Parser]) -> None:
    text = "the tools of the configured MCP servers and the tokens their definitions take"
    parser = add_command(commands, "mcp", "cli.mcp:run_mcp", text)
    parser.add_argument("--model", "-m", metavar="MODEL", help="count as this model does")
    add_json(parser)
    more = parser.add_subparsers(metavar="serve | audit", parser_class=Parser)
    text = "an MCP server on standard input and output: agents ask about their own context"
    serve = add_command(more, "serve", "cli.mcp_serve:run_mcp_serve", text)
    chosen = "the session to tell about; by default that of the agent that started the server"
    serve.add_argument("--session", metavar="SOURCE", help=chosen)
    text = "for the hooks of an agent: keep an audit of its compaction, by the hook's JSON on standard input"
    audit = add_command(more, "audit", "cli.mcp_serve:run_mcp_audit", text)
    audit.add_argument("--to", metavar="DIR", help="where audits are kept; by default `audits` in the data folder")


def add_plugins(commands: Commands[Parser]) -> None:
    text = "what installed packages add: formats, policies, stages, dialects, agents, tools, themes, hooks; what failed"
    add_json(add_command(commands, "plugins", "cli.plugins:run", text))


def add_info(commands: Commands[Parser]) -> None:
    """`tokens`, `policies`, `models`."""
    parser = add_command(commands, "tokens", "cli.info:run_tokens", "count a text")
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="- (the default) reads standard input")
    parser.add_argument("--model", "-m", metavar="MODEL", help="count as this model does")
    add_json(parser)

    parser = add_command(commands, "policies", "cli.info:run_policies", "list the policies")
    add_json(parser)
    more = parser.add_subparsers(metavar="show NAME", parser_class=Parser)
    show = add_command(more, "show", "cli.info:run_policy", "all knobs of a policy and where each value came from")
    show.add_argument("name", metavar="NAME|FILE")
    show.add_argument("--set", metavar="KNOB=VALUE", action="append", help="set one knob")
    add_json(show)

    parser = add_command(commands, "models", "cli.info:run_models", "the models that are known by name")
    add_json(parser)
    parser.set_defaults(query=[])
    more = parser.add_subparsers(metavar="show NAME | find WORDS | local", parser_class=Parser)
    add_json(add_command(more, "local", "cli.info:run_local", "servers on this machine and the models they offer"))
    show = add_command(more, "show", "cli.info:run_model", "all that is known of a model")
    show.add_argument("name", metavar="NAME")
    add_json(show)
    find = add_command(more, "find", "cli.info:run_models", "models with these words in their name")
    find.add_argument("query", metavar="WORDS", nargs="+")
    add_json(find)


def add_sessions(commands: Commands[Parser]) -> None:
    parser = add_command(commands, "sessions", "cli.sessions:run_session_list", "the sessions, the last changed first")
    parser.add_argument("--limit", type=count_argument, metavar="N", help="at most so many")
    parser.add_argument("--query", help="a part of the title")
    add_flag(parser, "--here", "those of this folder alone")
    add_json(parser)
    more = parser.add_subparsers(metavar="rename | fork | delete | search | recover", parser_class=Parser)
    rename = add_command(more, "rename", "cli.sessions:run_rename", "give a session another title")
    rename.add_argument("session", metavar="SESSION")
    rename.add_argument("title", metavar="TITLE")
    fork = add_command(more, "fork", "cli.sessions:run_fork", "copy a session, up to an event")
    fork.add_argument("session", metavar="SESSION")
    fork.add_argument("--at", type=int, metavar="SEQ", help="the last event of the copy; all by default")
    delete = add_command(more, "delete", "cli.sessions:run_delete", "delete a session as a whole, after asking")
    delete.add_argument("session", metavar="SESSION")
    add_flag(delete, "--yes", "do not ask")
    search = add_command(more, "search", "cli.sessions:run_search", "find events by their words")
    search.add_argument("words", metavar="WORDS", nargs="+")
    search.add_argument("--session", metavar="SESSION", help="in this session alone")
    search.add_argument("--limit", type=count_argument, metavar="N", default=50, help="at most so many (50)")
    add_json(search)
    text = "get what can be read out of a damaged store into a new one, and keep a copy of the damaged file"
    recover = add_command(more, "recover", "cli.recover:run_recover", text)
    recover.add_argument("file", metavar="FILE", nargs="?", help="the damaged store; your own by default")
    made = "make the new store here and change nothing else; by default it takes the place of the damaged one"
    recover.add_argument("--output", "-o", metavar="FILE", help=made)
    add_json(recover)
