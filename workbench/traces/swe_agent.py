"""SWE-agent: a trajectory, one JSON object.

- `history` has the messages in OpenAI's format with more keys (`thought`, `action`, `agent`, `message_type`). A tool's
  message names its call in `tool_call_ids`; if it names several, the first has the result. `is_demo` marks
  demonstrations, which the model saw like the rest. `thinking_blocks` are reasoning.
- A step of `trajectory` has in `query` (or `messages`) what its model saw. SWE-agent replaces old observations by a
  line ("Old environment output: (98 lines omitted)"): from that step on they are masked with it. The originals are in
  `history`, or in the steps before.
- With neither a history nor a `query`, each step has its `response` and its `observation`, which is a user message, as
  in the versions without tools.
- A file of several `attempts` has a conversation per attempt.
- The model is `replay_config.agent.model.name`, unless that is one of SWE-agent's own (`replay`, `human`). Tokens are a
  sum over the run, which is the usage of no request: left out, as are patches, states and the configuration.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from workbench.log.events import AssistantMessage, Content, Override, Reasoning, SystemMessage, UserMessage, text_of
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording
from workbench.traces.reading import Document, bad_file
from workbench.wire.values import content_of, dict_in, list_in, text_in

NAME = format_names.SWE_AGENT
_NO_MODELS = ("replay", "human", "human_thought", "instant_empty_submit", "instant_empty_submit_test")
_LISTS = ("history", "trajectory", "attempts")
MASKED_BY = "replaced by SWE-agent's history processor before it asked its model"
LEFT_OUT_BY = "left out by SWE-agent's history processor before it asked its model"


def recognises(document: Document) -> bool:
    """Whether it is an object with a history of messages, or with steps, and not OpenAI's `messages`."""
    first = document.values[0].value
    if document.lines or not isinstance(first, dict) or "messages" in first:
        return False
    return any(
        isinstance(value, dict)
        and not value.keys().isdisjoint(("role", "observation", *_LISTS))
        and value.keys().isdisjoint(("id", "parts"))
        for key in _LISTS
        for value in list_in(first, key)[:1]
    )


def read(document: Document, text: str) -> list[Recording]:
    """The run, or its attempts."""
    line, whole = document.values[0]
    if not isinstance(whole, dict):
        raise bad_file(document.name, line, "a trajectory, which is a JSON object", whole)
    attempts = [value for value in list_in(whole, "attempts") if isinstance(value, dict)]
    return [_conversation(value, _model(value) or _model(whole)) for value in attempts or [whole]]


def _model(value: dict[str, Any]) -> str:
    config = value.get("replay_config")
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except (ValueError, RecursionError):
            return ""
    name = text_in(dict_in(dict_in(config, "agent"), "model"), "name")
    return "" if name in _NO_MODELS else name


def _conversation(value: dict[str, Any], model: str) -> Recording:
    reader = _Reader(Builder(NAME))
    reader.builder.says_model(model)
    steps, history = list_in(value, "trajectory"), list_in(value, "history")
    seen = [asked for step in steps if (asked := list_in(step, "query") or list_in(step, "messages"))]
    if seen and history and not _goes_with(history, seen[-1]):
        reader.builder.leave_out("history")
        history = []
    for asked in seen:
        reader.request(asked, history)
    for message in history[reader.added :]:
        reader.message(message)
    if not history and seen and not _is_answered(steps[-1], seen[-1]):
        reader.step(steps[-1])
    elif not history and not seen:
        for step in steps:
            reader.step(step)
    reader.builder.leave_out_all_but(_LISTS, value)
    return reader.builder.finish()


def _goes_with(history: list[Any], asked: list[Any]) -> bool:
    """Whether the messages that the model saw are the first ones of the history, apart from cuts."""
    return len(asked) <= len(history) and all(map(_is_same, asked, history))


def _is_same(one: Any, other: Any) -> bool:
    """Whether two messages are the same; the model's own messages are never cut."""
    role = text_in(one, "role")
    calls = (each.get("tool_calls") if isinstance(each, dict) else None for each in (one, other))
    if role != text_in(other, "role") or next(calls) != next(calls):
        return False
    return role != "assistant" or _content(one) == _content(other)


def _is_answered(step: Any, asked: list[Any]) -> bool:
    """Whether the messages of a step include its own answer already, as some versions write them."""
    content = text_in(step, "response")
    return any(text_in(each, "role") == "assistant" and text_in(each, "content") == content for each in asked[-2:])


class _Added(NamedTuple):
    message: Any
    shown: Content
    """What the model saw of it last."""
    first: int
    last: int
    """Its events."""

    def is_(self, other: Any) -> bool:
        """Whether a message is this one, apart from cuts."""
        return _is_same(self.message, other)


def _content(message: Any) -> Content:
    return content_of(message.get("content")) if isinstance(message, dict) else ""


class _Reader:
    """One history, message by message."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._added: list[_Added] = []

    @property
    def added(self) -> int:
        """How many messages of the history were added."""
        return len(self._added)

    def request(self, asked: list[Any], history: list[Any]) -> None:
        """Add a request: what is new in it, and what it shows in another form than before."""
        same = next(
            (at for at, (added, now) in enumerate(zip(self._added, asked, strict=False)) if not added.is_(now)), None
        )
        keep = min(len(self._added), len(asked)) if same is None else same
        for added in self._added[keep:]:
            self.builder.add(Override("exclude", added.first, added.last, LEFT_OUT_BY))
        del self._added[keep:]
        for at, value in enumerate(asked):
            if at >= len(self._added):
                whole = history[at] if at < len(history) else value
                before = self.builder.last
                self.message(whole)
                self._added.append(_Added(whole, _content(whole), before + 1, self.builder.last))
            self._shown(at, _content(value))

    def _shown(self, at: int, content: Content) -> None:
        added = self._added[at]
        if content == added.shown or added.first > added.last:
            return
        if content == _content(added.message):
            self.builder.add(Override("unmask", added.first, added.last, MASKED_BY))
        else:
            self.builder.add(Override("mask", added.first, added.last, MASKED_BY, text_of(content)))
        self._added[at] = added._replace(shown=content)

    def message(self, value: Any) -> None:
        content = content_of(value.get("content")) if isinstance(value, dict) else ""
        match text_in(value, "role"):
            case "system" | "developer" as role:
                self.builder.add(SystemMessage(content, role))
            case "user":
                self.builder.add(UserMessage(content))
            case "assistant":
                self._assistant(value)
            case "tool":
                ids = [each for each in list_in(value, "tool_call_ids") if isinstance(each, str)]
                self.builder.result(text_in(value, "tool_call_id") or "".join(ids[:1]), content)
            case _:
                self.builder.unknown("message", value)

    def _assistant(self, value: dict[str, Any]) -> None:
        reply = self.builder.next_reply()
        for block in list_in(value, "thinking_blocks"):
            self.builder.add(Reasoning(text_in(block, "thinking"), reply, text_in(block, "signature")))
        calls = list_in(value, "tool_calls")
        content = content_of(value.get("content"))
        if content or not calls:
            self.builder.add(AssistantMessage(content, reply, model=self.builder.model))
        for call in calls:
            function = dict_in(call, "function")
            if text_in(function, "name"):
                self.builder.call(text_in(call, "id"), text_in(function, "name"), function.get("arguments"), reply)
            else:
                self.builder.unknown("tool call", call)

    def step(self, value: Any) -> None:
        """Add a step of which only the words are known."""
        content = text_in(value, "response") or text_in(value, "thought") or text_in(value, "action")
        if not content:
            self.builder.unknown("step", value)
            return
        self.builder.add(AssistantMessage(content, self.builder.next_reply(), model=self.builder.model))
        if text_in(value, "observation"):
            self.builder.add(UserMessage(text_in(value, "observation")))
