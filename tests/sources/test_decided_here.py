"""What is decided here about another agent's session: compact, `plan` and undo give the same figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.cli.main import main
from workbench.context.policy_names import RECORDED
from workbench.log.events import (
    AssistantMessage,
    Body,
    Compaction,
    Override,
    Reasoning,
    Revert,
    Setting,
    Usage,
    UserMessage,
)
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import as_source, number_events

MODEL = "claude-sonnet-4-5"
DECISIONS = st.sampled_from(
    [Compaction(1, 9, "they read ten files"), Override("exclude", 2, 7), Override("mask", 4, 4), Setting("title", "x")]
)


def session(bodies: list[Body]) -> RecordedSession:
    return RecordedSession(Services(), Options(), as_source("file", number_events(bodies), is_file=True))


@st.composite
def recordings(draw: st.DrawFn) -> list[Body]:
    """Turns with thinking whose reports grow faster than the texts, as they do where an agent adds its own."""
    bodies: list[Body] = []
    for turn in range(draw(st.integers(4, 9))):
        words = draw(st.integers(1, 300))
        reported = draw(st.integers(1_000 * (turn + 1), 1_500 * (turn + 1)))
        bodies += [UserMessage("alpha " * words), Reasoning("so then " * words, f"r{turn}")]
        bodies += [AssistantMessage("done with it", f"r{turn}"), Usage(MODEL, 0, reported)]
    return [*bodies, Setting("model", MODEL), Setting(RECORDED, "pi")]


@given(recordings(), st.lists(DECISIONS, min_size=1, max_size=3), st.booleans())
def test_a_decision_changes_the_rows_of_the_next_request_and_nothing_else(
    recording: list[Body], decided: list[Body], undone: bool
) -> None:
    before = session(recording)
    after = session([*recording, *decided, *([Revert(len(recording) + 1)] if undone else [])])
    assert after.unattributed(None) == before.unattributed(None)
    assert after.plan_upto(len(after.events)).size == after.next_size


def test_the_commands_agree_on_the_sizes_before_and_after(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for turn in range(12):
        thought = {"type": "thinking", "thinking": f"step {turn}: " + "consider it " * 60}
        answer = {"type": "text", "text": f"file {turn} has " + "many words " * 80}
        used = {"input_tokens": 9_000 + 900 * turn + 60 * turn * turn, "output_tokens": 300}
        message = {"id": f"m{turn}", "role": "assistant", "model": MODEL, "content": [thought, answer], "usage": used}
        lines += [
            {"type": "user", "uuid": f"u{turn}", "message": {"role": "user", "content": f"read file {turn}"}},
            {"type": "assistant", "uuid": f"a{turn}", "message": message},
        ]
    file = tmp_path / "talk.jsonl"
    file.write_text("".join(json.dumps({"sessionId": "s", "version": "2.0.0", **line}) + "\n" for line in lines))

    def printed(*arguments: str) -> str:
        assert main(arguments) == 0
        return capsys.readouterr().out

    name = json.loads(printed("import", str(file), "--json"))["sessions"][0]["id"]
    made = json.loads(printed("compact", name, "--digest", "--json"))
    assert made["tokens_after"] < made["tokens_before"]

    def size() -> int:
        used: dict[str, int] = json.loads(printed("plan", name, "--json"))["budget"]
        return sum(used.values()) - used["free"] - used["reserve"] - used["margin"]

    assert size() == made["tokens_after"]
    assert f"the request: {made['tokens_after']:,} → {made['tokens_before']:,} of" in printed("undo", name)
    assert size() == made["tokens_before"]
