"""Codex: the JSON lines of a rollout.

- A line is `{"timestamp", "type", "payload"}`. `session_meta` has the `base_instructions`, which are the system
  prompt; `turn_context` the `model`; `response_item` an item of OpenAI's Responses API: `message`, `reasoning`,
  `function_call`, `custom_tool_call` (free text, sent here as `{"input": ...}`), `local_shell_call`, and the outputs
  of calls, paired by `call_id`. Rollouts of the first versions have the same items bare, behind a header without a
  type.
- Codex writes the `AGENTS.md` files and the `<environment_context>` as messages of the user's, or as parts of them.
  They are instructions: each fills the instructions slot, the newest of a name stands, and no turn begins with one.
- There are no ids for replies: what the model said between two things that it did not is one reply.
- An output is text, a list of parts, or an object with `content` and `success`. It is an error where `success` is
  false or the text's own head says an exit code other than 0.
- `event_msg` tells the screen what the items say too, and is counted, not kept; but `token_count` is the usage of the
  last request and tells the window, and errors are failures.
- `compacted` replaces all that was before it by its `replacement_history`: entries that are earlier messages are kept
  by the compaction, a summary among them or in `message` becomes its summary, and what is new follows as messages.
  The summary may be encrypted; then a line says so.
- Reasoning that is encrypted and has no summary is counted.
"""

from __future__ import annotations

import json
import re
from typing import Any

from workbench.context.setup import LearntWindow, window_setting
from workbench.log.events import (
    AssistantMessage,
    Compaction,
    Content,
    KeptEvent,
    Part,
    Reasoning,
    SlotContent,
    SystemMessage,
    TextPart,
    UserMessage,
    text_of,
)
from workbench.traces.building import (
    Builder,
    Recording,
    beginning,
    content_from,
    content_of,
    dict_in,
    entries,
    list_in,
    number_in,
    text_in,
)
from workbench.traces.reading import Document

NAME = "Codex"
SEALED = "[Codex compacted the conversation here; the summary is encrypted in its file and cannot be shown]"
_KINDS = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)
_INSTRUCTIONS = re.compile(
    r"# (AGENTS\.md instructions(?: for [^\n]*|(?=\s*<INSTRUCTIONS>)))|<(user_instructions|environment_context)>"
)
_HEAD = 300
"""Characters at the beginning of an output among which Codex writes the exit code."""


def recognises(document: Document) -> bool:
    """Whether a line near the beginning is one of a rollout, or the first is the header of an old one."""
    first = beginning(document)
    if any(text_in(value, "type") in _KINDS and isinstance(value.get("payload"), dict) for value in first):
        return True
    return document.lines and bool(first) and _is_old_header(first[0])


def _is_old_header(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys().isdisjoint(("type", "role")):
        return False
    return {"id", "timestamp"} <= value.keys() and not value.keys().isdisjoint(("instructions", "git"))


def read(document: Document, text: str) -> list[Recording]:
    """The rollout as one conversation."""
    reader = CodexReader(Builder(NAME, document.broken))
    for _, value in entries(document, text):
        reader.line(value)
    return [reader.builder.finish()]


class CodexReader:
    """One rollout, line by line."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._replies = 0
        self._speaking = False
        """Whether the last item was the model's."""
        self._total: Any = None
        self._window = 0
        self._instructions: dict[str, str] = {}
        """By name: what stands in the instructions slot."""

    def line(self, value: Any) -> None:
        """Take in what comes next."""
        kind, payload = text_in(value, "type"), dict_in(value, "payload")
        match kind:
            case "session_meta":
                self._header(payload)
            case "response_item":
                self.item(payload)
            case "turn_context":
                self.builder.says_model(text_in(payload, "model"))
                self.builder.leave_out(kind)
            case "event_msg":
                self._told(payload)
            case "compacted":
                self._compacted(payload)
            case "" if _is_old_header(value):
                self._header(value)
            case "" if text_in(value, "record_type"):
                self.builder.leave_out(f"record {value['record_type']}")
            case _:
                self.item(value)

    def _header(self, value: dict[str, Any]) -> None:
        base = text_in(dict_in(value, "base_instructions"), "text") or text_in(value, "instructions")
        if base:
            self.builder.add(SlotContent("system", "base instructions", base))
        self.builder.leave_out("session_meta")

    def item(self, item: Any) -> None:
        """Take in an item of the Responses API."""
        kind = text_in(item, "type")
        if kind == "message":
            self._message(item)
        elif kind == "reasoning":
            self._reasoning(item)
        elif kind in _CALLS:
            arguments = item.get(_CALLS[kind])
            arguments = {"input": arguments} if kind == "custom_tool_call" else arguments
            call_id = text_in(item, "call_id") or text_in(item, "id")
            self.builder.call(call_id, text_in(item, "name") or "local_shell", arguments, self._reply())
        elif kind.endswith("_call_output"):
            self._speaking = False
            content, failed = _output(item.get("output"))
            self.builder.result(text_in(item, "call_id"), content, failed)
        elif kind == "ghost_snapshot":
            self.builder.leave_out(kind)
        else:
            self.builder.unknown(kind or "line", item)

    def _reply(self) -> str:
        if not self._speaking:
            self._replies += 1
        self._speaking = True
        return f"r{self._replies}"

    def _message(self, item: dict[str, Any]) -> None:
        role, content = text_in(item, "role"), content_of(item.get("content"))
        if role == "assistant":
            self.builder.add(AssistantMessage(content, self._reply(), model=self.builder.model))
            return
        self._speaking = False
        if role == "user":
            said = self._without_instructions(content)
            if said or not content:
                self.builder.add(UserMessage(said))
        elif role in ("developer", "system"):
            self.builder.add(SystemMessage(content, role))
        else:
            self.builder.unknown("message", item)

    def _without_instructions(self, content: Content) -> Content:
        """What the user said in a message; the instructions among its parts go to their slot."""
        parts = (TextPart(content),) if isinstance(content, str) else content
        said: list[Part] = []
        for part in parts:
            found = _INSTRUCTIONS.match(part.text.lstrip()) if isinstance(part, TextPart) else None
            if found is None or not isinstance(part, TextPart):
                said.append(part)
                continue
            name = found[1] or found[2]
            if self._instructions.get(name) != part.text:
                self._instructions[name] = part.text
                self.builder.add(SlotContent("instructions", name, part.text))
        return content_from(said)

    def _reasoning(self, item: dict[str, Any]) -> None:
        parts = [*list_in(item, "summary"), *list_in(item, "content")]
        said = "\n\n".join(filter(None, (text_in(part, "text") for part in parts)))
        reply = self._reply()
        if said:
            self.builder.add(Reasoning(said, reply))
        else:
            self.builder.leave_out("reasoning, encrypted or empty")

    def _told(self, payload: dict[str, Any]) -> None:
        kind = text_in(payload, "type")
        if kind in ("error", "stream_error"):
            self.builder.failure(text_in(payload, "message"))
            return
        if kind == "thread_name_updated":
            self.builder.says_title(text_in(payload, "thread_name"))
        if kind == "token_count":
            self._tokens(dict_in(payload, "info"))
        else:
            self.builder.leave_out(f"event_msg {kind}")

    def _tokens(self, info: dict[str, Any]) -> None:
        """A count is told again when nothing was asked in between: the total tells."""
        total, last = info.get("total_token_usage"), dict_in(info, "last_token_usage")
        window = number_in(info, "model_context_window")
        if window != self._window and window and self.builder.model:
            self._window = window
            self.builder.add(window_setting(self.builder.model, LearntWindow(window)))
        if total != self._total:
            self._total = total
            cached, thought = number_in(last, "cached_input_tokens"), number_in(last, "reasoning_output_tokens")
            prompt, completion = number_in(last, "input_tokens"), number_in(last, "output_tokens")
            self.builder.usage(prompt, completion, cached=cached, reasoning=thought)

    def _compacted(self, payload: dict[str, Any]) -> None:
        self._speaking = False
        last = self.builder.last
        earlier: dict[tuple[str, str], int] = {}
        for seq, body in enumerate(self.builder.bodies, 1):
            if isinstance(body, UserMessage | SystemMessage):
                earlier[_key(body.role if isinstance(body, SystemMessage) else "user", body.content)] = seq
        kept: dict[int, KeptEvent] = {}
        fresh: list[Any] = []
        summary, sealed = text_in(payload, "message"), False
        for item in list_in(payload, "replacement_history"):
            content = content_of(item.get("content")) if isinstance(item, dict) else ""
            if text_in(item, "role") == "user" and content:
                content = self._without_instructions(content)
                if not content:
                    continue
            seq = earlier.get(_key(text_in(item, "role"), content), 0)
            if seq:
                kept[seq] = KeptEvent(seq)
            elif text_in(item, "type") in ("compaction", "compaction_summary"):
                sealed = True
            elif not (summary and summary in text_of(content)):
                fresh.append(item)
        if not summary and not sealed and fresh and text_in(fresh[-1], "role") == "user":
            summary = text_of(content_of(fresh.pop().get("content")))  # Codex puts its summary last
        if last:
            noted = {"made_by": NAME}
            retained = tuple(kept[seq] for seq in sorted(kept))
            self.builder.add(Compaction(1, last, summary or SEALED, retained, "end", meta=noted))
        for item in fresh:
            self.item(item)
        self._speaking = False


def _key(role: str, content: Content) -> tuple[str, str]:
    return role, text_of(content)


def _output(value: Any) -> tuple[Content, bool]:
    """A call's output, and whether it is an error."""
    if isinstance(value, dict):
        inner = value.get("content", value.get("content_items"))
        return content_of(value if inner is None else inner), value.get("success") is False
    content = content_of(value)
    if isinstance(content, str) and content.startswith('{"output"'):
        return _old_output(content)
    found = _EXIT.search(text_of(content)[:_HEAD])
    return content, found is not None and found[1] != "0"


def _old_output(content: str) -> tuple[str, bool]:
    """The first versions wrote `{"output": ..., "metadata": {"exit_code": ...}}` as text, which the model saw so."""
    try:
        code = dict_in(json.loads(content), "metadata").get("exit_code")
    except (ValueError, RecursionError):
        return content, False
    return content, isinstance(code, int) and code != 0
