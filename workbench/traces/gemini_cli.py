"""Gemini CLI: a recorded chat, `chats/session-*.jsonl` below a project's folder; older versions wrote one JSON object.

- The first line has `sessionId`, `projectHash` and `startTime`; each time the session is resumed another one follows.
  The object of older versions has the same keys, and its `messages` in a list.
- A message has an `id` and a `type`: `user` or `gemini`, with `content` as text or Gemini's parts; one of `gemini` may
  have `thoughts` (`subject`, `description`), `toolCalls` (`id`, `name`, `args`, and their `result` as parts with a
  `functionResponse`), `tokens` (the report for the request it answers; `input` includes cached ones) and its `model`. A
  line with a known `id` replaces the earlier one: a reply is written again with its calls.
- Results of tools are a user message, which is what was sent; if there is none, the result is in the call.
- `{"$set": {...}}` sets keys of the session. With `messages`, the conversation is those from there on: at the
  beginning, when a session is resumed, and after a compression, in which a `<state_snapshot>` replaces what is gone and
  what was kept has new ids. `{"$rewindTo": ID}` goes back to before that message.
- If old results are masked to make room, all messages are written again under new ids, and then set. The masked
  results begin with `<tool_output_masked>`.
- A resumed session sends results of tools twice, under ids that end in `_response`. A call has one result: the second
  ones become a message, after what existed when it was resumed.
- Sub-agents have chats of their own next to the session's (`gemini_sub_agents`): conversations after it. The session
  records their requests and what they cost.
- `info`, `warning` and `error` are the program's own messages: counted, errors as failures.
- Exact: the messages, except for the place of doubled results. Not in these files: system prompt, tools, the requests
  that choose a model or compress, and what a compression cost.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from workbench.config.values import replace
from workbench.log.events import AssistantMessage
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, SubAgentReport, first_objects, log_entries
from workbench.traces.companion_files import read_files
from workbench.traces.gemini_sub_agents import gemini_reports, gemini_sub_agent_files, names_in
from workbench.traces.histories import History, NamedContent, content_texts, parts_with_key
from workbench.traces.reading import Document
from workbench.traces.written_times import epoch_milliseconds
from workbench.wire.values import dict_in, list_in, number_in, text_in

NAME = format_names.GEMINI_CLI
_OWN_WORDS = ("info", "warning")


def recognises(document: Document) -> bool:
    """Whether it begins as a session, or is a chat with messages that have a type and no role."""
    return any(_is_head(value) or _is_chat(value) for value in first_objects(document))


def _is_head(value: Any) -> bool:
    return all(text_in(value, key) for key in ("sessionId", "projectHash", "startTime")) and "messages" not in value


def _is_chat(value: Any) -> bool:
    return bool(text_in(value, "sessionId")) and any(
        text_in(message, "type") in ("user", "gemini") and "content" in message and "role" not in message
        for message in list_in(value, "messages")[:40]
    )


def read(document: Document, text: str) -> list[Recording]:
    """One conversation per chat; the lines of a session are one."""
    values = [value for _, value in log_entries(document, text)]
    chats = [value for value in values if _is_chat(value)]
    if not chats:
        return _with_sub_agents(document, values)
    found = []
    for number, chat in enumerate(chats):
        builder = Builder(NAME, () if number else document.broken)
        builder.says_title(text_in(chat, "summary"))
        reader = _Reader(builder, chat["messages"])
        builder.leave_out_all_but(("messages", "summary"), chat)
        found.append(reader.finish())
    return found


def _with_sub_agents(document: Document, lines: list[Any]) -> list[Recording]:
    """A session, with the conversations of its sub-agents after it."""
    session = next((text_in(value, "sessionId") for value in lines if _is_head(value)), "")
    files = gemini_sub_agent_files(document.path, session) if document.path else []
    sub_agents, broken = read_files(files, os.path.dirname(document.path) or ".")
    theirs = sorted(
        ([value for _, value in each.values] for each in sub_agents), key=lambda each: text_in(each[0], "startTime")
    )
    talks: list[Recording] = []
    reports: list[SubAgentReport] = []
    for each, name in zip(theirs, names_in(lines, len(theirs)), strict=True):
        agent = text_in(each[0], "sessionId")
        talks.append(_Reader(Builder(NAME), each).finish())
        talks[-1].sub_agent = name or agent
        reports += gemini_reports(talks[-1], agent, name)
    reports.sort(key=lambda asked: asked.at)
    return [_Reader(Builder(NAME, (*document.broken, *broken)), lines, reports).finish(), *talks]


class _Reader:
    """One session, line by line."""

    def __init__(self, builder: Builder, lines: list[Any], sub_agents: Iterable[SubAgentReport] = ()) -> None:
        """`sub_agents`: their requests, in order of time."""
        self.builder = builder
        self._sub_agents = deque(sub_agents)
        self._history = History(builder, NAME)
        self._lines = lines
        self._newest = {value["id"]: value for value in lines if text_in(value, "id")}
        self._responses = {
            name
            for value in self._newest.values()
            if text_in(value, "type") == "user"
            for response in parts_with_key(_content(value), "functionResponse")
            if (name := text_in(response, "id"))
        }
        """The calls whose results are messages of their own."""
        self._read: set[str] = set()
        """The ids of the messages that were read; one without an id was never read before."""
        self._set: list[NamedContent] = []
        """The messages that were set, until something comes after them: only then they were sent."""

    def finish(self) -> Recording:
        """Everything that was read."""
        copies = _copies(self._lines)
        for at, value in enumerate(self._lines):
            if at in copies:
                self.builder.leave_out("messages that were written again")
            else:
                self._add_sub_agents(epoch_milliseconds(value.get("timestamp")) if isinstance(value, dict) else 0)
                self._line(value)
        self._add_sub_agents(1 << 62)
        if self._history.has_new(self._set):
            self._settle()
        return self.builder.finish()

    def _add_sub_agents(self, until: int) -> None:
        """Record the sub-agents' requests before this time."""
        while self._sub_agents and self._sub_agents[0].at < until:
            asked = self._sub_agents.popleft()
            self.builder.when(asked.at)
            self.builder.add(replace(asked.usage, request=self.builder.request(asked.request), upto=0))

    def _line(self, value: Any) -> None:
        self.builder.when(value.get("timestamp") if isinstance(value, dict) else None)
        if text_in(value, "$rewindTo"):
            self._settle()
            self._history.go_back(text_in(value, "$rewindTo"))
        elif dict_in(value, "$set"):
            self._sets(value["$set"])
        elif text_in(value, "id") in self._read:
            self.builder.leave_out("messages that were written again")
        elif text_in(value, "type"):
            self._settle()
            self._message(self._newest.get(text_in(value, "id"), value))
        elif _is_head(value):
            self.builder.leave_out("session")
        else:
            self.builder.unknown("line", value)

    def _sets(self, value: dict[str, Any]) -> None:
        if isinstance(value.get("messages"), list):
            self._set = [NamedContent(text_in(message, "id"), _content(message)) for message in value["messages"]]
        self.builder.when(value.get("lastUpdated"))
        self.builder.says_title(text_in(value, "summary"))
        self.builder.leave_out("$set")

    def _settle(self) -> None:
        """Apply what was set, because a message follows."""
        wanted, self._set = self._set, []
        if wanted:
            self._read.update(each.name for each in wanted if each.name)
            if not self._history.mask(wanted):
                self._history.replace(wanted)

    def _message(self, value: dict[str, Any]) -> None:
        name, kind, content = text_in(value, "id"), text_in(value, "type"), _content(value)
        if name:
            self._read.add(name)
        if kind == "user":
            self._history.add_content(name, content)
        elif kind == "gemini":
            self._reply(value, content)
        elif kind == "error":
            self.builder.failure("\n".join(content_texts(content)))
        elif kind in _OWN_WORDS:
            self.builder.leave_out(kind)
        else:
            self.builder.unknown("message", value)

    def _reply(self, value: dict[str, Any], content: dict[str, Any]) -> None:
        before = self.builder.last
        self.builder.says_model(text_in(value, "model"))
        if content["parts"]:
            self._history.add_events(content)
        else:
            self.builder.add(AssistantMessage("", model=self.builder.model))
        used = dict_in(value, "tokens")
        cached, thought = number_in(used, "cached"), number_in(used, "thoughts")
        output = number_in(used, "output") + thought
        self.builder.usage(number_in(used, "input"), output, cached=cached, reasoning=thought)
        for call in list_in(value, "toolCalls"):
            elsewhere = text_in(call, "id") in self._responses or text_in(call, "id") in self._history.answered
            if isinstance(call, dict) and call.get("result") and not elsewhere:
                self._history.add_events({"role": "user", "parts": _result(call)})
        self._history.record_content(text_in(value, "id"), content, before)


def _copies(lines: list[Any]) -> set[int]:
    """The indexes of messages that were written again, all of them and in a row, to be set then."""
    found: set[int] = set()
    earlier: list[int] = []
    """The messages since others were set, or from the beginning."""
    has_talk = False
    for at, value in enumerate(lines):
        wanted = {text_in(message, "id") for message in list_in(dict_in(value, "$set"), "messages")}
        if wanted:
            run = _run_before(lines, earlier, wanted)
            has_talk = has_talk or len(run) < len(earlier)
            if has_talk and {text_in(lines[place], "id") for place in run} == wanted:
                found.update(run)
            has_talk, earlier = has_talk or bool(earlier), []
        elif text_in(value, "id"):
            earlier.append(at)
    return found


def _run_before(lines: list[Any], earlier: list[int], wanted: set[str]) -> list[int]:
    """The last of the messages, as long as they are among those wanted."""
    return list(takewhile(lambda place: text_in(lines[place], "id") in wanted, reversed(earlier)))


def _content(value: Any) -> dict[str, Any]:
    """A message as a content of Gemini's."""
    content = value.get("content") if isinstance(value, dict) else None
    if text_in(value, "type") != "gemini":
        return {"role": "user", "parts": _parts(content)}
    thoughts = [
        ": ".join(filter(None, (text_in(thought, "subject"), text_in(thought, "description"))))
        for thought in list_in(value, "thoughts")
    ]
    thinking = "\n\n".join(filter(None, thoughts))
    parts = [part for part in _parts(content) if not (list_in(value, "toolCalls") and dict_in(part, "functionCall"))]
    calls = [
        {"functionCall": {"id": text_in(call, "id"), "name": text_in(call, "name"), "args": dict_in(call, "args")}}
        for call in list_in(value, "toolCalls")
    ]
    return {"role": "model", "parts": [*([{"text": thinking, "thought": True}] if thinking else []), *parts, *calls]}


def _parts(content: Any) -> list[Any]:
    """The parts of a content; a bare text is one."""
    parts = content if isinstance(content, list) else [content]
    return [{"text": part} if isinstance(part, str) else part for part in parts if part not in (None, "", {"text": ""})]


def _result(call: dict[str, Any]) -> list[Any]:
    """The result inside a call, as parts; a text is one as well."""
    names = {"id": text_in(call, "id"), "name": text_in(call, "name")}
    return [
        {"functionResponse": {"response": {"output": part["text"]}, **names}}
        if text_in(part, "text")
        else {"functionResponse": {**part["functionResponse"], **names}}
        if dict_in(part, "functionResponse")
        else part
        for part in _parts(call["result"])
    ]
