"""SWE-agent: a trajectory, one JSON object.

- `history` holds the messages in OpenAI's form with more keys (`thought`, `action`, `agent`, `message_type`). A
  tool's message names its call in `tool_call_ids`; where it names several, the first has the result. `is_demo` marks
  demonstrations, which the model saw like the rest. `thinking_blocks` are reasoning.
- Where there is no history, the last step's `query` (or `messages`) and its `response` are the conversation; else
  each step of `trajectory` gives its `response` and its `observation`, which is a user message, as in the versions
  without tools.
- A file of several `attempts` has a conversation per attempt.
- The model is `replay_config.agent.model.name`, unless that is one of SWE-agent's own (`replay`, `human`). Tokens are
  told as a sum over the run, which is the usage of no request: left out, as are patches, states and the
  configuration.
"""

from __future__ import annotations

import json
from typing import Any

from workbench.log.events import AssistantMessage, Reasoning, SystemMessage, UserMessage
from workbench.traces.building import Builder, Recording
from workbench.traces.reading import Document, bad
from workbench.wire.values import content_of, dict_in, list_in, text_in

NAME = "SWE-agent"
_NO_MODELS = ("replay", "human", "human_thought", "instant_empty_submit", "instant_empty_submit_test")
_LISTS = ("history", "trajectory", "attempts")


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
        raise bad(document.name, line, "a trajectory, which is a JSON object", whole)
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
    steps = list_in(value, "trajectory")
    final = steps[-1] if steps else {}
    history = list_in(value, "history")
    asked = list_in(final, "query") or list_in(final, "messages")
    for message in history or asked:
        reader.message(message)
    if not history and asked:
        reader.step(final)
    elif not history:
        for step in steps:
            reader.step(step)
    reader.builder.leave_out_all_but(_LISTS, value)
    return reader.builder.finish()


class _Reader:
    """One history, message by message."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._replies = 0

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
        self._replies += 1
        reply = f"r{self._replies}"
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
        """A step where only its words are known."""
        said = text_in(value, "response") or text_in(value, "thought") or text_in(value, "action")
        if not said:
            self.builder.unknown("step", value)
            return
        self._replies += 1
        self.builder.add(AssistantMessage(said, f"r{self._replies}", model=self.builder.model))
        if text_in(value, "observation"):
            self.builder.add(UserMessage(text_in(value, "observation")))
