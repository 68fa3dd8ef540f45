"""What Kimi Code sends: messages of OpenAI's chat, rebuilt from its file, and requests with them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from workbench.log.events import Request, SlotContent
from workbench.traces.building import Builder
from workbench.wire.values import dict_in, json_text, number_in, text_in

_CHAT = ("openai", "kimi")
"""The protocols that are OpenAI's chat."""
_TIMED = ("Agent", "AgentSwarm", "Bash", "FetchURL", "Glob", "Grep", "WebSearch")
"""Tools whose results begin with the time they took; those of MCP servers do as well."""
_ERROR = "<system>ERROR: Tool execution failed.</system>"
_EMPTY = "<system>Tool output is empty.</system>"
_EMPTY_ERROR = "<system>ERROR: Tool execution failed. Tool output is empty.</system>"
_THOUGHT = "reasoning_content"


class KimiMessage(NamedTuple):
    hash: str
    """The hash of the message as it is sent."""
    first: int
    last: int
    """Its events."""
    origin: str = ""
    """`user`, `reminder`, `summary`; empty for replies and results."""


class KimiRequests:
    """The requests of one agent, with its system prompt and tools."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._system = ""
        self.tools: dict[str, list[Any]] = {}
        """By hash."""
        self._used = ""
        """The hash of the tools in the slot."""
        self._listed = ""
        """The hash of their part."""
        self._base = 0
        self._same = 0
        """How many messages are the same as in the request `_base`."""

    def system(self, text: str) -> None:
        """Set the system prompt from here on."""
        if text and text != self._system:
            self._system = text
            self._base = 0
            self._builder.add(SlotContent("system", "system prompt", text))

    def note_change(self, at: int) -> None:
        """Note that the messages from there on have changed."""
        self._same = min(self._same, at)

    def sends(self, value: dict[str, Any], messages: list[KimiMessage]) -> int:
        """Add a request with these messages; returns its event, or 0 if it is not known what was sent.

        A request for a compaction lacks the message that asks for it: its event says only what it is.
        """
        self._builder.says_model(text_in(value, "model"))
        self.system(text_in(value, "systemPrompt"))
        self._use(text_in(value, "toolsHash"))
        if value.get("kind") == "compaction":
            return self._builder.request(Request("chat", self._builder.model, "compaction"))
        if number_in(value, "messageCount") != len(messages) or text_in(value, "provider") not in _CHAT:
            return 0
        same = self._same if self._base else 0
        new = [message.hash for message in messages[same:]]
        if not self._base:
            new.insert(0, self._builder.part({"role": "system", "content": self._system}))
        limit, agent, model = number_in(value, "maxTokens"), text_in(value, "agentId"), self._builder.model
        self._base = self._builder.request(
            Request(
                "chat",
                model,
                agent="" if agent == "main" else agent,
                tools=self._listed,
                base=self._base,
                keep=same + 1 if self._base else 0,
                messages=tuple(new),
                parameters={"model": model, **({"max_tokens": limit} if limit else {})},
            )
        )
        self._same = len(messages)
        return self._base

    def _use(self, name: str) -> None:
        """Set the tools from here on, by the file's hash."""
        if name == self._used:
            return
        gone, here = self.tools.get(self._used, []), self.tools.get(name, [])
        names = {text_in(tool, "name") for tool in here}
        left = [text_in(tool, "name") for tool in gone if text_in(tool, "name") not in names]
        self._builder.add(*(SlotContent("tools", each, "") for each in left if each))
        sent = [{"type": "function", "function": tool} for tool in here]
        for tool in sent:
            self._builder.tool(tool)
        self._used, self._listed = name, self._builder.part(sent) if sent else ""


def part_sent(part: Any) -> Any:
    for kind, key in (("image_url", "imageUrl"), ("audio_url", "audioUrl"), ("video_url", "videoUrl")):
        if text_in(part, "type") == kind:
            named = dict_in(part, key)
            return {"type": kind, kind: {name: named[name] for name in ("url", "id") if name in named}}
    return {"type": "text", "text": text_in(part, "text")} if text_in(part, "type") == "text" else part


def content_sent(parts: Sequence[Any]) -> Any:
    """A content: a single text without its list."""
    texts = _texts(parts)
    return texts[0] if len(texts) == len(parts) == 1 else [part_sent(part) for part in parts] or ""


def reply_sent(parts: Sequence[Any], thoughts: Sequence[Any], calls: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """A reply, with its thoughts under their original key."""
    asked = [
        {
            "id": text_in(call, "toolCallId"),
            "type": "function",
            "function": {
                "name": text_in(call, "name"),
                "arguments": json.dumps(call.get("args"), ensure_ascii=False, separators=(",", ":")),
            },
        }
        for call in calls
    ]
    content = content_sent(parts) if parts else "" if thoughts and not asked else None
    thought: dict[str, str] = {}
    for part in thoughts:
        key = text_in(part, "reasoningKey") or _THOUGHT
        thought[key] = thought.get(key, "") + text_in(part, "think")
    return {"role": "assistant", "content": content, **({"tool_calls": asked} if asked else {}), **thought}


def result_sent(result: dict[str, Any], tool: str) -> Any:
    """A tool's result: with a mark if it failed, the time it took, and its note."""
    failed, output, took = result.get("isError") is True, result.get("output"), result.get("durationMs")
    parts = output if isinstance(output, list) else [_text(json_text("" if output is None else output))]
    texts = _texts(parts)
    if len(texts) == len(parts) and not "".join(texts).strip():
        parts = [_text(_EMPTY_ERROR if failed else _EMPTY)]
    elif failed:
        parts = _before(_ERROR, parts) if len(parts) == 1 else [_text(_ERROR), *parts]
    if isinstance(took, int | float) and (tool in _TIMED or tool.startswith("mcp__")):
        parts = _before(f"Wall time: {took / 1000:.3f} seconds", parts)
    note = text_in(result, "note")
    if note and len(_texts(parts)) == len(parts) == 1:
        return f"{_texts(parts)[0]}\n{note}"
    return content_sent([*parts, *([_text(note)] if note else [])])


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _texts(parts: Iterable[Any]) -> list[str]:
    return [text_in(part, "text") for part in parts if text_in(part, "type") == "text"]


def _before(line: str, parts: Sequence[Any]) -> list[Any]:
    """A line before a content: in its first part, if that is a text."""
    if text_in(parts[0], "type") == "text":
        return [_text(f"{line}\n{text_in(parts[0], 'text')}"), *parts[1:]]
    return [_text(line), *parts]
