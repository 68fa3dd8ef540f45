"""pi: the JSON lines of a session.

- The first line is `session`, which may name the model; `model_change` names another. A `message` line has a message
  with the role `user`, `assistant`, `toolResult` (paired by `toolCallId`, with `isError`), `bashExecution` (a command
  that the user ran, which the model sees as a user message, unless `excludeFromContext`), `custom`, or `system`: later
  versions begin with one that has the system prompt in `sections` and the tools in `toolsAdded`, and change them by
  others.
- Blocks of a reply: `text`, `thinking` (`thinkingSignature`), `toolCall` (`id`, `name`, `arguments`). A reply has its
  `usage`, with cached tokens not in `input`, and its cost. `stopReason` `aborted` and `error` mark replies cut short.
  Those are not sent again; in sessions without a `version`, only calls that never ran are left out.
- Later versions give entries an `id` and a `parentId`. The conversation is then the path that leads to the last entry;
  what the user went back from is counted, not kept. If a parent is missing, the entry before it in the file is used,
  and a failure says so.
- `compaction` has a `summary` and the first entry kept (`firstKeptEntryId`, or `firstKeptEntryIndex` among the lines);
  it becomes a compaction of everything before that, and comes first. A `branch_summary` is a user message. Both are
  worded as pi sends them.
- A `context_edit` without a replacement takes an entry out of what is sent.
- Sessions of 2025 have neither system prompt nor tools. Levels of thinking, labels and the data of extensions are
  counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from workbench.config.errors import WrongCall
from workbench.log.events import AssistantMessage, Override, Part, Reasoning, ToolCall, UserMessage, text_of
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, by_session, first_objects, log_entries
from workbench.traces.parents import path_to_last, report_gaps
from workbench.traces.reading import Document, Located
from workbench.wire.event_builder import cost_in
from workbench.wire.values import content_from, content_of, dict_in, json_text, list_in, number_in, part_of, text_in

NAME = format_names.PI
_OWN_ROLES = ("toolResult", "bashExecution")
_NOISE = ("thinking_level_change", "label", "custom")
_COMPACTED = "The conversation history before this point was compacted into the following summary:\n\n<summary>\n"
_BRANCH = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
_FINISH = {"length": "length", "toolUse": "tool_calls", "aborted": "cancelled", "error": "broken"}


def recognises(document: Document) -> bool:
    """Whether it begins as a session, or a line near the beginning has a message in pi's own format."""
    first = first_objects(document)
    if first and first[0].get("type") == "session" and "cwd" in first[0]:
        return True
    messages = [dict_in(value, "message") for value in first if value.get("type") == "message"]
    return any(each.get("role") in _OWN_ROLES or "stopReason" in each for each in messages)


def read(document: Document, text: str) -> list[Recording]:
    """Each session as a conversation; a file has mostly one."""
    sessions = by_session(log_entries(document, text), _begins)
    return [_session(located, () if number else document.broken) for number, located in enumerate(sessions)]


def _begins(value: Any) -> str:
    return text_in(value, "id") if text_in(value, "type") == "session" else ""


def _session(located: list[Located], broken: Iterable[WrongCall]) -> Recording:
    reader = _Reader(Builder(NAME, broken), {_result_of(value) for _, value in located})
    path, gaps = _path(located)
    for at, (_, value) in enumerate(located):
        if path is not None and isinstance(value, dict) and value.get("id") and text_in(value, "id") not in path:
            reader.builder.leave_out("entries of branches that were left")
        else:
            reader.line(at, value)
    report_gaps(reader.builder, gaps)
    return reader.builder.finish()


def _result_of(value: Any) -> str:
    """The call that an entry is the result of."""
    return text_in(dict_in(value, "message"), "toolCallId")


def _path(located: list[Located]) -> tuple[set[str] | None, int]:
    """The entries that lead to the last one, None if entries have no parents; and how many parents are missing."""
    parents = {
        text_in(value, "id"): text_in(value, "parentId")
        for _, value in located
        if isinstance(value, dict) and ("parentId" in value or value.get("type") == "session")
    }
    if not any(parents.values()):
        return None, 0
    sessions = {text_in(value, "id") for _, value in located if text_in(value, "type") == "session"}
    found, gaps = path_to_last(parents)
    return found | sessions, gaps


class _Reader:
    """One session, line by line."""

    def __init__(self, builder: Builder, returned: set[str]) -> None:
        """`returned`: the calls with a result."""
        self.builder = builder
        self._returned = returned
        self._versioned = False
        self._ids: dict[str, int] = {}
        """The last event before each entry."""
        self._ends: dict[str, int] = {}
        """The last event of each entry."""
        self._systems = 0
        self._lines: dict[int, int] = {}
        """The last event before each entry, by its number among the lines."""

    def line(self, at: int, value: Any) -> None:
        kind, name = text_in(value, "type"), text_in(value, "id")
        self.builder.when(value.get("timestamp") if isinstance(value, dict) else None)
        before = self._lines[at] = self.builder.last
        if name:
            self._ids[name] = before
        self._entry(kind, value)
        if name:
            self._ends[name] = self.builder.last

    def _entry(self, kind: str, value: Any) -> None:
        match kind:
            case "session" | "model_change":
                self._versioned = self._versioned or bool(number_in(value, "version"))
                self.builder.says_model(text_in(value, "modelId"))
            case "message":
                self._message(value)
            case "compaction":
                self._compaction(value)
            case "branch_summary" if text_in(value, "summary"):
                self.builder.add(UserMessage(f"{_BRANCH}{text_in(value, 'summary')}</summary>"))
            case "custom_message":
                self.builder.add(UserMessage(content_of(value.get("content"))))
            case "context_edit" if value.get("replacement", "") is None and text_in(value, "targetId") in self._ends:
                target = text_in(value, "targetId")
                self._exclude(self._ids[target] + 1, self._ends[target], f"taken out by an edit of {NAME}'s")
            case "session_info":
                self.builder.says_title(text_in(value, "name"))
            case _ if kind in _NOISE:
                self.builder.leave_out(kind)
            case _:
                self.builder.unknown(kind or "line", value)

    def _message(self, value: dict[str, Any]) -> None:
        message = dict_in(value, "message")
        match message.get("role"):
            case "user" | "custom":
                self.builder.add(UserMessage(content_of(message.get("content"))))
            case "system":
                self._system(message)
            case "assistant":
                self._assistant(message)
            case "toolResult":
                content, failed = content_of(message.get("content")), message.get("isError") is True
                self.builder.result(text_in(message, "toolCallId"), content, failed, text_in(message, "toolName"))
            case "bashExecution":
                self.builder.add(UserMessage(_command(message)))
                if message.get("excludeFromContext") is True:
                    self._exclude(self.builder.last, self.builder.last, "a command that the user kept to themselves")
            case _:
                self.builder.unknown("message", value)

    def _system(self, message: dict[str, Any]) -> None:
        """Set the system prompt and the tools, or change them."""
        content = text_of(content_of(message.get("content")))
        if content:
            self._systems += 1
            self.builder.slot("system", f"system {self._systems}", content)
        sections = dict_in(message, "sections")
        for name in sections:
            self.builder.slot("system", json_text(name), text_in(sections, name))
        for tool in list_in(message, "toolsRemoved"):
            self.builder.slot("tools", text_in(tool, "name"), "")
        for tool in (each for each in list_in(message, "toolsAdded") if isinstance(each, dict)):
            kept = {key: tool[key] for key in ("name", "description", "parameters") if key in tool}
            self.builder.slot("tools", text_in(tool, "name"), json_text({"type": "function", "function": kept}))

    def _exclude(self, first: int, last: int, why: str) -> None:
        if first <= last:
            self.builder.add(Override("exclude", first, last, why))

    def _assistant(self, message: dict[str, Any]) -> None:
        self.builder.says_model(text_in(message, "model"))
        reply = self.builder.next_reply()
        finish = _FINISH.get(text_in(message, "stopReason"), "stop")
        before = self.builder.last
        content: list[Part] = []
        blocks: Any = message.get("content")
        for block in blocks if isinstance(blocks, list) else [blocks]:
            kind = block.get("type") if isinstance(block, dict) else None
            if kind in ("thinking", "toolCall"):
                self._answered(content, reply, finish)
            if kind == "thinking":
                self.builder.add(Reasoning(text_in(block, "thinking"), reply, text_in(block, "thinkingSignature")))
            elif kind == "toolCall":
                self.builder.call(text_in(block, "id"), text_in(block, "name"), block.get("arguments"), reply)
            elif block is not None:
                content.append(part_of(block))
        self._answered(content, reply, finish)
        last = self.builder.last
        self._usage(dict_in(message, "usage"))
        if text_in(message, "errorMessage"):
            self.builder.failure(text_in(message, "errorMessage"))
        if finish in ("cancelled", "broken"):
            self._broke_off(before + 1, last)

    def _broke_off(self, first: int, last: int) -> None:
        if self._versioned:
            self._exclude(first, last, f"{NAME} does not send again what broke off")
            return
        for seq, body in enumerate(self.builder.bodies[first - 1 : last], first):
            if isinstance(body, ToolCall) and body.call_id not in self._returned:
                self._exclude(seq, seq, f"{NAME} does not send again a call that never ran")

    def _answered(self, parts: list[Part], reply: str, finish: str) -> None:
        if parts:
            self.builder.add(AssistantMessage(content_from(parts), reply, finish=finish, model=self.builder.model))
            parts.clear()

    def _usage(self, used: dict[str, Any]) -> None:
        cached, written = number_in(used, "cacheRead"), number_in(used, "cacheWrite")
        prompt = number_in(used, "input") + cached + written
        self.builder.usage(prompt, number_in(used, "output"), cached=cached, cache_write=written, cost=_cost(used))

    def _compaction(self, value: dict[str, Any]) -> None:
        index = value.get("firstKeptEntryIndex")
        last = self.builder.last
        last = self._lines.get(index, last) if isinstance(index, int) else last
        last = self._ids.get(text_in(value, "firstKeptEntryId"), last)
        cost, before = _cost(dict_in(value, "usage")), number_in(value, "tokensBefore")
        self.builder.compaction(
            1, last, f"{text_in(value, 'summary')}\n</summary>", preface=_COMPACTED, tokens_before=before, cost=cost
        )
        self._system(dict_in(value, "systemMessage"))


def _cost(used: dict[str, Any]) -> float | None:
    return cost_in(dict_in(used, "cost"), "total")


def _command(message: dict[str, Any]) -> str:
    """A command that the user ran, as pi words it."""
    output, code = text_in(message, "output"), message.get("exitCode")
    content = f"Ran `{text_in(message, 'command')}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    if message.get("cancelled"):
        return f"{content}\n\n(command cancelled)"
    return f"{content}\n\nCommand exited with code {code}" if code else content
