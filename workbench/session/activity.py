"""Following whichever session of this folder is active. Runs in the session's thread.

A session is active if it changed last. The screen changes over to it once the present one has been quiet for a moment,
unless the user is busy with the present one, or wants to stay with it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from workbench.config.background import in_background
from workbench.config.errors import Refused, WorkbenchError
from workbench.config.folders import work_folder
from workbench.config.text import printable
from workbench.live.finder import AgentSession
from workbench.session.current import CurrentSession
from workbench.session.observable import Notice, ObservableSession
from workbench.session.open_session import OpenSession
from workbench.sources.all_agents import sessions_here
from workbench.sources.services import Services
from workbench.views.values import WatchedSession

QUIET = 3_000
"""Milliseconds without a change after which another session may take the place of the present one."""
PAST = "you look at a past request"
YOURS = "you went on in this one"
WORKING = "the model works here"
NOT_FOLLOWING = "`workbench watch` without a name follows the active session; here nothing else is opened by itself"


def session_to_follow(found: Sequence[AgentSession], ref: str, now: int) -> AgentSession | None:
    """The session to change over to; None: stay.

    `found`: the sessions of the folder, the last changed first. `ref`: the present one. `now`: milliseconds since 1970.
    """
    if not found or found[0].ref == ref:
        return None
    present = next((each.modified for each in found if each.ref == ref), 0)
    return found[0] if now - present >= QUIET else None


def words_for_session(session: AgentSession) -> str:
    """A session in a few words: its agent, and its title."""
    return printable(" · ".join(filter(None, (session.agent, session.title))))


class ActivityFollower:
    """Says which session is active, and changes over to it."""

    def __init__(self, services: Services, updates: ObservableSession, current: CurrentSession) -> None:
        self._services = services
        self._updates = updates
        self._current = current
        self._ref = ""
        """The session that is followed; empty before the first look."""
        self._name = ""
        self._changed = 0
        """When it changed last, in milliseconds since 1970."""
        self._pinned = False
        self._broken: AgentSession | None = None
        """One that could not be opened. It is tried again when it has changed."""

    async def find_active(self, hindrance: str = "") -> AgentSession | None:
        """Look for the active session; returns it if it is time to change over to it.

        `hindrance`: what the user does on the screen that must not be interrupted; empty: nothing.
        """
        opened = await self._current.wait_until_open()
        self._note_opened(opened)
        found = await in_background(sessions_here, self._services, work_folder().path, self._changed)
        present = next((each for each in found if each.ref == self._ref), None)
        if present is not None:
            self._changed, self._name = present.modified, words_for_session(present)
        other = session_to_follow(found, self._ref, time.time_ns() // 1_000_000)
        if other == self._broken:
            other = None
        why_not = hindrance or self._hindrance(opened)
        self._show(other, why_not)
        return other if other is not None and not self._pinned and not why_not else None

    async def change_over(self, to: AgentSession) -> None:
        """Open another session and follow it."""
        try:
            await self._current.open(to.ref)
        except WorkbenchError:
            self._broken = to
            raise
        if self._current.require_open().ref:
            self._current.outside.follow(True)
        self._ref, self._name, self._changed = to.ref, words_for_session(to), to.modified
        self._show(None, "")
        self._updates.show_notice(Notice(f"now following {self._name}: it changed last in this folder"))

    def toggle_pin(self) -> None:
        """Stay with the present session, or follow the active one again."""
        if not self._ref:
            raise Refused(NOT_FOLLOWING)
        self._pinned = not self._pinned
        self._show(None, "")

    def _note_opened(self, opened: OpenSession) -> None:
        """If the user has opened another session, stay with that one."""
        ref = opened.identity
        if ref != self._ref:
            self._pinned = self._pinned or bool(self._ref)
            self._ref, self._name, self._changed = ref, printable(opened.name), 0

    def _hindrance(self, opened: OpenSession) -> str:
        """Why the present session must stay on the screen; empty: it need not."""
        if self._current.turns.busy or self._current.compactions.busy:
            return WORKING
        if opened.session is not None and opened.session.is_writer:
            return YOURS
        newest = opened.recorded.newest if opened.recorded is not None else None
        return "" if self._current.travel.place(opened) in (None, newest) else PAST

    def _show(self, other: AgentSession | None, why_not: str) -> None:
        waiting = words_for_session(other) if other is not None else ""
        self._updates.change_state(
            watched=WatchedSession(self._name, self._pinned, waiting, why_not if waiting else "")
        )
