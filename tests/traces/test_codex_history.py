"""Rollouts of Codex that go on from another one: after a rewind, and as forks."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from support.logs import number
from support.talk import planned, preset
from workbench.lab.replay.replayed_session import undone_by
from workbench.log.events import Failure, Override, Usage
from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations, read_file

RECORDED = preset("recorded")


def line(ordinal: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-11-15T10:00:00Z", "ordinal": ordinal, "type": kind, "payload": payload}


def said(ordinal: int, role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return line(ordinal, "response_item", type="message", role=role, content=[{"type": kind, "text": text}])


def turn(ordinal: int, text: str) -> list[dict[str, Any]]:
    """A turn of two messages and a report."""
    usage = {"input_tokens": 10 + ordinal, "output_tokens": 1, "total_tokens": 11 + ordinal}
    report = line(ordinal + 2, "token_usage_record", response_id=f"r{ordinal}", usage=usage)
    return [said(ordinal, "user", text), said(ordinal + 1, "assistant", text.upper()), report]


def meta(ordinal: int, thread: str, base: tuple[str, int] | None = None, **more: Any) -> dict[str, Any]:
    instructions = {"text": "be kind"}
    named = {"thread_id": base[0], "end_ordinal_exclusive": base[1], "end_byte_offset": 1} if base else None
    before = {"history_base": named} if named else {}
    return line(ordinal, "session_meta", id=thread, base_instructions=instructions, **before, **more)


def put(folder: Path, second: int, name: str, *lines: dict[str, Any], day: str = "2026-11-15") -> Path:
    path = folder / f"rollout-{day}T10-00-{second:02}-{name}.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")
    return path


def read(path: Path) -> list[Recording]:
    return read_conversations(*read_file(str(path)), path=str(path))


def left(path: Path) -> list[str]:
    """What the next request would hold, less the instructions."""
    rows = planned(read(path)[0], RECORDED).items
    return [row.text or "" for row in rows if row.in_request and row.text != "be kind"]


def test_what_the_user_went_back_from_is_not_sent_and_says_why(tmp_path: Path) -> None:
    put(tmp_path, 0, "t", meta(0, "t"), *turn(1, "one"), *turn(4, "two"))
    path = put(tmp_path, 1, "t_s", meta(4, "t", ("t", 4)), *turn(5, "three"))
    assert left(path) == ["one", "ONE", "three", "THREE"]
    [bodies] = read(path)
    plan = planned(bodies, RECORDED)
    gone = next(row for row in plan.items if row.original == "two")
    why = "undone in Codex: its user went back to an earlier message"
    assert (gone.state, gone.edits[-1].why) == ("excluded", why)
    assert any(row.text == "be kind" and row.in_request for row in plan.items), "the instructions stay"
    assert [body.prompt for body in bodies if isinstance(body, Usage)] == [11, 14, 15]
    events = number(bodies)
    assert undone_by(events) == {event.seq for event in events if isinstance(event.body, Override)} != set()


def test_without_a_base_the_user_went_back_to_the_beginning(tmp_path: Path) -> None:
    put(tmp_path, 0, "t", meta(0, "t"), *turn(1, "one"))
    path = put(tmp_path, 1, "t_s", meta(0, "t"), *turn(1, "two"))
    assert left(path) == ["two", "TWO"]
    assert any(row.text == "be kind" and row.in_request for row in planned(read(path)[0], RECORDED).items)


def test_an_earlier_file_of_the_thread_is_read_as_it_was(tmp_path: Path) -> None:
    path = put(tmp_path, 0, "t", meta(0, "t"), *turn(1, "one"))
    put(tmp_path, 1, "t_s", meta(0, "t"), *turn(1, "two"))
    assert left(path) == ["one", "ONE"]


def test_an_output_without_a_report_behind_it_stays_before_where_the_user_went_back_to(tmp_path: Path) -> None:
    call = line(2, "response_item", type="function_call", name="exec", arguments="{}", call_id="c1")
    output = line(3, "response_item", type="function_call_output", call_id="c1", output="out")
    put(tmp_path, 0, "t", meta(0, "t"), said(1, "user", "one"), call, output, *turn(4, "two"))
    path = put(tmp_path, 1, "t_s", meta(4, "t", ("t", 4)), said(5, "user", "three"))
    assert left(path) == ["one", "{}", "out", "three"]


def test_a_fork_begins_with_what_the_other_thread_had_said(tmp_path: Path) -> None:
    put(tmp_path, 0, "t", meta(0, "t"), *turn(1, "one"), *turn(4, "two"))
    put(tmp_path, 1, "t_s", meta(4, "t", ("t", 4)), *turn(5, "three"), *turn(8, "four"))
    path = put(tmp_path, 2, "f", meta(8, "f", ("s", 8), forked_from_id="t"), *turn(9, "five"))
    assert left(path) == ["one", "ONE", "three", "THREE", "five", "FIVE"]
    assert not any(isinstance(body, Override) for body in read(path)[0]), "the other thread's way back is not its own"


def test_a_file_of_another_day_is_found_by_the_time_in_its_id(tmp_path: Path) -> None:
    first = "019a84f0-7c00-7000-8000-000000000000"  # 14 November 2025, 23:19 UTC
    folders = [tmp_path / "2025" / "11" / day for day in ("15", "20")]
    for folder in folders:
        folder.mkdir(parents=True)
    put(folders[0], 0, first, meta(0, first), *turn(1, "one"), day="2025-11-15")
    path = put(folders[1], 1, f"{first}_s", meta(4, first, (first, 4)), *turn(5, "two"), day="2025-11-20")
    assert left(path) == ["one", "ONE", "two", "TWO"]


def test_a_file_that_is_missing_is_said(tmp_path: Path) -> None:
    path = put(tmp_path, 1, "t_s", meta(4, "t", ("t", 4)), *turn(5, "two"))
    assert left(path) == ["two", "TWO"]
    [told] = [body for body in read(path)[0] if isinstance(body, Failure)]
    assert "goes on from the rollout t, which is not beside it" in told.message
    assert len(read_conversations(*read_file(str(path)))) == 1, "where the file alone is asked for"


def test_a_file_that_names_itself_is_read_once(tmp_path: Path) -> None:
    assert left(put(tmp_path, 0, "t", meta(0, "t", ("t", 9)), *turn(1, "one"))) == ["one", "ONE"]


def test_a_forked_sub_agent_counts_from_where_its_own_lines_begin(tmp_path: Path) -> None:
    path = put(tmp_path, 0, "t", meta(0, "t"), *turn(1, "one"))
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "t", "agent_nickname": "Ada"}}}
    header = meta(0, "a", forked_from_id="t", source=source, subagent_history_start_ordinal=4)
    put(tmp_path, 1, "a", header, *turn(1, "one"), *turn(4, "task"))
    session, agent = read(path)
    assert [body.prompt for body in session if isinstance(body, Usage)] == [11, 14]
    assert [body.prompt for body in agent if isinstance(body, Usage)] == [11, 14]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=10))
def test_what_is_left_is_what_codex_itself_keeps(steps: list[int]) -> None:
    """Each number: how many turns its turn goes back; each time that begins a new file."""
    with TemporaryDirectory() as folder:
        lines, base, kept = [meta(0, "t")], "t", list[tuple[str, int]]()
        owners: list[str] = []
        path = put(Path(folder), 0, "t", *lines)
        for at, back in enumerate(steps):
            if back and kept:
                gone = min(back, len(kept))
                (_, ordinal), owner = kept[-gone], owners[-gone]
                del kept[-gone:], owners[-gone:]
                base = f"s{at}"
                lines = [meta(ordinal, "t", (owner, ordinal))]
                path = put(Path(folder), at + 1, f"t_{base}", *lines)
            ordinal = lines[-1]["ordinal"] + 1
            lines = [*lines, *turn(ordinal, f"turn {at}")]
            path.write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")
            kept.append((f"turn {at}", ordinal))
            owners.append(base)
        assert left(path) == [word for text, _ in kept for word in (text, text.upper())]
