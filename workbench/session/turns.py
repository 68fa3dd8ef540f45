"""Turns on the screen: one at a time, with waiting messages and questions. Runs in the session's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from workbench.agent import approvals
from workbench.agent.loop import Agent
from workbench.agent.mentions import with_files
from workbench.agent.steps import (
    CompactionRunning,
    EventAppended,
    ModelSwitched,
    PartStreamed,
    RequestPlanned,
    TurnStep,
    WaitingToRetry,
)
from workbench.compaction.values import CompactionDecision
from workbench.config.background import in_background
from workbench.config.errors import Refused, WorkbenchError
from workbench.log.events import AssistantMessage, Failure, Override, Setting, ToolCall, ToolResult, UserMessage
from workbench.session import questions
from workbench.session.asking import OpenQuestions
from workbench.session.connection import TurnConnection
from workbench.session.observable import Notice, ObservableSession
from workbench.session.open_session import OpenSession
from workbench.session.opening import title_of
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.views.live_turn import LiveTurn
from workbench.views.values import Activity


class TurnWatcher(Protocol):
    """Follows the turns, to compact between them or while they run."""

    def step_taken(self, step: TurnStep) -> None:
        """Called with each step of a turn."""
        ...

    def hide_turn_progress(self) -> None:
        """Called when a turn has ended, with or without a failure."""
        ...

    def compact_if_due(self, opened: OpenSession) -> None:
        """Called when a turn has ended without a failure."""
        ...

    async def ask_first(self, decision: CompactionDecision) -> bool:
        """Ask the user whether to compact now."""
        ...


class PlaceForMessages(Protocol):
    """Knows the session for a message."""

    async def session_for(self, text: str) -> OpenSession | None:
        """The session for a message. It may ask the user first; None: the message was withdrawn meanwhile."""
        ...

    def withdraw_early(self, text: str) -> bool:
        """Remove a message that waits for a session to open. Return whether there was one."""
        ...


class Turns:
    """Runs the turns of the open session."""

    place: PlaceForMessages

    def __init__(
        self, services: Services, options: Options, updates: ObservableSession, publish: Callable[[], None]
    ) -> None:
        """`publish` shows the current log."""
        self._updates = updates
        self._publish = publish
        self.questions = OpenQuestions(updates)
        self._connection = TurnConnection(
            services, options, ask=self._approve, report=self._report, ask_first=self._ask_first
        )
        self._live = LiveTurn()
        self._running: asyncio.Task[None] | None = None
        self._waiting: list[str] = []
        self._next_may_follow = False
        """Whether the next waiting message may follow the current or last turn: not after a failure."""
        self.free = asyncio.Lock()
        """Held by a turn, and by work that must not run during one."""
        self.watcher: TurnWatcher | None = None

    @property
    def busy(self) -> bool:
        """Whether a turn runs or waits to begin."""
        return self._running is not None

    # Actions of the user

    async def send(self, text: str, opened: OpenSession | None = None) -> None:
        """Send a message now, or after the messages that already wait, in this session or the open one.

        If it answers an open question, it is used as that answer instead.
        """
        if opened is None and not self.questions.answered_by(text):
            opened = await self.place.session_for(text)
        if opened is None:
            return
        self._waiting.append(text)
        if self.busy or self.free.locked():  # else its turn begins at once
            self._updates.change_state(queue=tuple(self._waiting))
        if not self.busy:
            self._watch(opened, asyncio.create_task(self._run(opened)))

    async def withdraw(self, index: int, text: str) -> None:
        """Remove a waiting message."""
        if self.place.withdraw_early(text):
            return
        if index < len(self._waiting) and self._waiting[index] == text:
            self._waiting.pop(index)
        self._updates.change_state(queue=tuple(self._waiting))

    def give_back_waiting(self) -> None:
        """Put the waiting messages back into the composer: another session is about to be opened."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._updates.give_back("\n\n".join(waiting))
            self._updates.show_notice(Notice("what waited in the other session was not sent; it is in the input"))

    def retry(self, opened: OpenSession) -> None:
        """Ask the model again, and exclude its last answer. Raises Refused during a turn, or without a message."""
        if self.busy:
            raise Refused("the model is still working; Esc stops it")
        message_types = (UserMessage, AssistantMessage, ToolCall, ToolResult)
        last = next((event for event in reversed(opened.events) if isinstance(event.body, message_types)), None)
        if last is None:
            raise Refused("no messages yet")
        if isinstance(last.body, AssistantMessage):
            opened.append(Override("exclude", last.seq, last.seq))
        self._watch(opened, asyncio.create_task(self._run(opened, go_on=True)))

    def interrupt(self) -> bool:
        """Stop the turn. Return whether there was one."""
        if self._running is not None:
            self._running.cancel()
        return self.busy

    def forget_approvals(self) -> None:
        """Read the saved approvals again before the next turn."""
        self._connection.forget_approvals()

    async def close(self) -> None:
        """Stop, keep the partial answer, and close connections."""
        running = self._running
        self._waiting.clear()
        if running is not None:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        await self._connection.close()

    # A turn

    def _watch(self, opened: OpenSession, task: asyncio.Task[None]) -> None:
        """Make this the running turn. If messages wait at its end, the next turn follows."""
        self._running, self._next_may_follow = task, False
        task.add_done_callback(partial(self._over, opened))

    @property
    def _next_follows(self) -> bool:
        return bool(self._waiting) and self._next_may_follow

    def _rest(self) -> None:
        self._running = None
        self._updates.change_state(queue=tuple(self._waiting), activity=Activity())

    def _over(self, opened: OpenSession, task: asyncio.Task[None]) -> None:
        """Start the next turn if one follows. A turn cancelled before its first step left its message waiting."""
        if task is not self._running:
            return
        if self._next_follows:
            self._watch(opened, asyncio.create_task(self._run(opened)))
        else:
            self._rest()

    async def _run(self, opened: OpenSession, *, go_on: bool = False) -> None:
        """Run one turn with the first waiting message; `go_on`: without a new message.

        After an interruption the next waiting message follows. After a failure it does not: it would fail as well.
        """
        try:
            async with self.free:
                if not go_on and not self._waiting:
                    return  # it was withdrawn before the turn could begin
                text = None if go_on else self._waiting.pop(0)
                self._updates.change_state(queue=tuple(self._waiting), activity=Activity("asking"))
                self._live.end()
                failed = begun = False
                try:
                    agent = await self.agent(opened)
                    if text is not None and not opened.has_user_message:
                        self._name(opened, text)
                    content = None if text is None else await in_background(with_files, text, Path.cwd())
                    async with aclosing(agent.turn(content)) as steps:
                        async for step in steps:
                            begun = True  # the message is in the log
                            failed = isinstance(step, EventAppended) and isinstance(step.event.body, Failure)
                            self._on_step(opened, step)
                except asyncio.CancelledError:
                    self._next_may_follow = True
                    raise
                except Exception as error:
                    failed = True
                    self._show_failure(error)
                finally:
                    if text is not None and not begun:
                        self._updates.give_back(text)
                    self._ended(opened)
                self._next_may_follow = not failed
                if not failed and self.watcher is not None:
                    self.watcher.compact_if_due(opened)
        finally:
            if not self._next_follows:
                self._rest()

    def _show_failure(self, error: Exception) -> None:
        """Show why a turn failed."""
        if isinstance(error, WorkbenchError):
            self._updates.show_notice(Notice(str(error), "error", "the turn could not begin"))
        else:
            self._updates.failed(error)

    def _ended(self, opened: OpenSession) -> None:
        """Show the log after a turn, with or without a failure."""
        self._live.end()
        opened.catch_up()
        self._updates.change_state(live=None)
        self._publish()
        if self.watcher is not None:
            self.watcher.hide_turn_progress()

    async def agent(self, opened: OpenSession, *, to_ask: bool = True) -> Agent:
        """The agent of the session, connected. Raises WorkbenchError.

        `to_ask`: it is for a turn, and not only for a compaction.
        """
        agent = await self._connection.agent(opened, to_ask=to_ask)
        while self._connection.problems:
            self._updates.show_notice(Notice(self._connection.problems.pop(0), "warning", "MCP"))
        changed, self._connection.adoption = self._connection.adoption, None
        if changed is not None:
            self._updates.show_notice(Notice(changed.words))
        return agent

    def _name(self, opened: OpenSession, text: str) -> None:
        """Use the first message as the title of a session that has none."""
        assert opened.session is not None
        if not opened.session.title:
            title = title_of(text)
            opened.append(Setting("title", title))
            opened.name = title

    # Called by a turn

    def _on_step(self, opened: OpenSession, step: TurnStep) -> None:
        match step:
            case RequestPlanned():
                self._live.begin()
                self._updates.change_state(activity=Activity("asking"))
            case PartStreamed(_, reply):
                self._live.follow(reply)
                self._updates.change_state(live=self._live.live(), activity=Activity("answering"))
            case WaitingToRetry(wait):
                text = f"{wait.failure.category.replace('_', ' ')}: try {wait.try_number} in {wait.seconds_left:.0f} s"
                self._updates.change_state(activity=Activity("asking", text))
            case ModelSwitched(model, instead_of, _):
                self._updates.show_notice(Notice(f"{model} is asked instead of {instead_of}", "warning", "fallback"))
            case CompactionRunning():
                pass
            case EventAppended(event):
                self._live.log_event(event)
                opened.catch_up()
                if self._live.open_calls:
                    self._updates.change_state(activity=Activity("tools", self._live.doing))
                self._publish()
                self._updates.change_state(live=self._live.live())
        if self.watcher is not None:
            self.watcher.step_taken(step)

    async def _ask_first(self, decision: CompactionDecision) -> bool:
        if self.watcher is None:
            return False
        self._updates.change_state(activity=Activity("waiting"))
        try:
            return await self.watcher.ask_first(decision)
        finally:
            self._updates.change_state(activity=Activity("asking"))

    def _report(self, call_id: str, text: str) -> None:
        self._live.report(call_id, text)
        self._updates.change_state(live=self._live.live())

    async def _approve(self, asked: approvals.ApprovalQuestion) -> approvals.ApprovalAnswer:
        """Ask the user whether a call may run."""
        call = next((call for call in self._live.open_calls if call.tool == asked.call.tool), None)
        self._live.asking = call.call_id if call else ""
        self._updates.change_state(live=self._live.live(), activity=Activity("waiting"))
        arguments = call.arguments if call else ""
        try:
            answer = await self.questions.ask_user(lambda number: questions.approval_question(number, asked, arguments))
        finally:
            self._live.asking = ""
            self._updates.change_state(live=self._live.live(), activity=Activity("tools", self._live.doing))
        return questions.approval_answer(asked, answer)
