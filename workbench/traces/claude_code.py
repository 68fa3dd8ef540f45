"""Claude Code: the JSON lines of a session, or what its command prints as `stream-json`.

- A line has a `type`, a `uuid` and its `sessionId`. `user` and `assistant` carry an Anthropic `message`; one reply of
  the model is several lines with the same `message.id`, one per block, and that id is the reply's.
- Blocks: `text`, `image`, `thinking`, `tool_use` (`id`, `name`, `input`), and in user messages `tool_result`
  (`tool_use_id`, `content`, `is_error`). Calls and results are paired by id.
- `message.usage` stands on every line of a reply; the last is the reply's. Cached tokens come beside `input_tokens`.
- `compact_boundary` with the user message behind it that is marked `isCompactSummary` is a compaction of all before
  the boundary, less the `preservedSegment` that some versions name. A summary with nothing before it, as in a session
  that continues another file, is a user message. A `microcompact_boundary`, which clears old results, is carried as
  unknown: what is masked here is for the policy to say.
- Lines of sub-agents (`isSidechain`) are conversations of their own behind the main one, one per `agentId`, or per
  root where there is none.
- An error of the API that was shown as a reply (`isApiErrorMessage`) is a failure. `summary`, `custom-title` and
  `ai-title` are titles.
- Counted, not kept: progress, snapshots of files, durations and hooks. Branches that the user went back from stay, in
  the order of the file. System prompt and tools are not in these files.
"""

from __future__ import annotations

from typing import Any

from workbench.log.events import AssistantMessage, Part, Reasoning, UserMessage, text_of
from workbench.traces.building import (
    Builder,
    Recording,
    beginning,
    content_from,
    content_of,
    dict_in,
    entries,
    number_in,
    part_of,
    text_in,
)
from workbench.traces.reading import Document

NAME = "Claude Code"
_NOISE = (
    *("progress", "file-history-snapshot", "queue-operation", "last-prompt", "permission-mode", "mode"),
    *("agent-name", "agent-setting", "agent-color", "stream_event", "rate_limit_event"),
)
_QUIET = ("turn_duration", "stop_hook_summary", "init", "hook_started", "hook_response", "status", "away_summary")
"""Kinds of `system` lines that are about the program."""
_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_FINISH = {"max_tokens": "length", "tool_use": "tool_calls", "refusal": "refused"}


def recognises(document: Document) -> bool:
    """Whether a line near the beginning is one of Claude Code's."""
    return any(_is_line(value) for value in beginning(document))


def _is_line(value: dict[str, Any]) -> bool:
    kind = text_in(value, "type")
    ours = "sessionId" in value or "session_id" in value
    if kind in ("user", "assistant"):
        return isinstance(value.get("message"), dict) and (ours or "uuid" in value)
    if kind == "system":
        return ours and "subtype" in value
    return (kind in _NOISE and ours) or (kind == "summary" and "leafUuid" in value)


def read(document: Document, text: str) -> list[Recording]:
    """The session, then its sub-agents."""
    made: dict[str, ClaudeCodeReader] = {}
    roots: dict[str, str] = {}
    """By line: the conversation it belongs to, for sub-agents without a name."""
    for _, value in entries(document, text):
        key = _conversation(value, roots)
        if key not in made:
            made[key] = ClaudeCodeReader(document.broken if not made else ())
        made[key].line(value)
    found = sorted(made.items(), key=lambda item: item[0] != "")
    talks = [(reader.builder.has_talk, reader.finish()) for _, reader in found]
    return [bodies for has_talk, bodies in talks if has_talk] or [bodies for _, bodies in talks]


def _conversation(value: Any, roots: dict[str, str]) -> str:
    if not isinstance(value, dict):
        return ""
    if not (value.get("isSidechain") or value.get("parent_tool_use_id")):
        return ""
    name = text_in(value, "agentId") or text_in(value, "parent_tool_use_id")
    line = text_in(value, "uuid")
    name = name or roots.get(text_in(value, "parentUuid")) or line or "sub-agent"
    roots[line] = name
    return name


class ClaudeCodeReader:
    """One conversation, line by line."""

    def __init__(self, broken: Any, name: str = NAME) -> None:
        """`name`: the format that the lines come from."""
        self.builder = Builder(name, broken)
        self._seqs: dict[str, int] = {}
        """By line: the last event before it, for the segment that a compaction preserved."""
        self._boundary: dict[str, Any] | None = None
        self._covered = 0
        """The last event before the boundary."""
        self._reply = ""
        self._usage: dict[str, Any] = {}

    def line(self, value: Any) -> None:
        """Take in what comes next."""
        kind = value.get("type") if isinstance(value, dict) else None
        if isinstance(kind, str) and text_in(value, "uuid"):
            self._seqs[value["uuid"]] = self.builder.last
        match kind:
            case "user" if isinstance(value.get("message"), dict):
                self._user(value)
            case "assistant" if isinstance(value.get("message"), dict):
                self._assistant(value)
            case "system" if value.get("subtype") == "compact_boundary":
                self._close()
                self._boundary, self._covered = value, self.builder.last
            case "system" if text_in(value, "subtype") in _QUIET:
                self.builder.says_model(text_in(value, "model"))
                self.builder.leave_out(f"system {value['subtype']}")
            case "summary" | "custom-title" | "ai-title":
                self.builder.says_title(text_in(value, _TITLES[kind]))
            case str() if kind in _NOISE:
                self.builder.leave_out(kind)
            case _:
                subtype = text_in(value, "subtype")
                self.builder.unknown(f"{kind} {subtype}" if subtype else str(kind or "line"), value)

    def finish(self) -> Recording:
        """All that was read."""
        self._close()
        if self._boundary is not None:
            self.builder.unknown("system compact_boundary", self._boundary)
        return self.builder.finish()

    def _user(self, value: dict[str, Any]) -> None:
        content = value["message"].get("content")
        if value.get("isCompactSummary") and self.builder.has_talk:
            self._compaction(text_of(content_of(content)))
            return
        if not isinstance(content, list):
            self._close()
            self.builder.add(UserMessage(content_of(content)))
            return
        said: list[Part] = []
        for block in content:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                self._said(said)
                call = text_in(block, "tool_use_id")
                self.builder.result(call, content_of(block.get("content")), block.get("is_error") is True)
            else:
                said.append(part_of(block))
        self._said(said)

    def _said(self, parts: list[Part]) -> None:
        if parts:
            self._close()
            self.builder.add(UserMessage(content_from(parts)))
            parts.clear()

    def _assistant(self, value: dict[str, Any]) -> None:
        message = value["message"]
        if value.get("isApiErrorMessage"):
            self._close()
            self.builder.failure(text_of(content_of(message.get("content"))))
            return
        reply = text_in(message, "id") or text_in(value, "uuid")
        if reply != self._reply:
            self._close()
            self.builder.says_model(text_in(message, "model").replace("<synthetic>", ""))
        self._reply = reply
        self._usage = dict_in(message, "usage") or self._usage
        finish = _FINISH.get(text_in(message, "stop_reason"), "stop")
        blocks = message.get("content")
        said: list[Part] = []
        for block in blocks if isinstance(blocks, list) else [blocks]:
            kind = block.get("type") if isinstance(block, dict) else None
            if kind in ("thinking", "redacted_thinking", "tool_use"):
                self._answered(said, finish)
            if kind == "thinking":
                self.builder.add(Reasoning(text_in(block, "thinking"), reply, text_in(block, "signature")))
            elif kind == "redacted_thinking":
                self.builder.leave_out("redacted_thinking")
            elif kind == "tool_use":
                self.builder.call(text_in(block, "id"), text_in(block, "name"), block.get("input"), reply)
            elif block is not None:
                said.append(part_of(block))
        self._answered(said, finish)

    def _answered(self, parts: list[Part], finish: str) -> None:
        if parts:
            self.builder.add(
                AssistantMessage(content_from(parts), self._reply, finish=finish, model=self.builder.model)
            )
            parts.clear()

    def _close(self) -> None:
        """A reply is over: its usage is known."""
        used, self._usage, self._reply = self._usage, {}, ""
        cached, written = number_in(used, "cache_read_input_tokens"), number_in(used, "cache_creation_input_tokens")
        prompt = number_in(used, "input_tokens") + cached + written
        self.builder.usage(prompt, number_in(used, "output_tokens"), cached=cached, cache_write=written)

    def _compaction(self, summary: str) -> None:
        self._close()
        noted = dict_in(self._boundary, "compactMetadata")
        last = self._covered if self._boundary is not None else self.builder.last
        head = text_in(dict_in(noted, "preservedSegment"), "headUuid")
        last = min(last, self._seqs.get(head, last))
        self._boundary = None
        if last:
            trigger, before = text_in(noted, "trigger"), number_in(noted, "preTokens")
            self.builder.compaction(1, last, summary, trigger=trigger, tokens_before=before)
        else:
            self.builder.add(UserMessage(summary))
