"""Random conversations, the same for the same seed."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Final

Chat = list[dict[str, Any]]
TOOLS: Final = [
    {"type": "function", "function": {"name": name, "description": "It does.", "parameters": {"type": "object"}}}
    for name in ("read", "run")
]
_WORDS: Final = (
    "alpha",
    "src/app.py",
    "error: 7",
    "测试",
    "naïve 🙂",
    "</script><b>",
    "line\nline",
    "[/b]",
    "\x1b[31m",
)
_LENGTHS: Final = (0, 0, 1, 40, 900)


class ConformanceError(AssertionError):
    """A promise that was not kept."""


def expect_kept(kept: object, promise: str, case: str, found: object = "") -> None:
    """Raise ConformanceError unless a promise was kept."""
    if not kept:
        shown = f": {found}" if found != "" else ""
        raise ConformanceError(f"{promise} ({case}){shown}")


def random_conversation(seed: int) -> Chat:
    """A valid conversation in the form of OpenAI's chat: turns with texts, calls and their results, short and long."""
    random = Random(seed)
    found: Chat = []
    number = 0
    for _ in range(random.randint(1, 6)):
        found.append({"role": "user", "content": _text(random)})
        for _ in range(random.randint(0, 3)):
            calls = []
            for _ in range(random.randint(1, 3)):
                number += 1
                arguments = json.dumps({"path": random.choice(_WORDS)})
                function = {"name": random.choice(("read", "run")), "arguments": arguments}
                calls.append({"id": f"call_{number}", "type": "function", "function": function})
            said = random.choice((None, _text(random)))
            found.append({"role": "assistant", "content": said, "tool_calls": calls})
            found += [{"role": "tool", "tool_call_id": call["id"], "content": _text(random)} for call in calls]
        if random.random() < 0.5:
            found.append({"role": "assistant", "content": _text(random)})
    return found


def _text(random: Random) -> str:
    return " ".join(random.choices(_WORDS, k=random.randint(1, 4))) + " more" * random.choice(_LENGTHS)


def pair_problems(messages: Chat) -> list[str]:
    """What a chat API would refuse: results without their calls, calls without their results, empty messages."""
    found: list[str] = []
    waiting: set[str] = set()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                found.append(f"messages[{at}]: a result without its call")
            waiting.discard(message["tool_call_id"])
            continue
        found += [f"messages[{at}]: before it a call has no result: {each}" for each in sorted(waiting)]
        calls = message.get("tool_calls") or []
        waiting = {call["id"] for call in calls}
        if not message.get("content") and not calls:
            found.append(f"messages[{at}]: it is empty")
    return found + [f"the last call has no result: {each}" for each in sorted(waiting)]
