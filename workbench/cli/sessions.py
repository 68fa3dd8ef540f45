"""`workbench import`, `export` and `sessions`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from workbench.cli.asking import require_confirmation
from workbench.cli.sources import print_masked
from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.folders import shown_folder, work_folder
from workbench.config.garbage import collector_paused
from workbench.config.output_files import STANDARD, OutputFile
from workbench.config.text import escaped_json, event_range, print_json, printable, table, utf8_json, when
from workbench.config.variables import known_keys
from workbench.lab.result_files import ResultFile
from workbench.log.events import Event, Override, Setting
from workbench.log.session import Session, SessionInfo
from workbench.log.store import Store
from workbench.sources.foreign import harmless_lines, not_applied
from workbench.sources.services import Services
from workbench.sources.source import exported_log, file_logs, names_file
from workbench.traces.formats import read_file
from workbench.traces.references import split_ref


def run_import(options: argparse.Namespace) -> int:
    """Create sessions from a file: an exported log, or a transcript."""
    with Services() as services, collector_paused():
        found = _imported(services, options)
    if options.json:
        print_json({"sessions": found})
    else:
        for entry in found:
            print(f"{entry['id']}  {entry['events']:,} events  {printable(entry['title'])}")
    return 0


def _imported(services: Services, options: argparse.Namespace) -> list[dict[str, Any]]:
    if split_ref(options.file)[1] is not None:
        return _import_messages(services.store, options.file, [services.source(options.file).events], options)
    name, content = read_file(options.file)
    text = exported_log(content)
    if text is None:
        logs = file_logs(name, content, options.file)
        del content  # as large as the file
        return _import_messages(services.store, name, logs, options)
    if options.title or options.model:
        raise WrongCall(f"{name}: an exported log keeps its own title and model; rename the session afterwards")
    return [_import_log(services.store, name, text)]


def _import_log(store: Store, name: str, text: str) -> dict[str, Any]:
    refused: list[str] = []
    with store.import_events([*harmless_lines(text.split("\n"), refused)], name) as made:
        if refused:
            failure = not_applied(refused)
            made.append(failure)
            print(printable(f"· {failure.message}"), file=sys.stderr)
        return _described(made)


def _import_messages(
    store: Store, name: str, logs: list[list[Event]], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Store conversations, all or none."""
    title = options.title or Path(name).name
    found = []
    with store.in_one_transaction():
        for number, log in enumerate(logs, 1):
            # After the log: its compactions refer to events by their position.
            more = [Setting("model", options.model)] if options.model else []
            with store.create_from(log, *more) as made:  # closed at once: each keeps a file open
                if options.title or not made.title:
                    made.append(Setting("title", title if len(logs) == 1 else f"{title}#{number}"))
                found.append(_described(made))
    return found


def _described(session: Session) -> dict[str, Any]:
    return {"id": session.id, "events": len(session), "title": session.title, "model": session.model or None}


def run_export(options: argparse.Namespace) -> int:
    """Write a session as events or as OpenAI-style messages, as a page for a browser, or its requests as spans."""
    if options.html is not None and options.otlp is not None:
        raise WrongCall("--html and --otlp: expected one of them")
    if options.html is not None:
        from workbench.cli.export_page import run_export_page  # late: the other formats need no plans

        return run_export_page(options)
    if options.request is not None:
        raise WrongCall("--request is for a page: expected --html FILE")
    if options.otlp is not None:
        from workbench.cli.export_otlp import run_export_otlp

        return run_export_otlp(options)
    from workbench.proxy.redaction import Redactor  # late: an import needs neither
    from workbench.traces.openai_messages import to_openai

    kind = options.format or "events"
    output = OutputFile(STANDARD if options.output is None else options.output)
    ResultFile(kind, output.name, "-o").check_writable()
    redactor = Redactor(known_keys()) if options.redact else None
    with Services() as services:
        session_id = _stored_session(services, options.session)
        if kind == "events":
            lines: Iterable[str] = services.store.export_events(session_id)
            _write(lines if redactor is None else map(redactor.redact_line, lines), output)
        else:
            with services.store.session(session_id, write=False) as session:
                messages = to_openai(session.events())
            made = messages if redactor is None else redactor.redact_json(messages)
            _write([json.dumps(made, ensure_ascii=False, indent=2)], output)
    if redactor is not None:
        print_masked(redactor.count)
    return 0


def _stored_session(services: Services, name: str) -> str:
    """The id of a session. The file of another agent has other forms."""
    try:
        return services.store.info(name).id
    except WorkbenchError:
        if not names_file(name):
            raise
        forms = "--html FILE for a page, or --otlp URL|FILE for spans; --format is for sessions (see workbench import)"
        raise WrongCall(f"{name}: is a file, not a session: expected {forms}") from None


def _write(lines: Iterable[str], output: OutputFile) -> None:
    """Write lines. Only a regular file gets control characters unescaped: a stream may end at a terminal."""
    if output.name == STANDARD:
        sys.stdout.writelines(f"{escaped_json(line)}\n" for line in lines)
        return
    shown = escaped_json if output.is_stream else str
    with output.writing() as file:
        file.writelines(utf8_json(f"{shown(line)}\n") for line in lines)


# workbench sessions


def run_session_list(options: argparse.Namespace) -> int:
    """List the sessions, the last changed first."""
    with Services() as services:
        here = work_folder().path if options.here else ""
        found = services.store.list(options.limit, options.query or "", here)
    if options.json:
        print_json({"sessions": [_listed(info) for info in found]})
    elif not found and options.query:
        print(f"no session has {printable(options.query)!r} in its title")
    elif not found and options.here:
        print(f"no session belongs to {printable(shown_folder(here))}; without --here, all are listed")
    elif not found:
        print("no sessions yet: `workbench import FILE` makes one of a transcript")
    else:
        rows = [
            (
                info.id,
                when(info.updated),
                f"{info.events:,}",
                info.model or "–",
                info.place or "–",
                printable(info.title) or "–",
            )
            for info in found
        ]
        print("\n".join(table(("id", "changed", "events", "model", "folder", "title"), rows, frozenset({2}))))
    return 0


def _listed(info: SessionInfo) -> dict[str, Any]:
    forked = {"session": info.forked_from[0], "seq": info.forked_from[1]} if info.forked_from else None
    found = {"model": info.model or None, "folder": info.folder or None, "branch": info.branch or None}
    return {**info._asdict(), **found, "forked_from": forked}


def run_rename(options: argparse.Namespace) -> int:
    """Give a session another title."""
    with Services() as services:
        services.store.rename(options.session, options.title)
    return 0


def run_fork(options: argparse.Namespace) -> int:
    """Copy a session up to an event."""
    with Services() as services:
        session = services.store.fork(options.session, options.at)
        print(f"{session.id}  {len(session):,} events")
    return 0


def run_delete(options: argparse.Namespace) -> int:
    """Delete a whole session, after asking."""
    with Services() as services:
        info = services.store.info(options.session)
        if not options.yes:
            what = f"session {info.id} ({printable(info.title) or 'untitled'}, {info.events:,} events)"
            unasked = f"{what} was not deleted: confirm with --yes"
            require_confirmation(f"Delete {what} for good?", declined="nothing was deleted", unasked=unasked)
        services.store.delete(info.id)
    return 0


def run_override(options: argparse.Namespace) -> int:
    """Pin, mask or exclude items, or undo that."""
    first, last = event_range(options.range)
    with Services() as services, services.store.session(options.session) as session:
        if not 1 <= first <= last <= len(session):
            raise WrongCall(f"{options.range}: expected a seq or a range of them from 1 to {len(session)}")
        [event] = session.append(Override(options.action, first, last))
        print(f"event {event.seq}: {options.action} {options.range}")
    return 0


def run_search(options: argparse.Namespace) -> int:
    """Find events by their words."""
    with Services() as services:
        hits = services.store.search(" ".join(options.words), options.session, options.limit)
    if options.json:
        print_json({"hits": [hit._asdict() for hit in hits]})
    else:
        rows = [(hit.session_id, str(hit.seq), printable(hit.title) or "–", printable(hit.snippet)) for hit in hits]
        print("\n".join(table(("session", "seq", "title", "text"), rows, frozenset({1}))) if rows else "nothing found")
    return 0
