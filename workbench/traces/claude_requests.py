"""The requests that Claude Code records, from 2.1.282 on.

- `api-request-shape` has `system` and `tools` under a `shapeHash`, without the billing line that `system` begins with
  on the wire. `api-request-blob` has a message under its `hash`. `api-request` is one request: its `id`, the
  `shapeHash`, the `params`, the cache marks, `querySource`, and its messages: the first `keep` of the request `base`,
  then `tail`, as hashes. A restarted client has no base, and names all of them.
- A hash is the SHA-256 of a message as JSON, keys sorted, without spaces, a text as the list of one text part. Messages
  without a blob are those of the session: the lines of one reply joined, and adjacent lines of the user.
- A line of a reply names its request (`requestRef`). The content of the request may be written after it, but before
  the reply. Requests for titles and for compactions are not recorded.
"""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

from workbench.log.events import Event, Purpose, Request, text_of
from workbench.traces.building import Builder, content_hash
from workbench.traces.request_thread import common_start
from workbench.wire.anthropic import anthropic_definition
from workbench.wire.requests import RequestBodies
from workbench.wire.values import cleaned, content_of, dict_in, json_text, list_in, number_in, text_in

_MOST_JOINED = 8
"""So many adjacent lines of the user are tried in every combination."""


class RecordedRequests:
    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._shapes: dict[str, dict[str, Any]] = {}
        self._parts: dict[str, tuple[str, str]] = {}
        """The hashes of the system prompt and the tools, by shape."""
        self._standing = ""
        """The shape whose system prompt and tools fill the slots."""
        self._blobs: dict[str, Any] = {}
        """Messages that no request has named yet, by hash."""
        self._messages: list[tuple[str, str, list[list[Any]]]] = []
        """The session's own messages without a hash yet: role, reply, and the blocks of each line."""
        self._hashed = 0
        """How many lines of the first of them have been read."""
        self._waiting: list[dict[str, Any]] = []
        """Requests without a reply yet."""
        self._events: dict[str, int] = {}
        """The event of each request, by the client's id."""
        self._made = RequestBodies()
        self._last = 0
        """The event of the newest request."""
        self._tools: set[str] = set()
        """The names of the tools in the slots."""

    def event(self, name: str) -> int:
        """The event of a request, by the client's id; 0 if unknown."""
        return self._events.get(name, 0)

    def add_message(self, role: str, reply: str, content: Any) -> None:
        """Add a line of the session, to match messages with."""
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        if self._messages and self._messages[-1][:2] == (role, reply):
            self._messages[-1][2].append(blocks)
        else:
            self._messages.append((role, reply, [blocks]))

    def line(self, value: dict[str, Any]) -> None:
        """Read one of the three kinds of lines."""
        match value["type"]:
            case "api-request-shape":
                self._shapes[text_in(value, "shapeHash")] = dict_in(value, "shape")
            case "api-request-blob":
                self._blobs[text_in(value, "hash")] = value.get("message")
            case _:
                self._waiting.append(value)

    def begin_reply(self, name: str) -> None:
        """A reply to the request with this id begins."""
        places = [at for at, value in enumerate(self._waiting) if text_in(value, "id") == name]
        if places:
            self._add_requests(places[-1] + 1)

    def finish(self) -> None:
        """Record the rest: no reply will come any more."""
        self._add_requests(len(self._waiting))

    def _add_requests(self, count: int) -> None:
        """Record so many of the waiting requests, in order."""
        ready, self._waiting = self._waiting[:count], self._waiting[count:]
        for value in ready:
            self._builder.when(value.get("timestamp"))
            if not self._request(value):
                self._builder.leave_out("api-request that names what is not in the file")

    def _request(self, value: dict[str, Any]) -> bool:
        shape, base = text_in(value, "shapeHash"), text_in(value, "base")
        tail = [name for name in list_in(value, "tail") if isinstance(name, str)]
        if shape not in self._shapes or (base and base not in self._events) or not all(map(self._keep, tail)):
            return False
        from_event, keep = self._events.get(base, 0), number_in(value, "keep")
        if not base and self._last:
            from_event, keep = self._same_as_before(tail)
            tail = tail[keep:]
        parameters = cleaned(dict_in(value, "params"))
        model, agent, session = text_in(parameters, "model"), text_in(value, "agentId"), text_in(value, "sessionId")
        purpose = _purpose(text_in(value, "querySource"), agent)
        if purpose in ("turn", "sub-agent"):
            self._builder.says_model(model)
            self._stand(shape)
        system, tools = self._parts_of(shape)
        request = Request(
            "anthropic",
            model,
            purpose,
            agent,
            session,
            session if agent else "",
            system,
            tools,
            from_event,
            keep,
            tuple(tail),
            parameters,
            tuple(_mark(each) for each in list_in(value, "cacheControl")),
        )
        event = self._builder.request(request)
        self._events[text_in(value, "id")] = event
        self._made.add_event(Event(event, "", 0, request))
        self._last = event
        return True

    def _parts_of(self, name: str) -> tuple[str, str]:
        if name not in self._parts:
            system, tools = (self._shapes[name].get(key) for key in ("system", "tools"))
            self._parts[name] = (
                self._builder.part(system) if system else "",
                self._builder.part(tools) if tools else "",
            )
        return self._parts[name]

    def _same_as_before(self, names: list[str]) -> tuple[int, int]:
        """The newest request, and how many of its messages this one begins with."""
        keep = common_start(self._made.hashes(self._last), names)
        return (self._last, keep) if keep else (0, 0)

    def _keep(self, name: str) -> bool:
        """Store a message; False if it is not in the file."""
        if self._builder.has_part(name):
            return True
        if name not in self._blobs:
            self._hash_messages()
        message = self._blobs.pop(name, None)
        if message is not None:
            self._builder.part(message, name)
        return message is not None

    def _hash_messages(self) -> None:
        """Give the session's own messages their hashes. The last one may still grow."""
        for at, (role, _, lines) in enumerate(self._messages):
            if at == 0 and len(lines) == self._hashed:
                continue
            spans = [(0, len(lines))]
            if role == "user" and len(lines) <= _MOST_JOINED:
                spans = list(combinations(range(len(lines) + 1), 2))
            for start, end in spans:
                message = {"role": role, "content": [block for line in lines[start:end] for block in line]}
                self._blobs.setdefault(content_hash(message), message)
        del self._messages[:-1]
        self._hashed = len(self._messages[0][2]) if self._messages else 0

    def _stand(self, name: str) -> None:
        """Put system prompt and tools into their slots."""
        if name == self._standing:
            return
        self._standing, shape = name, self._shapes[name]
        tools = {text_in(tool, "name") or text_in(tool, "type"): tool for tool in list_in(shape, "tools")}
        self._builder.slot("system", "system", text_of(content_of(shape.get("system"))))
        for name, tool in tools.items():
            self._builder.slot("tools", name, json_text(anthropic_definition(tool)))
        for name in self._tools - tools.keys():
            self._builder.slot("tools", name, "")
        self._tools = set(tools)


def _purpose(source: str, agent: str) -> Purpose:
    if agent or source.startswith("agent"):
        return "sub-agent"
    if source == "sdk" or source.startswith("repl_main_thread"):
        return "turn"
    return "compaction" if "compact" in source else "side"


def _mark(value: Any) -> str:
    path = json_text(".".join(str(step) for step in list_in(value, "path") if step != "content"))
    mark = dict_in(value, "value")
    return path if mark == {"type": "ephemeral"} else f"{path}={json.dumps(mark)}"
