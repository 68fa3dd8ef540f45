"""What other processes write to the open session or file, shown as it comes. Runs in the session's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from workbench.config.background import in_background
from workbench.config.errors import Refused, WorkbenchError
from workbench.config.values import replace
from workbench.session import opening
from workbench.session.following import CHECK_SECONDS, Follower, follow_file, follow_session, is_running
from workbench.session.observable import Notice, ObservableSession
from workbench.session.open_session import OpenSession
from workbench.sources.services import Services
from workbench.views.values import FOLLOWING

LOOK_AT_STORE = 1.0
"""Seconds between two checks of a session that another process writes."""
OTHER_ENDED = Notice("the other process has ended; you can write here now")


class ShownSession(Protocol):
    """What is on the screen, and can be shown again."""

    def require_open(self) -> OpenSession: ...

    async def wait_until_open(self) -> OpenSession: ...

    async def show_new_contents(self, made: OpenSession) -> bool: ...

    def start_side_task(self, work: Coroutine[Any, Any, None]) -> object: ...

    def publish(self) -> None: ...


class OutsideChanges:
    """Reads the open session or file again when another process has written it."""

    def __init__(self, services: Services, updates: ObservableSession, current: ShownSession) -> None:
        self._services = services
        self._updates = updates
        self._current = current
        self._follower: Follower | None = None
        """Follows the open file or session; None: it is not followed."""

    def stop_following(self) -> None:
        self._follower = None

    async def watch_session(self, opened: OpenSession) -> None:
        """Show what other processes append to a session, until the user writes in it. Takes no lock."""
        session = opened.session
        assert session is not None
        if opened.recorded is not None:  # through the proxy; read again to calibrate with its new reports
            self._follower = follow_session(self._services.store, session.id, len(opened.events))
            await self._follow(session.id, self._follower)
            return
        why_not = opened.why_read_only
        while not session.is_writer:
            with suppress(WorkbenchError):
                session.finish_left_draft()
                if opened.refresh():
                    self._current.publish()
                why_not = self._show_writer(opened, why_not)
            await asyncio.sleep(LOOK_AT_STORE)

    def _show_writer(self, opened: OpenSession, before: str) -> str:
        """Show that another process began or ended to write the session; returns why it is read-only now.

        `before`: why it was read-only at the last look.
        """
        now = opened.why_read_only
        if now != before:
            self._current.publish()
        if before and not now:
            self._updates.show_notice(OTHER_ENDED)
        return now

    def follow(self, on: bool | None = None) -> None:
        """Read the file again whenever it changes, or stop that; None: toggle. Raises Refused for a session."""
        ref = self._current.require_open().ref
        if not ref:
            raise Refused("only the file of another agent can be followed")
        wanted = self._follower is None if on is None else on
        if wanted == (self._follower is not None):
            return
        self._follower = follow_file(ref) if wanted else None
        self._updates.change_state(following=FOLLOWING if wanted else "")
        if self._follower is not None:
            self._current.start_side_task(self._follow(ref, self._follower))

    async def follow_if_running(self, opened: OpenSession) -> None:
        if await in_background(is_running, self._services, opened.ref):
            self.follow(True)

    async def _follow(self, ref: str, file: Follower) -> None:
        why_not = (await self._current.wait_until_open()).why_read_only
        while self._follower is file:
            options = replace((await self._current.wait_until_open()).asked, follow=True)
            found = await in_background(
                file.read_if_changed, partial(opening.open_source, self._services, options, ref)
            )
            if self._follower is file:
                if found.read is not None and not await self._current.show_new_contents(found.read):
                    file.forget()
                opened = await self._current.wait_until_open()
                self._show_following(found.sign, opened)
                why_not = self._show_writer(opened, why_not)
                await asyncio.sleep(CHECK_SECONDS)

    def _show_following(self, sign: str, opened: OpenSession) -> None:
        """Show how the file or session is followed. Stop when the user writes in the session."""
        session = opened.session
        if session is not None and session.is_writer:
            self._follower = None
        is_written = session is None or (session.is_written and not session.is_writer)
        self._updates.change_state(following=sign if is_written else "")
