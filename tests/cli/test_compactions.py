"""`workbench compactions` and `workbench undo`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.calls import Call
from support.requirements import requirement
from support.talk import turns
from workbench.config.paths import config_dir
from workbench.log.codec import encode_event
from workbench.log.events import Body, Compaction, Event, Failure, Override, Revert, Usage
from workbench.log.store import Store

META = {
    "trigger": "threshold",
    "made_by": "gpt-4o",
    "tokens_before": 9_000,
    "tokens_after": 1_000,
    "ratio": 16.0,
    "score": 0.75,
    "seconds": 2.0,
    "cost": 0.0125,
    "first_turn": 1,
    "last_turn": 2,
}


def stored(*bodies: Body) -> str:
    """A session of these events."""
    with Store.open() as store, store.create(title="work") as session:
        session.append(*bodies)
        return session.id


def nested() -> str:
    """A session with a compaction inside a later one, another that was taken back, a pin and a failure."""
    inner, outer = Compaction(2, 3, "one", meta=META), Compaction(2, 5, "two", meta={**META, "trigger": "manual"})
    return stored(
        *turns(4, 100), inner, outer, Compaction(6, 7, "three"), Revert(12), Override("pin", 9, 9), Failure("x", "y")
    )


def read_log(session: str) -> list[Event]:
    with Store.open() as store, store.session(session, write=False) as view:
        return view.events()


# compactions


def test_a_session_without_compactions_says_what_comes(call: Call) -> None:
    session = stored(*turns(3, 100))
    found = call("compactions", session, "--policy", "codex", "--window", "4000", "--reserve", "0")
    assert found.code == 0
    assert "policy    codex; mode auto; the next request has 627 of 4,000 tokens" in found.out
    assert "threshold no: 627 of 4,000 = 15.7 % <= 70 %" in found.out
    assert "now       nothing: no trigger fired" in found.out
    assert "next      compacts at 2,801 (70 %), in about 11 turns\n" in found.out
    assert "no compactions yet" in found.out


@requirement("sliding", "shown", "each compaction is listed with its range, tokens, ratio and trigger")
def test_the_history_is_a_tree_with_its_figures(call: Call) -> None:
    out = call("compactions", nested(), "--policy", "workbench").out
    assert "confirm, auto where nobody can be asked" in out
    outer = next(line for line in out.splitlines() if line.startswith("11 "))
    inner = next(line for line in out.splitlines() if line.startswith("└ 10 "))
    gone = next(line for line in out.splitlines() if line.startswith("12 "))
    assert out.index(outer) < out.index(inner) < out.index(gone)
    assert outer.split()[3:] == ["2–5", "1–2", "9,000", "1,000", "16.0", "75%", "manual", "gpt-4o", "active"]
    assert inner.split()[4:] == [
        "2–3",
        "1–2",
        "9,000",
        "1,000",
        "16.0",
        "75%",
        "threshold",
        "gpt-4o",
        "replaced",
        "by",
        "11",
    ]
    assert gone.split()[3:] == ["6–7", "–", "–", "–", "–", "–", "–", "–", "undone", "by", "13"]


@requirement("sliding", "shown", "triggers, durations, compression ratios and errors are counted")
def test_the_counters(call: Call) -> None:
    session = stored(
        *turns(4), Failure("compaction", "timeout: slow"), Compaction(1, 2, "s", meta={**META, "made_by": "digest"})
    )
    out = call("compactions", session).out
    assert "event 10 failed, timeout: slow" in out
    for line in (
        "made      1 (1 active), by trigger: 1 threshold",
        "freed     8,000 tokens; 1 without a model",
        "cost      $0.0125",
        "seconds   2.00",
        "ratio     16.0",
        "kept      75%",
        "failures  1 timeout",
    ):
        assert line in out.splitlines()


def test_what_was_freed_is_not_said_to_be_nothing_where_nobody_noted_it(call: Call) -> None:
    out = call("compactions", stored(*turns(4, 100), Compaction(2, 3, "one", meta={"tokens_before": 155_099}))).out
    assert "freed     not recorded; 0 without a model" in out


@requirement("sliding", "commands", "a command shows the state of compaction: policy, triggers, what comes next")
def test_json_has_all_values(call: Call) -> None:
    session = nested()
    found = call("compactions", session, "--policy", "confirm", "--window", "1000", "--json").json
    assert (found["session"], found["policy"], found["mode"], found["headless_mode"]) == (
        session,
        "confirm",
        "confirm",
        "confirm",
    )
    assert found["window"] == 1_000
    assert set(found["decision"]) == {"action", "trigger", "why", "question", "digest"}
    assert [check["trigger"] for check in found["checks"]] == ["threshold", "threshold", "overflow"]
    assert set(found["next"]) == {"trigger", "limit", "turns", "why", "growth"}
    outer, gone = found["history"]
    assert (outer["event"], outer["from"], outer["to"], outer["status"], outer["by"]) == (11, 2, 5, "standing", None)
    assert [(one["event"], one["by"], one["summary"]) for one in outer["inside"]] == [(10, 11, "one")]
    assert (gone["status"], gone["by"], gone["tokens_before"]) == ("reverted", 13, None)
    assert found["metrics"]["by_trigger"] == {"threshold": 1, "manual": 1, "unknown": 1}
    assert found["metrics"]["ratios"] == {"of": 2, "least": 16.0, "mean": 16.0, "most": 16.0}
    assert found["failures"] == []


@pytest.mark.parametrize(
    ("policy", "reported", "now"),
    [
        ("confirm", 900, "asks: Context usage at 90% (900/1,000 tokens). Compact conversation?"),
        ("codex", 1, "nothing: no trigger fired"),
        ("layers", 1, "nothing: no trigger fired"),
    ],
)
def test_it_says_what_would_be_done_now(call: Call, policy: str, reported: int, now: str) -> None:
    session = stored(*turns(2), Usage("m", 10, reported))
    out = call("compactions", session, "--policy", policy, "--window", "1000", "--reserve", "0").out
    assert f"now       {now}" in out.splitlines()


def test_a_full_window_is_compacted_and_said_so(call: Call) -> None:
    session = stored(
        *turns(3, 100), Failure("compaction", "model: down"), Failure("compaction", "model: down"), *turns(1)
    )
    out = call("compactions", session, "--policy", "codex", "--window", "300").out
    assert "now       compacts without a model: " in out


def test_the_pace_is_the_ledgers_where_there_is_one(call: Call) -> None:
    bodies: list[Body] = []
    for at in range(3):
        bodies += [*turns(1, first=at), Usage("m", 10, 100 * (at + 1))]
    found = call(
        "compactions", stored(*bodies), "--policy", "window", "--window", "4000", "--reserve", "0", "--json"
    ).json
    assert "turns of 100 tokens" in found["next"]["why"]


def test_a_file_can_be_looked_at_too_and_its_notes_may_be_junk(call: Call, tmp_path: Path) -> None:
    meta: dict[str, Any] = {"ratio": "x", "score": [], "trigger": "\x1b[31mred", "tokens_before": True}
    bodies: Sequence[Body] = [*turns(2), Compaction(1, 2, "s", meta=meta), Compaction(3, 4, "t")]
    at = [0, 0, 0, 0, 0, 10**30]
    path = tmp_path / "log.jsonl"
    lines = [encode_event(Event(seq, f"e{seq}", at[seq - 1], body)) for seq, body in enumerate(bodies, 1)]
    path.write_text("\n".join(lines).replace('"score":[]', '"score":1e999'), encoding="utf-8")
    found = call("compactions", path)
    assert found.code == 0, found.err
    assert "\x1b" not in found.out
    assert call("compactions", path, "--json").json["history"][0]["score"] is None


def test_what_is_not_there_is_told(call: Call) -> None:
    assert call("compactions", "nowhere").code == 2
    assert call("undo", "nowhere").code == 2


# undo


def test_undo_takes_back_the_last_and_says_which(call: Call) -> None:
    session = nested()
    first = call("undo", session)
    assert first.code == 0
    assert first.out.startswith("event 16: undid: pinned #9\n")
    second = call("undo", session, "--json").json
    assert second["changes"][0]["target"] == 11
    assert second["changes"][0]["kind"] == "compaction"
    assert second["changes"][0]["what"].endswith(": compaction #10 is active again")
    assert second["tokens_after"] > second["tokens_before"]
    assert [event.body for event in read_log(session)[-2:]] == [Revert(14), Revert(11)]


def test_undo_and_redo_give_the_same_plan(call: Call) -> None:
    session = nested()
    before = call("plan", session, "--json").json
    assert call("undo", session, "--event", "11").code == 0
    assert call("plan", session, "--json").json != before
    redone = call("undo", session, "--redo")
    assert "redid compaction #11" in redone.out
    assert "the request: " in redone.out
    assert call("plan", session, "--json").json == before


def test_all_compactions_can_be_peeled(call: Call) -> None:
    session = nested()
    found = call("undo", session, "--all-compactions", "--json").json
    assert [change["target"] for change in found["changes"]] == [11, 10]
    assert [change["event"] for change in found["changes"]] == [16, 17]
    assert call("compactions", session, "--json").json["metrics"]["by_status"] == {"reverted": 3}
    assert call("undo", session, "--all-compactions").code == 3


def test_nothing_to_undo_is_refused_and_leaves_the_log_alone(call: Call) -> None:
    session = stored(*turns(2))
    count = len(read_log(session))
    for arguments in ([], ["--redo"], ["--all-compactions"]):
        outcome = call("undo", session, *arguments)
        assert outcome.code == 3
        assert outcome.err.startswith("workbench: nothing to ")
    assert len(read_log(session)) == count


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--event", "99"], "event 99: expected a sequence number from 1 to 15"),
        (["--event", "2"], "event 2: expected a compaction or an override, got a UserMessage"),
        (["--event", "x"], "--event"),
        (["--redo", "--all-compactions"], "--redo: expected one event"),
        (["--event", "11", "--all-compactions"], "not allowed with"),
    ],
)
def test_a_wrong_call_changes_nothing(call: Call, arguments: list[str], complaint: str) -> None:
    session = nested()
    outcome = call("undo", session, *arguments)
    assert outcome.code == 2
    assert complaint in outcome.err
    assert len(read_log(session)) == 15


def test_a_session_that_is_open_elsewhere_is_not_changed(call: Call) -> None:
    session = nested()
    with Store.open() as store, store.session(session):
        outcome = call("undo", session)
        assert outcome.code != 0
        assert "read-only" in outcome.err
    assert len(read_log(session)) == 15


def test_a_broken_policy_undoes_nothing(call: Call) -> None:
    session = nested()
    config = config_dir()
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text('policy = "no-such-policy"\n')
    assert call("undo", session).code == 2
    assert len(read_log(session)) == 15
