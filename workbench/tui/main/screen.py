"""The main screen: chat, inspector and compaction panel over one session model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from textual import on
from textual.screen import Screen

from workbench.agent.mentions import as_written
from workbench.config.background import background
from workbench.config.errors import Refused, WorkbenchError
from workbench.config.folders import work_folder
from workbench.config.text import counted, printable
from workbench.proxy import control
from workbench.sources.options import Detour
from workbench.tui import messages
from workbench.tui.chat.activity_lines import is_working
from workbench.tui.chat.composer import Composer
from workbench.tui.main.header import Header, held_key
from workbench.tui.main.session_panes import SessionPanes
from workbench.tui.main.timeline import LETTERS
from workbench.tui.widgets.command import Command
from workbench.tui.widgets.dialogs import ConfirmDialog
from workbench.tui.widgets.help import Help
from workbench.views.values import A_COPY, AS_RECORDED, FILE

if TYPE_CHECKING:
    from workbench.session.open_session import OpenSession

T = TypeVar("T")

HELD_SECONDS = 1.0
"""Between two looks for requests that are held."""
SHEETS = [str(path) for path in sorted(Path(__file__).parents[1].rglob("*.tcss"))]
"""Each lies beside its pane."""


class MainScreen(SessionPanes):
    """What the panes ask for goes to the session model, or is a command.

    To commands, dialogs and other screens it is a `Host`.
    """

    CSS_PATH = [*SHEETS]  # noqa: RUF012 - Textual types it as an instance's own
    AUTO_FOCUS = None

    def on_mount(self) -> None:
        """Requests are held without us."""
        self.set_interval(HELD_SECONDS, self._look_for_held)

    def _look_for_held(self) -> None:
        """Proxies run in processes of their own; where there is none this costs nothing."""
        if self.held or control.proxy_files():
            self.run_worker(self._count_held(), group="held", exclusive=True)

    async def _count_held(self) -> None:
        held = sum(len(state.held) for _, state in await self.in_background(control.states))
        if held > self.held and self.is_current:  # over the panes one mostly looks at them already
            self.tell(f"{counted(held, 'request')} held: {held_key(self)}, or a click on it, opens it")
        self.held = held

    # What the panes ask for

    @on(Header.HeldClicked)
    def _held(self) -> None:
        self.run("held")

    @on(Header.SplitClicked)
    def _split(self) -> None:
        self.run("split")

    @on(messages.Send)
    def _send(self, message: messages.Send) -> None:
        self.say(message.text)

    def say(self, text: str) -> None:
        """A slash command is run, all else is said."""
        try:
            found = self.REGISTRY.parse(text)
        except WorkbenchError as error:
            self.tell(str(error), "error")
            self.chat.give_back(text)
            return
        if found is None:
            self.chat.view.follow()
            self.model.send(text)
        else:
            self.run_command(*found)

    @on(Composer.PastWanted)
    def _past_wanted(self, message: Composer.PastWanted) -> None:
        self.run_worker(self._find_past(message), group="past", exclusive=True)

    async def _find_past(self, message: Composer.PastWanted) -> None:
        """What was said in this folder, in whichever session."""
        here = work_folder().path
        try:
            found = await self.in_background(lambda: self.services.store.user_messages(here)) if here else []
        except WorkbenchError as error:
            self.tell(str(error), "error")
        else:
            self.chat.composer.add_past(message.search, [as_written(each.content) for each in found])

    @on(messages.Drafting)
    def _drafting(self, message: messages.Drafting) -> None:
        self.model.draft("" if message.text.startswith("/") else message.text)

    @on(messages.Answered)
    def _answered(self, message: messages.Answered) -> None:
        asked = self.model.state.question
        if asked is not None and asked.number == message.number and message.answer == asked.default and asked.message:
            self.chat.give_back(asked.message)
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
        self.model.edit_and_resend(message.seq, message.text)

    @on(messages.Retry)
    def _retry(self) -> None:
        self.run("retry")

    @on(messages.Interrupt)
    def _interrupt(self) -> None:
        self.model.interrupt()

    @on(messages.Withdraw)
    def _withdraw(self, message: messages.Withdraw) -> None:
        self.model.withdraw(message.index, message.text)

    @on(messages.Run)
    def _run(self, message: messages.Run) -> None:
        self.run(message.name, message.argument)

    # Commands

    def action_command(self, name: str) -> None:
        """By key."""
        self.run(name)

    def action_letter(self, name: str) -> None:
        """By a key that would be typed elsewhere."""
        self.run(name)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A bare letter does nothing where the keys are not its own: on the timeline, and in the chat for undo."""
        if action == "letter":
            if self.focused is self.timeline and parameters[0] not in LETTERS:
                return False
            if parameters[0] in ("undo-here", "redo") and self._pane_of(self.focused) == "chat":
                return False
        return super().check_action(action, parameters)

    def run(self, name: str, argument: str = "") -> None:
        """By name."""
        self.run_command(self.REGISTRY[name], argument)

    def run_command(self, command: Command, argument: str = "") -> None:
        """By whatever way; one that cannot be done now says why."""
        why_not = command.why_not(self) if command.why_not is not None else ""
        if why_not == FILE:
            self.post_message(messages.NeedsSession(lambda: self.run_command(command, argument)))
            return
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

    @on(messages.NeedsSession)
    def _needs_session(self, message: messages.NeedsSession) -> None:
        self.run_worker(self._with_session(message.then), group="commands")

    async def _with_session(self, then: Callable[[], None]) -> None:
        try:
            if await self.make_writable():
                then()
        except WorkbenchError as error:
            self.tell(str(error), "error")

    # What commands, dialogs and other screens ask for

    async def make_writable(self) -> bool:
        """Under a file, after the question that a message asks as well."""
        if self.model.state.read_only == FILE:
            shown = self.model.state.shown
            more = f" {AS_RECORDED}" if shown is not None and shown.view == "recorded" else ""
            text = f"Make a session of {printable(self.model.state.title)}? {A_COPY}{more}"
            if not await self.ask(ConfirmDialog("read-only", text, "make a session", "cancel")):
                return False
            await self.model.compacting(lambda work: work.make_session())
            await self.model.settled()
        why_not = self.model.state.read_only
        if why_not:
            self.tell(why_not, "warning")
        return not why_not

    def push(self, screen: Screen[Any]) -> None:
        """Show a screen over the panes."""
        self.app.push_screen(screen)

    async def ask(self, screen: Screen[T]) -> T | None:
        """Show a screen and wait for what comes of it."""
        return await self.app.push_screen_wait(screen)

    async def from_session(self, question: Callable[[OpenSession], T]) -> T:
        """Something worked out by the model from what is open."""
        return await asyncio.wrap_future(self.model.ask(question))

    async def in_background(self, work: Callable[[], T]) -> T:
        """The result of something that must not hold up the screen."""
        return await asyncio.wrap_future(background(work))

    def copy(self, text: str) -> None:
        """Put a text on the clipboard."""
        self.app.copy_to_clipboard(text)

    @property
    def theme(self) -> str:
        """The colours."""
        return self.app.theme

    @theme.setter
    def theme(self, name: str) -> None:
        self.app.theme = name

    def show_event(self, seq: int, pane: Literal["chat", "inspector"]) -> None:
        """Once what lies over the panes is gone."""
        self.post_message(messages.Jump(seq, pane))

    def show_request(self) -> None:
        """Drawn by the inspector, from the plan it shows."""
        self.inspector.action_request()

    @property
    def request_shown(self) -> int | None:
        """As the timeline has it."""
        shown = self.model.state.shown
        return None if shown is None else shown.at

    def go_to_request(self, number: str) -> None:
        """By the timeline, which knows how many there are."""
        self.timeline.go_to(number)

    def back_to_input(self) -> bool:
        """What runs is stopped before a pane is left."""
        if is_working(self.model.state.activity) or self.chat.composer.has_focus:
            return False
        self.focus_pane("chat")
        return True

    def walk(self, by: int) -> None:
        """Along the timeline."""
        self.timeline.action_step(by)

    def toggle_side_requests(self) -> None:
        """The timeline knows which they are."""
        self.timeline.toggle_alone()

    def focus_timeline(self) -> None:
        """Where there is one."""
        if not self.timeline.display:
            raise Refused("no request was made yet: there is no timeline")
        self.timeline.focus()

    def show_ledger(self) -> None:
        """Drawn by the inspector as well."""
        self.inspector.action_account()

    def show_help(self) -> None:
        """The keys of the pane with the focus first, then the commands, then the keys of all panes."""
        self.push(Help(self.REGISTRY, self.active_keys(), self.own_keys, self.active_pane, self.hints_here()))

    def show_palette(self) -> None:
        """All that can be done."""
        self.app.action_command_palette()

    async def leave(self, detour: Detour | None = None) -> None:
        """What the model is saying is kept as far as it came."""
        await self.model.close()
        self.app.exit(detour)
