"""Kimi Code: `wire.jsonl` of an agent, below `~/.kimi-code/sessions/FOLDER/SESSION/agents/AGENT/`.

- Lines have a `type` and a `time`. `profile.bind` holds the system prompt, `llm.tools_snapshot` the tools, by hash.
- `context.append_message` is a message (`role`, `content`, and an `origin`, which separates reminders from the user's
  words). `context.append_loop_event` is a step of the model: `step.begin`, `content.part` (`text`, `think`),
  `tool.call`, `tool.result`, `step.end`. Results come as they are ready and are sent in the order of their calls; with
  the time they took, for tools that wait for others, a mark of an error, and a `note` after them.
- `llm.request` records that a request was sent (`kind`: `loop` or `compaction`), with which tools and how many
  messages. If that many are known and the provider takes OpenAI's chat, it is rebuilt as it was sent. A request for a
  compaction lacks the message that asks for it.
- `usage.record` is the report for the request before it.
- `context.apply_compaction` keeps the user's messages, then a `contextSummary` and a reminder to go on, which is not in
  the file but always the same; older ones keep the messages after the first `compactedCount`. `tokensBefore` and
  `tokensAfter` are Kimi's own figures. `context.undo` undoes turns, `context.clear` everything.
- Lines of other kinds are about the program or repeat these: counted.
- Sub-agents have files of their own.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct, field

from workbench.log.events import AssistantMessage, Compaction, KeptEvent, Override, Reasoning, UserMessage, text_of
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.kimi_requests import KimiMessage, KimiRequests, content_sent, part_sent, reply_sent, result_sent
from workbench.traces.reading import Document
from workbench.wire.values import content_from, content_of, dict_in, list_in, number_in, part_of, text_in

NAME = format_names.KIMI
LEFT: Final = "undone or cleared in Kimi Code"
GO_ON: Final = (
    "<system-reminder>\nContext compaction is complete — continue the work that was in progress when it began."
    "\n</system-reminder>"
)
_MARKS = ("context.append_message", "context.append_loop_event", "llm.request", "llm.tools_snapshot", "profile.bind")
_INTERRUPTED: Final = {
    "output": "Tool execution was interrupted before its result was recorded. "
    "Do not assume the tool completed successfully.",
    "isError": True,
}
_FINISH = {"tool_use": "tool_calls", "max_tokens": "length", "length": "length", "filtered": "refused"}


def recognises(document: Document) -> bool:
    """Whether a line near the beginning is one of Kimi's."""
    return any(
        text_in(value, "type") in _MARKS or (text_in(value, "type") == "metadata" and "protocol_version" in value)
        for value in first_objects(document)
    )


def read(document: Document, text: str) -> list[Recording]:
    """The agent's conversation."""
    reader = _Reader(Builder(NAME, document.broken))
    for _, value in log_entries(document, text):
        reader.line(value)
    return [reader.finish()]


class _Step(Struct):
    """A reply that is being read."""

    parts: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    is_added: bool = False
    """Whether the reply is among the events."""


class _Reader:
    """One agent, line by line."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._now: list[KimiMessage] = []
        self._waiting: list[dict[str, Any]] = []
        """Messages that came while tools were running: they are sent after the results."""
        self._step: _Step | None = None
        self._requests = KimiRequests(builder)
        self._request = 0
        """The event of the newest request; 0 if it could not be rebuilt."""
        self._side = False
        """Whether it asked for a compaction."""
        self._report: dict[str, Any] = {}

    def finish(self) -> Recording:
        """Everything that was read."""
        self._settle(False)
        return self.builder.finish()

    def line(self, value: Any) -> None:
        kind = text_in(value, "type")
        self.builder.when(value.get("time") if isinstance(value, dict) else None)
        match kind:
            case "profile.bind" | "config.update":
                self._requests.system(text_in(value, "systemPrompt"))
            case "llm.tools_snapshot":
                self._requests.tools[text_in(value, "hash")] = list_in(value, "tools")
            case "llm.request":
                self._sends(value)
            case "usage.record":
                self._reported(dict_in(value, "usage"))
            case "context.append_message":
                self._appended(dict_in(value, "message"))
            case "context.append_loop_event":
                self._happened(dict_in(value, "event"))
            case "context.apply_compaction":
                self._compacted(value)
            case "context.undo":
                self._undone(number_in(value, "count"))
            case "context.clear":
                self._cut(0)
            case _ if kind and kind.partition(".")[0] not in ("context", "llm"):
                self.builder.leave_out(kind)
            case _:
                self.builder.unknown(kind or "line", value)

    def _sends(self, value: dict[str, Any]) -> None:
        if self._step != _Step():  # a step begins before its request
            self._settle()
        self._add_report()
        self._side = value.get("kind") == "compaction"
        self._request = self._requests.sends(value, self._now)

    def _reported(self, used: dict[str, Any]) -> None:
        self._report = used
        if self._side or self._step is None or self._step.is_added:
            self._add_report()

    def _add_report(self) -> None:
        used, self._report = self._report, {}
        cached, written = number_in(used, "inputCacheRead"), number_in(used, "inputCacheCreation")
        prompt = number_in(used, "inputOther") + cached + written
        output = number_in(used, "output")
        self.builder.usage(prompt, output, cached=cached, cache_write=written, request=self._request)

    # Messages

    def _appended(self, message: dict[str, Any]) -> None:
        if self._step is not None and len(self._step.results) < len(self._step.calls):
            self._waiting.append(message)
        else:
            self._settle()
            self._says(message)

    def _says(self, message: dict[str, Any]) -> None:
        before, origin = self.builder.last, dict_in(message, "origin")
        kind, role = text_in(origin, "kind"), text_in(message, "role")
        if role not in ("user", "assistant"):
            self.builder.unknown(f"message {role}", message)
            return
        parts = [part for part in list_in(message, "content") if text_in(part, "type") != "think"]
        content = content_from(part_of(part_sent(part)) for part in parts)
        if role == "user":
            self.builder.add(UserMessage(content))
        else:
            self.builder.add(AssistantMessage(content, self.builder.next_reply(), model=self.builder.model))
        by_user = not kind or kind == "user" or text_in(origin, "trigger") == "user-slash"
        self._keep({"role": role, "content": content_sent(parts)}, before, "user" if by_user else "reminder")

    def _keep(self, message: dict[str, Any], before: int, origin: str = "") -> None:
        """Keep a message as it is sent; `before`: the last event before its own."""
        last = self.builder.last
        self._now.append(KimiMessage(self.builder.part(message), before + 1, last, origin))

    def _happened(self, event: dict[str, Any]) -> None:
        kind = text_in(event, "type")
        if kind == "step.begin":
            self._settle()
            self._step = _Step()
        elif self._step is None:
            self.builder.leave_out(kind)
        elif kind == "content.part":
            self._step.parts.append(dict_in(event, "part"))
        elif kind == "tool.call":
            self._step.calls.append(event)
        elif kind == "tool.result":
            self._add_reply(self._step)
            self._step.results[text_in(event, "toolCallId")] = dict_in(event, "result")
        elif kind == "step.end":
            self._add_reply(self._step, _FINISH.get(text_in(event, "finishReason"), "stop"))
            self._settle()
        else:
            self.builder.unknown(kind or "event", event)

    def _add_reply(self, step: _Step, finish: str = "") -> None:
        """Add the complete reply: its parts and calls, and its report."""
        if step.is_added:
            return
        step.is_added = True
        before, reply = self.builder.last, self.builder.next_reply()
        thoughts = [part for part in step.parts if text_in(part, "type") == "think"]
        parts = [part for part in step.parts if text_in(part, "type") != "think"]
        for part in thoughts:
            self.builder.add(Reasoning(text_in(part, "think"), reply, text_in(part, "encrypted")))
        finish = finish or ("tool_calls" if step.calls else "stop")
        if parts or (self._report and not step.calls):
            content = content_from(part_of(part_sent(part)) for part in parts)
            self.builder.add(AssistantMessage(content, reply, finish=finish, model=self.builder.model))
        for call in step.calls:
            self.builder.call(text_in(call, "toolCallId"), text_in(call, "name"), call.get("args"), reply)
        self._add_report()
        if step.parts or step.calls:
            self._keep(reply_sent(parts, thoughts, step.calls), before)

    def _settle(self, all_results: bool = True) -> None:
        """End the step: results in the order of their calls, then what came in the meantime."""
        step, self._step = self._step, None
        if step is not None:
            self._add_reply(step)
            for call in step.calls:
                call_id = text_in(call, "toolCallId")
                if call_id in step.results or all_results:
                    self._result(call, step.results.get(call_id, _INTERRUPTED))
        waiting, self._waiting = self._waiting, []
        for message in waiting:
            self._says(message)

    def _result(self, call: dict[str, Any], result: dict[str, Any]) -> None:
        before, call_id = self.builder.last, text_in(call, "toolCallId")
        content = result_sent(result, text_in(call, "name"))
        self.builder.result(call_id, content_of(content), result.get("isError") is True)
        self._keep({"role": "tool", "tool_call_id": call_id, "content": content}, before)

    # What changes the past

    def _compacted(self, value: dict[str, Any]) -> None:
        self._settle()
        if not self._now:
            self.builder.unknown("context.apply_compaction", value)
            return
        written: Any = value.get("contextSummary") or value.get("summary")
        summary = written if isinstance(written, str) else text_of(content_of(dict_in(value, "summary").get("content")))
        of_today = isinstance(value.get("keptUserMessageCount"), int) and not value.get("legacyTail")
        kept = self._kept(value) if of_today else self._now[number_in(value, "compactedCount") :]
        first = min(message.first for message in self._now)
        noted = {"made_by": NAME, "tokens_before": number_in(value, "tokensBefore")}
        noted["tokens_after"] = number_in(value, "tokensAfter")
        seqs = tuple(KeptEvent(seq) for message in kept for seq in range(message.first, message.last + 1))
        place: Any = "end" if of_today else "start"
        last = self.builder.last
        self.builder.add(Compaction(first, last, summary, seqs, place, meta={k: v for k, v in noted.items() if v}))
        self._now = list(kept) if of_today else []
        self._requests.note_change(0)
        self._keep({"role": "user", "content": summary}, self.builder.last - 1, "summary")
        if of_today:
            self._says({"role": "user", "content": [{"type": "text", "text": GO_ON}], "origin": {"kind": "injection"}})
        else:
            self._now += kept

    def _kept(self, value: dict[str, Any]) -> list[KimiMessage]:
        """The user's messages that the compaction kept: all, or the first and the last."""
        messages = [each for each in self._now if each.origin == "user"]
        count = number_in(value, "keptUserMessageCount")
        head = number_in(value, "keptHeadUserMessageCount")
        return messages if count >= len(messages) else [*messages[:head], *messages[len(messages) - (count - head) :]]

    def _undone(self, count: int) -> None:
        """Undo the last turns, back to the last compaction at most."""
        self._settle()
        at = len(self._now)
        while count and at > 0:
            at -= 1
            if self._now[at].origin == "summary":
                return
            count -= self._now[at].origin == "user"
        if not count:
            self._cut(at)

    def _cut(self, at: int) -> None:
        self._settle()
        for message in self._now[at:]:
            self.builder.add(Override("exclude", message.first, message.last, LEFT))
        del self._now[at:]
        self._requests.note_change(at)
