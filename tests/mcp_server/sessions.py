"""Sessions of Claude Code in a home, for an agent that asks about its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.claude_sessions import as_lines, replied, said, text

SECRET = "the invoice number is 4711"


def call(second: float, name: str, tool: str, arguments: dict[str, Any], prompt: int) -> dict[str, Any]:
    """A reply with a call."""
    block = {"type": "tool_use", "id": name, "name": tool, "input": arguments}
    return replied(second, f"m-{name}", block, prompt)


def result(second: float, name: str, content: str) -> dict[str, Any]:
    """The result of a call."""
    return said(second, [{"type": "tool_result", "tool_use_id": name, "content": content}])


def compacted(second: float, summary: str, before: int) -> list[dict[str, Any]]:
    """A compaction by the agent."""
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "uuid": f"b{second}",
        "timestamp": f"2026-11-15T10:00:{second:06.3f}Z",
        "compactMetadata": {"trigger": "auto", "preTokens": before},
    }
    return [boundary, said(second + 0.1, summary, isCompactSummary=True)]


BEFORE = [
    said(1, "book the invoice, and never touch src/keep.py"),
    call(2, "c1", "Read", {"file_path": "invoice.txt"}, 1_000),
    result(3, "c1", f"{SECRET}\n" + "a line of the invoice\n" * 400),
    replied(4, "m2", text("It is booked."), 3_000),
]
"""Until a compaction."""
AFTER = [
    *compacted(5, "The user wanted an invoice booked.", 3_100),
    said(6, "which number had it?"),
    call(7, "ask1", "mcp__workbench__context_now", {}, 900),
]
"""From then on; the agent asks."""


def home_session(home: Path, folder: Path, name: str, lines: list[dict[str, Any]]) -> Path:
    """A session's file in the home of Claude Code, for a folder."""
    path = home / ".claude" / "projects" / "-work" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_lines({**line, "cwd": str(folder), "sessionId": name} for line in lines), "utf-8")
    return path


def add_lines(path: Path, *lines: dict[str, Any]) -> None:
    """Let a session grow."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({**line, "sessionId": path.stem}) + "\n" for line in lines)
