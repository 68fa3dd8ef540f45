"""Codex: the lines of one rollout, read one by one. `codex` describes the format."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from workbench.config.values import replace
from workbench.log.events import (
    Compaction,
    Content,
    KeptEvent,
    Part,
    Request,
    SystemMessage,
    TextPart,
    UserMessage,
    text_of,
)
from workbench.traces.building import Builder, Recording, SubAgentReport
from workbench.traces.codex_rollback import rolled_back
from workbench.traces.undone import undo_from, went_back
from workbench.wire.event_builder import SEALED_SUMMARY
from workbench.wire.responses import COMPACTIONS, ResponsesReader
from workbench.wire.responses import call_output as plain_output
from workbench.wire.values import content_from, content_of, dict_in, list_in, number_in, text_in

SEALED = "[Codex compacted the conversation here; the summary is encrypted in its file and cannot be shown]"
SEALED_MESSAGE = "[Another agent wrote here; its message is encrypted in the file and cannot be shown]"
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)
_INSTRUCTIONS = re.compile(
    r"# (AGENTS\.md instructions(?: for [^\n]*|(?=\s*<INSTRUCTIONS>)))|<(user_instructions|environment_context)>"
)
_HEAD = 300
"""Characters at the beginning of an output that may have the exit code."""
SAME_BEGINNING = 200
"""Instructions with an equal beginning of this length are the same: what is sent may lack a line."""


def is_old_header(value: Any) -> bool:
    """Whether a line is the header of a rollout of the first versions."""
    if not isinstance(value, dict) or not value.keys().isdisjoint(("type", "role")):
        return False
    return {"id", "timestamp"} <= value.keys() and not value.keys().isdisjoint(("instructions", "git"))


class CodexReader(ResponsesReader):
    """One rollout, line by line."""

    builder: Builder

    def __init__(self, builder: Builder, summaries: set[str], sent_instructions: list[str]) -> None:
        """`summaries`: responses that wrote a summary. `sent_instructions`: how instructions that are items begin."""
        super().__init__(builder)
        self._summaries = summaries
        self._sent_instructions = sent_instructions
        self._total: Any = None
        self._size = 0
        """The whole context by the last report, the answer included."""
        self._compaction = 0
        """The event of a compaction whose size is not known yet."""
        self._has_records = False
        self._held: list[dict[str, Any]] = []
        """Lines with outputs that came before the report on their calls."""

    def line(self, value: Any) -> None:
        kind, payload = text_in(value, "type"), dict_in(value, "payload")
        if kind == "response_item" and text_in(payload, "type").endswith("_call_output"):
            self._held.append(value)
            return
        if kind != "event_msg":
            self._give_held()
        self.builder.when(value.get("timestamp") if isinstance(value, dict) else None)
        match kind:
            case "session_meta":
                self._header(payload)
            case "response_item":
                self.message(payload)
            case "turn_context":
                self.builder.says_model(text_in(payload, "model"))
                self.builder.leave_out(kind)
            case "event_msg":
                self._event_message(payload)
            case "token_usage_record":
                self._record(payload)
            case "compacted":
                self._compacted(payload)
            case "inter_agent_communication" if payload:
                self._agent_message(payload)
            case "world_state" | "inter_agent_communication_metadata":
                self.builder.leave_out(kind)
            case "" if is_old_header(value):
                self._header(value)
            case "" if text_in(value, "record_type"):
                self.builder.leave_out(f"record {value['record_type']}")
            case _:
                self.message(value)

    def sub_agent_asked(self, asked: SubAgentReport) -> None:
        self.builder.when(asked.at)
        request = self.builder.request(asked.request)
        self.builder.add(replace(asked.usage, request=request, upto=0))

    def settle(self) -> None:
        """End what was read so far."""
        self._give_held()
        self._speaking = False

    def go_back(self, seq: int) -> None:
        """The user went back to where this was the newest event."""
        self.builder.add(*undo_from(self.builder.bodies, seq + 1, went_back(self.builder.name)))

    def finish(self, sub_agents: Iterable[SubAgentReport] = ()) -> Recording:
        """Everything that was read; `sub_agents`: their last requests."""
        self._give_held()
        for asked in sub_agents:
            self.sub_agent_asked(asked)
        return self.builder.finish()

    def _give_held(self) -> None:
        held, self._held = self._held, []
        for value in held:
            self.builder.when(value.get("timestamp"))
            self.message(value["payload"])

    def _header(self, value: dict[str, Any]) -> None:
        base = text_in(dict_in(value, "base_instructions"), "text") or text_in(value, "instructions")
        if base and base[:SAME_BEGINNING] not in self._sent_instructions:
            self.builder.slot("system", "base instructions", base)
        self.builder.leave_out("session_meta")

    def message(self, value: Any) -> None:
        """Read an item of the Responses API."""
        if text_in(value, "type") in ("ghost_snapshot", *COMPACTIONS):  # `compacted` has it
            self.builder.leave_out(text_in(value, "type"))
        elif text_in(value, "type") == "agent_message":
            self._agent_message(value)
        else:
            super().message(value)

    def _agent_message(self, value: dict[str, Any]) -> None:
        """A message from another agent of the session; parts of it may be encrypted."""
        self._speaking = False
        content = value.get("content")
        parts = content if isinstance(content, list) else [content]
        readable = [part for part in parts if text_in(part, "type") != "encrypted_content" and part is not None]
        self.builder.leave_out("encrypted part of an agent's message", len(parts) - len(readable))
        self.builder.add(SystemMessage(content_of(readable) or SEALED_MESSAGE, "user", text_in(value, "author")))

    def output(self, value: Any) -> tuple[Content, bool]:
        """A call's output, and whether it is an error."""
        content, failed = plain_output(value)
        if failed or isinstance(value, dict):
            return content, failed
        if isinstance(content, str) and content.startswith('{"output"'):
            return _old_output(content)
        found = _EXIT.search(text_of(content)[:_HEAD])
        return content, found is not None and found[1] != "0"

    def user(self, content: Content) -> None:
        """Add a user message, without the instructions in it."""
        own = self._without_instructions(content)
        if own or not content:
            self.builder.add(UserMessage(own))

    def _without_instructions(self, content: Content) -> Content:
        """The user's own words in a message; instructions among its parts go to their slot."""
        parts = (TextPart(content),) if isinstance(content, str) else content
        own: list[Part] = []
        for part in parts:
            found = _INSTRUCTIONS.match(part.text.lstrip()) if isinstance(part, TextPart) else None
            if found is None or not isinstance(part, TextPart):
                own.append(part)
                continue
            self.builder.slot("instructions", found[1] or found[2], part.text)
        return content_from(own)

    # Reports

    def _event_message(self, payload: dict[str, Any]) -> None:
        kind = text_in(payload, "type")
        if kind in ("error", "stream_error"):
            self.builder.failure(text_in(payload, "message"))
            return
        if kind == "thread_name_updated":
            self.builder.says_title(text_in(payload, "thread_name"))
        if kind == "token_count":
            self._tokens(dict_in(payload, "info"))
            self._give_held()
        elif kind == "thread_rolled_back":
            self.settle()
            self.builder.add(*rolled_back(self.builder.bodies, number_in(payload, "num_turns"), SEALED))
        else:
            self.builder.leave_out(f"event_msg {kind}")

    def _tokens(self, info: dict[str, Any]) -> None:
        """A count is repeated if nothing was asked in between: then the total is the same."""
        total, last = info.get("total_token_usage"), dict_in(info, "last_token_usage")
        self.builder.says_window(number_in(info, "model_context_window"))
        if self._compaction and not number_in(last, "input_tokens"):
            self._set_size(number_in(last, "total_tokens"))
        elif last and total != self._total and not self._has_records:
            self._report(last)
        self._total = total

    def _record(self, payload: dict[str, Any]) -> None:
        self._has_records = True
        used = dict_in(payload, "usage")
        if text_in(payload, "response_id") in self._summaries:
            self._report(used, request=self.builder.request(Request("responses", self.builder.model, "compaction")))
            self._size = number_in(used, "input_tokens")
        else:
            self._report(used)

    def _report(self, used: dict[str, Any], **more: Any) -> None:
        self._speaking = False
        self._size = number_in(used, "total_tokens")
        self.builder.usage(
            number_in(used, "input_tokens"),
            number_in(used, "output_tokens"),
            cached=number_in(used, "cached_input_tokens"),
            cache_write=number_in(used, "cache_write_input_tokens"),
            reasoning=number_in(used, "reasoning_output_tokens"),
            **more,
        )

    # Compactions

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
            elif text_in(item, "type") in COMPACTIONS:
                sealed = True
            elif not (summary and summary in text_of(content)):
                fresh.append(item)
        if not summary and not sealed and fresh and text_in(fresh[-1], "role") == "user":
            summary = text_of(content_of(fresh.pop().get("content")))  # Codex puts its summary last
        if last or summary or sealed:
            noted: dict[str, Any] = {
                "made_by": self.builder.name,
                **({"tokens_before": self._size} if self._size else {}),
            }
            noted |= {} if summary else {SEALED_SUMMARY: True}
            retained = tuple(kept[seq] for seq in sorted(kept))
            self.builder.add(Compaction(1, last, summary or SEALED, retained, "end", meta=noted))
            self._compaction = self.builder.last
        for item in fresh:
            self.message(item)
        self._speaking = False

    def _set_size(self, tokens: int) -> None:
        """Record how many tokens the last compaction left."""
        at, self._compaction = self._compaction - 1, 0
        made = self.builder.bodies[at]
        if isinstance(made, Compaction) and tokens:
            self.builder.bodies[at] = replace(made, meta={**made.meta, "tokens_after": tokens})


def _key(role: str, content: Content) -> tuple[str, str]:
    return role, text_of(content)


def _old_output(content: str) -> tuple[str, bool]:
    """The first versions wrote `{"output": ..., "metadata": {"exit_code": ...}}` as text, which the model saw."""
    try:
        code = dict_in(json.loads(content), "metadata").get("exit_code")
    except (ValueError, RecursionError):
        return content, False
    return content, isinstance(code, int) and code != 0
