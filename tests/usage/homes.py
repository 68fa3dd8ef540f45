"""Homes of agents with sessions that report what they used, for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DAY = "2026-11-15"


def claude_reply(name: str, minute: int, prompt: int, out: int, **more: Any) -> dict[str, Any]:
    """A line of a reply of Claude."""
    used = {
        "input_tokens": prompt,
        "cache_read_input_tokens": more.pop("cached", 0),
        "cache_creation_input_tokens": more.pop("written", 0),
        "output_tokens": out,
    }
    content = more.pop("content", [{"type": "text", "text": "well"}])
    model = more.pop("model", "claude-sonnet-4-5")
    message = {"id": name, "role": "assistant", "model": model, "content": content, "usage": used}
    at = more.pop("at", f"{DAY}T10:{minute:02}:00.000Z")
    names = {"requestId": f"req-{name}", "sessionId": "s", "cwd": "/srv/bakery", "timestamp": at}
    return {"type": "assistant", "uuid": f"u-{name}-{minute}", **names, "message": message, **more}


def claude_call(tool: str) -> list[dict[str, Any]]:
    """The content of a reply that calls a tool."""
    return [{"type": "tool_use", "id": "c", "name": tool, "input": {}}]


def write_claude(home: Path, session: str, lines: list[dict[str, Any]], project: str = "-srv-bakery") -> Path:
    """A session of Claude Code."""
    return write_lines(home / ".claude" / "projects" / project / f"{session}.jsonl", lines)


def write_wasteful(home: Path, session: str) -> Path:
    """A session of Claude Code that reads the same file four times."""
    lines: list[dict[str, Any]] = []
    for number in range(4):
        use = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": "/srv/bakery/bread.py"}}
        lines.append(claude_reply(f"w{number}", number, 1_000 + 500 * number, 10, content=[use]))
        content = [{"type": "tool_result", "tool_use_id": f"c{number}", "content": "flour\n" * 200}]
        lines.append({"type": "user", "uuid": f"r-{number}", "message": {"role": "user", "content": content}})
    return write_claude(home, session, [*lines, claude_reply("w9", 9, 5_000, 10)])


def codex_header(thread: str, **more: Any) -> dict[str, Any]:
    """The first line of a rollout."""
    return _codex("session_meta", 0, {"id": thread, "cwd": "/srv/bakery", **more})


def codex_model(model: str = "gpt-5.4") -> dict[str, Any]:
    """The line that names the model."""
    return _codex("turn_context", 0, {"model": model, "cwd": "/srv/bakery"})


def codex_count(minute: int, total: int, prompt: int, out: int, **more: Any) -> dict[str, Any]:
    """A report; `total`: all tokens of the thread so far."""
    last = {"input_tokens": prompt, "cached_input_tokens": more.pop("cached", 0), "output_tokens": out}
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": last, "model_context_window": 1_000}
    return _codex("event_msg", minute, {"type": "token_count", "info": info, **more})


def codex_call(tool: str) -> dict[str, Any]:
    """A call of a tool."""
    return _codex("response_item", 1, {"type": "function_call", "name": tool, "arguments": "{}", "call_id": "c"})


def write_codex(home: Path, thread: str, lines: list[dict[str, Any]]) -> Path:
    """A rollout of Codex."""
    folder = home / ".codex" / "sessions" / "2026" / "11" / "15"
    return write_lines(folder / f"rollout-2026-11-15T10-00-00-{thread}.jsonl", lines)


def _codex(kind: str, minute: int, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": f"{DAY}T11:{minute:02}:00.000Z", "type": kind, "payload": payload}


def write_lines(path: Path, lines: list[Any]) -> Path:
    """A file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path
