"""The audit that hooks keep: what was in the context before a compaction, and what the summary lost."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mcp_server.sessions import AFTER, BEFORE, add_lines, home_session
from workbench.config.errors import WrongCall
from workbench.mcp_server.compaction_audit import answer_hook
from workbench.sources.services import Services

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
SUMMARY = "The user wanted an invoice booked."


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return home_session(tmp_path / "home", tmp_path, "mine", BEFORE)


def _given(path: Path, event: str, **more: str) -> dict[str, Any]:
    return {"session_id": path.stem, "transcript_path": str(path), "hook_event_name": event, **more}


def _hook(folder: Path, given: dict[str, Any]) -> str:
    with Services() as services:
        return answer_hook(services, given, folder)


def _audits(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted(folder.iterdir())]


def test_before_a_compaction_the_items_of_the_context_are_kept_and_nothing_is_printed(
    session: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "audits"
    assert _hook(folder, _given(session, "PreCompact", trigger="auto")) == ""
    [audit] = _audits(folder)
    assert (audit["schema"], audit["agent"], audit["trigger"], audit["tokens"]) == (1, "Claude Code", "auto", 3_000)
    assert [item["who"] for item in audit["items"]] == ["user", "Read()", "Read"]
    assert audit["compaction"] is None


def test_after_it_the_summary_that_the_hook_gets_is_audited(session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "audits"
    _hook(folder, _given(session, "PreCompact"))
    started = _hook(folder, _given(session, "SessionStart", source="compact"))
    assert "Before that it had 3,000 tokens in 3 items" in started
    assert _hook(folder, _given(session, "PostCompact", compact_summary=SUMMARY)) == ""
    [audit] = _audits(folder)
    assert audit["compaction"]["summary"] == SUMMARY
    assert "src/keep.py" in [fact["text"] for fact in audit["compaction"]["lost"]]


def test_a_summary_that_is_in_the_transcript_is_audited_and_the_agent_is_told(session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "audits"
    _hook(folder, _given(session, "PreCompact"))
    add_lines(session, *AFTER)
    told = _hook(folder, _given(session, "SessionStart", source="compact"))
    [audit] = _audits(folder)
    lost = audit["compaction"]["lost"]
    assert "src/keep.py" in [fact["text"] for fact in lost]
    assert f"lacks {len(lost)} fact" in told
    _hook(folder, _given(session, "PostCompact", compact_summary="another"))
    assert _audits(folder) == [audit]


def test_what_was_compacted_earlier_is_not_taken_for_the_new_compaction(session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "audits"
    add_lines(session, *AFTER)
    _hook(folder, _given(session, "PreCompact"))
    _hook(folder, _given(session, "SessionStart", source="compact"))
    assert [audit["compaction"] for audit in _audits(folder)] == [None]


def test_a_hook_without_an_audit_or_for_another_event_changes_nothing(session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "audits"
    assert _hook(folder, _given(session, "SessionStart", source="startup")) == ""
    assert _hook(folder, _given(session, "SessionStart", source="compact")) == ""
    assert _hook(folder, _given(session, "PostCompact", compact_summary=SUMMARY)) == ""
    assert not folder.exists()
    with pytest.raises(WrongCall, match="PreCompact"):
        _hook(folder, _given(session, "Stop"))


def test_the_name_of_a_session_cannot_lead_out_of_the_folder(session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "audits"
    _hook(folder, {**_given(session, "PreCompact"), "session_id": "../../out"})
    assert len(_audits(folder)) == 1
    assert [path.name for path in folder.parent.glob("*out*")] == []


def test_the_page_shows_what_the_file_has(session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "audits"
    _hook(folder, _given(session, "PreCompact"))
    _hook(folder, _given(session, "PostCompact", compact_summary=SUMMARY))
    section = PAGE.read_text("utf-8").split("## Audits of compactions\n")[1]
    shown = json.loads(re.findall(r"```json\n(.*?)```", section, re.S)[0])
    [audit] = _audits(folder)
    assert _keys(audit) == _keys(shown)


def _keys(audit: dict[str, Any]) -> list[list[str]]:
    made = audit["compaction"]
    return [[*each] for each in (audit, audit["items"][0], made, made["lost"][0])]
