"""Where a message goes: to the open session, one that is being opened, or one made from a file.

Runs in the session's thread.
"""

from __future__ import annotations

from functools import partial

from workbench.config.background import in_background
from workbench.config.errors import Refused
from workbench.session import opening
from workbench.session.adopting import adoption_changes
from workbench.session.current import CurrentSession
from workbench.session.observable import ObservableSession
from workbench.session.open_session import OpenSession
from workbench.session.questions import NoSessionWanted, make_session
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.views.values import Activity

MEANWHILE = "the message is in the input: something else was opened before it was sent"
ASKED = "the message is in the input; first answer the question about the one before"


class MessagePlace:
    """Finds the session for a message."""

    def __init__(
        self, services: Services, options: Options, updates: ObservableSession, current: CurrentSession
    ) -> None:
        self._services = services
        self._options = options
        self._updates = updates
        self._current = current
        self.held = 0
        """How many calls of the session model wait for an answer of the user."""

    async def session_for(self, text: str) -> OpenSession | None:
        """The session for a message; None: it was withdrawn. Raises Refused if it cannot be sent there."""
        current = self._current
        early = current.opening.locked()
        if early:
            current.early.append(text)
            self._updates.change_state(queue=tuple(current.early))
        async with current.opening:  # a message that is sent meanwhile goes to the session that is being opened
            if early and not self.withdraw_early(text):
                return None
            opened = current.require_open()
        if opened.session is None:
            await self._make_session_for_message(opened)
        if not current.turns.busy:  # else a turn may need the answer, and the message waits with it
            current.compactions.decline_question()
        return current.writable()

    def withdraw_early(self, text: str) -> bool:
        """Remove a message that waits for a session to open. Return whether there was one."""
        if text not in self._current.early:
            return False
        self._current.early.remove(text)
        self._updates.change_state(queue=tuple(self._current.early))
        return True

    async def _make_session_for_message(self, opened: OpenSession) -> None:
        """Make a session of the open file if the user agrees. Raises NoSessionWanted if not, and Refused if another
        message waits for the answer, or if something else is open by then."""
        if self.held:
            raise Refused(ASKED)
        self.held += 1
        try:
            agreed = await self._may_make_session(opened)
        finally:
            self.held -= 1
        if not agreed:
            raise NoSessionWanted("the message was not sent: no session was made of the file")
        await self.make_session(opened)

    def _still_open(self, opened: OpenSession) -> OpenSession:
        """What is open: the same, or the same file with new contents. Raises Refused if something else is open now."""
        now = self._current.ready
        if now is None or (now is not opened and (not now.ref or now.ref != opened.ref)):
            raise Refused(MEANWHILE)
        return now

    async def _may_make_session(self, opened: OpenSession) -> bool:
        changes = ""
        if opened.recorded is not None:
            self._updates.change_state(activity=Activity("loading", "planning…"))
            try:
                changes = (await in_background(adoption_changes, self._services, self._options, opened)).words
            finally:
                self._updates.change_state(activity=Activity())
        self._still_open(opened)
        asked = partial(make_session, name=opened.name, changes=changes)
        answer = await self._current.turns.questions.ask_user(asked)
        self._still_open(opened)
        return answer == "yes"

    async def make_session(self, opened: OpenSession) -> None:
        """Open a session that starts as a copy of the open file. Raises Refused if something else is open by then."""
        await self._current.exchange(lambda: opening.session_of(self._services, self._still_open(opened)))
