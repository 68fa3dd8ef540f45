"""Questions: what they show, and what their answers mean."""

from __future__ import annotations

import pytest

from workbench.agent import approvals
from workbench.agent.approval_patterns import suggested_patterns
from workbench.agent.tools.base import ProposedCall
from workbench.session.questions import approval_answer, approval_question, call_detail, typed_answer


def asked(call: ProposedCall) -> approvals.ApprovalQuestion:
    return approvals.ApprovalQuestion(call, suggested_patterns(call))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("once", approvals.ApprovalAnswer("once")),
        ("session run_command:git status *", approvals.ApprovalAnswer("session", "run_command:git status *")),
        ("always run_command:git status *", approvals.ApprovalAnswer("always", "run_command:git status *")),
        ("session run_command:git *", approvals.ApprovalAnswer("no")),
        ("session", approvals.ApprovalAnswer("no")),
        ("never", approvals.ApprovalAnswer("never", "run_command:git status -s")),
        ("no", approvals.ApprovalAnswer("no")),
        ("what?", approvals.ApprovalAnswer("no")),
    ],
)
def test_an_answer_holds_for_what_its_label_says(given: str, meant: approvals.ApprovalAnswer) -> None:
    question = asked(ProposedCall("run_command", "run", "git status -s"))
    assert approval_answer(question, given) == meant
    shown = approval_question(3, question, '{"command": "git status -s"}')
    label = next((choice.label for choice in shown.choices if given in (choice.answer, choice.saved)), "")
    assert meant.pattern.removeprefix("run_command:") in label
    assert shown.number == 3


def test_keys_of_the_choices_are_their_own() -> None:
    shown = approval_question(1, asked(ProposedCall("write_file", "write", "src/a.py")), "{}")
    keys = [choice.key for choice in shown.choices]
    assert len(set(keys)) == len(keys)
    assert shown.default in [choice.answer for choice in shown.choices]


@pytest.mark.parametrize(
    ("call", "choices"),
    [
        (
            ProposedCall("run_command", "run", "git status -s"),
            [
                "y allow once",
                "n deny once",
                "c this command",
                "l commands like git status *",
                "v never: git status -s (saved)",
            ],
        ),
        (
            ProposedCall("edit_file", "write", "src/a.py"),
            [
                *("y allow once", "n deny once", "f this file: src/a.py", "o this folder: src/**"),
                *("p any file in the project", "v never: src/a.py (saved)"),
            ],
        ),
        (
            ProposedCall("github__get", "run", '{"id": 1}'),
            [
                *("y allow once", "n deny once", "c this very call", "t any github__get", "s any tool of github"),
                'v never: {"id": 1} (saved)',
            ],
        ),
    ],
    ids=["command", "file", "server"],
)
def test_each_narrow_choice_has_a_letter_of_its_own(call: ProposedCall, choices: list[str]) -> None:
    shown = approval_question(1, asked(call), "{}")
    labels = [f"{each.key} {each.label.removesuffix(' (this session)')}" for each in shown.choices]
    assert labels == choices
    for each in shown.choices:
        assert bool(each.saved) == each.label.endswith(" (this session)")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        *(("y", "once"), (" Y\n", "once"), ("yes", "once"), ("No", "no"), ("n", "no"), ("v", "never")),
        *(("f", "session write_file:a.py"), ("F", "always write_file:a.py")),
        *(("yes please", None), ("", None), ("z", None)),
    ],
)
def test_a_key_or_a_word_that_is_typed_is_an_answer(typed: str, answer: str | None) -> None:
    shown = approval_question(1, asked(ProposedCall("write_file", "write", "a.py")), "{}")
    assert typed_answer(shown, typed) == answer


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
    assert call_detail("a", arguments) == lines


def test_what_is_too_long_to_be_shown_is_said_before_anything_else() -> None:
    command = "echo " + "x" * 30_000 + "; rm -rf /"
    shown = approval_question(1, asked(ProposedCall("run_command", "run", command)), "{}")
    assert shown.detail.startswith("[only the first 20,000 of 30,015 characters are shown]\necho x")
