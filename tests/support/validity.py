"""What every provider asks of a request."""

from __future__ import annotations

import json
from typing import Any

ROLES = {"system", "developer", "user", "assistant", "tool"}


def problems(messages: list[dict[str, Any]]) -> list[str]:
    """Everything a provider would refuse, in words."""
    found = []
    waiting: set[str] = set()
    used: set[str] = set()
    spoken = False
    for at, message in enumerate(messages):
        role = message["role"]
        if role not in ROLES:
            found.append(f"{at}: role {role!r}")
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                found.append(f"{at}: a result without a call before it: {message['tool_call_id']!r}")
            waiting.discard(message["tool_call_id"])
        elif waiting:
            found.append(f"{at}: calls without results: {waiting}")
            waiting = set()
        if role in ("user", "assistant", "tool") and not spoken:
            if role != "user":
                found.append(f"{at}: the conversation begins with {role}")
            spoken = True
        if _is_empty(message.get("content")) and not message.get("tool_calls"):
            found.append(f"{at}: empty content")
        for call in message.get("tool_calls", []):
            if call["id"] in used or not call["id"]:
                found.append(f"{at}: the id {call['id']!r} is used twice, or empty")
            used.add(call["id"])
            waiting.add(call["id"])
            if not isinstance(json.loads(call["function"]["arguments"]), dict):
                found.append(f"{at}: arguments that are no object")
    if waiting:
        found.append(f"end: calls without results: {waiting}")
    return found


def _is_empty(content: Any) -> bool:
    if isinstance(content, list):
        return not content or any(part["type"] == "text" and not part["text"].strip() for part in content)
    return not isinstance(content, str) or not content.strip()
