"""Claude Code: the JSON lines of a session, or what its command prints as `stream-json`.

- A session is `~/.claude/projects/-PATH/ID.jsonl`, a sub-agent `ID/subagents/agent-*.jsonl` next to it.
- A line has a `type`, a `uuid` and its `sessionId`. `user` and `assistant` have an Anthropic `message`; one reply of
  the model is several lines with the same `message.id`, one per block, and that id is the reply's. Results of its first
  calls may come between the lines of a reply; the reader moves them after it, as they are sent.
- Blocks: `text`, `image`, `thinking`, `tool_use` (`id`, `name`, `input`), and in user messages `tool_result`
  (`tool_use_id`, `content`, `is_error`). Calls and results are paired by id.
- `message.usage` is on every line of a reply; the last one counts. Cached tokens are not part of `input_tokens`.
- From 2.1.282 on every request of the conversation is in the file: `claude_requests` rebuilds it, with system prompt
  and tools. Earlier files have neither of the two; some have both in a `prompt_snapshot`.
- An `attachment` is what the program put into the request. Later versions have the text (`rendered`, `renderedRole`);
  text `rendered` for the role system is sent without the tags around it. A message typed while the agent worked is an
  attachment too (`queued_command`). Without `rendered`, `claude_attachments` has the wording for a file, a memory and
  others; the rest is kept as unknown.
- `compact_boundary` with the user message after it that is marked `isCompactSummary` is a compaction of everything
  before the boundary, except for the `preservedSegment` of some versions; it has the tokens before, and later after. If
  the segment is anchored at the boundary itself ("summarize from here"), only what follows it is replaced. If the file
  begins at the boundary, the compaction replaces what is not in the file. A summary without a boundary and with nothing
  before it, as in a session that continues another file, is a user message. A `microcompact_boundary` names the calls
  whose results were cleared: they are masked from there on.
- `message.context_management` has what Anthropic itself cleared in the request of a reply (`context_edits`).
- Each session of a file is its own conversation, unless its first line continues a line of another. Lines of
  sub-agents (`isSidechain`) are conversations after them, one per `agentId`, or per root if they have none; so are
  those in files next to the session (`claude_sub_agents`). The session records their requests and what they cost.
- An error of the API that was shown as a reply (`isApiErrorMessage`) is a failure. `summary`, `custom-title` and
  `ai-title` are titles.
- `system` lines are for the screen. `local_command` (the output of `/model`, for example) is sent as the user's from
  2.1.70 on, and was not sent up to 2.1.50. An `api_error` is a failure.
- A message of the user with the same `parentUuid` as an earlier one: the user went back ("rewind"). Everything from the
  earlier one on is excluded. Lines that come before their parent are moved after it: the first reply may be one.
- Counted, not kept: progress, snapshots of files, durations and hooks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.config.text import whole_number
from workbench.log.events import AgentCut, Content, Override, SystemMessage, ToolResult, UserMessage, text_of
from workbench.traces import claude_requests
from workbench.traces.building import Builder, Recording, beginning, entries
from workbench.traces.claude_attachments import sent_contents
from workbench.traces.claude_conversations import ClaudeConversations
from workbench.traces.claude_requests import RecordedRequests
from workbench.traces.claude_sub_agents import (
    SubAgentFiles,
    SubAgentRequest,
    is_of_sub_agent,
    kinds_in,
    lines_in_time,
    read_claude_sub_agents,
    requests_in,
)
from workbench.traces.cut_words import OLD_RESULT
from workbench.traces.parents import behind_parents, count_missing, report_gaps
from workbench.traces.reading import Document
from workbench.traces.undone import undo_from, went_back
from workbench.wire.anthropic import FINISH, AnthropicReader, kept_an_hour
from workbench.wire.context_edits import ProviderEdits, edits_by_reply
from workbench.wire.values import content_of, dict_in, list_in, number_in, text_in

NAME = "Claude Code"
_NOISE = (
    *("progress", "file-history-snapshot", "queue-operation", "last-prompt", "permission-mode", "mode"),
    *("agent-name", "agent-setting", "agent-color", "stream_event", "rate_limit_event"),
    *("atis-latch", "tools-used", "cost-state"),
)
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


def recognises(document: Document) -> bool:
    """Whether a line near the beginning is one of Claude Code's."""
    return any(_is_line(value) for value in beginning(document))


def _is_line(value: dict[str, Any]) -> bool:
    kind = text_in(value, "type")
    # Cursor prints lines with a `session_id` too, but names neither the call they belong to nor its tools.
    ours = not {"sessionId", "uuid", "parent_tool_use_id", "tools"}.isdisjoint(value)
    if kind in ("user", "assistant"):
        return "content" in dict_in(value, "message") and ours
    if kind == "system":
        return ours and "subtype" in value and "systemPayload" not in value  # Qwen Code's lines have it
    return (kind in _NOISE and ours) or (kind == "summary" and "leafUuid" in value)


def read(document: Document, text: str) -> list[Recording]:
    """The sessions, then their sub-agents."""
    own = behind_parents([value for _, value in entries(document, text)], "uuid", "parentUuid")
    sessions = list(dict.fromkeys(filter(None, (text_in(value, "sessionId") for value in own))))
    sub_agents = read_claude_sub_agents(document.path, sessions) if document.path else SubAgentFiles()
    lines = lines_in_time(own, sub_agents.lines) if sub_agents.lines else own
    kinds = kinds_in(lines) | {agent: kind for agent, kind in sub_agents.kinds.items() if kind}
    asked = requests_in(lines, kinds)
    edits = edits_by_reply(dict_in(value, "message") for value in lines)
    has_requests = any(text_in(value, "type") == "api-request" for value in lines)
    conversations = ClaudeConversations(lambda broken: ClaudeCodeReader(broken, has_requests, edits), document.broken)
    known = {text_in(value, "uuid") for value in lines}
    for at, value in enumerate(lines):
        reader = conversations.reader(value)
        reader.line(value)
        reader.gaps += count_missing([value], "parentUuid", known)
        if at in asked and (session := conversations.session()) is not None:
            session.sub_agent_asked(asked[at])
    found = sorted(conversations.made.items(), key=lambda item: item[0][1] != "")
    if found:
        found[0][1].builder.skipped(sub_agents.broken)
    talks = [(reader.builder.has_talk, agent, reader.finish()) for (_, agent), reader in found]
    for _, agent, bodies in talks:
        bodies.sub_agent = kinds.get(agent, agent)
    return [bodies for has_talk, _, bodies in talks if has_talk] or [bodies for _, _, bodies in talks]


class ClaudeCodeReader:
    """One conversation, line by line."""

    def __init__(self, broken: Any, has_requests: bool, edits: Mapping[str, ProviderEdits]) -> None:
        """`edits`: what the provider cleared in the request of each reply."""
        self.builder = Builder(NAME, broken)
        self._edits = edits
        self._wire = AnthropicReader(self.builder)
        self._requests = RecordedRequests(self.builder) if has_requests else None
        self._lines: dict[str, dict[str, Any]] = {}
        self._seqs: dict[str, int] = {}
        """The last event before each line, for the segment that a compaction preserved."""
        self._ends: dict[str, int] = {}
        """The last event of each line."""
        self._prompts: dict[tuple[str, str], tuple[str, int]] = {}
        """By session and line: the user's message that continues it, and the last event before that."""
        self._clearable: dict[str, tuple[int, int]] = {}
        """By call, and by line of an attachment: the events that a micro-compaction clears."""
        self._boundary: dict[str, Any] | None = None
        self._covered = 0
        """The last event before the boundary."""
        self._reply = ""
        self._usage: dict[str, Any] = {}
        self._request = 0
        """The event of the request that the reply answers."""
        self._reported: set[str] = set()
        """Replies whose usage was recorded."""
        self._held: list[dict[str, Any]] = []
        """Lines with results that came while the reply may go on."""
        self.gaps = 0
        """Lines that continue a line that is not in the file."""
        self._sub_agents: list[SubAgentRequest] = []
        """Requests of sub-agents while the reply may go on."""

    def has_line(self, uuid: str) -> bool:
        """Whether a line is part of this conversation."""
        return uuid in self._seqs

    def _was_there(self, value: dict[str, Any]) -> bool:
        """Whether a line comes a second time, as in a file that was put together from several."""
        before = self._lines.setdefault(text_in(value, "uuid"), value)
        return before is not value and before == value

    def line(self, value: Any) -> None:
        """Read the next line."""
        kind = text_in(value, "type")
        subtype = text_in(value, "subtype")
        match kind:
            case "user" | "assistant" if self._was_there(value):
                self.builder.leave_out("lines that were there before")
            case "user" if isinstance(value.get("message"), dict):
                if self._reply and _has_results_only(value):
                    self._held.append(value)
                else:
                    self._begin(value)
                    self._go_back(value)
                    self._user(value)
            case "assistant" if isinstance(value.get("message"), dict):
                self._assistant(value)
            case "attachment":
                self._begin(value)
                self._attachment(value)
            case "system" if subtype == "compact_boundary":
                self._begin(value)
                self._boundary, self._covered = value, self.builder.last
            case "system" if subtype == "microcompact_boundary":
                self._begin(value)
                self._micro_compaction(dict_in(value, "microcompactMetadata"))
            case "system" if subtype:
                self._system(value, subtype)
            case "summary" | "custom-title" | "ai-title":
                self.builder.says_title(text_in(value, _TITLES[kind]))
            case _ if kind in claude_requests.KINDS and self._requests is not None:
                self._begin(value)
                self._requests.line(value)
            case _ if kind in _NOISE:
                self.builder.leave_out(kind)
            case _:
                self.builder.unknown(f"{kind} {subtype}" if subtype else kind or "line", value)

    def sub_agent_asked(self, asked: SubAgentRequest) -> None:
        """Record a request of a sub-agent."""
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
        report_gaps(self.builder, self.gaps)
        return self.builder.finish()

    def _begin(self, value: dict[str, Any]) -> None:
        """End the reply: something else begins."""
        self._close()
        self._at(value)

    def _at(self, value: dict[str, Any]) -> None:
        self.builder.when(value.get("timestamp"))
        if text_in(value, "uuid"):
            if self._seqs:
                self._ends[next(reversed(self._seqs))] = self.builder.last
            self._seqs[value["uuid"]] = self.builder.last

    def _go_back(self, value: dict[str, Any]) -> None:
        """A message that continues the same line as an earlier one replaces it: everything since then is undone."""
        if "parentUuid" not in value or value.get("isMeta") or value.get("isCompactSummary") or is_of_sub_agent(value):
            return
        place, name = (text_in(value, "sessionId"), text_in(value, "parentUuid")), text_in(value, "uuid")
        before = self._prompts.get(place)
        if before is not None and before[0] != name:
            self.builder.add(*undo_from(self.builder.bodies, before[1] + 1, went_back(NAME)))
        self._prompts[place] = (name, self.builder.last)

    def _close(self) -> None:
        """End a reply: record its usage, then the results that came in between."""
        used, reply = self._usage, self._reply
        self._usage, self._reply = {}, ""
        if reply not in self._reported:
            self._usage_of(used, self._request)
            self._reported.add(reply)
        self._add_sub_agents()
        held, self._held = self._held, []
        for value in held:
            self._at(value)
            self._user(value)

    def _usage_of(self, used: dict[str, Any], request: int, **more: Any) -> None:
        cached, written = number_in(used, "cache_read_input_tokens"), number_in(used, "cache_creation_input_tokens")
        prompt, completion = number_in(used, "input_tokens") + cached + written, number_in(used, "output_tokens")
        kept = {"cached": cached, "cache_write": written, "cache_hour": kept_an_hour(used)}
        self.builder.usage(prompt, completion, **kept, request=request, **more)

    def _add_sub_agents(self) -> None:
        """Record the sub-agents' requests, after the reply: its report would be taken for theirs."""
        sub_agents, self._sub_agents = self._sub_agents, []
        for asked in sub_agents:
            self.builder.when(asked.timestamp)
            self._usage_of(asked.usage, self.builder.request(asked.request), model=asked.request.model)

    def _system(self, value: dict[str, Any], subtype: str) -> None:
        """A line for the screen; the model sees only the output of a local command."""
        text = text_in(value, "content")
        if subtype == "local_command" and text and _version(value) >= _COMMANDS_SENT:
            self._begin(value)
            self.builder.add(SystemMessage(text, "user"))
        elif subtype == "api_error":
            self._begin(value)
            self.builder.failure(_api_error(value))
        elif subtype in _QUIET:
            self.builder.says_model(text_in(value, "model"))
            self.builder.leave_out(f"system {subtype}")
        else:
            self.builder.unknown(f"system {subtype}", value, is_talk=False)

    def _user(self, value: dict[str, Any]) -> None:
        content = value["message"].get("content")
        if value.get("isCompactSummary") and (self.builder.has_talk or self._boundary is not None):
            self._compaction(text_of(content_of(content)))
            return
        if value.get("isVisibleInTranscriptOnly") and not value.get("isCompactSummary"):
            self.builder.leave_out("user line that is only shown")
            return
        if self._requests is not None:
            self._requests.add_message("user", "", content)
        before = self.builder.last
        self._wire.user(content)
        for seq, body in enumerate(self.builder.bodies[before:], before + 1):
            if isinstance(body, ToolResult):
                self._clearable[body.call_id] = (seq, seq)

    def _assistant(self, value: dict[str, Any]) -> None:
        message = value["message"]
        if value.get("isApiErrorMessage"):
            self._begin(value)
            self.builder.failure(text_of(content_of(message.get("content"))))
            return
        reply = text_in(message, "id") or text_in(value, "uuid")
        if reply != self._reply:
            self._close()
            self.builder.cleared(self._edits.get(reply, ProviderEdits()))
            if self._requests is not None:
                self._requests.answered(text_in(value, "requestRef"))
            self.builder.says_model(text_in(message, "model").replace("<synthetic>", ""))
        self._at(value)
        self._reply = reply
        self._usage = dict_in(message, "usage") or self._usage
        if self._requests is not None:
            self._request = self._requests.event(text_in(value, "requestRef"))
            self._requests.add_message("assistant", reply, message.get("content"))
        self._wire.reply(message.get("content"), reply, FINISH.get(text_in(message, "stop_reason"), "stop"))

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
            cut = AgentCut("truncated", NAME) if len(text_of(text)) == longest else None  # without the words around it
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
        why = f"cleared by {NAME}'s micro-compaction: {before:,} tokens before it, {saved:,} saved"
        named = (*list_in(noted, "compactedToolIds"), *list_in(noted, "clearedAttachmentUUIDs"))
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


def _has_results_only(value: dict[str, Any]) -> bool:
    content = value["message"].get("content")
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
