"""What was reported last stands at the end of a file, and is read as in the whole of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from live.test_finder import SAID, SESSIONS, WORK, put
from support.recordings import FOLDER
from workbench.live.finder import AgentSessionFinder
from workbench.live.heads import HEAD, TAIL, read_head
from workbench.live.reports import LastReport, report_in
from workbench.traces.formats import read_conversations, read_file

CLAUDE = {"input_tokens": 5, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 95, "output_tokens": 7}
CODEX = {"input_tokens": 1000, "cached_input_tokens": 900, "output_tokens": 7, "total_tokens": 1007}
GEMINI = {"promptTokenCount": 1000, "cachedContentTokenCount": 900, "candidatesTokenCount": 7}
REPORTS: dict[str, tuple[dict[str, Any], int]] = {
    "Claude Code": (
        {"type": "assistant", "uuid": "a", "message": {"id": "m", "role": "assistant", "content": [], "usage": CLAUDE}},
        0,
    ),
    "Codex": (
        {
            "type": "event_msg",
            "payload": {
                "type": "token_count",
                "info": {"total_token_usage": CODEX, "last_token_usage": CODEX, "model_context_window": 258_400},
            },
        },
        258_400,
    ),
    "Gemini CLI": (
        {"id": "9", "type": "gemini", "content": "", "tokens": {"input": 1000, "cached": 900, "output": 7}},
        0,
    ),
    "pi": (
        {
            "type": "message",
            "id": "9",
            "message": {
                "role": "assistant",
                "content": [],
                "usage": {"input": 5, "output": 7, "cacheRead": 900, "cacheWrite": 95},
            },
        },
        0,
    ),
    "Qwen Code": (
        {
            "uuid": "9",
            "type": "assistant",
            "message": {"role": "model", "parts": [{"text": "so"}]},
            "usageMetadata": GEMINI,
        },
        0,
    ),
    "Kimi Code": (
        {"type": "usage.record", "usage": {"inputOther": 100, "inputCacheRead": 900, "output": 7}},
        0,
    ),
}


@pytest.mark.parametrize("agent", REPORTS)
@pytest.mark.parametrize("between", [0, HEAD + 3 * TAIL])
def test_the_last_report_is_read_from_the_end(agent: str, between: int, tmp_path: Path) -> None:
    line, window = REPORTS[agent]
    path, lines = SESSIONS[agent]
    put(tmp_path / path, [*lines, {"type": "none", "text": "x" * between}, line, {"type": "none"}])
    [session] = AgentSessionFinder({"HOME": str(tmp_path)}).find_sessions()
    assert session.report is not None
    assert (session.report.prompt, session.report.cached, session.report.completion) == (1000, 900, 7)
    assert session.report.window == window


def test_a_reply_that_failed_reports_nothing_and_the_one_before_counts(tmp_path: Path) -> None:
    good = REPORTS["Claude Code"][0]
    failed = {
        "type": "assistant",
        "uuid": "b",
        "message": {"id": "n", "content": [], "usage": dict.fromkeys(CLAUDE, 0)},
    }
    path = put(tmp_path / "1.jsonl", [*SESSIONS["Claude Code"][1], good, failed, failed])
    report = read_head(str(path), "Claude Code").report
    assert report is not None
    assert report.prompt == 1000


def test_what_is_cut_or_strange_at_the_end_is_no_error(tmp_path: Path) -> None:
    good, path = REPORTS["Claude Code"][0], tmp_path / "1.jsonl"
    path.write_text(json.dumps(good) + '\n{"usage": {"input_tokens": "many"}}\n{"usage": {' + "[" * 5_000, "utf-8")
    report = read_head(str(path), "Claude Code").report
    assert report == LastReport(1000, 900, 7)
    assert read_head(str(path), "an agent nobody knows").report is None


REAL = sorted(path for agent in ("claude-code", "codex", "pi") for path in FOLDER.glob(f"{agent}/*.jsonl"))


@pytest.mark.parametrize("path", REAL, ids=lambda path: str(path.name))
def test_of_real_transcripts_it_is_that_of_the_whole_file(path: Path) -> None:
    [recording, *_] = read_conversations(*read_file(str(path)))
    whole, end = report_in([recording]), read_head(str(path)).report
    assert whole is not None
    assert end is not None
    assert (end.prompt, end.cached, end.completion) == (whole.prompt, whole.cached, whole.completion)


def test_places_of_the_users_own_are_looked_into(tmp_path: Path) -> None:
    path, lines = SESSIONS["Codex"]
    moved = put(tmp_path / "box" / path.removeprefix(".codex/"), lines)
    loose = put(tmp_path / "runs" / "deep" / "x.jsonl", SESSIONS["pi"][1])
    more = (str(tmp_path / "box"), str(tmp_path / "runs" / "**" / "*.jsonl"), "~/box", str(tmp_path / "none"))
    finder = AgentSessionFinder({"HOME": str(tmp_path)}, more)
    found = {each.path: (each.agent, each.folder, each.title) for each in finder.find_sessions()}
    assert found == {str(moved): ("Codex", WORK, SAID), str(loose): ("pi", WORK, SAID)}
