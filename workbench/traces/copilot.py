"""Copilot CLI: `~/.copilot/session-state/SESSION/events.jsonl`.

- A line has a `type`, `data`, an `id`, a `timestamp` and the `parentId` of the line before. The first is
  `session.start`, with the model; `session.resume` and `session.model_change` name another.
- `system.message` is the system prompt. `user.message` has what the user wrote in `content` and what was sent for it in
  `transformedContent`. `assistant.message` has `content`, `reasoningText`, and `toolRequests` (`toolCallId`, `name`,
  `arguments`); `tool.execution_complete` has a `result` with its `content`, or an `error`. Results are sent in the
  order of their calls.
- `session.usage_record` comes before its reply and has the same `apiCallId`; `inputTokens` includes cached ones.
  Versions without it write the sums of a session at its end: with one request, they are its report.
- A compaction runs at the same time as the conversation: a successful `session.compaction_complete` replaces what was
  there at `session.compaction_start` by one message: what the user wrote, then the `summaryContent`. It has Copilot's
  own figures, and the report of its request, whose messages are not in the file.
- Lines with an `agentId`, or a `parentToolCallId` in older versions, are of sub-agents: their own conversations.
- Exact: the messages, except for errors of tools, of which the file has the first sentence. Not in these files: tools.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from workbench.config.errors import WrongCall
from workbench.log.events import (
    AssistantMessage,
    DialectName,
    Reasoning,
    Request,
    Setting,
    SlotContent,
    Usage,
    UserMessage,
)
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, by_session, first_objects, log_entries
from workbench.traces.parents import count_missing, report_gaps
from workbench.traces.reading import Document, Located
from workbench.wire.values import content_of, dict_in, list_in, number_in, text_in

NAME = format_names.COPILOT
SUMMARISED: Final = (
    "Some of the conversation history has been summarized to free up context.\n\n"
    "You were originally given instructions from a user over one or more turns. Here were the user messages:\n"
    "{asked}\n\nHere is a summary of the prior context:\n<summary>\n{summary}\n</summary>\n"
)
_MARKS = ("session.start", "user.message", "assistant.message", "assistant.turn_start", "tool.execution_complete")
_PROGRAM = ("session", "assistant", "tool", "hook", "permission", "subagent", "skill", "abort", "command", "external")
"""How the types of lines about the program begin; lines that are read are handled before."""
_DIALECTS: Final[dict[str, DialectName]] = {"/responses": "responses", "/v1/messages": "anthropic"}


def recognises(document: Document) -> bool:
    """Whether a line near the beginning is one of Copilot's."""
    return any(
        text_in(value, "type") in _MARKS and isinstance(value.get("data"), dict) and "parentId" in value
        for value in first_objects(document)
    )


def read(document: Document, text: str) -> list[Recording]:
    """Each session, then its sub-agents."""
    sessions = by_session(log_entries(document, text), _begins)
    found = (_session(located, () if number else document.broken) for number, located in enumerate(sessions))
    return [each for session in found for each in session]


def _begins(value: Any) -> str:
    return text_in(dict_in(value, "data"), "sessionId") if text_in(value, "type") == "session.start" else ""


def _session(located: list[Located], broken: Iterable[WrongCall]) -> list[Recording]:
    made = {"": _Reader(Builder(NAME, broken))}
    known = {text_in(value, "id") for _, value in located}
    gaps = count_missing((value for _, value in located), "parentId", known)
    for _, value in located:
        agent = text_in(value, "agentId") or text_in(dict_in(value, "data"), "parentToolCallId")
        if agent not in made:
            made[agent] = _Reader(Builder(NAME))
        made[agent].line(value)
    report_gaps(made[""].builder, gaps)
    talks = [(reader.builder.has_talk, reader.finish()) for reader in made.values()]
    for agent, (_, bodies) in zip(made, talks, strict=True):
        titles = (str(body.value) for body in bodies if isinstance(body, Setting) and body.key == "title")
        bodies.sub_agent = agent and next(titles, agent)
    return [bodies for has_talk, bodies in talks if has_talk] or [talks[0][1]]


class _Reader:
    """One conversation, line by line."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._asked: list[str] = []
        self._calls: list[tuple[str, str]] = []
        """The calls of the newest reply, and their tools."""
        self._results: dict[str, dict[str, Any]] = {}
        self._reply = ""
        self._replies = 0
        self._reports: dict[str, dict[str, Any]] = {}
        """By the id of the call of the API: the report whose reply is yet to come, or is not over."""
        self._dialect: DialectName = "chat"
        self._compacting = 0
        """The request for the running compaction."""
        self._asked_by_then = 0
        """How many messages the user had sent when it began."""

    def finish(self) -> Recording:
        """Everything that was read."""
        self._close()
        self._settle()
        self._lost()
        return self.builder.finish()

    def line(self, value: Any) -> None:
        kind, data = text_in(value, "type"), dict_in(value, "data")
        if kind != "assistant.message" or _reply_of(data) != self._reply:
            self._close()
        if kind in ("assistant.turn_start", "assistant.message", "user.message"):
            self._settle()
        self.builder.when(value.get("timestamp") if isinstance(value, dict) else None)
        match kind:
            case "session.start" | "session.resume" | "session.model_change":
                self.builder.says_model(text_in(data, "selectedModel") or text_in(data, "newModel"))
            case "system.message":
                self.builder.add(SlotContent("system", "system message", text_in(data, "content")))
            case "user.message":
                self._asked.append(text_in(data, "content"))
                self.builder.add(UserMessage(text_in(data, "transformedContent") or text_in(data, "content")))
            case "assistant.message":
                self._assistant(data)
            case "tool.execution_complete":
                self._results[text_in(data, "toolCallId")] = {**data, "timestamp": value.get("timestamp")}
            case "session.usage_record":
                self._reported(dict_in(data, "usage"))
            case "session.compaction_start":
                self.builder.says_window(number_in(data, "tokenLimit"))
                self._compacts()
            case "session.compaction_complete":
                self._compacted(data)
            case "session.shutdown":
                self._ended(dict_in(data, "modelMetrics"))
            case "session.error":
                self.builder.failure(text_in(data, "message") or text_in(data, "errorType"))
            case "session.title_changed":
                self.builder.says_title(text_in(data, "title"))
            case "subagent.started":
                self.builder.says_title(text_in(data, "agentDisplayName") or text_in(data, "agentName"))
            case _ if kind.partition(".")[0] in _PROGRAM:
                self.builder.leave_out(kind)
            case _:
                self.builder.unknown(kind or "line", value)

    def _assistant(self, data: dict[str, Any]) -> None:
        self.builder.says_model(text_in(data, "model"))
        self._replies += _reply_of(data) != self._reply
        self._reply = _reply_of(data)
        if "" in self._reports:
            self._reports[self._reply] = self._reports.pop("")
        thought, content, calls = (
            text_in(data, "reasoningText"),
            text_in(data, "content"),
            list_in(data, "toolRequests"),
        )
        if thought:
            self.builder.add(Reasoning(thought, self._reply, text_in(data, "reasoningOpaque")))
        if content or not calls:
            finish = "tool_calls" if calls else "stop"
            self.builder.add(AssistantMessage(content, self._reply, finish=finish, model=self.builder.model))
        for call in calls:
            asked = text_in(call, "toolCallId"), text_in(call, "name")
            self._calls.append(asked)
            self.builder.call(*asked, dict_in({"": call}, "").get("arguments"), self._reply)

    def _settle(self) -> None:
        """End the calls: add their results, in the order of the calls."""
        calls, self._calls = self._calls, []
        results, self._results = self._results, {}
        for call_id, tool in [*calls, *((each, "") for each in results if each not in dict(calls))]:
            if call_id in results:
                result = results[call_id]
                self.builder.when(result["timestamp"])
                failed = result.get("success") is False
                given = dict_in(result, "error").get("message") if failed else None
                given = dict_in(result, "result").get("content") if given is None else given
                self.builder.result(call_id, content_of(given), failed, tool)

    # Reports

    def _reported(self, used: dict[str, Any]) -> None:
        self._dialect = _DIALECTS.get(text_in(used, "apiEndpoint"), "chat")
        call = text_in(used, "apiCallId")
        self._lost()
        self._reports[call] = used

    def _lost(self) -> None:
        """Reports without a reply."""
        lost, self._reports = self._reports, {}
        for used in lost.values():
            self._usage(used, self.builder.request(Request(self._dialect, self.builder.model)))

    def _close(self) -> None:
        """End the reply: its report comes after it."""
        used = self._reports.pop(self._reply, None) if self._reply else None
        if used is not None:
            self._usage(used)

    def _usage(self, used: dict[str, Any], request: int = 0) -> None:
        cached, written = number_in(used, "cacheReadTokens"), number_in(used, "cacheWriteTokens")
        output, thought = number_in(used, "outputTokens"), number_in(used, "reasoningTokens")
        more = {"cached": cached, "cache_write": written, "reasoning": thought, "request": request}
        self.builder.usage(number_in(used, "inputTokens"), output, **more)

    def _ended(self, metrics: dict[str, Any]) -> None:
        """The sums of a session; with one request and no report, they are its report."""
        self._settle()
        keys = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")
        used = [dict_in(each, "usage") for each in metrics.values()]
        count = sum(number_in(dict_in(each, "requests"), "count") for each in metrics.values())
        if count == self._replies == 1 and not any(isinstance(body, Usage) for body in self.builder.bodies):
            self._usage({key: sum(number_in(each, key) for each in used) for key in keys})
        self.builder.leave_out("session.shutdown")

    def _compacts(self) -> None:
        self._settle()
        self._compacting = self.builder.request(Request(self._dialect, self.builder.model, "compaction"))
        self._asked_by_then = len(self._asked)

    def _compacted(self, data: dict[str, Any]) -> None:
        if not self._compacting:
            self._compacts()
        made, self._compacting = self._compacting, 0
        self._usage(dict_in(data, "compactionTokensUsed"), made)
        if data.get("success") is not True or made == 1:
            self.builder.leave_out("session.compaction_complete")
            return
        asked = "\n".join(f"<user_message>\n{text}\n</user_message>" for text in self._asked[: self._asked_by_then])
        self.builder.compaction(
            1,
            made - 1,
            SUMMARISED.format(asked=asked, summary=text_in(data, "summaryContent")),
            trigger=text_in(data, "trigger"),
            tokens_before=number_in(data, "preCompactionTokens"),
            tokens_after=number_in(data, "postCompactionTokens"),
        )


def _reply_of(data: dict[str, Any]) -> str:
    """The id of a reply: one call of the API may give several messages."""
    return text_in(data, "apiCallId") or text_in(data, "messageId")
