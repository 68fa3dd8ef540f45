"""The main screen: chat, inspector and compaction panel over one session model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from textual import on, work
from textual.screen import Screen

from workbench.agent.mentions import as_written
from workbench.config.background import in_background
from workbench.config.errors import Refused, WorkbenchError
from workbench.config.folders import work_folder
from workbench.config.text import counted, printable
from workbench.proxy import control
from workbench.session.questions import NoSessionWanted
from workbench.sources.options import Detour
from workbench.tui import messages
from workbench.tui.chat.activity_lines import is_working
from workbench.tui.chat.composer import Composer
from workbench.tui.main.header import held_key
from workbench.tui.main.session_panes import SessionPanes
from workbench.tui.main.timeline import LETTERS
from workbench.tui.themes import load_themes
from workbench.tui.widgets.command import Command
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.help import HelpScreen
from workbench.views.values import A_COPY, AS_RECORDED, FILE

if TYPE_CHECKING:
    from workbench.session.open_session import OpenSession

T = TypeVar("T")

HELD_SECONDS = 1.0
"""Seconds between two checks for held requests."""
SHEETS = [str(path) for path in sorted(Path(__file__).parents[1].rglob("*.tcss"))]
"""The style sheets of all widgets."""


class MainScreen(SessionPanes):
    """Passes the panes' messages to the session model, and runs commands.

    Commands, dialogs and other screens use it as a `MainScreenApi`.
    """

    CSS_PATH = [*SHEETS]  # noqa: RUF012 - Textual types it as an instance's own
    AUTO_FOCUS = None

    def on_mount(self) -> None:
        """Check regularly for held requests."""
        self.set_interval(HELD_SECONDS, self._check_held)
        if self.options.lanes:
            self.call_after_refresh(self.run_by_name, "agents")

    def _check_held(self) -> None:
        """Ask the proxies, which are other processes. Costs nothing if none runs."""
        if self.held or control.proxy_files():
            self._count_held()

    @work(group="held", exclusive=True)
    async def _count_held(self) -> None:
        held = sum(len(state.held) for _, state in await self.in_background(control.proxy_states))
        if held > self.held:
            self.send_alert(f"{counted(held, 'request')} held at a breakpoint")
        if held > self.held and self.is_current:  # with a screen over the panes, the user probably sees them already
            self.show_notice(f"{counted(held, 'request')} held: {held_key(self)}, or a click on it, opens it")
        self.held = held

    # Messages from the panes

    @on(messages.Send)
    def send_or_run(self, message: messages.Send) -> None:
        """Run a slash command, or send a message."""
        text = message.text
        try:
            found = self.REGISTRY.parse(text)
        except WorkbenchError as error:
            self.show_notice(str(error), "error")
            self.chat.give_back(text)
            return
        if found is None:
            self.chat.view.follow()
            self._deliver(text, self.model.send(text).result_later())
        else:
            self.run_command(*found)

    @work(group="sending", description="deliver")
    async def _deliver(self, text: str, sending: Awaitable[None]) -> None:
        """If a message is refused, put it back into the composer, which has cleared itself."""
        try:
            await sending
        except NoSessionWanted:
            self.chat.give_back(text)
        except WorkbenchError:
            self.chat.give_back(text)
            raise

    @on(Composer.PastWanted)
    def _past_wanted(self, message: Composer.PastWanted) -> None:
        self.run_worker(self._find_past(message), group="past", exclusive=True)

    async def _find_past(self, message: Composer.PastWanted) -> None:
        """Find earlier inputs of all sessions in this folder."""
        here = work_folder().path
        try:
            found = await self.in_background(lambda: self.services.store.user_messages(here)) if here else []
        except WorkbenchError as error:
            self.show_notice(str(error), "error")
        else:
            self.chat.composer.add_past(message.search, [as_written(each.content) for each in found])

    @on(messages.DraftChanged)
    def _drafting(self, message: messages.DraftChanged) -> None:
        self.model.draft("" if message.text.startswith("/") else message.text)

    @on(messages.Answered)
    def _answered(self, message: messages.Answered) -> None:
        self.model.answer(message.number, message.answer)

    @on(messages.Decide)
    def _decide(self, message: messages.Decide) -> None:
        self.model.decide(message.action, message.first, message.last, message.joined)

    @on(messages.Travel)
    def _travel(self, message: messages.Travel) -> None:
        self.model.travel(message.place)

    @on(messages.Walk)
    def _walk(self, message: messages.Walk) -> None:
        self.model.walk(message.by, message.alone)

    @on(messages.EditAndResend)
    def _edit_and_resend(self, message: messages.EditAndResend) -> None:
        sending = self.model.edit_and_resend(message.seq, message.text, message.within)
        self._deliver(message.text, sending.result_later())

    @on(messages.Interrupt)
    def _interrupt(self) -> None:
        self.model.interrupt()

    @on(messages.Withdraw)
    def _withdraw(self, message: messages.Withdraw) -> None:
        self.model.withdraw(message.index, message.text)

    @on(messages.RunCommand)
    def _run(self, message: messages.RunCommand) -> None:
        self.run_by_name(message.name, message.argument)

    # Commands

    def action_command(self, name: str) -> None:
        self.run_by_name(name)

    def action_letter(self, name: str) -> None:
        self.run_by_name(name)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable letter keys that do not apply: other commands' on the timeline, and undo in the chat."""
        if action == "letter":
            if self.focused is self.timeline and parameters[0] not in LETTERS:
                return False
            if parameters[0] in ("undo-here", "redo") and self._pane_of(self.focused) == "chat":
                return False
        return super().check_action(action, parameters)

    def run_by_name(self, name: str, argument: str = "") -> None:
        self.run_command(self.REGISTRY[name], argument)

    def run_command(self, command: Command, argument: str = "") -> None:
        """Run a command, or show why it cannot run now."""
        why_not = command.why_not(self) if command.why_not is not None else ""
        if why_not == FILE:
            self.post_message(messages.NeedsSession(lambda: self.run_command(command, argument)))
            return
        if why_not:
            self.show_notice(f"{command.title}: {why_not}", "warning")
            return
        if not (command.once and any(each.name == command.name and each.is_running for each in self.workers)):
            self.run_worker(self._carry_out(command, argument), name=command.name, group="commands")

    async def _carry_out(self, command: Command, argument: str) -> None:
        try:
            done = command.run(self, argument)
            if isawaitable(done):
                await done
        except WorkbenchError as error:
            self.show_notice(str(error), "error")

    @on(messages.NeedsSession)
    def _needs_session(self, message: messages.NeedsSession) -> None:
        self.run_worker(self._with_session(message.then), group="commands")

    async def _with_session(self, then: Callable[[], None]) -> None:
        try:
            if await self.make_writable():
                then()
        except WorkbenchError as error:
            self.show_notice(str(error), "error")

    # For commands, dialogs and other screens: `MainScreenApi` describes these

    async def make_writable(self) -> bool:
        if self.model.state.read_only == FILE:
            shown = self.model.state.shown
            more = f" {AS_RECORDED}" if shown is not None and shown.view == "recorded" else ""
            text = f"Make a session of {printable(self.model.state.title)}? {A_COPY}{more}"
            if not await self.show_and_wait(ConfirmDialog("read-only", text, "make a session", "cancel")):
                return False
            await self.model.make_session()
            await self.model.settled()
        why_not = self.model.state.read_only
        if why_not:
            self.show_notice(why_not, "warning")
        return not why_not

    def push(self, screen: Screen[Any]) -> None:
        self.app.push_screen(screen)

    async def show_and_wait(self, screen: Screen[T]) -> T | None:
        return await self.app.push_screen_wait(screen)

    async def from_session(self, question: Callable[[OpenSession], T]) -> T:
        return await self.model.call_with_session(question)

    async def in_background(self, work: Callable[[], T]) -> T:
        return await in_background(work)

    def copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)

    @property
    def theme(self) -> str:
        return self.app.theme

    @theme.setter
    def theme(self, name: str) -> None:
        if name not in self.app.available_themes:
            for each in load_themes(plugins=True).themes:
                self.app.register_theme(each)
        self.app.theme = name

    def show_event(self, seq: int, pane: Literal["chat", "inspector"]) -> None:
        """Show an event in a pane, after other screens are closed."""
        self.post_message(messages.Jump(seq, pane))

    def show_request(self) -> None:
        self.inspector.action_request()

    def show_effects(self) -> None:
        self.inspector.find_effects()

    @property
    def request_shown(self) -> int | None:
        shown = self.model.state.shown
        return None if shown is None else shown.at

    def go_to_request(self, number: str) -> None:
        self.timeline.go_to(number)

    def back_to_input(self) -> bool:
        if is_working(self.model.state.activity) or self.chat.composer.has_focus:
            return False
        self.focus_pane("chat")
        return True

    def walk(self, by: int) -> None:
        self.timeline.action_step(by)

    def toggle_side_requests(self) -> None:
        self.timeline.toggle_alone()

    def focus_timeline(self) -> None:
        if not self.timeline.display:
            raise Refused("no request was made yet: there is no timeline")
        self.timeline.focus()

    def show_ledger(self) -> None:
        self.inspector.action_account()

    def show_help(self) -> None:
        """The keys of the pane with the focus first, then the commands, then the keys of all panes."""
        self.push(HelpScreen(self.REGISTRY, self.active_keys(), self.own_keys, self.active_pane, self.hints_here()))

    def show_palette(self) -> None:
        self.app.action_command_palette()

    async def leave(self, detour: Detour | None = None) -> None:
        await self.model.close()
        self.app.exit(detour)
