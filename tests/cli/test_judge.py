"""`workbench judge`, as it is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.calls import Call, Outcome
from support.judged import COMMANDS, DECISIONS, ERROR, FILES, RECALL, STEPS
from workbench.config.paths import data_dir
from workbench.judge.values import KINDS


def called(name: str, at: int, **arguments: object) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": f"c{at}", "type": "function", "function": function}],
    }


def answered(at: int, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{at}", "content": text}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A file with the piece of work, and talk after it that a compaction keeps."""
    failed, passed = COMMANDS
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"Please look at the pool. {RECALL[0]} {DECISIONS[2]}"},
        {"role": "assistant", "content": f"{RECALL[1]} {DECISIONS[0]}"},
        *(each for at, path in enumerate(FILES) for each in (called("edit_file", at, path=path), answered(at, "done"))),
        *(called("run_command", 5, command=failed), answered(5, f"{ERROR}\nexit status: 1")),
        *(called("run_command", 6, command=passed), answered(6, "fine\nexit status: 0")),
        {"role": "user", "content": RECALL[2]},
        {"role": "assistant", "content": DECISIONS[1]},
        called("todo_write", 7, todos=[{"content": step, "status": "pending"} for step in STEPS]),
        answered(7, "ok " + "and so on " * 400),
        *({"role": role, "content": f"{role} goes on {at}"} for at in range(6) for role in ("user", "assistant")),
    ]
    path = tmp_path / "work.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    return path


def judged(call: Call, *arguments: str | Path) -> Any:
    outcome = call("judge", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    return outcome.json


def test_policies_are_judged_side_by_side_without_a_key(call: Call, work: Path) -> None:
    outcome = call("judge", work, "--policy", "recorded", "--policy", "codex", "--policy", "window")
    assert outcome.code == 0
    assert "free" in outcome.err
    assert "answered by rehearsal; graded by rule" in outcome.out
    lines = outcome.out.splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("context  ") and "recall" in line)
    assert [line.split()[0] for line in lines[head + 1 : head + 4]] == ["recorded", "codex", "window"]
    assert max(map(len, lines[head : head + 4])) <= 80
    found = judged(call, work, "--policy", "recorded", "--policy", "codex")
    scores = {each["name"]: each["score"] for each in found["contexts"]}
    assert scores["recorded"]["mean"] == 1.0
    assert scores["recorded"]["probes"] == scores["codex"]["probes"] == len(found["probes"]) > 5
    assert {probe["kind"] for probe in found["probes"]} == set(KINDS)


def test_a_second_call_asks_nothing_again(call: Call, work: Path) -> None:
    first = judged(call, work, "--policy", "codex")
    second = judged(call, work, "--policy", "codex")
    assert second == first
    assert Path(first["record"]).parent == data_dir() / "judgements"
    assert Path(first["record"]).stat().st_mode & 0o077 == 0


def test_a_broken_record_is_read_as_far_as_it_goes(call: Call, work: Path) -> None:
    record = Path(judged(call, work, "--policy", "codex")["record"])
    lines = record.read_bytes().splitlines(keepends=True)
    record.write_bytes(
        b"".join(lines[: len(lines) // 2]) + b'\xff{"v": 1, "line": "answer", "pro' + b"\n[]\n7\nnull\n{"
    )
    again = judged(call, work, "--policy", "codex")
    assert again["uncontrolled"] == again["contexts"][0]["unanswered"] == 0


def test_the_last_compaction_of_a_session_is_judged(call: Call, work: Path, tmp_path: Path) -> None:
    [made] = call("import", work, "--json").json["sessions"]
    (tmp_path / "poor.md").write_text("Some work was done. It is not finished.")
    assert call("compact", made["id"], "--summary", tmp_path / "poor.md", "--yes", "--json").code == 0
    found = judged(call, made["id"])
    [context] = found["contexts"]
    assert context["name"].startswith("compaction ")
    assert context["made_by"] == "hand"
    assert context["score"]["mean"] < 0.3
    assert judged(call, made["id"], "--compaction", "1")["contexts"] == found["contexts"]
    wrong = call("judge", made["id"], "--compaction", "7")
    assert (wrong.code, "from 1 to 1" in wrong.err) == (2, True)


def test_without_a_compaction_the_policy_in_force_is_judged(call: Call, work: Path) -> None:
    assert [each["name"] for each in judged(call, work)["contexts"]] == ["workbench"]
    outcome = call("judge", work, "--compaction", "1")
    assert (outcome.code, "no compaction is in the log" in outcome.err) == (2, True)


def test_a_grade_of_the_users_stays(call: Call, work: Path) -> None:
    before = judged(call, work, "--policy", "window")
    wrong = next(each for each in before["contexts"][0]["answers"] if each["grade"]["score"] < 1)
    grade = f"{wrong['probe']}@window=right"
    judged(call, work, "--policy", "window", "--grade", grade, "--why", "it is the same thing")
    after = judged(call, work, "--policy", "window")
    [mine] = [each["grade"] for each in after["contexts"][0]["answers"] if each["probe"] == wrong["probe"]]
    assert (mine["score"], mine["by"], mine["why"]) == (1.0, "hand", "it is the same thing")
    assert after["contexts"][0]["score"]["mean"] > before["contexts"][0]["score"]["mean"]


@pytest.mark.parametrize("grade", ["nonsense", "00000000=right", "12345678@window=perfect"])
def test_a_grade_that_means_nothing_is_refused(call: Call, work: Path, grade: str) -> None:
    outcome = call("judge", work, "--policy", "window", "--grade", grade)
    assert (outcome.code, "--grade" in outcome.err) == (2, True)


def test_a_model_that_costs_money_is_not_asked_without_consent(
    call: Call, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "made-up")
    outcome = call("judge", work, "--policy", "codex", "--model", "gpt-4o", "--budget", "$0.5")
    assert outcome.code != 0
    assert "gpt-4o" in outcome.err
    assert "more than $0.50" in outcome.err
    assert "--yes" in outcome.err


def test_a_model_without_a_key_is_refused_in_a_line(call: Call, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    outcome: Outcome = call("judge", work, "--policy", "codex", "--model", "gpt-4o", "--yes")
    assert outcome.code != 0
    assert "OPENAI_API_KEY" in outcome.err


def test_a_conversation_with_nothing_to_ask_has_no_score(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "short.json"
    path.write_text(json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]))
    outcome = call("judge", path, "--policy", "codex")
    assert outcome.code == 1
    assert "no score: there is nothing to ask about" in outcome.out


def test_the_lab_shows_what_is_still_known(call: Call, work: Path) -> None:
    outcome = call("lab", work, "--judge", "20", "--window", "4000", "--jobs", "1", "--json")
    runs = {each["policy"]: each for each in outcome.json["sources"][0]["policies"]}
    assert runs["recorded"]["judged"] == 1.0
    assert all(each["judged_probes"] == runs["recorded"]["judged_probes"] > 0 for each in runs.values())
    assert min(each["judged"] for each in runs.values()) < 1.0
    assert "judged" in call("lab", work, "--judge", "20", "--window", "4000", "--jobs", "1").out
    assert "judged" not in call("lab", work, "--jobs", "1").out
