"""Questions to the user, in the form in which the chat shows them, and their answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from workbench.agent import approvals
from workbench.agent.approval_patterns import COMMAND, exact_pattern
from workbench.agent.tools.base import ProposedCall
from workbench.compaction.values import CompactionDecision
from workbench.config.errors import Refused
from workbench.views.values import A_COPY, AnswerChoice, UserQuestion

MOST_DETAIL = 20_000
"""Characters of a file or a command that a question shows."""


def approval_question(number: int, asked: approvals.ApprovalQuestion, arguments: str) -> UserQuestion:
    """Ask whether the model may make this call. The default is to deny it once."""
    call = asked.call
    choices = (
        AnswerChoice("y", "once", "allow once"),
        AnswerChoice("n", "no", "deny once"),
        *map(partial(_narrow, call), asked.patterns),
        AnswerChoice("v", "never", f"never: {_subject(asked.patterns[0])} (saved)", lasts=True),
    )
    verb = {"run": "run a command", "write": "change a file"}.get(call.kind, "use a tool")
    title = f"{call.tool}: may the model {verb}?"
    about = call_detail(call.subject, arguments)
    if len(about) > MOST_DETAIL:
        about = f"[only the first {MOST_DETAIL:,} of {len(about):,} characters are shown]\n{about[:MOST_DETAIL]}"
    return UserQuestion(number, "approval", title, about, choices, "no")


def _narrow(call: ProposedCall, pattern: str) -> AnswerChoice:
    """The answer that allows every call that the pattern matches: for this session, or always."""
    tool, colon, subject = pattern.partition(":")
    if not colon:
        key, words = ("s", f"any tool of {tool.removesuffix('__*')}") if tool.endswith("*") else ("t", f"any {tool}")
    elif call.kind == "write":
        key, words = {
            exact_pattern(call): ("f", f"this file: {subject}"),
            f"{tool}:**": ("p", "any file in the project"),
        }.get(pattern, ("o", f"this folder: {subject}"))
    elif pattern == exact_pattern(call):
        key, words = "c", "this command" if call.tool == COMMAND else "this very call"
    else:
        key, words = "l", f"commands like {subject}"
    return AnswerChoice(key, f"session {pattern}", f"{words} (this session)", f"always {pattern}")


def _subject(pattern: str) -> str:
    return pattern.partition(":")[2] or pattern


_WORDS = {"yes": "y", "no": "n"}


def typed_answer(question: UserQuestion, text: str) -> str | None:
    """The answer that a typed text gives, as a key or as a word; None if it is no answer."""
    typed = text.strip()
    for choice in question.choices:
        if choice.saved and typed == choice.key.upper():
            return choice.saved
        if _WORDS.get(typed.lower(), typed.lower()) == choice.key:
            return choice.answer
    return None


def approval_answer(asked: approvals.ApprovalQuestion, answer: str) -> approvals.ApprovalAnswer:
    """The user's answer in the form that the agent expects."""
    match answer:
        case "once":
            return approvals.ApprovalAnswer("once")
        case "never":
            return approvals.ApprovalAnswer("never", asked.patterns[0])
    for choice in ("session", "always"):
        pattern = answer.removeprefix(f"{choice} ")
        if pattern in asked.patterns and pattern != answer:
            return approvals.ApprovalAnswer(choice, pattern)
    return approvals.ApprovalAnswer("no")


def call_detail(subject: str, arguments: str) -> str:
    """What a call would do: the command, or the file with the lines that are added and removed."""
    try:
        values = json.loads(arguments)
    except ValueError:
        return subject or arguments
    if not isinstance(values, dict):
        return subject or arguments
    lines = [subject] if subject else []
    lines += _changes(values)
    shown = {"command", "path", "content", "old", "new", "old_text", "new_text"}
    lines += [f"{key}: {value}" for key, value in values.items() if key not in shown and value is not None]
    return "\n".join(lines)


def _changes(values: Mapping[str, Any]) -> list[str]:
    lines = []
    for keys, sign in ((("old", "old_text"), "-"), (("new", "new_text", "content"), "+")):
        for key in keys:
            if isinstance(values.get(key), str):
                lines += [f"{sign} {line}" for line in values[key].splitlines()]
    return lines


class NoSessionWanted(Refused):
    """The user answered that no session is made from a file, so the message that was typed there is not sent."""


def make_session(number: int, name: str, changes: str) -> UserQuestion:
    """Ask whether to make a session from a read-only file, because a message was typed there.

    `changes`: what changes once the message is sent.
    """
    choices = (
        AnswerChoice("y", "yes", "make a session of it and send the message there"),
        AnswerChoice("n", "no", "cancel"),
    )
    detail = "\n".join(filter(None, (A_COPY, changes)))
    return UserQuestion(number, "import", f"Make a session of {name}?", detail, choices, "no")


def question_to_compact(number: int, decision: CompactionDecision) -> UserQuestion:
    """Ask whether to compact now. The default is no: the conversation continues, and the question comes again after
    the next reply. A request that is too long cannot be sent; then the question comes again with the next message."""
    again = "at the next message" if decision.urgent else "after the next reply"
    choices = (
        AnswerChoice("y", "yes", "compact without a model" if decision.digest else "compact now; it can be undone"),
        AnswerChoice("n", "no", f"no, ask again {again}"),
    )
    detail = "\n".join(f"{check.trigger}: {check.why}" for check in decision.checks.all if check.fired)
    return UserQuestion(number, "compact", decision.question, detail, choices, "no")
