"""The panes over the values of one session: what the session model tells comes here, and goes down to them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.reactive import var

from workbench.config.text import printable
from workbench.session.compaction_values import CompactionView
from workbench.session.context_view import ContextView
from workbench.session.model import SessionModel
from workbench.session.options import Options
from workbench.session.services import Services
from workbench.session.transcript import NOTHING
from workbench.session.updates import Notice
from workbench.session.values import Activity, DraftCost, Live, Status, Transcript, UserQuestion, Welcome
from workbench.tui.chat.pane import ChatPane
from workbench.tui.compaction.panel import CompactionPanel
from workbench.tui.inspector.pane import InspectorPane
from workbench.tui.main.header import Header
from workbench.tui.main.layout import PaneLayout
from workbench.tui.main.panes import PaneScreen
from workbench.tui.main.timeline import Timeline
from workbench.tui.main.usage import ContextOverview
from workbench.tui.widgets.command import Registry


class SessionPanes(PaneScreen):
    """Each value is there once, and whoever shows it is bound to it."""

    REGISTRY: ClassVar[Registry]
    """The commands. Whoever has them makes a class of this, with their keys."""

    session_title: var[str] = var("")
    folder: var[str] = var("")
    """Where the session belongs, and the branch that is checked out there."""
    branch: var[str] = var("")
    transcript: var[Transcript] = var(NOTHING)
    live: var[Live | None] = var(None)
    coming: var[Live | None] = var(None)
    """Of `live`, what is not in the log yet."""
    activity: var[Activity] = var(Activity("loading"))
    question: var[UserQuestion | None] = var(None)
    queue: var[tuple[str, ...]] = var(())
    draft_cost: var[DraftCost] = var(DraftCost())
    read_only: var[str] = var("")
    """Why nothing can be changed."""
    refusal: var[str] = var("")
    """Why nothing can be said. Under a file something can: it makes a session of it."""
    shown: var[ContextView | None] = var(None)
    compaction: var[CompactionView | None] = var(None)
    status: var[Status] = var(Status(ready="loading"))
    welcome: var[Welcome | None] = var(None)
    """What an empty chat shows."""
    following: var[str] = var("")
    """What is known of the file that is followed; empty: none is."""
    held: var[int] = var(0)
    """Requests of other agents that wait at a breakpoint."""

    def __init__(
        self,
        services: Services,
        options: Options,
        ref: str = "",
        *,
        warm: bool = False,
        demo: str | None = None,
        note: str = "",
    ) -> None:
        """`ref`: what to open first; nothing: this folder's last session, or a new one. `note` is told then."""
        super().__init__()
        self.services = services
        self.options = options
        self._ref = ref
        self._warm = warm
        layout = services.settings.layout
        self.set_reactive(SessionPanes.arrangement, PaneLayout(split=layout == "split" if layout else None))
        self.demo = demo
        self._note = demo or note
        self.model: SessionModel
        """There once the screen is mounted."""

    def compose(self) -> ComposeResult:
        """What is open, how full the window is, the requests so far; below, the panes."""
        yield Header().data_bind(
            SessionPanes.session_title,
            SessionPanes.folder,
            SessionPanes.branch,
            SessionPanes.read_only,
            SessionPanes.following,
            SessionPanes.held,
            arrangement=SessionPanes.fitted,
        )
        yield ContextOverview().data_bind(
            SessionPanes.shown, SessionPanes.compaction, SessionPanes.status, SessionPanes.activity
        )
        yield Timeline().data_bind(SessionPanes.shown, SessionPanes.compaction)
        with Horizontal(id="panes"):
            yield ChatPane(self.REGISTRY.complete, Path.cwd(), self._count).data_bind(
                SessionPanes.transcript,
                SessionPanes.live,
                SessionPanes.activity,
                SessionPanes.question,
                SessionPanes.queue,
                SessionPanes.draft_cost,
                SessionPanes.welcome,
                read_only=SessionPanes.refusal,
            )
            with Vertical(id="side"):
                yield InspectorPane().data_bind(SessionPanes.shown, live=SessionPanes.coming)
                yield CompactionPanel().data_bind(SessionPanes.compaction, SessionPanes.shown)

    def on_mount(self) -> None:
        """Nothing slow starts before the first frame is out."""
        self.model = SessionModel(self.services, self.options, self._show, asyncio.get_running_loop(), warm=self._warm)
        self.call_after_refresh(self.model.start, self._ref)
        if self._note:
            self.tell(self._note)

    def _count(self, text: str) -> int:
        """The tokens of a text; asked in the background."""
        return self.model.count(text)

    # Values from the model

    def _show(self, changes: Mapping[str, Any], notices: tuple[Notice, ...]) -> None:
        if not self.is_running:
            return
        if "fatal" in changes:
            self.app.exit(changes["fatal"])
            return
        with self.app.batch_update():
            for name, value in changes.items():
                setattr(self, "session_title" if name == "title" else name, value)
        for notice in notices:
            self.tell(notice.text, notice.severity, notice.title)

    def watch_live(self, live: Live | None) -> None:
        """A call that runs is in the log, and so among the inspector's rows already."""
        writing = live and live._replace(calls=tuple(call for call in live.calls if call.state == "writing"))
        self.coming = writing if writing and (writing.text or writing.reasoning or writing.calls) else None

    def watch_shown(self, old: ContextView | None, new: ContextView | None) -> None:
        """The chat stands where the request does that is looked at; of a file that grows, where it was."""
        if new is not None and old is not None and self.following and new.requests is not old.requests:
            return
        if new is not None and new.at is not None and not (self.following and new.is_newest):
            self.call_later(self.chat.view.show, new.requests[new.at].upto)
        elif new is not None and old is not None and old.at is not None:
            self.call_later(self.chat.view.follow)

    def watch_following(self, old: str, new: str) -> None:
        """From the newest request on, the chat follows what is said."""
        if new and not old and self.shown is not None and self.shown.is_newest:
            self.call_later(self.chat.view.follow)

    def tell(self, text: str, severity: str = "information", title: str = "") -> None:
        """Something to read in the corner."""
        self.notify(printable(text), title=title, severity=severity, markup=False)  # type: ignore[arg-type]  # ours are Textual's
