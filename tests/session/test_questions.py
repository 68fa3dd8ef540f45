"""Questions: what they show, and what their answers mean."""

from __future__ import annotations

import pytest

from workbench.agent import approvals
from workbench.agent.approval_patterns import suggestions
from workbench.agent.tools.base import ProposedCall
from workbench.session.questions import approval, approved, detail


def asked(call: ProposedCall) -> approvals.ApprovalQuestion:
    return approvals.ApprovalQuestion(call, suggestions(call))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("once", approvals.ApprovalAnswer("once")),
        ("session", approvals.ApprovalAnswer("session", "run_command:git status *")),
        ("always", approvals.ApprovalAnswer("always", "run_command:git status *")),
        ("never", approvals.ApprovalAnswer("never", "run_command:git status -s")),
        ("no", approvals.ApprovalAnswer("no")),
        ("what?", approvals.ApprovalAnswer("no")),
    ],
)
def test_an_answer_holds_for_what_its_label_says(given: str, meant: approvals.ApprovalAnswer) -> None:
    question = asked(ProposedCall("run_command", "run", "git status -s"))
    assert approved(question, given) == meant
    shown = approval(3, question, '{"command": "git status -s"}')
    label = next((choice.label for choice in shown.choices if choice.answer == given), "")
    assert meant.pattern in label
    assert shown.number == 3


def test_keys_of_the_choices_are_their_own() -> None:
    shown = approval(1, asked(ProposedCall("write_file", "write", "src/a.py")), "{}")
    keys = [choice.key for choice in shown.choices]
    assert len(set(keys)) == len(keys)
    assert shown.default in [choice.answer for choice in shown.choices]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ('{"path": "a", "old_text": "x\\ny", "new_text": "z"}', "a\n- x\n- y\n+ z"),
        ('{"command": "ls", "timeout": 5}', "a\ntimeout: 5"),
        ("not json", "a"),
        ("[1]", "a"),
    ],
)
def test_the_detail_says_what_would_happen(arguments: str, lines: str) -> None:
    assert detail("a", arguments) == lines


def test_what_is_too_long_to_be_shown_is_said_before_anything_else() -> None:
    command = "echo " + "x" * 30_000 + "; rm -rf /"
    shown = approval(1, asked(ProposedCall("run_command", "run", command)), "{}")
    assert shown.detail.startswith("[only the first 20,000 of 30,015 characters are shown]\necho x")
