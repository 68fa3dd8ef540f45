"""Errors: a line for people, and with `--json` a line for programs."""

from __future__ import annotations

import importlib.metadata
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from support.calls import Call


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plan", "nowhere", "--json"], "nowhere: no such file, and there is no session 'nowhere'"),
        (["plan", "", "--json"], "expected a session or a file, got an empty name"),
        (["plan", "--json"], "workbench plan: the following arguments are required: SOURCE"),
        (["sessions", "--json", "--nonsense"], "workbench sessions: there is no option --nonsense"),
    ],
)
def test_with_json_an_error_is_one_line_of_json_on_standard_error(call: Call, arguments: list[str], said: str) -> None:
    outcome = call(*arguments)
    assert outcome.out == ""
    [line] = outcome.err.splitlines()
    found = json.loads(line)
    assert found["error"].startswith(said)
    assert (outcome.code, found) == (2, {"schema": 1, "error": found["error"], "exit_code": 2})


def test_the_text_of_an_error_cannot_act_on_a_terminal(call: Call) -> None:
    outcome = call("plan", "no\x1b]52;c;ZXZpbA==\x07where\n", "--json")
    assert len(outcome.err.splitlines()) == 1
    assert "\x1b" not in outcome.err


def test_the_demo_without_a_terminal_names_no_session_of_its_own(call: Call) -> None:
    assert call("demo").err.endswith("`workbench plan SOURCE` needs none\n")


def test_the_lab_does_not_need_litellm(call: Call, talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_litellm(name: str) -> str:
        if name == "litellm":
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", no_litellm)
    outcome = call("lab", talk, "--policy", "window", "--json")
    assert (outcome.code, outcome.err) == (0, "")
