"""opencode: its database, and what `opencode export` writes.

- `~/.local/share/opencode/opencode.db` has the tables `session`, `message` and `part`; these have JSON in `data`. An
  export is `{"info": ..., "messages": [{"info", "parts"}]}` with the same values. Each session is a conversation,
  including those of sub-agents.
- Parts of a user's message: `text` (unless `ignored`), `file` (sent unless it is plain text or a folder, which have
  texts of their own), `subtask`, `compaction`. Of a reply: `step-start` and `step-finish` (one request each, with its
  `tokens`, in which `input` is without the cache), `text`, `reasoning`, and `tool` with the call and, in `state`, its
  result. A failed reply is not sent again, unless the user stopped it after it had some text.
- A result with `time.compacted` was sent in full until then, and as a short notice afterwards: it is masked from there.
- A compaction is a user's message with a part `compaction` and an answer to it that is marked `summary`. It replaces
  everything before it, or before the message `tail_start_id`; it comes first, as the answer to a question. The request
  that made it is not in the file, but its report is.
- `revert` of a session names the first message that the user undid: everything from it on is excluded at the end.
- Exact: messages, calls, results, and the tokens of every reply. Missing: system prompt, tools, and the requests for
  titles.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any, NamedTuple

from workbench.log.events import AssistantMessage, Override, Part, Reasoning, Request, UserMessage
from workbench.models.known_costs import known_cost
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording
from workbench.traces.cut_words import OLD_RESULT
from workbench.traces.reading import Document
from workbench.traces.tables import Tables, TableSession, object_in
from workbench.traces.written_times import epoch_milliseconds
from workbench.wire.values import content_from, dict_in, list_in, number_in, part_of, text_in

NAME = format_names.OPENCODE
_NOISE = ("step-start", "snapshot", "patch", "agent", "retry")
_FINISH = {"tool-calls": "tool_calls", "length": "length", "content-filter": "refused"}
_QUESTION = "What did we do so far?"
_INTERRUPTED = "[Tool execution was interrupted]"
CLEARED = "cleared by opencode to make room"
UNDONE = "undone in opencode"
FAILED = "failed in opencode, which does not send it again"


def recognises(document: Document) -> bool:
    """Whether it is an export."""
    value = document.values[0].value
    messages = list_in(value, "messages")
    return not document.lines and "slug" in dict_in(value, "info") and all(map(_is_message, messages[:40]))


def _is_message(value: Any) -> bool:
    return "sessionID" in dict_in(value, "info") and isinstance(value.get("parts"), list)


def read(document: Document, text: str) -> list[Recording]:
    """The session of an export."""
    value = document.values[0].value
    return [_conversation(dict_in(value, "info"), [_Message.from_value(each) for each in list_in(value, "messages")])]


def recognises_tables(tables: Tables) -> bool:
    """Whether it is opencode's database."""
    return (
        tables.has_table("session", "id", "slug", "title", "time_created", "revert")
        and tables.has_table("message", "id", "session_id", "time_created", "data")
        and tables.has_table("part", "id", "message_id", "session_id", "data")
    )


def sessions(tables: Tables) -> list[TableSession]:
    """The sessions of the database, the oldest first."""
    found = tables.rows("SELECT id, title, revert FROM session ORDER BY time_created, id")
    return [TableSession(str(row["title"] or ""), partial(_from_tables, tables, row)) for row in found]


def _from_tables(tables: Tables, session: dict[str, Any]) -> Recording:
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in tables.rows("SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id", session["id"]):
        parts.setdefault(row["message_id"], []).append(object_in(row, "data"))
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    messages = [
        _Message(str(row["id"]), object_in(row, "data"), parts.get(row["id"], []))
        for row in tables.rows(query, session["id"])
    ]
    return _conversation({"title": session["title"], "revert": object_in(session, "revert")}, messages)


def last_answer(tables: Tables, session: str) -> Recording:
    """The last answer of a session with its usage, and nothing else, for a list of sessions."""
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created DESC, id DESC LIMIT 4"
    for row in tables.rows(query, session):
        message = _Message(str(row["id"]), object_in(row, "data"), [])
        if number_in(dict_in(message.info, "tokens"), "output"):
            return _conversation({}, [message])
    return Recording()


class _Message(NamedTuple):
    id: str
    info: dict[str, Any]
    parts: list[Any]

    @classmethod
    def from_value(cls, value: Any) -> _Message:
        return cls(text_in(dict_in(value, "info"), "id"), dict_in(value, "info"), list_in(value, "parts"))

    def part(self, kind: str) -> dict[str, Any] | None:
        return next((part for part in self.parts if text_in(part, "type") == kind), None)


def _conversation(session: dict[str, Any], messages: list[_Message]) -> Recording:
    reader = _Reader(Builder(NAME), messages)
    reader.builder.says_title(text_in(session, "title"))
    for message in messages:
        reader.message(message)
    reader.clear(None)
    back = text_in(dict_in(session, "revert"), "messageID")
    if back in reader.starts:
        reader.exclude(reader.starts[back], UNDONE)
    return reader.builder.finish()


class _Reader:
    """One session, message by message."""

    def __init__(self, builder: Builder, messages: list[_Message]) -> None:
        self.builder = builder
        self.starts: dict[str, int] = {}
        """The last event before each message."""
        self._last = messages[-1].id if messages else ""
        self._summaries = {
            text_in(each.info, "parentID"): each
            for each in messages
            if each.info.get("summary") is True and each.info.get("finish") and not each.info.get("error")
        }
        """By the message that asked for it: the answer with the summary of a compaction."""
        self._cleared: list[tuple[int, int]] = []
        """The time when a result was cleared, and its event."""

    def message(self, message: _Message) -> None:
        created = epoch_milliseconds(dict_in(message.info, "time").get("created"))
        self.clear(created)
        self.builder.when(created)
        self.starts[message.id] = self.builder.last
        role = text_in(message.info, "role")
        if role == "user" and message.id in self._summaries:
            self._compaction(message, self._summaries[message.id])
        elif role == "user":
            self._user(message)
        elif role == "assistant" and message is not self._summaries.get(text_in(message.info, "parentID")):
            self._assistant(message)
        elif role != "assistant":
            self.builder.unknown("message", {"info": message.info, "parts": message.parts})

    def clear(self, now: int | None) -> None:
        """Mask the results that were cleared until now; None: all of them."""
        due = sorted(each for each in self._cleared if now is None or each[0] <= now)
        self._cleared = [each for each in self._cleared if each not in due]
        for at, seq in due:
            self.builder.when(at)
            self.builder.add(Override("mask", seq, seq, CLEARED, OLD_RESULT))

    def exclude(self, after: int, why: str) -> None:
        """Exclude everything after an event from here on."""
        if self.builder.last > after:
            self.builder.add(Override("exclude", after + 1, self.builder.last, why))

    def _user(self, message: _Message) -> None:
        content: list[Part] = []
        for part in message.parts:
            kind = text_in(part, "type")
            if kind == "text" and part.get("ignored") is not True and part.get("text"):
                content.append(part_of(part))
            elif kind == "file" and part.get("mime") not in ("text/plain", "application/x-directory"):
                content.append(_file(part))
            elif kind == "subtask":
                content.append(part_of("The following tool was executed by the user"))
            elif kind == "compaction":
                content.append(part_of(_QUESTION))
            elif kind in ("text", "file", *_NOISE):
                self.builder.leave_out(kind)
            else:
                self.builder.unknown(kind or "part", part)
        if content:
            self.builder.add(UserMessage(content_from(content)))

    def _compaction(self, asked: _Message, answer: _Message) -> None:
        self.builder.says_model(text_in(answer.info, "modelID"))
        request = self.builder.request(Request("chat", self.builder.model, "compaction"))
        self._usage(answer.info, request)
        tail = text_in(asked.part("compaction"), "tail_start_id")
        last = self.starts.get(tail, self.starts[asked.id])
        summary = "\n\n".join(text_in(part, "text") for part in answer.parts if text_in(part, "type") == "text")
        self.builder.when(dict_in(answer.info, "time").get("completed"))
        self.builder.compaction(1, last, summary, f"{_QUESTION}\n\n")

    def _assistant(self, message: _Message) -> None:
        first = self.builder.last
        self.builder.says_model(text_in(message.info, "modelID"))
        step: list[Any] = []
        for part in message.parts:
            step.append(part)
            if text_in(part, "type") == "step-finish":
                self._step(step, part, message)
                step = []
        self._step(step, {} if message.part("step-finish") else message.info, message)
        error = dict_in(message.info, "error")
        if error:
            self.builder.failure(text_in(dict_in(error, "data"), "message") or text_in(error, "name"))
            has_content = any(text_in(part, "type") not in ("step-start", "reasoning") for part in message.parts)
            if text_in(error, "name") != "MessageAbortedError" or not has_content:
                self.exclude(first, FAILED)

    def _step(self, parts: list[Any], reported: dict[str, Any], message: _Message) -> None:
        """Add the answer of one request, its report, and the results of its calls."""
        reply = self.builder.next_reply()
        broken = "cancelled" if message.info.get("error") else "stop"
        finish = _FINISH.get(text_in(reported, "reason") or text_in(reported, "finish"), broken)
        calls = []
        for part in parts:
            kind, content = text_in(part, "type"), text_in(part, "text")
            if kind == "text":
                self.builder.add(AssistantMessage(content, reply, finish=finish, model=self.builder.model))
            elif kind == "reasoning":
                signature = text_in(dict_in(dict_in(part, "metadata"), "anthropic"), "signature")
                self.builder.add(Reasoning(content, reply, signature))
            elif kind == "tool":
                calls.append(part)
                given = json.dumps(dict_in(part, "state").get("input") or {}, ensure_ascii=False, separators=(",", ":"))
                self.builder.call(text_in(part, "callID"), text_in(part, "tool"), given, reply)
            elif kind in _NOISE:
                self.builder.leave_out(kind)
            elif kind != "step-finish":
                self.builder.unknown(kind or "part", part)
        self._usage(reported)
        for part in calls:
            self._result(part, message.id == self._last)

    def _result(self, part: dict[str, Any], newest: bool) -> None:
        state = dict_in(part, "state")
        noted, time = dict_in(state, "metadata"), dict_in(state, "time")
        self.builder.when(time.get("end"))
        call = text_in(part, "callID")
        match text_in(state, "status"):
            case "completed":
                attached = [_file(each) for each in list_in(state, "attachments")]
                self.builder.result(call, content_from([part_of(text_in(state, "output")), *attached]))
                if time.get("compacted"):
                    self._cleared.append((epoch_milliseconds(time["compacted"]), self.builder.last))
            case "error" if noted.get("interrupted") is True and isinstance(noted.get("output"), str):
                self.builder.result(call, text_in(noted, "output"))
            case "error":
                self.builder.result(call, text_in(state, "error"), is_error=True)
            case _ if not newest:
                self.builder.result(call, _INTERRUPTED, is_error=True)

    def _usage(self, reported: dict[str, Any], request: int = 0) -> None:
        used = dict_in(reported, "tokens")
        cached, written = number_in(dict_in(used, "cache"), "read"), number_in(dict_in(used, "cache"), "write")
        thought = number_in(used, "reasoning")
        self.builder.usage(
            number_in(used, "input") + cached + written,
            number_in(used, "output") + thought,
            cached=cached,
            cache_write=written,
            reasoning=thought,
            cost=known_cost(reported.get("cost")),
            request=request,
        )


def _file(part: Any) -> Part:
    """A picture by its address; any other file is kept as it is."""
    if text_in(part, "mime").startswith("image/"):
        return part_of({"type": "image_url", "image_url": text_in(part, "url")})
    return part_of(part)
