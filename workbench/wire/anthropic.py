"""Anthropic's Messages.

- A request has `system` (a text or blocks), `tools` with an `input_schema`, and `messages` of the roles `user` and
  `assistant`; newer clients put `system` messages among them. Contents are a text or blocks: `text`, `image`,
  `thinking`, `tool_use` (`id`, `name`, `input`), `tool_result` (`tool_use_id`, `content`, `is_error`).
- An answer has blocks under `content`, a `stop_reason`, and `usage`, whose `input_tokens` leave out what was read from
  the cache and written to it.
- A `compaction` block is a summary by Anthropic, with which it replaced all that stands before it; without `content` it
  failed and changed nothing. What Anthropic cleared without a summary its answer tells (`context_edits`).
- Tools become definitions as OpenAI has them, which requests are written in; those that Anthropic itself runs have no
  schema and stay as they are.
"""

from __future__ import annotations

from typing import Any

from workbench.log.events import (
    AssistantMessage,
    Part,
    Reasoning,
    SlotContent,
    SystemMessage,
    Usage,
    UserMessage,
    text_of,
)
from workbench.wire.talk import Talk, report
from workbench.wire.values import content_from, content_of, dict_in, list_in, number_in, part_of, text_in

FINISH = {"max_tokens": "length", "tool_use": "tool_calls", "refusal": "refused"}


class AnthropicReader:
    """Messages, one by one."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self._messages = 0
        self._calls = 0
        self._unnamed: list[str] = []
        """Calls without an id, and without a result: some transcripts leave the ids out."""

    def head(self, body: dict[str, Any]) -> int:
        """The system prompt and the tools of a request, which stand beside its messages."""
        system = text_of(content_of(body.get("system")))
        if system:
            self.talk.add(SlotContent("system", "system", system))
        for tool in list_in(body, "tools"):
            self.talk.tool(definition(tool))
        return 0

    def message(self, value: Any) -> None:
        """A message of a request."""
        self._messages += 1
        role = text_in(value, "role")
        if role == "assistant":
            self.reply(value.get("content"), f"r{self._messages}", "stop")
        elif role == "user":
            self.user(value.get("content"))
        elif role == "system":
            self.talk.add(SystemMessage(content_of(value.get("content"))))
        else:
            self.talk.unknown("message", value)

    def answer(self, body: dict[str, Any]) -> Usage | None:
        """The message that a request was answered with."""
        self._messages += 1
        self.talk.model = text_in(body, "model") or self.talk.model
        finish = FINISH.get(text_in(body, "stop_reason"), "stop")
        self.reply(body.get("content"), text_in(body, "id") or f"r{self._messages}", finish)
        return usage_in(dict_in(body, "usage"), self.talk.model)

    def user(self, content: Any) -> None:
        """What the user said, and what tools gave back."""
        if not isinstance(content, list):
            self.talk.add(UserMessage(content_of(content)))
            return
        said: list[Part] = []
        for block in content:
            if text_in(block, "type") == "tool_result":
                self._said(said)
                call, failed = text_in(block, "tool_use_id"), block.get("is_error") is True
                if not call and self._unnamed:
                    call = self._unnamed.pop(0)
                self.talk.result(call, content_of(block.get("content")), failed)
            else:
                said.append(part_of(block))
        self._said(said)

    def _said(self, parts: list[Part]) -> None:
        if parts:
            self.talk.add(UserMessage(content_from(parts)))
            parts.clear()

    def reply(self, content: Any, reply: str, finish: str) -> None:
        """What the model said: blocks, or a text."""
        said: list[Part] = []
        for block in content if isinstance(content, list) else [content]:
            kind = text_in(block, "type")
            if kind in ("thinking", "redacted_thinking", "tool_use", "compaction"):
                self._answered(said, reply, finish)
            if kind == "thinking":
                self.talk.add(Reasoning(text_in(block, "thinking"), reply, text_in(block, "signature")))
            elif kind == "compaction" and text_in(block, "content"):
                self.talk.compacted(text_in(block, "content"), "Anthropic")
            elif kind in ("redacted_thinking", "compaction"):
                self.talk.leave_out(kind)
            elif kind == "tool_use":
                self.talk.call(self._call_id(block), text_in(block, "name"), block.get("input"), reply)
            elif block is not None:
                said.append(part_of(block))
        self._answered(said, reply, finish)

    def _call_id(self, block: dict[str, Any]) -> str:
        """A call's id; one of our own where it has none, which the next result without an id belongs to."""
        name = text_in(block, "id")
        if not name:
            self._calls += 1
            name = f"call_{self._calls}"
            self._unnamed.append(name)
        return name

    def _answered(self, parts: list[Part], reply: str, finish: str) -> None:
        if parts:
            self.talk.add(AssistantMessage(content_from(parts), reply, finish=finish, model=self.talk.model))
            parts.clear()


def definition(tool: Any) -> Any:
    """A tool as OpenAI's chat has it."""
    if not isinstance(tool, dict) or "input_schema" not in tool:
        return tool
    described = {"description": tool["description"]} if "description" in tool else {}
    return {"type": "function", "function": {"name": tool.get("name"), **described, "parameters": tool["input_schema"]}}


def usage_in(used: dict[str, Any], model: str) -> Usage | None:
    """What was reported; the cache's tokens come beside `input_tokens`, and belong to the prompt."""
    cached, written = number_in(used, "cache_read_input_tokens"), number_in(used, "cache_creation_input_tokens")
    prompt, hour = number_in(used, "input_tokens") + cached + written, kept_an_hour(used)
    return report(model, prompt, number_in(used, "output_tokens"), cached=cached, cache_write=written, cache_hour=hour)


def kept_an_hour(used: dict[str, Any]) -> int:
    """Of the tokens that a report says were written to the cache, those that stay there for an hour."""
    return number_in(used.get("cache_creation"), "ephemeral_1h_input_tokens")
