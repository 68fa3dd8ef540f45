"""Questions to the user that are not answered yet. Runs in the session's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from workbench.session.observable import ObservableSession
from workbench.session.questions import typed_answer
from workbench.views.values import UserQuestion


class OpenQuestions:
    """The questions without an answer. The newest one is shown."""

    def __init__(self, updates: ObservableSession) -> None:
        self._updates = updates
        self._asked: dict[int, asyncio.Future[str]] = {}
        self._open: dict[int, UserQuestion] = {}
        self._count = 0

    @property
    def waits_for_answer(self) -> bool:
        """Whether some work cannot continue until the user answers."""
        return bool(self._asked)

    async def ask_user(self, make: Callable[[int], UserQuestion]) -> str:
        """Ask the user and return the answer. If the wait is cancelled, the question is removed."""
        self._count += 1
        question = make(self._count)
        self._asked[question.number] = asyncio.get_running_loop().create_future()
        self._open[question.number] = question
        self._updates.change_state(question=question)
        try:
            return await self._asked[question.number]
        finally:
            self._asked.pop(question.number, None)
            self._open.pop(question.number)
            # A compaction may ask while a turn asks: then the other question is shown again.
            self._updates.change_state(question=next(reversed(self._open.values()), None))

    async def answer(self, number: int, answer: str) -> None:
        """Give a question the user's answer: `take_answer`, for calls from the screen."""
        self.take_answer(number, answer)

    def take_answer(self, number: int, answer: str) -> None:
        """Give a question its answer. Does nothing if the question is no longer open."""
        future = self._asked.pop(number, None)
        if future is not None and not future.done():
            future.set_result(answer)

    def decline_all(self) -> None:
        """Give every open question its default answer, the one that changes nothing."""
        for question in list(self._open.values()):
            self.take_answer(question.number, question.default)

    def answered_by(self, text: str) -> bool:
        """Use a typed message as the answer to the open question; return whether it was one.

        So a `y` is never sent to the model.
        """
        question = next(reversed(self._open.values()), None)
        answer = None if question is None else typed_answer(question, text)
        if question is None or answer is None:
            return False
        self.take_answer(question.number, answer)
        return True
