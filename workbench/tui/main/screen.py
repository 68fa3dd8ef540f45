"""The main screen: chat, inspector and compaction panel over one session model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.getters import query_one
from textual.reactive import var
from textual.screen import Screen
from textual.widget import Widget

from workbench.config.background import background
from workbench.config.errors import WorkbenchError
from workbench.config.text import printable
from workbench.session.compaction_values import CompactionView
from workbench.session.context_view import ContextView
from workbench.session.model import SessionModel
from workbench.session.options import Options
from workbench.session.services import Services
from workbench.session.transcript import NOTHING
from workbench.session.updates import Notice
from workbench.session.values import Activity, DraftCost, Live, Status, Transcript, UserQuestion
from workbench.tui import messages
from workbench.tui.chat.pane import ChatPane
from workbench.tui.commands.registry import REGISTRY
from workbench.tui.compaction.panel import CompactionPanel
from workbench.tui.frame import SHEETS
from workbench.tui.inspector.pane import InspectorPane
from workbench.tui.main.layout import Arrangement, PaneName
from workbench.tui.main.lines import StatusLine, TabLine
from workbench.tui.widgets.command import Command
from workbench.tui.widgets.help import Keys
from workbench.tui.widgets.worker_screen import WorkerScreen

if TYPE_CHECKING:
    from workbench.session.open_session import OpenSession

T = TypeVar("T")


class MainScreen(WorkerScreen, Screen[None]):
    """Values come from the model and go down to the panes; what the panes ask for goes to the model."""

    CSS_PATH = [*SHEETS]  # noqa: RUF012 - Textual types it as an instance's own
    BINDINGS: ClassVar[list[BindingType]] = [*REGISTRY.bindings()]
    AUTO_FOCUS = None

    session_title: var[str] = var("")
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
    arrangement: var[Arrangement] = var(Arrangement())

    chat = query_one(ChatPane)
    inspector = query_one(InspectorPane)
    panel = query_one(CompactionPanel)

    def __init__(self, services: Services, options: Options, ref: str = "", *, warm: bool = False) -> None:
        """`ref`: what to open first; nothing: the newest session, or a new one."""
        super().__init__()
        self.services = services
        self.registry = REGISTRY
        self.options = options
        self._ref = ref
        self._warm = warm
        self._focused: dict[PaneName, Widget] = {}
        self.model: SessionModel
        """There once the screen is mounted."""

    def compose(self) -> ComposeResult:
        """The panes side by side, or one at a time under a line of tabs; the status line below."""
        yield TabLine().data_bind(MainScreen.arrangement, MainScreen.session_title, MainScreen.read_only)
        with Horizontal(id="panes"):
            yield ChatPane(REGISTRY.complete, Path.cwd(), self._count).data_bind(
                MainScreen.transcript,
                MainScreen.live,
                MainScreen.activity,
                MainScreen.question,
                MainScreen.queue,
                MainScreen.draft_cost,
                read_only=MainScreen.refusal,
            )
            with Vertical(id="side"):
                yield InspectorPane().data_bind(MainScreen.shown, live=MainScreen.coming)
                yield CompactionPanel().data_bind(MainScreen.compaction)
        yield StatusLine().data_bind(MainScreen.status, MainScreen.activity)

    def on_mount(self) -> None:
        """Nothing slow starts before the first frame is out."""
        self.model = SessionModel(self.services, self.options, self._show, asyncio.get_running_loop(), warm=self._warm)
        self.focus_pane("chat")
        self.call_after_refresh(self.model.start, self._ref)

    async def close_model(self) -> None:
        """Keep what came, and let go of everything."""
        await self.model.close()

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

    def tell(self, text: str, severity: str = "information", title: str = "") -> None:
        """Something to read in the corner."""
        self.notify(printable(text), title=title, severity=severity, markup=False)  # type: ignore[arg-type]  # ours are Textual's

    # What the panes ask for

    @on(messages.Send)
    def _send(self, message: messages.Send) -> None:
        self.say(message.text)

    def say(self, text: str) -> None:
        """A slash command is run, all else is said."""
        try:
            found = REGISTRY.parse(text)
        except WorkbenchError as error:
            self.tell(str(error), "error")
            return
        if found is None:
            self.model.send(text)
        else:
            self.run_command(*found)

    @on(messages.Drafting)
    def _drafting(self, message: messages.Drafting) -> None:
        self.model.draft("" if message.text.startswith("/") else message.text)

    @on(messages.Answered)
    def _answered(self, message: messages.Answered) -> None:
        self.model.answer(message.number, message.answer)

    @on(messages.Decide)
    def _decide(self, message: messages.Decide) -> None:
        self.model.decide(message.action, message.first, message.last)

    @on(messages.Travel)
    def _travel(self, message: messages.Travel) -> None:
        self.model.travel(message.upto)

    @on(messages.EditAndResend)
    def _edit_and_resend(self, message: messages.EditAndResend) -> None:
        self.model.edit_and_resend(message.seq, message.text)

    @on(messages.Retry)
    def _retry(self) -> None:
        self.model.retry()

    @on(messages.Interrupt)
    def _interrupt(self) -> None:
        self.model.interrupt()

    @on(messages.TakeBack)
    def _take_back(self, message: messages.TakeBack) -> None:
        self.model.take_back(message.index, message.text)

    @on(messages.Run)
    def _run(self, message: messages.Run) -> None:
        self.run_command(REGISTRY[message.name], message.argument)

    @on(messages.Jump)
    def _jump(self, message: messages.Jump) -> None:
        name: PaneName = "chat" if message.pane == "chat" else "context"
        self.focus_pane(name)
        pane = self.chat if message.pane == "chat" else self.inspector
        pane.show_event(message.seq)

    @on(TabLine.Chosen)
    def _tab(self, message: TabLine.Chosen) -> None:
        self.focus_pane(message.pane)

    # Commands

    def action_command(self, name: str) -> None:
        """By key."""
        self.run_command(REGISTRY[name])

    def run_command(self, command: Command, argument: str = "") -> None:
        """By whatever way; one that cannot be done now says why."""
        why_not = command.why_not(self) if command.why_not is not None else ""
        if why_not:
            self.tell(f"{command.title}: {why_not}", "warning")
            return
        self.run_worker(self._carry_out(command, argument), name=command.name, group="commands")

    async def _carry_out(self, command: Command, argument: str) -> None:
        try:
            done = command.run(self, argument)
            if isawaitable(done):
                await done
        except WorkbenchError as error:
            self.tell(str(error), "error")

    async def asked(self, question: Callable[[OpenSession], T]) -> T:
        """Something worked out by the model from what is open."""
        return await asyncio.wrap_future(self.model.ask(question))

    async def in_background(self, work: Callable[[], T]) -> T:
        """The result of something that must not hold up the screen."""
        return await asyncio.wrap_future(background(work))

    def active_keys(self) -> list[Keys]:
        """The keys of the panes, of whoever has them, for the help."""
        found: list[Keys] = []
        for name, pane in self.panes():
            bindings = [
                binding
                for widget in (pane, *pane.walk_children(Widget))
                for binding in type(widget).BINDINGS
                if isinstance(binding, Binding) and binding.id and binding.description
            ]
            if bindings:
                found.append(Keys(name, list(dict.fromkeys(bindings))))
        return found

    # The panes

    def panes(self) -> Iterator[tuple[PaneName, Widget]]:
        """The panes by name, in the order of their tabs."""
        yield "chat", self.chat
        yield "context", self.inspector
        yield "compaction", self.panel

    def watch_arrangement(self, arrangement: Arrangement) -> None:
        """Show, hide and size the panes."""
        if self.is_mounted:
            self._lay_out()

    def on_resize(self) -> None:
        """A narrow terminal has room for one pane at a time."""
        self._lay_out()

    def _lay_out(self) -> None:
        arrangement = self.arrangement.fitted(self.size.width, self.size.height)
        visible = arrangement.visible
        for name, pane in self.panes():
            pane.display = name in visible
        self.query_one("#side").display = bool({"context", "compaction"} & visible)
        self.set_class(arrangement.tabs, "-tabs")
        self.chat.styles.width = f"{arrangement.chat_share}fr"
        self.query_one("#side").styles.width = f"{100 - arrangement.chat_share}fr"
        self.inspector.styles.height = f"{arrangement.context_share}fr"
        self.panel.styles.height = f"{100 - arrangement.context_share}fr"
        focused = self._pane_of(self.focused)
        if focused is None or focused not in visible:
            self._focus(arrangement.active)

    def _pane_of(self, widget: Widget | None) -> PaneName | None:
        """The pane that a widget is in."""
        for name, pane in self.panes():
            if widget is not None and pane in widget.ancestors_with_self:
                return name
        return None

    def on_descendant_focus(self) -> None:
        """Remember where the focus was in each pane; the tabs follow it."""
        name = self._pane_of(self.focused)
        if name is not None and self.focused is not None:
            self._focused[name] = self.focused
            if self.arrangement.active != name:
                self.arrangement = self.arrangement.with_active(name)

    def focus_pane(self, name: PaneName) -> None:
        """Show a pane and go there."""
        self.arrangement = self.arrangement.with_active(name)
        self._focus(name)

    def _focus(self, name: PaneName) -> None:
        last = self._focused.get(name)
        if last is not None and last.is_attached and last.focusable:
            last.focus()
        elif name == "chat":
            self.chat.take_focus()
        elif name == "context":
            self.inspector.take_focus()
        else:
            self.panel.take_focus()
