"""An audit of an agent's compaction, kept in a file: what was in the context before, and what the summary lost.

The hooks of an agent make it: one before the compaction begins the file, one after it adds the summary and the audit.
At that time Claude Code has not written the summary into its transcript yet, but gives it to the hook; Codex has.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from workbench.compaction.record import CompactionDetails, CompactionEntry, read_record
from workbench.config.errors import WrongCall
from workbench.config.foreign_files import read_regular_file
from workbench.config.text import SCHEMA, counted, printable, utf8_json
from workbench.config.writing import replace_file
from workbench.log.events import Compaction, Event
from workbench.mcp_server.answers import brief_text
from workbench.mcp_server.asked_context import AskedContext, read_asked_context
from workbench.mcp_server.removals import audit_compaction
from workbench.sources.services import Services
from workbench.views.compaction_values import PastAudit

MOST_ITEMS = 5_000
MOST_FILE = 50_000_000
"""Bytes of an audit that is read again."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
TOOLS = "workbench's tools what_was_removed, find and recall"


def answer_hook(services: Services, given: Mapping[str, Any], folder: Path) -> str:
    """Do what a hook is for, and return what it prints: something for the agent, or nothing. Raises WorkbenchError.

    `given`: what the agent passes to the hook. `folder`: where audits are kept.
    """
    match given.get("hook_event_name"):
        case "PreCompact":
            begin_audit(services, given, folder)
            return ""  # Claude Code takes what is printed here for instructions to its summariser
        case "PostCompact":
            finish_audit(services, given, folder)
            return ""
        case "SessionStart" if given.get("source") == "compact":
            return _words(finish_audit(services, given, folder))
        case "SessionStart":
            return ""
    raise WrongCall("expected the input of a PreCompact, PostCompact or SessionStart hook")


def begin_audit(services: Services, given: Mapping[str, Any], folder: Path) -> Path:
    """Write down what is in the context before a compaction."""
    asked = _read(services, given)
    plan, now = asked.plan, time.time_ns() // 1_000_000
    rows = [row for row in plan.items if row.in_request]
    audit = {
        "schema": SCHEMA,
        "agent": asked.session.agent if asked.session else None,
        "session": _session(given),
        "transcript": given["transcript_path"],
        "trigger": given.get("trigger") if isinstance(given.get("trigger"), str) else None,
        "at": now,
        "earlier": len(read_record(asked.source.events).entries),
        "model": plan.model or None,
        "tokens": plan.size,
        "window": plan.limits.window,
        "items": [
            {"event": row.seq, "who": row.who, "kind": row.kind, "tokens": row.tokens, "text": brief_text(row.original)}
            for row in rows[:MOST_ITEMS]
        ],
        "compaction": None,
    }
    path = folder / f"{_file_name(_session(given))}-{now}.json"
    _write(path, audit)
    return path


def finish_audit(services: Services, given: Mapping[str, Any], folder: Path) -> tuple[Path, dict[str, Any]] | None:
    """Add the summary and what it lost to the last audit of a session; None if none was begun."""
    found = _last_audit(folder, _session(given))
    if found is None or found[1].get("compaction") is not None:
        return found
    path, audit = found
    asked = _read(services, given)
    earlier, events = audit.get("earlier"), asked.source.events
    made, summary = read_record(events).entries, given.get("compact_summary")
    if isinstance(earlier, int) and len(made) > earlier:
        entry, log = made[-1], list(events)
    elif isinstance(summary, str) and summary.strip():
        body = Compaction(1, len(events), summary)
        event = Event(len(events) + 1, f"e{len(events) + 1:05d}", 0, body)
        entry, log = CompactionEntry(event, "standing", None, CompactionDetails()), [*events, event]
    else:
        return found
    checked = audit_compaction(services, asked.source, log, entry)
    assert isinstance(entry.event.body, Compaction)
    audit["compaction"] = {"at": time.time_ns() // 1_000_000, "summary": entry.event.body.summary, **_lost(checked)}
    _write(path, audit)
    return path, audit


def _lost(checked: PastAudit | str) -> dict[str, Any]:
    if isinstance(checked, str):
        return {"facts_kept": None, "lost": None, "why": checked}
    facts = (*checked.lost, *checked.forgotten)
    lost = [{"kind": fact.kind, "text": fact.text, "event": checked.seqs.get(fact.event)} for fact in facts]
    return {"facts_kept": checked.kept, "lost": lost, "why": None}


def _words(found: tuple[Path, dict[str, Any]] | None) -> str:
    """For the agent, which reads it after the compaction."""
    if found is None:
        return ""
    path, audit = found
    items, tokens = audit.get("items"), audit.get("tokens")
    size = f"{tokens:,} tokens in {counted(len(items), 'item')}" if isinstance(items, list) else "its items"
    lines = [f"This context was compacted. Before that it had {size}; {printable(str(path))} lists them."]
    lost = dict(audit.get("compaction") or {}).get("lost")
    if lost:
        lines.append(f"The summary lacks {counted(len(lost), 'fact')} that rules found in it.")
    lines.append(f"What is missing can be read again with {TOOLS}.")
    return " ".join(lines)


def _read(services: Services, given: Mapping[str, Any]) -> AskedContext:
    path = given.get("transcript_path")
    if not isinstance(path, str) or not path:
        raise WrongCall("expected an object with a transcript_path")
    session = services.agents.session_at(path)
    return read_asked_context(services, path if session is None else session.ref, session)


def _session(given: Mapping[str, Any]) -> str:
    return str(given.get("session_id") or Path(str(given.get("transcript_path"))).stem)


def _file_name(session: str) -> str:
    return session if _NAME.fullmatch(session) else sha256(session.encode("utf-8", "replace")).hexdigest()[:32]


def _last_audit(folder: Path, session: str) -> tuple[Path, dict[str, Any]] | None:
    paths = sorted(folder.glob(f"{_file_name(session)}-*.json"))
    if not paths:
        return None
    try:
        audit = json.loads(read_regular_file(paths[-1], MOST_FILE))
    except (OSError, ValueError, RecursionError):
        return None
    return (paths[-1], audit) if isinstance(audit, dict) else None


def _write(path: Path, audit: Mapping[str, Any]) -> None:
    try:
        replace_file(path, utf8_json(json.dumps(audit, ensure_ascii=False, indent=2) + "\n"))
    except OSError as error:
        raise WrongCall(f"{path}: cannot be written: {error.strerror or error}") from None
