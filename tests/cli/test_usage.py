"""`workbench usage`."""

from __future__ import annotations

import csv
import io
import shutil
from datetime import date
from pathlib import Path

import pytest

from cli.test_json_docs import printed
from support.calls import Call
from usage.homes import (
    DAY,
    claude_call,
    claude_reply,
    codex_count,
    codex_header,
    codex_model,
    write_claude,
    write_codex,
    write_lines,
    write_wasteful,
)
from workbench.cli.agent_commands import USAGE_DIMENSIONS
from workbench.cli.arguments import day_argument
from workbench.config.paths import cache_dir
from workbench.lab.replay.usage_waste import FILE as WASTE_FILE
from workbench.usage import other_usage
from workbench.usage.kept_usage import FILE
from workbench.usage.usage_table import DIMENSIONS

LIMITS = {"primary": {"used_percent": 24.0, "window_minutes": 300, "resets_at": 32_503_680_000}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two agents, and a third that reports nothing."""
    monkeypatch.setenv("HOME", str(tmp_path))
    lines = [
        claude_reply("m1", 1, 1_000, 10, content=claude_call("Read")),
        claude_reply("m2", 2, 10, 20, cached=1_000, written=500),
    ]
    write_claude(tmp_path, "c1a1b2c3-0000", lines)
    count = codex_count(1, 110, 100, 10, cached=60, rate_limits=LIMITS)
    write_codex(tmp_path, "t1", [codex_header("t1"), codex_model("of nobody"), count])
    said = [
        {"role": role, "message": {"content": [{"type": "text", "text": "<user_query>\nhello\n</user_query>"}]}}
        for role in ("user", "assistant")
    ]
    write_lines(tmp_path / ".cursor/projects/p/agent-transcripts/x/x.jsonl", said)
    return tmp_path


@pytest.mark.usefixtures("home")
def test_all_agents_are_summed_up_and_what_is_unknown_is_null(call: Call) -> None:
    found = call("usage", "--by", "agent", "--json").json
    rows = {each["agent"]: each for each in found["rows"]}
    assert {*rows} == {"Claude Code", "Codex", "Cursor"}
    claude = rows["Claude Code"]
    assert [claude[key] for key in ("requests", "fresh", "cached", "written", "out")] == [2, 1_010, 1_000, 500, 30]
    assert claude["cost"] == pytest.approx((1_010 * 3 + 1_000 * 0.3 + 500 * 3.75 + 30 * 15) / 1e6)
    assert (rows["Codex"]["cost"], rows["Codex"]["uncosted"], rows["Codex"]["fresh"]) == (None, 1, 40)
    assert (rows["Cursor"]["requests"], rows["Cursor"]["cost"], rows["Cursor"]["silent"]) == (None, None, 1)
    assert found["total"]["requests"] == 3
    assert [each["used_percent"] for each in found["limits"]] == [24.0]
    assert [each["requests"] for each in found["windows"]] == [2]


@pytest.mark.usefixtures("home")
def test_the_table_names_what_is_missing_from_it(call: Call) -> None:
    out = call("usage", "--by", "agent").out
    lines = out.splitlines()
    assert lines[0].split() == [
        *("agent", "requests", "fresh", "cached", "written", "out", "cost", "sub-agents", "compactions")
    ]
    assert next(line for line in lines if line.startswith("Cursor")).split()[1:7] == ["–"] * 6
    assert "without 1 request of models whose price is not known" in out
    assert "without 1 session that reports no tokens" in out
    assert "Codex, 5 hours: 24 % used" in out
    assert "list prices of litellm" in out


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("by", DIMENSIONS)
def test_every_way_to_group_is_printed_as_a_table_as_json_and_as_csv(by: str, call: Call) -> None:
    rows = call("usage", "--by", by, "--json").json["rows"]
    assert sum(each["requests"] or 0 for each in rows) == 3
    table = call("usage", "--by", by).out.split("\n\n")[0].splitlines()
    assert len(table) == len(rows) + 2
    read = [*csv.DictReader(io.StringIO(call("usage", "--by", by, "--csv").out))]
    assert [each[by] for each in read] == [each[by] or "" for each in rows]
    assert [each["requests"] for each in read] == [
        "" if row["requests"] is None else str(row["requests"]) for row in rows
    ]


def test_the_options_are_those_of_the_table() -> None:
    assert USAGE_DIMENSIONS == DIMENSIONS


@pytest.mark.usefixtures("home")
def test_an_agent_a_session_or_a_file_can_be_chosen(call: Call, home: Path) -> None:
    assert call("usage", "codex", "--json").json["total"]["requests"] == 1
    assert call("usage", "c1a1b2c3", "--json").json["total"]["requests"] == 2
    [path] = home.glob(".codex/sessions/*/*/*/*.jsonl")
    assert call("usage", path, "--json").json["total"]["requests"] == 1
    refused = call("usage", "nobody")
    assert (refused.code, "no such file, agent or session" in refused.err) == (2, True)
    assert "no requests fit" in call("usage", "--since", "2999-01-01").out


def test_since_is_a_date_or_a_number_of_days(call: Call) -> None:
    today = date.today()
    assert day_argument("1d") == today.isoformat()
    assert (today - date.fromisoformat(day_argument("1w"))).days == 6
    assert day_argument("2026-11-01") == "2026-11-01"
    for wrong in ("", "d", "-3d", "soon", "9999999999999999d", "2026-13-01"):
        refused = call("usage", f"--since={wrong}")
        assert (refused.code, "expected a date such as" in refused.err) == (2, True)


def test_an_empty_home_says_so(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    assert "no requests of agents on this machine" in call("usage").out
    assert call("usage", "--json").json["total"]["cost"] == 0


@pytest.mark.usefixtures("home")
def test_a_broken_cache_is_made_again_and_changes_no_figure(call: Call) -> None:
    whole = call("usage", "--json").out
    assert call("usage", "--json").out == whole
    path = cache_dir() / FILE
    good = path.read_bytes()
    for broken in (b"", b"not a database", good[: len(good) // 2], good[:5_000] + b"\0" * 500 + good[5_500:]):
        path.write_bytes(broken)
        for more in ("-wal", "-shm"):
            path.with_name(FILE + more).unlink(missing_ok=True)
        assert call("usage", "--json").out == whole
    shutil.rmtree(cache_dir())
    cache_dir().write_text("a file in the place of the folder")
    assert call("usage", "--json").out == whole


@pytest.mark.usefixtures("home")
def test_a_file_that_grows_or_goes_changes_the_figures(call: Call, home: Path) -> None:
    call("usage")
    [path] = home.glob(".claude/projects/*/*.jsonl")
    more = write_lines(home / "more", [claude_reply("m3", 9, 5, 5)]).read_text()
    with path.open("a") as file:
        file.write(more)
    assert call("usage", "--json").json["total"]["requests"] == 4
    path.unlink()
    assert call("usage", "--json").json["total"]["requests"] == 1


def test_a_file_that_its_reader_fails_at_is_named_and_the_others_count(
    call: Call, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = call("usage", "--json").json
    chat = write_lines(home / ".gemini/tmp/p/chats/session-\x1b1.json", [{"sessionId": "s", "messages": []}])

    def broken_reader(*_: object) -> None:
        raise AttributeError("no such thing")

    with monkeypatch.context() as patched:
        patched.setattr(other_usage, "read_conversations", broken_reader)
        found = call("usage", "--json").json
        assert found == before | {"broken": [str(chat)]}
        assert "session-␛1.json: its reader failed (AttributeError)" in call("usage").out
        shutil.rmtree(home / ".claude")
        shutil.rmtree(home / ".codex")
        shutil.rmtree(home / ".cursor")
        assert "its reader failed" in call("usage").out
    chat.touch()
    assert call("usage", "--json").json["broken"] == []


@pytest.mark.usefixtures("home")
def test_hostile_names_reach_no_terminal(call: Call, home: Path) -> None:
    line = claude_reply(
        "m1", 1, 5, 5, model="\x1b[31mred\n\u202e", cwd="/x/\x1b]0;title\x07", content=claude_call("\x1b[2J")
    )
    write_claude(home, "d4", [line])
    for by in DIMENSIONS:
        for how in ((), ("--csv",), ("--json",)):
            out = call("usage", "--by", by, *how).out
            assert not {"\x1b", "\x07", "\u202e"} & {*out}


@pytest.fixture
def wasteful(home: Path) -> Path:
    return write_wasteful(home, "e5e5e5e5-0000")


@pytest.mark.usefixtures("wasteful")
def test_the_page_shows_what_is_printed(call: Call) -> None:
    printed(call, "usage", "--by", "session", "--waste")


@pytest.mark.usefixtures("wasteful")
def test_waste_is_that_of_the_command_waste_and_is_kept(call: Call, wasteful: Path) -> None:
    theirs = call("waste", wasteful, "--json").json
    assert theirs["carried"] > 0
    found = call("usage", "--by", "session", "--waste", "--json").json
    rows = {each["session"]: each for each in found["rows"]}
    assert rows["e5e5e5e5-0000"]["waste"] == theirs["carried"] == found["waste"]["carried"]
    assert rows["e5e5e5e5-0000"]["waste_cost"] == theirs["cost"]
    assert found["waste"]["kinds"] == theirs["kinds"]
    assert call("usage", "--by", "session", "--waste", "--json").json == found
    (cache_dir() / WASTE_FILE).write_bytes(b"not a database")
    assert call("usage", "--by", "session", "--waste", "--json").json == found
    assert "waste" not in call("usage", "--json").json
    table = call("usage", "--by", "session", "--waste").out
    assert f"{theirs['carried']:,}" in next(line for line in table.splitlines() if line.startswith("e5e5e5e5"))
    assert "waste: " in call("usage", "--waste").out


def test_a_session_has_its_title_and_its_last_day(call: Call, home: Path) -> None:
    said = {"type": "user", "message": {"role": "user", "content": "=bake()"}, "sessionId": "s", "uuid": "u"}
    write_claude(home, "f6f6f6f6-0000", [said, claude_reply("t1", 1, 5, 5)])
    for _ in range(2):  # the second time from what is kept
        [line] = [each for each in call("usage", "--by", "session").out.splitlines() if each.startswith("f6f6f6f6")]
        assert DAY in line
        assert line.endswith("=bake()")


def test_no_cell_of_csv_is_a_formula(call: Call, home: Path) -> None:
    for number, name in enumerate(("=1+2", "+1", "-1", "@SUM(A1)", "\t=1")):
        write_claude(home, f"a{number}", [claude_reply(f"f{number}", number, 5, 5, model=name, cwd=name)])
    for by in DIMENSIONS:
        for row in csv.DictReader(io.StringIO(call("usage", "--by", by, "--csv").out)):
            assert not [cell for cell in row.values() if cell.strip().startswith(("=", "+", "-", "@"))]


def test_a_file_that_is_no_transcript_is_an_error(call: Call, tmp_path: Path) -> None:
    for content in ("", "{}\n", "root:x:0:0\n"):
        path = tmp_path / "some.jsonl"
        path.write_text(content)
        refused = call("usage", path)
        assert (refused.code, refused.out, len(refused.err.splitlines())) == (2, "", 1)
        assert "some.jsonl" in refused.err


def test_what_was_reported_before_the_answer_ended_is_marked(call: Call, home: Path) -> None:
    early = claude_reply("g1", 1, 5, 1)
    early["message"]["stop_reason"] = None
    write_claude(home, "a1", [early])
    [row] = [row for row in call("usage", "--by", "session", "--json").json["rows"] if row["session"] == "a1"]
    assert (row["unfinished"], row["out"]) == (1, 1)
    out = call("usage", "a1").out
    assert "≥1 " in out
    assert "≥$" in out
    assert "1 request was recorded before the answer had ended" in out


def test_windows_and_limits_of_a_wrong_clock_are_not_open_now(call: Call, home: Path) -> None:
    write_claude(home, "a1", [claude_reply("g1", 1, 5, 1, at="2999-01-01T00:00:00Z")])
    out = call("usage").out
    assert "5 hours from" not in out


def test_a_number_that_is_too_large_to_keep_is_counted_all_the_same(call: Call, home: Path) -> None:
    write_claude(home, "c1a1b2c3-0001", [claude_reply("m3", 3, 10**30, 10)])
    for _ in range(2):  # the second time from what is kept
        outcome = call("usage", "--json")
        assert (outcome.code, outcome.err) == (0, "")
        assert sum(row["fresh"] or 0 for row in outcome.json["rows"]) >= 10**30
