"""Answers that are still coming in, stored next to the log: a program that is killed loses a second of one at most.

The log gets an answer once, when it is complete; its draft is deleted in the same transaction. A draft that is left
belongs to a program that was killed: the next writer of the session appends it to the log first, marked as cut short.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from workbench.config.text import without_surrogates
from workbench.log.errors import expect
from workbench.log.events import AssistantMessage, Body, Reasoning


class Draft(NamedTuple):
    """What came of a reply since the draft before."""

    reply: str
    model: str
    thinking: str
    text: str


def store_draft(db: sqlite3.Connection, session: int, draft: Draft) -> None:
    """Store a draft. A session has one reply at a time: drafts of another reply are deleted."""
    db.execute("DELETE FROM drafts WHERE session = ? AND reply != ?", (session, draft.reply))
    values = (session, *map(without_surrogates, draft))
    db.execute("INSERT INTO drafts(session, reply, model, thinking, text) VALUES(?, ?, ?, ?, ?)", values)


def drop_drafts(db: sqlite3.Connection, session: int) -> None:
    """Delete the drafts of a session, because the answer is in the log."""
    db.execute("DELETE FROM drafts WHERE session = ?", (session,))


def sessions_with_drafts(db: sqlite3.Connection) -> list[str]:
    found = db.execute("SELECT DISTINCT sessions.id FROM drafts JOIN sessions ON sessions.key = drafts.session")
    return [name for (name,) in found]


def draft_events(db: sqlite3.Connection, session: int) -> list[Body]:
    """The drafts of an unfinished answer, as events; empty if there are none."""
    sql = "SELECT reply, model, thinking, text FROM drafts WHERE session = ? ORDER BY key"
    found = [Draft(*row) for row in db.execute(sql, (session,))]
    if not found:
        return []
    for draft in found:
        expect(draft, str, str, str, str)
    reply, model, _, _ = found[-1]
    thinking = "".join(draft.thinking for draft in found)
    message = AssistantMessage("".join(draft.text for draft in found), reply, "", "killed", model)
    return [Reasoning(thinking, reply), message] if thinking else [message]
