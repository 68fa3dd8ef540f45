"""Lines of Claude Code's files, for tests."""

from __future__ import annotations

import json
from typing import Any

from workbench.traces.building import Recording
from workbench.traces.formats import read_conversations


def line(kind: str, content: Any = None, uuid: str = "u", **more: Any) -> dict[str, Any]:
    """A line that holds a message."""
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "uuid": uuid, "sessionId": "s", "message": message, **more}


def reply(block: dict[str, Any], name: str = "msg", **more: Any) -> dict[str, Any]:
    """A line with one block of a reply."""
    return line("assistant", [block], message={"id": name, **more})


def read_lines(*lines: dict[str, Any]) -> list[Recording]:
    return read_conversations("file", "\n".join(map(json.dumps, lines)))


USED = {"input_tokens": 3, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 5, "output_tokens": 7}
HOUR = {"cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 5}}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}
