"""tau2-bench: the results of a run, `data/simulations/*.json`.

- `simulations` have a `task_id` and `messages`: OpenAI's roles, with `tool_calls` that have `name`, `arguments` and a
    `requestor`, and a `usage` and `cost` on the model's messages. A result's `id` is its call's; several may be in
    `tool_messages`.
- In some domains the simulated user has tools too (`requestor` "user"): the agent's model does not see them. Their
  calls and results are counted, as is the report on the user's own requests.
- The model is `info.agent_info.llm`; the policy of the domain, a part of the system prompt, is
  `info.environment_info.policy`. Not in the file: the rest of the system prompt, tools in older versions.
- `context_truncation` means that a request was made without its oldest messages: a failure says so.
"""

from __future__ import annotations

from typing import Any

from workbench.log.events import AssistantMessage, SystemMessage, UserMessage
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects
from workbench.traces.reading import Document
from workbench.wire.event_builder import cost_in
from workbench.wire.values import dict_in, list_in, number_in, text_in

NAME = format_names.TAU2


def recognises(document: Document) -> bool:
    """Whether it is the results of a run, or one simulation."""
    first = first_objects(document, 1)
    return bool(first) and any(
        "task_id" in each and isinstance(each.get("messages"), list) for each in _simulations(first[0])
    )


def _simulations(value: dict[str, Any]) -> list[dict[str, Any]]:
    listed = list_in(value, "simulations") or [value]
    return [each for each in listed if isinstance(each, dict)]


def read(document: Document, text: str) -> list[Recording]:
    """Each simulation as a conversation."""
    first = first_objects(document, 1)
    whole: dict[str, Any] = first[0] if first else {}
    found: list[Recording] = []
    for simulation in _simulations(whole):
        reader = _Reader(Builder(NAME, () if found else document.broken), dict_in(whole, "info"))
        reader.builder.says_title(f"task {simulation.get('task_id')}")
        for message in list_in(simulation, "messages"):
            reader.message(message)
        found.append(reader.builder.finish())
    return found


class _Reader:
    """One simulation, message by message."""

    def __init__(self, builder: Builder, info: dict[str, Any]) -> None:
        self.builder = builder
        builder.says_model(text_in(dict_in(info, "agent_info"), "llm"))
        builder.slot("instructions", "policy", text_in(dict_in(info, "environment_info"), "policy"))

    def message(self, value: Any) -> None:
        self.builder.when(value.get("timestamp") if isinstance(value, dict) else None)
        content = text_in(value, "content")
        match text_in(value, "role"):
            case "system":
                self.builder.add(SystemMessage(content))
            case "user" if list_in(value, "tool_calls"):
                self.builder.leave_out("calls of the simulated user")
            case "user":
                self.builder.add(UserMessage(content))
            case "assistant":
                self._assistant(value, content)
            case "tool":
                for each in list_in(value, "tool_messages") or [value]:
                    self._result(each)
            case _:
                self.builder.unknown("message", value)

    def _assistant(self, value: dict[str, Any], content: str) -> None:
        reply, calls, used = self.builder.next_reply(), list_in(value, "tool_calls"), dict_in(value, "usage")
        cut = dict_in(value, "context_truncation")
        if cut:
            gone = number_in(cut, "messages_dropped")
            self.builder.failure(f"this request was made without its {gone:,} oldest messages")
        if content or not calls:
            self.builder.add(AssistantMessage(content, reply, model=self.builder.model))
        for call in calls:
            arguments = call.get("arguments") if isinstance(call, dict) else None
            self.builder.call(text_in(call, "id"), text_in(call, "name"), arguments, reply)
        prompt, completion = number_in(used, "prompt_tokens"), number_in(used, "completion_tokens")
        self.builder.usage(prompt, completion, cost=cost_in(value, "cost"))

    def _result(self, value: Any) -> None:
        if text_in(value, "requestor") == "user":
            self.builder.leave_out("results for the simulated user")
            return
        failed = isinstance(value, dict) and value.get("error") is True
        self.builder.result(text_in(value, "id"), text_in(value, "content"), failed)
