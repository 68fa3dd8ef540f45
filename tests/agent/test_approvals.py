"""Reading is free, writing and running ask; no answer reaches further than its pattern."""

from __future__ import annotations

import asyncio

import pytest

from agent.approval_calls import Person, command, writing
from workbench.agent.approvals import (
    Approvals,
    Choice,
    SavedApprovals,
)
from workbench.agent.tools.base import Kind, ProposedCall
from workbench.config.paths import config_dir


def test_reading_is_free_and_the_rest_asks() -> None:
    kinds: dict[Kind, str] = {"read": "allow", "write": "ask", "run": "ask"}
    for kind, decision in kinds.items():
        assert Approvals().decision_for(ProposedCall("t", kind, "x")) == decision


def test_a_call_that_cannot_work_is_denied_without_asking() -> None:
    call = ProposedCall("write_file", "write", "", "path: outside")
    approvals = Approvals(allow=["write_file"])
    assert approvals.decision_for(call) == "deny"
    assert approvals.refusal(call, asked=True) == "path: outside"


def test_never_wins_and_sees_every_part_of_a_command() -> None:
    approvals = Approvals(SavedApprovals(("run_command",), ("run_command:git push *", "read_file:secret/**", "fly")))
    written = ("git push", "git push -f", "cd x && git push origin", "echo $(git push)", "a\ngit push")
    for text in (*written, "git push $x", "git  push", "git 'push' *", 'x; g"it" push'):
        assert approvals.decision_for(command(text)) == "deny"
    assert approvals.decision_for(command("git pull")) == "allow"
    assert approvals.decision_for(ProposedCall("read_file", "read", "secret/key")) == "deny"
    assert approvals.decision_for(ProposedCall("fly", "run", "x")) == "deny"
    assert "never allows" in approvals.refusal(command("git push"), asked=True)


@pytest.mark.parametrize(
    ("choice", "now", "again"),
    [
        ("once", True, "ask"),
        ("session", True, "allow"),
        ("always", True, "allow"),
        ("no", False, "ask"),
        ("never", False, "deny"),
    ],
)
async def test_an_answer_holds_as_long_as_it_says(choice: Choice, now: bool, again: str) -> None:
    approvals = Approvals.load()
    person = Person(choice)
    assert await approvals.approve(command("make test"), person) is now
    assert [question.patterns for question in person.asked] == [("run_command:make test",)]
    assert approvals.decision_for(command("make test")) == again
    assert approvals.decision_for(command("make test2")) == "ask"
    later = Approvals.load().decision_for(command("make test"))
    assert later == (again if choice in ("always", "never") else "ask")


async def test_an_answer_for_a_pattern_holds_for_all_it_covers() -> None:
    approvals = Approvals.load()
    assert await approvals.approve(command("git log"), Person("always", "run_command:git *"))
    nobody = Person("no")
    assert await approvals.approve(command("git status"), nobody)
    assert not await approvals.approve(command("git status; rm x"), nobody)
    assert len(nobody.asked) == 1


async def test_one_question_at_a_time_and_its_answer_settles_the_others() -> None:
    approvals = Approvals()
    person = Person("session", "write_file:src/**")
    asked = (approvals.approve(writing(f"src/{n}"), person) for n in range(3))
    assert await asyncio.gather(*asked) == [True, True, True]
    assert len(person.asked) == 1


async def test_with_nobody_to_ask_only_what_is_allowed_runs_and_the_model_learns_how() -> None:
    approvals = Approvals.load(allow=["run_command:ls *"])
    assert await approvals.approve(command("ls -l"), None)
    assert not await approvals.approve(command("echo 'hi'"), None)
    said = approvals.refusal(command("echo 'hi'"), asked=False)
    assert "--allow 'run_command:echo '\\''hi'\\'''" in said
    assert str(config_dir() / "approvals.toml") in said
    assert "refused" in approvals.refusal(command("x"), asked=True)
