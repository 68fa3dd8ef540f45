"""The arguments of the commands for other agents: watch, proxy, replay, lab and their relatives."""

from __future__ import annotations

import argparse

from workbench.cli.arguments import (
    Commands,
    Parser,
    add_budget,
    add_command,
    add_flag,
    add_json,
    add_notify,
    add_plan_options,
    count_argument,
    day_argument,
    dollars_argument,
    percent_argument,
    whole_argument,
)

_SEND_KEY = "send the provider's key to the address of --to; without it, a key goes to the provider alone"
USAGE_DIMENSIONS = ("day", "week", "model", "folder", "agent", "session", "tool")


def add_watch(commands: Commands[Parser]) -> None:
    text = "open the session of another agent on the full screen, and follow it while it grows"
    parser = add_command(commands, "watch", "cli.watch:run_watch", text)
    wanted = "an agent, the id of a session, or a file; by default whichever session of this folder is active"
    parser.add_argument("wanted", metavar="AGENT|FILE|ID", nargs="?", default="", help=wanted)
    every = "a lane for each agent that runs on this machine: window, last tool, cost, held requests; Enter opens one"
    add_flag(parser, "--all", every)
    add_plan_options(parser)
    how = parser.add_mutually_exclusive_group()
    add_notify(how)
    add_flag(how, "--json", "no screen: print a line of JSON for every change")


def add_usage(commands: Commands[Parser]) -> None:
    text = "what the agents on this machine used and cost: by day, week, model, folder, agent, session or tool"
    parser = add_command(commands, "usage", "cli.usage:run_usage", text)
    wanted = "an agent, the id of a session, or a file; all agents and sessions by default"
    parser.add_argument("source", metavar="AGENT|FILE|ID", nargs="?", default="", help=wanted)
    parser.add_argument("--by", choices=USAGE_DIMENSIONS, default="day", help="a line for each of these (day)")
    since = "from this day on: a date such as 2026-11-01, or a number of days or weeks, as 7d or 2w"
    parser.add_argument("--since", metavar="DATE|7d", type=day_argument, help=since)
    waste = "add what the sessions carried and no longer needed; the first time, each is read whole"
    add_flag(parser, "--waste", waste)
    how = parser.add_mutually_exclusive_group()
    add_json(how)
    add_flag(how, "--csv", "print CSV, for a spreadsheet")


def add_replay(commands: Commands[Parser]) -> None:
    text = "send a recorded request again, unchanged or changed, and compare the answers"
    parser = add_command(commands, "replay", "cli.replay:run_replay", text)
    _add_request(parser)
    add_plan_options(parser, "to this model, which speaks the same dialect")
    what = "leave this out: an event or a range of them, or a path such as messages.7.2; any number of times"
    parser.add_argument("--exclude", metavar="SEQ|PATH", action="append", help=what)
    mask = "put a marker, or a text, in the place of this; any number of times"
    parser.add_argument("--mask", metavar="SEQ|PATH[=TEXT]", action="append", help=mask)
    where = "where it goes: an address, or rehearsal; by default to the provider of its dialect"
    parser.add_argument("--to", default="", metavar="URL", help=where)
    add_flag(parser, "--send-key", _SEND_KEY)
    parser.add_argument("-n", type=int, default=1, metavar="K", help="so many times (1)")
    add_flag(parser, "--yes", "do not ask what it may cost")
    add_json(parser)


def _add_request(parser: Parser) -> None:
    """The recorded request that is sent again."""
    parser.add_argument("source", metavar="SOURCE", help="a session or a file that holds requests whole")
    which = "the N-th request, as `workbench requests` lists them; the last one by default"
    parser.add_argument("--at", type=int, metavar="N", help=which)


def add_explain(commands: Commands[Parser]) -> None:
    text = "what the answer to a recorded request depended on: send it again with items left out"
    parser = add_command(commands, "explain", "cli.explain:run_explain", text)
    _add_request(parser)
    what = parser.add_mutually_exclusive_group()
    add_flag(what, "--items", "look at each item alone (the default)")
    add_flag(what, "--groups", "look at the messages of an iteration, all tools and the system prompt as one unit each")
    most = "spend at most so many dollars (1.00)"
    parser.add_argument("--budget", metavar="DOLLARS", type=dollars_argument, default=1.0, help=most)
    parser.add_argument("--requests", metavar="N", type=count_argument, default=200, help="send at most N (200)")
    tries = "send the unchanged request so often, and confirm each finding with as many answers (3)"
    parser.add_argument("--tries", metavar="N", type=count_argument, default=3, help=tries)
    alike = "a text with this share of the same words is the same answer (90%%)"
    parser.add_argument("--alike", metavar="PERCENT", type=percent_argument, default=0.9, help=alike)
    method = "search by halving, or by random subsets with a sparse fit, which takes more requests (halving)"
    parser.add_argument("--method", choices=("halving", "subsets"), default="halving", help=method)
    parser.add_argument("--model", "-m", metavar="MODEL", help="ask this model, which speaks the same dialect")
    where = (
        "where it goes: an address, rehearsal, or local: the embedded model, which says how likely it finds the "
        "recorded answer; by default to the provider of its dialect"
    )
    parser.add_argument("--to", default="", metavar="URL", help=where)
    add_flag(parser, "--send-key", _SEND_KEY)
    add_flag(parser, "--fresh", "ask again for answers that are kept from before")
    add_flag(parser, "--yes", "do not ask what it may cost")
    add_json(parser)


def add_lab(commands: Commands[Parser]) -> None:
    text = "whole sessions under every policy: tokens, cost, and what the model would have missed"
    parser = add_command(commands, "lab", "cli.lab:run_lab", text)
    _add_corpus(parser)
    policy = "only under this one, `recorded` for what was sent; any number of times; all presets by default"
    parser.add_argument("--policy", metavar="NAME|FILE", action="append", dest="policies", help=policy)
    add_budget(parser)
    asked = "ask the model for the summaries of compactions, instead of taking the digest; says first what it may cost"
    add_flag(parser, "--summarise", asked)
    add_flag(parser, "--yes", "with --summarise: do not ask what it may cost")
    known = "ask N questions about the session, by rule: how many does the last request still answer?"
    parser.add_argument("--judge", metavar="N", type=count_argument, help=known)
    how = parser.add_mutually_exclusive_group()
    add_json(how)
    how.add_argument("--csv", metavar="FILE", help="write a line per session and policy (-: to standard output)")
    how.add_argument("--html", metavar="FILE", help="write a page with a picture per session, which needs nothing else")
    how.add_argument("--parquet", metavar="FILE", help="write a row per session and policy, with its requests")


def add_judge(commands: Commands[Parser]) -> None:
    text = "was a summary good enough? a model answers questions about what it replaced"
    parser = add_command(commands, "judge", "cli.judge:run_judge", text)
    parser.add_argument("source", metavar="SOURCE", help="a session or a file (FILE#2: a conversation of one)")
    which = parser.add_mutually_exclusive_group()
    made = "a compaction in the log: its place, from 1, or its event; the last one by default"
    which.add_argument("--compaction", metavar="N", type=count_argument, help=made)
    policy = "the context after compacting now under this one, `recorded` for all of it; any number of times"
    which.add_argument("--policy", metavar="NAME|FILE", action="append", dest="policies", help=policy)
    add_budget(parser, "the model that answers; by default yours, or rehearsal, which needs no key")
    parser.add_argument("--judge", metavar="MODEL", help="the model that grades what no rule can; by default the same")
    parser.add_argument("--probes", metavar="N", type=count_argument, default=20, help="so many questions (20)")
    parser.add_argument("--tries", metavar="N", type=count_argument, default=3, help="ask each so often (3)")
    limit = "stop before it costs more than this (1)"
    parser.add_argument("--budget", metavar="DOLLARS", type=dollars_argument, default=1.0, help=limit)
    add_flag(parser, "--summarise", "with --policy: the model writes the summaries, instead of the digest")
    grade = "your own grade for an answer: right, partly or wrong; it replaces all others, also in later calls"
    parser.add_argument("--grade", metavar="PROBE[@CONTEXT]=GRADE", action="append", help=grade)
    parser.add_argument("--why", metavar="TEXT", default="", help="with --grade: the reason, for the record")
    add_flag(parser, "--yes", "do not ask what it may cost")
    add_json(parser)


def add_waste(commands: Commands[Parser]) -> None:
    text = "what a session carries and no longer needs: read again, overwritten, failed and retried, defined twice"
    parser = add_command(commands, "waste", "cli.waste:run_waste", text)
    parser.add_argument("source", metavar="SOURCE", help="a session or a file (FILE#2: a conversation of one)")
    parser.add_argument("--model", "-m", metavar="MODEL", help="count and price as for this model")
    add_json(parser)


def add_check(commands: Commands[Parser]) -> None:
    text = "hold sessions to limits, for CI: exit code 1 if one is over a limit"
    parser = add_command(commands, "check", "cli.check:run_check", text)
    _add_corpus(parser)
    largest = "the largest request has at most N tokens"
    parser.add_argument("--max-tokens", metavar="N", type=whole_argument, help=largest)
    share = "the largest request takes at most this share of the window, as in 80%%"
    parser.add_argument("--max-share", metavar="PERCENT", type=percent_argument, help=share)
    waste = "at most this share of all input tokens is waste, as `workbench waste` finds it"
    parser.add_argument("--max-waste", metavar="PERCENT", type=percent_argument, help=waste)
    cost = "a session costs at most so many dollars"
    parser.add_argument("--max-cost", metavar="DOLLARS", type=dollars_argument, help=cost)
    misses = "at most N facts were needed and gone, as `workbench lab` counts them"
    parser.add_argument("--max-misses", metavar="N", type=whole_argument, help=misses)
    add_flag(parser, "--strict", "count a figure that is not known as over its limit")
    policy = "check what this policy would have sent, instead of what was sent"
    parser.add_argument("--policy", metavar="NAME|FILE", help=policy)
    add_budget(parser)
    add_json(parser)


def add_tune(commands: Commands[Parser]) -> None:
    text = "search the knobs for the policy that does best on your sessions (needs the extra `tune`)"
    parser = add_command(commands, "tune", "cli.tune:run_tune", text)
    _add_corpus(parser)
    goal = (
        "what is to be small: arithmetic over the figures of `lab --json`, as in cost + 50*misses; words may follow "
        "that limit misses (cost subject to misses no worse than the base)"
    )
    parser.add_argument("--objective", metavar="EXPRESSION", help=goal)
    weigh = "sessions: all sessions weigh alike (the default); tokens: long ones weigh more"
    parser.add_argument("--weigh", choices=("sessions", "tokens"), default="sessions", help=weigh)
    parser.add_argument(
        "--budget", metavar="N", type=count_argument, default=60, help="policies to try, presets included (60)"
    )
    knob = "search this knob, as in masking.keep_last=0..10 or truncation.strategy=head,both; any number of times"
    parser.add_argument("--knob", metavar="KNOB=RANGE", action="append", help=knob)
    held = "about this share of the sessions is not used in the search, but to measure the result (0.3)"
    parser.add_argument("--hold-out", metavar="SHARE", type=float, default=0.3, help=held)
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="another one searches in another order (0)")
    seeds = "search with so many seeds, to see whether they end at the same policy (1); each takes the whole budget"
    parser.add_argument("--seeds", metavar="N", type=count_argument, default=1, help=seeds)
    add_plan_options(parser)
    written = "write the best as a policy file; by default it is printed"
    parser.add_argument("--output", "-o", metavar="FILE", help=written)
    add_flag(parser, "--force", "overwrite an existing file")
    add_json(parser)


def _add_corpus(parser: Parser) -> None:
    """The sources to replay, and the processes that do it."""
    what = (
        "sessions, files (FILE#2: a conversation of one), folders, patterns, addresses such as s3://bucket/*.jsonl; "
        "agents: the sessions of all agents here; sessions: all of Workbench's own; -: a list on standard input"
    )
    parser.add_argument("sources", metavar="SOURCE", nargs="+", help=what)
    parser.add_argument(
        "--jobs", metavar="N", type=count_argument, default=0, help="processes; one per core by default"
    )
    cluster = (
        "the address of a Dask scheduler, whose workers do it; local: Dask on this machine; none: processes without "
        "Dask; by default local where there is much to do and Dask is installed"
    )
    parser.add_argument("--cluster", metavar="ADDRESS", default="", help=cluster)
    add_flag(parser, "--fresh", "replay what is kept from before, too")


def add_rehearse(commands: Commands[Parser]) -> None:
    parser = add_command(commands, "rehearse", "cli.rehearse:run_rehearse", "serve the rehearsal model over HTTP")
    parser.add_argument("--port", type=int, default=8765, metavar="N", help="on 127.0.0.1 (8765); 0: a free one")
    parser.add_argument("--script", metavar="FILE", help="steps to play, TOML or JSON lines; then the rules answer")
    parser.add_argument("--speed", type=float, metavar="C", help="characters per second; 0: at once (the default)")


def add_proxy(commands: Commands[Parser]) -> None:
    text = "stand between an agent and its model: pass requests on, and record them"
    parser = add_command(commands, "proxy", "cli.proxy:run_proxy", text)
    parser.add_argument("--port", type=int, default=0, metavar="N", help="on 127.0.0.1; a free one by default")
    where = "where requests go: an address, or rehearsal; by default to the provider that each is meant for"
    parser.add_argument("--to", default="", metavar="URL", help=where)
    policy = "mask and cut results of tools on the way as this policy does; by default requests pass as they are"
    parser.add_argument("--policy", metavar="NAME|FILE", help=policy)
    parser.add_argument("--set", metavar="KNOB=VALUE", action="append", help="set one knob of that policy")
    add_flag(parser, "--no-record", "pass requests on and store nothing")
    spans = "send each request with its answer to a collector, as a span of OpenTelemetry"
    parser.add_argument("--otlp", default="", metavar="URL", help=spans)
    rule = "hold what this names: every, tokens>N, share>N, tool:NAME, text:WORDS, agent:NAME, error; repeatable"
    parser.add_argument("--break", action="append", default=[], dest="rules", metavar="RULE", help=rule)
    tls = "a forward proxy, for agents that take no other address: opens connections to the hosts of providers"
    add_flag(parser, "--tls", tls)
    host = "open connections to this host, too; repeatable"
    parser.add_argument("--tls-host", action="append", default=[], metavar="HOST[:PORT]", help=host)
    add_flag(parser, "--tls-remove", "delete the certificate authority that --tls made, and end")
    add_flag(parser, "--json", "print the address and the dialects as a line of JSON")
    run = "an agent to start with the right settings, as in -- claude; the proxy ends with it"
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help=run)
    add_policy(commands)
    add_held(commands)


def add_policy(commands: Commands[Parser]) -> None:
    text = (
        "what the sessions of the proxies that run are sent under; set it for one of them, after what it would change"
    )
    parser = add_command(commands, "policy", "cli.policy:run_proxy_policy", text)
    parser.add_argument("session", metavar="SESSION", nargs="?", help="one that passes a proxy; all of them by default")
    name = "send it under this policy from its next request on; off: as it is; default: as the proxy does with others"
    parser.add_argument("name", metavar="NAME|FILE|off|default", nargs="?", help=name)
    parser.add_argument("--set", metavar="KNOB=VALUE", action="append", help="set one knob of that policy")
    add_flag(parser, "--undo", "undo the last batch that was masked, with the next one")
    add_flag(parser, "--dry-run", "print what it would change, and change nothing")
    add_json(parser)


def add_held(commands: Commands[Parser]) -> None:
    """`break`, `held`, `release`."""
    parser = add_command(commands, "break", "cli.held:run_break", "list or set the breakpoints of the proxies that run")
    parser.add_argument(
        "rules",
        nargs="*",
        metavar="RULE",
        help="breakpoints to add, as for proxy --break; without any, they are listed",
    )
    add_flag(parser, "--clear", "remove the existing ones first")
    add_json(parser)
    parser = add_command(commands, "held", "cli.held:run_held", "list the requests that wait at a breakpoint")
    parser.add_argument("id", nargs="?", metavar="ID", help="this one, with its items; with --json its body")
    add_json(parser)
    parser = add_command(commands, "release", "cli.held:run_release", "let a request go on that waits at a breakpoint")
    parser.add_argument("id", metavar="ID", help="as held lists it; its last number is enough where only one has it")
    how = parser.add_mutually_exclusive_group()
    add_flag(how, "--as-it-was", "unchanged (the default)")
    how.add_argument("--answer", metavar="TEXT", help="send nothing, and answer with this text")
    how.add_argument("--body", metavar="FILE", help="send this JSON in its place; - reads standard input")
    pin = "no policy on the way masks or cuts this result from now on; its path, as held ID lists it; repeatable"
    parser.add_argument("--pin", action="append", default=[], metavar="PATH", help=pin)


def add_agents(commands: Commands[Parser]) -> None:
    """`agents`, `status`."""
    text = "the sessions of all agents on this machine, those that passed the proxy too, the last changed first"
    parser = add_command(commands, "agents", "cli.agents:run_agents", text)
    parser.add_argument(
        "words", metavar="WORDS", nargs="*", help="those with these words in agent, folder, title or model"
    )
    where = parser.add_mutually_exclusive_group()
    add_flag(where, "--here", "those of this folder alone")
    where.add_argument("--folder", metavar="DIR", help="those of this folder alone")
    add_flag(parser, "--running", "those alone that are running")
    parser.add_argument("--limit", type=count_argument, metavar="N", default=30, help="at most so many (30)")
    add_json(parser)
    text = "a line for each agent that runs, for status bars and scripts; nothing where none does"
    parser = add_command(commands, "status", "cli.status:run_status", text)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("file", metavar="FILE", nargs="?", default="", help="the session in this file, running or not")
    add_flag(which, "--here", "the agents in this folder alone")
    add_flag(which, "--claude-code", "the session that Claude Code describes on standard input, for its status line")
    add_flag(parser, "--follow", "print again whenever something has changed")
    add_json(parser)
