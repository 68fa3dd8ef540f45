"""Gemini CLI: a recorded chat, `chats/session-*.jsonl` below a project's folder; older versions wrote one JSON object.

- The first line has `sessionId`, `projectHash` and `startTime`; each time the session is resumed there is another one.
  The object of older versions has the same keys, and its `messages` in a list.
- A message has an `id` and a `type`: `user` or `gemini`, with `content` as text or Gemini's parts; one of `gemini` may
  have `thoughts` (`subject`, `description`), `toolCalls` (`id`, `name`, `args`, and their `result` as parts with a
  `functionResponse`), `tokens` (the report for the request it answers; `input` counts what was cached) and its
  `model`. A line with an `id` that was there replaces the earlier one: a reply is written again with its calls.
- What tools gave is a user message of its own, which is what was sent; where there is none, it stands with the call.
- `{"$set": {...}}` sets keys of the session. With `messages`, the conversation is those from there on: at the
  beginning, when a session is resumed, and after a compression, where a `<state_snapshot>` stands for what is gone and
  what was kept has new ids. `{"$rewindTo": ID}` goes back to before that message.
- A resumed session sends results of tools twice, under ids that end in `_response`: the second ones are counted, not
  kept, because a call has one result.
- `info`, `warning` and `error` are the program's own words: counted, errors as failures.
- Exact: the messages, but for the doubled results. Not in these files: system prompt, tools, the requests that choose
  a model or compress, and what a compression cost.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from workbench.log.events import AssistantMessage, Compaction, KeptEvent, Override
from workbench.traces.building import (
    Builder,
    Recording,
    beginning,
    content_hash,
    dict_in,
    entries,
    list_in,
    number_in,
    text_in,
)
from workbench.traces.reading import Document
from workbench.wire.gemini import Contents

NAME = "Gemini CLI"
LEFT = "no longer part of the conversation, as Gemini CLI recorded it"
_OWN_WORDS = ("info", "warning")


def recognises(document: Document) -> bool:
    """Whether it begins as a session, or is a chat with messages that have a type and no role."""
    return any(_is_head(value) or _is_chat(value) for value in beginning(document))


def _is_head(value: Any) -> bool:
    return all(text_in(value, key) for key in ("sessionId", "projectHash", "startTime")) and "messages" not in value


def _is_chat(value: Any) -> bool:
    return bool(text_in(value, "sessionId")) and any(
        text_in(message, "type") in ("user", "gemini") and "content" in message and "role" not in message
        for message in list_in(value, "messages")[:40]
    )


def read(document: Document, text: str) -> list[Recording]:
    """One conversation per chat; the lines of a session are one."""
    values = [value for _, value in entries(document, text)]
    chats = [value for value in values if _is_chat(value)]
    if not chats:
        return [_Reader(Builder(NAME, document.broken), values).finish()]
    found = []
    for number, chat in enumerate(chats):
        builder = Builder(NAME, () if number else document.broken)
        builder.says_title(text_in(chat, "summary"))
        reader = _Reader(builder, chat["messages"])
        builder.leave_out_all_but(("messages", "summary"), chat)
        found.append(reader.finish())
    return found


class _Message(NamedTuple):
    """A message that is part of the conversation."""

    id: str
    mark: str
    """What it says, whatever its id is; nothing for a summary, which the next one may repeat."""
    first: int
    last: int
    """The events it became."""


class _Reader:
    """One session, line by line."""

    def __init__(self, builder: Builder, lines: list[Any]) -> None:
        self.builder = builder
        self._contents = Contents(builder)
        self._lines = lines
        self._newest = {value["id"]: value for value in lines if text_in(value, "id")}
        self._responses = {
            text_in(response, "id")
            for value in self._newest.values()
            if text_in(value, "type") == "user"
            for response in _inside(_parts(value.get("content")), "functionResponse")
        }
        """The calls whose results are messages of their own."""
        self._given: set[str] = set()
        """The calls whose results are there."""
        self._read: set[str] = set()
        self._now: list[_Message] = []
        self._set: list[Any] | None = None
        """The messages that were set, until something comes behind them: only then they are what was sent."""

    def finish(self) -> Recording:
        """All that was read."""
        for value in self._lines:
            self._line(value)
        if self._set is not None and None in self._places(self._set):
            self._replace(self._set)
        return self.builder.finish()

    def _line(self, value: Any) -> None:
        self.builder.when(value.get("timestamp") if isinstance(value, dict) else None)
        if text_in(value, "$rewindTo"):
            self._settle()
            ids = [message.id for message in self._now]
            at = ids.index(value["$rewindTo"]) if value["$rewindTo"] in ids else 0
            self._leave(self._now[at:])
            del self._now[at:]
        elif dict_in(value, "$set"):
            self._sets(value["$set"])
        elif text_in(value, "id") in self._read:
            self.builder.leave_out("messages that were written again")
        elif text_in(value, "type"):
            self._settle()
            self._now.append(self._message(self._newest.get(text_in(value, "id"), value)))
        elif _is_head(value):
            self.builder.leave_out("session")
        else:
            self.builder.unknown("line", value)

    def _sets(self, value: dict[str, Any]) -> None:
        if isinstance(value.get("messages"), list):
            self._set = value["messages"]
        self.builder.says_title(text_in(value, "summary"))
        self.builder.leave_out("$set")

    def _message(self, value: dict[str, Any]) -> _Message:
        """A message of the file, as events."""
        before, kind, content = self.builder.last, text_in(value, "type"), _content(value)
        self._read.add(text_in(value, "id"))
        if kind == "user":
            self._contents.add(content)
            self._given.update(text_in(each, "id") for each in _inside(content["parts"], "functionResponse"))
        elif kind == "gemini":
            self._reply(value, content)
        elif kind == "error":
            self.builder.failure("\n".join(_texts(content)))
        elif kind in _OWN_WORDS:
            self.builder.leave_out(kind)
        else:
            self.builder.unknown("message", value)
        return _Message(text_in(value, "id"), _mark(content), before + 1, self.builder.last)

    def _reply(self, value: dict[str, Any], content: dict[str, Any]) -> None:
        self.builder.says_model(text_in(value, "model"))
        if content["parts"]:
            self._contents.add(content)
        else:
            self.builder.add(AssistantMessage("", model=self.builder.model))
        used = dict_in(value, "tokens")
        cached, thought = number_in(used, "cached"), number_in(used, "thoughts")
        output = number_in(used, "output") + thought
        self.builder.usage(number_in(used, "input"), output, cached=cached, reasoning=thought)
        for call in list_in(value, "toolCalls"):
            given = text_in(call, "id")
            if isinstance(call, dict) and call.get("result") and given not in self._responses | self._given:
                self._contents.add({"role": "user", "parts": _result(call)})

    def _settle(self) -> None:
        """Something was said: what was set before it counts."""
        if self._set is not None:
            wanted, self._set = self._set, None
            self._replace(wanted)

    def _places(self, wanted: list[Any]) -> list[int | None]:
        """Where messages are among those of now, in their order: by their id, or by what they say."""
        ids = {message.id: at for at, message in enumerate(self._now)}
        marks: defaultdict[str, list[int]] = defaultdict(list)
        for at, message in enumerate(self._now):
            marks[message.mark].append(at)
        found: list[int | None] = []
        after = 0
        for value in wanted:
            same = marks.get(_mark(_content(value)), [])
            by_mark = bisect_left(same, after)
            place = ids.get(text_in(value, "id"), same[by_mark] if by_mark < len(same) else None)
            found.append(place if place is not None and place >= after else None)
            after = after if found[-1] is None else found[-1] + 1
        return found

    def _replace(self, wanted: list[Any]) -> None:
        """The conversation is another one from here on: told by what is gone from it and what is new."""
        places = self._places(wanted)
        kept = set(places)
        gone = [message for at, message in enumerate(self._now) if at not in kept]
        new = [value for value, place in zip(wanted, places, strict=True) if place is None and not self._again(value)]
        made: dict[int, _Message] = {}
        if gone and new and text_in(new[0], "type") == "user":
            made = self._compaction(gone, new)
        elif gone:
            self._leave(gone)
        now = []
        for value, place in zip(wanted, places, strict=True):
            if place is not None:
                now.append(self._now[place])
            elif self._again(value):
                self.builder.leave_out("results that were sent again")
            else:
                now.append(made.get(id(value)) or self._message(value))
        self._now = now

    def _again(self, value: Any) -> bool:
        """Whether a message repeats results that are there."""
        given = {text_in(each, "id") for each in _inside(_content(value)["parts"], "functionResponse")}
        return bool(given) and given <= self._given

    def _compaction(self, gone: list[_Message], new: list[Any]) -> dict[int, _Message]:
        """A summary in place of what is gone, and the reply that acknowledges it; gives what they stand for."""
        told = new[: 2 if len(new) > 1 and text_in(new[1], "type") == "gemini" else 1]
        said = ["\n".join(_texts(_content(value))) for value in told]
        first, last = min(message.first for message in gone), max(message.last for message in gone)
        left = {message.id for message in gone}
        kept = [
            KeptEvent(seq)
            for message in self._now
            if message.id not in left and message.first >= first
            for seq in range(message.first, min(message.last, last) + 1)
        ]
        self.builder.when(text_in(told[0], "timestamp"))
        answer = said[1] if len(said) > 1 else ""
        noted = {"made_by": NAME}
        self.builder.add(Compaction(first, last, said[0], tuple(kept), acknowledgement=answer, meta=noted))
        return {id(value): _Message(text_in(value, "id"), "", first, self.builder.last) for value in told}

    def _leave(self, gone: Iterable[_Message]) -> None:
        """Messages are no longer part of the conversation."""
        for message in gone:
            if message.last >= message.first:
                self.builder.add(Override("exclude", message.first, message.last, LEFT))


def _content(value: Any) -> dict[str, Any]:
    """A message as a content of Gemini's."""
    content = value.get("content") if isinstance(value, dict) else None
    if text_in(value, "type") != "gemini":
        return {"role": "user", "parts": _parts(content)}
    thoughts = [
        ": ".join(filter(None, (text_in(thought, "subject"), text_in(thought, "description"))))
        for thought in list_in(value, "thoughts")
    ]
    said = "\n\n".join(filter(None, thoughts))
    parts = [part for part in _parts(content) if not (list_in(value, "toolCalls") and "functionCall" in part)]
    calls = [
        {"functionCall": {"id": text_in(call, "id"), "name": text_in(call, "name"), "args": dict_in(call, "args")}}
        for call in list_in(value, "toolCalls")
    ]
    return {"role": "model", "parts": [*([{"text": said, "thought": True}] if said else []), *parts, *calls]}


def _parts(content: Any) -> list[Any]:
    """The parts of a content; a bare text is one."""
    parts = content if isinstance(content, list) else [content]
    return [{"text": part} if isinstance(part, str) else part for part in parts if part not in (None, "", {"text": ""})]


def _inside(parts: Iterable[Any], key: str) -> list[dict[str, Any]]:
    return [part[key] for part in parts if dict_in(part, key)]


def _texts(content: dict[str, Any]) -> list[str]:
    return [text_in(part, "text") for part in content["parts"] if text_in(part, "text") and not part.get("thought")]


def _mark(content: dict[str, Any]) -> str:
    """What a message says, without ids, thoughts and signatures."""
    calls = [(text_in(call, "name"), call.get("args")) for call in _inside(content["parts"], "functionCall")]
    given = [each.get("response") for each in _inside(content["parts"], "functionResponse")]
    return content_hash([content["role"], _texts(content), calls, given])


def _result(call: dict[str, Any]) -> list[Any]:
    """What stands with a call as its result, as parts; a text is one as well."""
    names = {"id": text_in(call, "id"), "name": text_in(call, "name")}
    return [
        {"functionResponse": {"response": {"output": part["text"]}, **names}}
        if text_in(part, "text")
        else {"functionResponse": {**part["functionResponse"], **names}}
        if dict_in(part, "functionResponse")
        else part
        for part in _parts(call["result"])
    ]
