"""Calling the program as a user does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.calls import Call, Outcome
from workbench.cli.main import main


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*arguments: str | Path) -> Outcome:
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Outcome(code, said.out, said.err)

    return run


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """A small agent session: two turns, one iteration with two calls."""
    calls = [
        {"id": each, "type": "function", "function": {"name": "read_file", "arguments": f'{{"path": "{each}.py"}}'}}
        for each in ("a", "b")
    ]
    messages = [
        {"role": "system", "content": "You are a careful assistant."},
        {"role": "user", "content": "why does the login test fail?"},
        {"role": "assistant", "content": "I read both files.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "def login(): ...\n" * 400},
        {"role": "tool", "tool_call_id": "b", "content": "assert login()"},
        {"role": "assistant", "content": "The fixture is missing."},
        {"role": "user", "content": "then add it 測試 🙂"},
    ]
    path = tmp_path / "session.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    return path
