"""Small sessions for the lab, whose last answer needs what their first result says."""

from __future__ import annotations

import json
from pathlib import Path

from support.talk import words

MASKED = ("--set", "masking.keep_first=0", "--set", "masking.keep_last=1", "--set", "masking.min_tokens=0")
"""Options under which the first result is masked, so that one fact is missed."""


def write_port_session(path: Path, port: int = 48213, results: int = 4, tokens: int = 60) -> Path:
    """A session with so many results. Only the first tells the port, and all others are the same."""
    lines: list[dict[str, object]] = [{"role": "user", "content": "which port?"}]
    for at in range(results):
        said = f"the port is {port}" if at == 0 else "nothing"
        call = {"id": f"c{at}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        lines += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{at}", "content": f"{said} {words(tokens)}"},
        ]
    lines.append({"role": "assistant", "content": f"It is {port}."})
    path.write_text(json.dumps({"messages": lines}))
    return path
