"""Calls that need an approval, and somebody who is asked for it."""

from __future__ import annotations

import asyncio

from workbench.agent.approvals import ApprovalAnswer, ApprovalQuestion, Choice
from workbench.agent.tools.base import ProposedCall


def command(text: str) -> ProposedCall:
    return ProposedCall("run_command", "run", text)


def writing(path: str, tool: str = "write_file") -> ProposedCall:
    return ProposedCall(tool, "write", path)


class Person:
    """Answers, and remembers what it was asked."""

    def __init__(self, choice: Choice, pattern: str = "") -> None:
        self.answer = ApprovalAnswer(choice, pattern)
        self.asked: list[ApprovalQuestion] = []

    async def __call__(self, question: ApprovalQuestion) -> ApprovalAnswer:
        self.asked.append(question)
        await asyncio.sleep(0)  # another call may come in meanwhile
        return self.answer
