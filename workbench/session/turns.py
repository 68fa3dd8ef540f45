"""Turns on the screen: one at a time, messages that wait, questions in between. Lives in the session's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Protocol

from workbench.agent import approvals
from workbench.agent.loop import Agent
from workbench.agent.mentions import with_files
from workbench.agent.steps import Appended, Planned, Step, Streamed, Summarising, Switched, Waiting
from workbench.compaction.values import CompactionDecision
from workbench.config.background import in_background
from workbench.config.errors import WorkbenchError
from workbench.log.events import AssistantMessage, Failure, Override, Setting, ToolCall, ToolResult, UserMessage
from workbench.session import questions
from workbench.session.connection import TurnConnection
from workbench.session.observable import Notice, ObservableSession
from workbench.session.open_session import OpenSession
from workbench.session.opening import title_of
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.views.live_turn import LiveTurn
from workbench.views.values import Activity, UserQuestion


class TurnWatcher(Protocol):
    """Whoever compacts between and beside the turns."""

    def taken(self, step: Step) -> None:
        """A step of a turn."""
        ...

    def turn_ended(self) -> None:
        """A turn has ended, one way or the other."""
        ...

    def turn_over(self, opened: OpenSession) -> None:
        """A turn has ended well."""
        ...

    async def ask_first(self, decision: CompactionDecision) -> bool:
        """Whether to compact now."""
        ...


class Turns:
    """Runs the turns of whatever session is open."""

    def __init__(
        self, services: Services, options: Options, updates: ObservableSession, publish: Callable[[], None]
    ) -> None:
        """`publish` shows what is in the log by now."""
        self._updates = updates
        self._publish = publish
        self._connection = TurnConnection(
            services, options, ask=self._approve, report=self._report, ask_first=self._ask_first
        )
        self._live = LiveTurn()
        self._running: asyncio.Task[None] | None = None
        self._waiting: list[str] = []
        self._asked: dict[int, asyncio.Future[str]] = {}
        self._open: dict[int, UserQuestion] = {}
        """The questions that wait for their answer."""
        self._questions = 0
        self.free = asyncio.Lock()
        """Held by a turn, and by whatever must not happen during one."""
        self.watcher: TurnWatcher | None = None

    @property
    def busy(self) -> bool:
        """Whether the model is at work."""
        return self._running is not None

    @property
    def waits_for_answer(self) -> bool:
        """Whether nothing goes on before the user has answered."""
        return bool(self._asked)

    # What the user does

    def send(self, opened: OpenSession, text: str) -> None:
        """Say it, or let it wait for its turn."""
        self._waiting.append(text)
        if not self.busy:
            self._start(opened, go_on=False)
        else:
            self._updates.put(queue=tuple(self._waiting))

    def withdraw(self, index: int, text: str) -> None:
        """A message that waits is not sent after all."""
        if index < len(self._waiting) and self._waiting[index] == text:
            self._waiting.pop(index)
        self._updates.put(queue=tuple(self._waiting))

    def retry(self, opened: OpenSession) -> str:
        """Ask again; the result says why not, or nothing. An answer that is there leaves the context."""
        if self.busy:
            return "the model is still working; Esc stops it"
        said = (UserMessage, AssistantMessage, ToolCall, ToolResult)
        last = next((event for event in reversed(opened.events) if isinstance(event.body, said)), None)
        if last is None:
            return "no messages yet"
        if isinstance(last.body, AssistantMessage):
            opened.append(Override("exclude", last.seq, last.seq))
        self._start(opened, go_on=True)
        return ""

    def interrupt(self) -> bool:
        """Stop the turn; whether there was one."""
        if self._running is not None:
            self._running.cancel()
        return self.busy

    def answer(self, number: int, answer: str) -> None:
        """The user answered a question; an answer to one that is gone does nothing."""
        future = self._asked.pop(number, None)
        if future is not None and not future.done():
            future.set_result(answer)

    def answered_by(self, text: str) -> bool:
        """Whether what was typed as a message answers the question that is open: a `y` is never said to the model."""
        question = next(reversed(self._open.values()), None)
        answer = None if question is None else questions.typed_answer(question, text)
        if question is None or answer is None:
            return False
        self.answer(question.number, answer)
        return True

    async def ask(self, make: Callable[[int], UserQuestion]) -> str:
        """Ask the user, and wait. Cancelled, the question goes away."""
        self._questions += 1
        question = make(self._questions)
        self._asked[question.number] = asyncio.get_running_loop().create_future()
        self._open[question.number] = question
        self._updates.put(question=question)
        try:
            return await self._asked[question.number]
        finally:
            self._asked.pop(question.number, None)
            self._open.pop(question.number)
            # A compaction may ask beside a turn that asks, too: the other question comes back.
            self._updates.put(question=next(reversed(self._open.values()), None))

    def forget_approvals(self) -> None:
        """Ask again what may be done."""
        self._connection.forget_approvals()

    async def close(self) -> None:
        """Stop, keep what came, and let go of connections."""
        running = self._running
        self._waiting.clear()
        if running is not None:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        await self._connection.close()

    # A turn

    def _start(self, opened: OpenSession, *, go_on: bool) -> None:
        """`go_on`: the first turn is one without a new message."""
        self._running = asyncio.create_task(self._run(opened, go_on))
        self._running.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        """One that is cancelled before its first step says nothing of its end itself; its message still waits."""
        if task is self._running:
            self._running = None
            self._updates.put(queue=tuple(self._waiting), activity=Activity())

    async def _run(self, opened: OpenSession, go_on: bool) -> None:
        """Turns, as long as messages wait. A failure stops them: the next would fail as well."""
        try:
            while go_on or self._waiting:
                async with self.free:
                    text = None if go_on else self._waiting.pop(0)
                    go_on = False
                    self._updates.put(queue=tuple(self._waiting))
                    if not await self._turn(opened, text):
                        return
        finally:
            self._running = None
            self._updates.put(activity=Activity())

    async def _turn(self, opened: OpenSession, text: str | None) -> bool:
        """One turn; whether the next may follow. After an interruption it does: that is what was waited for."""
        self._updates.put(activity=Activity("asking"))
        self._live.end()
        failed = False
        try:
            agent = await self.agent(opened)
            if text is not None and not opened.said:
                self._name(opened, text)
            content = None if text is None else await in_background(with_files, text, Path.cwd())
            async with aclosing(agent.turn(content)) as steps:
                async for step in steps:
                    failed = isinstance(step, Appended) and isinstance(step.event.body, Failure)
                    self._take(opened, step)
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and self._waiting:
                current.uncancel()
                return True
            raise
        except WorkbenchError as error:
            failed = True
            self._updates.tell(Notice(str(error), "error", "the turn could not begin"))
        except Exception as error:
            failed = True
            self._updates.failed(error)
        finally:
            self._live.end()
            opened.catch_up()
            self._updates.put(live=None)
            self._publish()
            if self.watcher is not None:
                self.watcher.turn_ended()
        if not failed and self.watcher is not None:
            self.watcher.turn_over(opened)
        return not failed

    async def agent(self, opened: OpenSession, *, to_ask: bool = True) -> Agent:
        """The agent of the session, connected; `to_ask`: a turn, and not only a compaction. Raises WorkbenchError."""
        agent = await self._connection.agent(opened, to_ask=to_ask)
        while self._connection.problems:
            self._updates.tell(Notice(self._connection.problems.pop(0), "warning", "MCP"))
        changed, self._connection.gone_on = self._connection.gone_on, None
        if changed is not None:
            self._updates.tell(Notice(changed.words))
        return agent

    def _name(self, opened: OpenSession, text: str) -> None:
        """The first message names a session that has no title."""
        assert opened.session is not None
        if not opened.session.title:
            title = title_of(text)
            opened.append(Setting("title", title))
            opened.name = title

    # What a turn tells

    def _take(self, opened: OpenSession, step: Step) -> None:
        match step:
            case Planned():
                self._live.begin()
                self._updates.put(activity=Activity("asking"))
            case Streamed(_, reply):
                self._live.follow(reply)
                self._updates.put(live=self._live.live(), activity=Activity("answering"))
            case Waiting(wait):
                text = f"{wait.failure.category.replace('_', ' ')}: try {wait.try_number} in {wait.seconds_left:.0f} s"
                self._updates.put(activity=Activity("asking", text))
            case Switched(model, instead_of, _):
                self._updates.tell(Notice(f"{model} is asked instead of {instead_of}", "warning", "fallback"))
            case Summarising():
                pass
            case Appended(event):
                self._live.log_event(event)
                opened.catch_up()
                if self._live.open_calls:
                    self._updates.put(activity=Activity("tools", self._live.doing))
                self._publish()
                self._updates.put(live=self._live.live())
        if self.watcher is not None:
            self.watcher.taken(step)

    async def _ask_first(self, decision: CompactionDecision) -> bool:
        if self.watcher is None:
            return False
        self._updates.put(activity=Activity("waiting"))
        try:
            return await self.watcher.ask_first(decision)
        finally:
            self._updates.put(activity=Activity("asking"))

    def _report(self, call_id: str, text: str) -> None:
        self._live.report(call_id, text)
        self._updates.put(live=self._live.live())

    async def _approve(self, asked: approvals.ApprovalQuestion) -> approvals.ApprovalAnswer:
        """Ask whether a call may run."""
        call = next((call for call in self._live.open_calls if call.tool == asked.call.tool), None)
        self._live.asking = call.call_id if call else ""
        self._updates.put(live=self._live.live(), activity=Activity("waiting"))
        arguments = call.arguments if call else ""
        try:
            answer = await self.ask(lambda number: questions.approval(number, asked, arguments))
        finally:
            self._live.asking = ""
            self._updates.put(live=self._live.live(), activity=Activity("tools", self._live.doing))
        return questions.approved(asked, answer)
