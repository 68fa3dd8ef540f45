"""Random conversations in OpenAI's chat form, and the same in every dialect."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from workbench.wire.chat_requests import ChatRequest
from workbench.wire.dialects import dialect_named

Chat = list[dict[str, Any]]
DIALECTS = ("openai", "openai-responses", "anthropic", "google", "ollama")
POLICIES = ("workbench", "codex", "layers", "sliding", "window", "confirm")
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "It does.", "parameters": {"type": "object"}}}
    for name in ("read", "run")
]

_words = st.sampled_from(["alpha", "src/app.py", "error: 7", "测试", "naïve 🙂", "</script><b>", "line\nline"])
texts = st.builds(
    lambda words, times: " ".join(words) + " more" * times,
    st.lists(_words, min_size=1, max_size=4),
    st.sampled_from([0, 1, 40, 900]),
)


@st.composite
def conversations(draw: st.DrawFn, turns: int = 6) -> Chat:
    """Turns of a user: each is answered with text, or with calls and their results first."""
    found: Chat = []
    number = 0
    for _ in range(draw(st.integers(1, turns))):
        found.append({"role": "user", "content": draw(texts)})
        for _ in range(draw(st.integers(0, 3))):
            calls = []
            for _ in range(draw(st.integers(1, 3))):
                number += 1
                arguments = json.dumps({"path": draw(_words)})
                function = {"name": draw(st.sampled_from(["read", "run"])), "arguments": arguments}
                calls.append({"id": f"call_{number}", "type": "function", "function": function})
            said = draw(st.one_of(st.none(), texts))
            found.append({"role": "assistant", "content": said, "tool_calls": calls})
            found += [{"role": "tool", "tool_call_id": call["id"], "content": draw(texts)} for call in calls]
        if draw(st.booleans()):
            found.append({"role": "assistant", "content": draw(texts)})
    return found


def in_dialect(chat: Chat, name: str) -> list[Any]:
    """The messages in a dialect."""
    dialect = dialect_named(name)
    assert dialect is not None
    calls = [call for message in chat for call in message.get("tool_calls", ())]
    names = {call["id"]: call["function"]["name"] for call in calls}
    return dialect.messages_in(dialect.write_request(ChatRequest(chat, names=names)))


def messages_of(name: str, body: dict[str, Any]) -> list[Any]:
    """The messages of a request in a dialect."""
    dialect = dialect_named(name)
    assert dialect is not None
    return dialect.messages_in(body)


def checked(name: str, body: dict[str, Any]) -> Any:
    """Read a request as strictly as its provider does; raises BadRequest."""
    dialect = dialect_named(name)
    assert dialect is not None
    more = {"model": "m", "max_tokens": 100} if dialect.model_in_body else {}
    return dialect.new_speaker().read({**more, **body})
