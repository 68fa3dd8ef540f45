"""`workbench replay`: what it asks, what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.calls import Call
from workbench.cli import asking, replay
from workbench.sources.replay_answers import ReplayAnswer, answer_difference


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A file with two requests of chat and their answers."""
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "src"}'}}
    talk: list[dict[str, Any]] = [{"role": "user", "content": "look"}]
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    more = [*talk, called, {"role": "tool", "tool_call_id": "c1", "content": "a.py\nb.py"}, *talk]
    said = {"role": "assistant", "content": "Two \x1b[31mfiles\x1b[0m.\nThat is all."}
    lines = [
        {
            "request": {"model": "gpt-4o", "messages": messages},
            "response": {
                "model": "gpt-4o",
                "choices": [{"message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 90, "completion_tokens": 9},
            },
        }
        for messages, message in ((talk, called), (more, said))
    ]
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


def test_answers_stand_beside_the_recorded_one(call: Call, recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = call("replay", recording, "--to", "rehearsal", "--exclude", "messages.2", "-n", "2")
    assert (shown.code, shown.err) == (0, "")
    head, title, first, *rest = shown.out.splitlines()
    assert head == "request 2 to gpt-4o, without messages.2"
    assert title.split() == ["model", "in", "cached", "out", "cost", "seconds", "same", "words"]
    assert first.split()[:3] == ["recorded", "gpt-4o", "90"]
    assert [line.split()[:2] for line in rest[:2]] == [["try", "1"], ["try", "2"]]
    assert "- That is all." in rest
    assert "\x1b" not in shown.out
    assert any(line.startswith("+ ") for line in rest)
    monkeypatch.setattr(replay, "line_width", lambda: 120)
    beside = call("replay", recording, "--to", "rehearsal").out
    assert any(line.startswith("- That is all.") and " │ " in line for line in beside.splitlines())


def test_a_call_is_a_line(call: Call, recording: Path) -> None:
    shown = call("replay", recording, "--at", "1", "--to", "rehearsal").out
    assert "- → List src" in shown.splitlines()
    found = call("replay", recording, "--at", "1", "--to", "rehearsal", "--json").json
    assert found["recorded"]["calls"] == [{"tool": "ls", "arguments": '{"path": "src"}'}]
    assert found["answers"][0]["diff"][0] == "- → List src"


def test_where_nobody_can_be_asked_money_needs_a_yes(call: Call, recording: Path) -> None:
    refused = call("replay", recording, "--to", "http://127.0.0.1:9", "-n", "3", "--json")
    assert (refused.code, refused.out) == (3, "")
    assert "send request 2 to gpt-4o 3 times at http://127.0.0.1:9, without" in refused.err
    assert "for about $0.00" in refused.err
    failed = call("replay", recording, "--to", "http://127.0.0.1:9", "--yes")
    assert failed.code == 1
    assert "no answer: Cannot connect" in failed.out


def test_it_asks_before_it_sends(call: Call, recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr(asking, "user_agrees", lambda question: bool(asked.append(question)))  # type: ignore[func-returns-value]
    assert call("replay", recording, "--to", "http://127.0.0.1:9").err == "workbench: nothing was sent\n"
    assert len(asked) == 1
    assert "about $0.00" in asked[0]


def test_what_is_not_whole_is_refused(call: Call, transcript: Path) -> None:
    refused = call("replay", transcript, "--at", "1", "--to", "rehearsal")
    assert refused.code == 3
    assert "the log holds its messages, but not the request itself" in refused.err


def test_columns_are_as_wide_as_the_terminal_or_below_each_other() -> None:
    columns = [["one", "a b c d " * 10], ["two", "x"]]
    lines = replay.side_by_side(columns, 80)
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].split() == ["one", "│", "two"]
    assert replay.side_by_side(columns, 40) == ["one", "a b c d " * 10, "", "two", "x"]


def test_a_line_of_nothing_but_ellipses_is_wrapped_like_any_other() -> None:
    lines = replay.side_by_side([["one", "…" * 100], ["two", "x"]], 80)
    assert all(len(line) <= 80 for line in lines)
    assert "".join(lines).count("…") == 100


def test_lines_that_were_replaced_stand_together() -> None:
    answer = ReplayAnswer("m", "all of it\nnumber one was here\nnumber two was here")
    other = answer._replace(text="all of it\nnumber one is here\nnumber two is here")
    gone = ["- number one was here", "- number two was here"]
    assert answer_difference(other, answer) == ["  all of it", *gone, "+ number one is here", "+ number two is here"]


def test_an_answer_is_compared_in_words() -> None:
    answer = ReplayAnswer("m", "one two three four")
    assert answer.likeness(answer._replace(text="one two three five")) == 0.75
