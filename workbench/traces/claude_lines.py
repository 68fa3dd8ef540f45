"""Claude Code: the lines of one conversation, read one by one. `claude_code` describes the format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from workbench.config.text import whole_number
from workbench.log.events import AgentCut, Content, Override, SystemMessage, ToolResult, UserMessage, text_of
from workbench.traces.building import Builder, Recording
from workbench.traces.claude_attachments import sent_contents
from workbench.traces.claude_fields import REQUEST_KINDS, SessionLine, SessionMessage
from workbench.traces.claude_sub_agents import SubAgentRequest
from workbench.traces.claude_survey import ClaudeSurvey
from workbench.traces.cut_words import OLD_RESULT
from workbench.traces.parents import report_gaps
from workbench.traces.undone import undo_from, went_back
from workbench.wire.anthropic import FINISH, AnthropicReader, anthropic_usage
from workbench.wire.context_edits import ProviderEdits
from workbench.wire.values import content_of, dict_in, list_in, number_in, text_in

if TYPE_CHECKING:
    from workbench.traces.claude_requests import RecordedRequests

NOISE = frozenset(
    (
        *("progress", "file-history-snapshot", "queue-operation", "last-prompt", "permission-mode", "mode"),
        *("agent-name", "agent-setting", "agent-color", "stream_event", "rate_limit_event"),
        *("atis-latch", "tools-used", "cost-state"),
    )
)
"""Kinds of lines that are about the program."""
_QUIET = (
    *("turn_duration", "stop_hook_summary", "init", "hook_started", "hook_response", "hook_progress", "status"),
    *("away_summary", "informational", "file_snapshot", "task_notification", "task_started", "task_progress"),
    *("agents_killed", "api_retry", "bridge_state", "bridge_status", "elicitation_complete", "memory_saved"),
    *("permission_retry", "scheduled_task_fire", "session_state_changed", "session_start", "local_command"),
)
"""Kinds of `system` lines that are about the program."""
_COMMANDS_SENT = (2, 1, 70)
"""The first version in which the model sees the output of a local command."""
_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_REMINDER = ("<system-reminder>\n", "\n</system-reminder>")


class ClaudeCodeReader:
    """One conversation, line by line."""

    def __init__(self, builder: Builder, survey: ClaudeSurvey) -> None:
        """`survey`: what is known about all lines of the file."""
        self.builder = builder
        self._survey = survey
        self._wire = AnthropicReader(self.builder)
        self._requests = _recorded_requests(self.builder) if survey.has_requests else None
        self._lines: dict[str, SessionLine] = {}
        """The first line of each id that several lines have."""
        self._seqs: dict[str, int] = {}
        """The last event before each line, for the segment that a compaction preserved."""
        self._ends: dict[str, int] = {}
        """The last event of each line."""
        self._newest = ""
        """The uuid of the latest line that had not come before."""
        self._prompts: dict[tuple[str, str], tuple[str, int]] = {}
        """By session and parent line: the uuid of the user's message that continues that line, and the number of the
        last event before that message."""
        self._clearable: dict[str, tuple[int, int]] = {}
        """By line of an attachment, and by call: the events that a micro-compaction clears."""
        self._results_known = 0
        """The last event whose result is among them: most conversations have no micro-compaction."""
        self._boundary: dict[str, Any] | None = None
        self._covered = 0
        """The last event before the boundary."""
        self._reply = ""
        self._usage: dict[str, Any] = {}
        self._request = 0
        """The event of the request that the reply answers."""
        self._reported: set[str] = set()
        """Replies whose usage was recorded."""
        self._held: list[tuple[SessionLine, SessionMessage]] = []
        """Lines with results that came while the reply may go on."""
        self._gaps = 0
        """Lines that continue a line that is not in the file."""
        self._sub_agents: list[SubAgentRequest] = []
        """Requests of sub-agents while the reply may go on."""

    def has_line(self, uuid: str) -> bool:
        """Whether a line is part of this conversation."""
        return uuid in self._seqs

    def _is_repeated(self, line: SessionLine) -> bool:
        """Whether a line comes a second time, as in a file that was put together from several."""
        if line.uuid not in self._survey.repeated:
            return False
        before = self._lines.setdefault(line.uuid, line)
        return before is not line and before.message == line.message and before.whole == line.whole

    def read_line(self, line: SessionLine) -> None:
        kind, message = line.type, line.message
        self._gaps += (line.parent or "") not in self._survey.names
        if kind in NOISE:
            self.builder.leave_out(kind)
        elif kind not in ("user", "assistant"):
            self._program_line(line)
        elif self._is_repeated(line):
            self.builder.leave_out("lines that were there before")
        elif message is None:
            self.builder.unknown(f"{kind} {line.subtype}" if line.subtype else kind, line.whole)
        elif kind == "assistant":
            self._assistant(line, message)
        elif self._reply and _has_results_only(message):
            self._held.append((line, message))
        else:
            self._begin(line)
            self._go_back(line)
            self._user(line, message)

    def _program_line(self, line: SessionLine) -> None:
        """A line that is no message."""
        kind, subtype, value = line.type, line.subtype, line.whole
        match kind:
            case "attachment":
                self._begin(line)
                self._attachment(value)
            case "system" if subtype == "compact_boundary":
                self._begin(line)
                self._boundary, self._covered = value, self.builder.last
            case "system" if subtype == "microcompact_boundary":
                self._begin(line)
                self._micro_compaction(dict_in(value, "microcompactMetadata"))
            case "system" if subtype:
                self._system(line, value)
            case "summary" | "custom-title" | "ai-title":
                self.builder.says_title(text_in(value, _TITLES[kind]))
            case _ if kind in REQUEST_KINDS and self._requests is not None:
                self._begin(line)
                self._requests.line(value)
            case _:
                self.builder.unknown(f"{kind} {subtype}" if subtype else kind or "line", value)

    def sub_agent_asked(self, asked: SubAgentRequest) -> None:
        self._sub_agents.append(asked)
        if not self._reply:
            self._add_sub_agents()

    def finish(self) -> Recording:
        """Everything that was read."""
        self._close()
        if self._requests is not None:
            self._requests.finish()
        if self._boundary is not None:
            self.builder.unknown("system compact_boundary", self._boundary, is_talk=False)
        report_gaps(self.builder, self._gaps)
        return self.builder.finish()

    def _begin(self, line: SessionLine) -> None:
        """End the reply: something else begins."""
        self._close()
        self._at(line)

    def _at(self, line: SessionLine) -> None:
        self.builder.when(line.timestamp)
        if name := line.uuid:
            last = self.builder.last
            if self._newest:
                self._ends[self._newest] = last
            if name not in self._seqs:
                self._newest = name
            self._seqs[name] = last

    def _go_back(self, line: SessionLine) -> None:
        """A message that continues the same line as an earlier one replaces it: everything since then is undone."""
        if line.parent is UNSET or line.is_meta or line.is_summary or line.is_sub_agents:
            return
        if not line.parent and not self._survey.continues:
            return
        place, name = (line.session, line.parent or ""), line.uuid
        before = self._prompts.get(place)
        if before is not None and before[0] != name:
            self.builder.add(*undo_from(self.builder.bodies, before[1] + 1, went_back(self.builder.name)))
        self._prompts[place] = (name, self.builder.last)

    def _close(self) -> None:
        """End a reply: record its usage, then the results that came in between."""
        used, reply = self._usage, self._reply
        self._usage, self._reply = {}, ""
        if reply not in self._reported:
            self._usage_of(used, self._request)
            self._reported.add(reply)
        if self._sub_agents:
            self._add_sub_agents()
        if self._held:
            held, self._held = self._held, []
            for line, message in held:
                self._at(line)
                self._user(line, message)

    def _usage_of(self, used: dict[str, Any], request: int, model: str | None = None) -> None:
        report = anthropic_usage(used, self.builder.model if model is None else model, request)
        if report is not None:
            self.builder.add(report)

    def _add_sub_agents(self) -> None:
        """Record the sub-agents' requests, after the reply: its report would be taken for theirs."""
        sub_agents, self._sub_agents = self._sub_agents, []
        for asked in sub_agents:
            self.builder.when(asked.timestamp)
            self._usage_of(asked.usage, self.builder.request(asked.request), model=asked.request.model)

    def _system(self, line: SessionLine, value: dict[str, Any]) -> None:
        """A line for the screen; the model sees only the output of a local command."""
        text, subtype = text_in(value, "content"), line.subtype
        if subtype == "local_command" and text and _version(value) >= _COMMANDS_SENT:
            self._begin(line)
            self.builder.add(SystemMessage(text, "user"))
        elif subtype == "api_error":
            self._begin(line)
            self.builder.failure(_api_error(value))
        elif subtype in _QUIET:
            self.builder.says_model(text_in(value, "model"))
            self.builder.leave_out(f"system {subtype}")
        else:
            self.builder.unknown(f"system {subtype}", value, is_talk=False)

    def _user(self, line: SessionLine, message: SessionMessage) -> None:
        content = message.content
        if line.is_summary and (self.builder.has_talk or self._boundary is not None):
            self._compaction(text_of(content_of(content)))
            return
        if line.is_only_shown and not line.is_summary:
            self.builder.leave_out("user line that is only shown")
            return
        if self._requests is not None:
            self._requests.add_message("user", "", content)
        self._wire.user(content)

    def _assistant(self, line: SessionLine, message: SessionMessage) -> None:
        if line.is_error:
            self._begin(line)
            self.builder.failure(text_of(content_of(message.content)))
            return
        reply = message.id or line.uuid or self.builder.next_reply()
        if reply != self._reply:
            self._close()
            if self._survey.edits:
                self.builder.cleared(self._survey.edits.get(reply, ProviderEdits()))
            if self._requests is not None:
                self._requests.begin_reply(line.request)
            self.builder.says_model(message.model.replace("<synthetic>", ""))
        self._at(line)
        self._reply = reply
        self._usage = message.usage or self._usage
        if self._requests is not None:
            self._request = self._requests.event(line.request)
            self._requests.add_message("assistant", reply, message.content)
        self._wire.reply(message.content, reply, FINISH.get(message.stop_reason or "", "stop"))

    def _attachment(self, value: dict[str, Any]) -> None:
        attached, role = dict_in(value, "attachment"), text_in(value, "renderedRole") or "user"
        kind = text_in(attached, "type")
        texts = [content_of(each.get("content")) for each in list_in(value, "rendered") if isinstance(each, dict)]
        worded = sent_contents(attached) if not texts else None
        if kind == "queued_command" and not texts:
            texts = [content_of(attached.get("prompt"))]
        texts = texts or worded or []
        if role == "system":
            texts = [_bare(text) for text in texts]
        typed = kind == "queued_command" and text_in(attached, "commandMode") in ("prompt", "")
        longest = max((len(text_of(text)) for text in texts), default=0) if attached.get("truncated") is True else -1
        first = self.builder.last + 1
        for text in texts:
            is_cut = len(text_of(text)) == longest  # the file itself, not the words around it
            cut = AgentCut("truncated", self.builder.name) if is_cut else None
            self.builder.add(UserMessage(text) if typed else SystemMessage(text, role, cut=cut))
        if texts:
            self._clearable[text_in(value, "uuid")] = (first, self.builder.last)
        elif kind == "prompt_snapshot":
            self._snapshot(attached)
        elif worded is not None:
            self.builder.leave_out(f"attachment {kind}")
        else:
            self.builder.unknown(f"attachment {kind}".rstrip(), value)

    def _snapshot(self, attached: dict[str, Any]) -> None:
        """System prompt and tools, if no request has them more exactly."""
        if self._requests is None:
            tools = [dict_in(each, "schema") for each in list_in(attached, "tools")]
            self._wire.head({"system": "\n\n".join(map(str, list_in(attached, "systemPrompt"))), "tools": tools})
        self.builder.leave_out("attachment prompt_snapshot")

    def _micro_compaction(self, noted: dict[str, Any]) -> None:
        before, saved = number_in(noted, "preTokens"), number_in(noted, "tokensSaved")
        why = f"cleared by {self.builder.name}'s micro-compaction: {before:,} tokens before it, {saved:,} saved"
        named = (*list_in(noted, "compactedToolIds"), *list_in(noted, "clearedAttachmentUUIDs"))
        first, self._results_known = self._results_known, self.builder.last
        for seq, body in enumerate(self.builder.bodies[first:], first + 1):
            if type(body) is ToolResult:
                self._clearable[body.call_id] = (seq, seq)
        cleared = [self._clearable[name] for name in named if isinstance(name, str) and name in self._clearable]
        for at, span in enumerate(cleared):
            self.builder.add(Override("mask", *span, why, OLD_RESULT, joined=at > 0))

    def _compaction(self, summary: str) -> None:
        noted = dict_in(self._boundary, "compactMetadata")
        last = self._covered if self._boundary is not None else self.builder.last
        kept, first = dict_in(noted, "preservedSegment"), 1
        if text_in(kept, "anchorUuid") and text_in(kept, "anchorUuid") == text_in(self._boundary, "uuid"):
            first = self._ends.get(text_in(kept, "tailUuid"), 0) + 1  # what is kept comes before the summary
        else:
            last = min(last, self._seqs.get(text_in(kept, "headUuid"), last))
        self._boundary = None
        self.builder.compaction(
            first,
            last,
            summary,
            trigger=text_in(noted, "trigger"),
            tokens_before=number_in(noted, "preTokens"),
            tokens_after=number_in(noted, "postTokens"),
        )


def _recorded_requests(builder: Builder) -> RecordedRequests:
    from workbench.traces.claude_requests import RecordedRequests  # late: most files have none

    return RecordedRequests(builder)


def _has_results_only(message: SessionMessage) -> bool:
    content = message.content
    return isinstance(content, list) and all(text_in(block, "type") == "tool_result" for block in content)


def _version(value: dict[str, Any]) -> tuple[int, ...]:
    """The version of Claude Code that wrote a line; empty if unknown."""
    return tuple(whole_number(part) if part.isdecimal() else 0 for part in text_in(value, "version").split(".")[:3])


def _api_error(value: dict[str, Any]) -> str:
    error = dict_in(value, "error")
    inner = dict_in(dict_in(error, "error"), "error") or dict_in(error, "error")
    text = text_in(value, "content") or text_in(inner, "message") or text_in(error, "message")
    code = text_in(dict_in(value, "cause"), "code") or text_in(dict_in(error, "cause"), "code")
    status = number_in(error, "status")
    return text or code or (f"the API answered with status {status}" if status else "the API answered with an error")


def _bare(content: Content) -> Content:
    """A reminder as it is sent for the role system: without its tags."""
    if not isinstance(content, str):
        return content
    before, after = _REMINDER
    return content[len(before) : -len(after)] if content.startswith(before) and content.endswith(after) else content
