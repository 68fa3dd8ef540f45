"""ATIF, Harbor's agent trajectory interchange format: `{"schema_version": "ATIF-v1.x", "agent", "steps"}`.

- A step has a `source` (`system`, `user` or `agent`), a `message` (text, or parts since 1.6), and a `timestamp`. One of
  the agent may have `reasoning_content`, `tool_calls` (`tool_call_id`, `function_name`, `arguments`), an `observation`
  with `results`, paired by `source_call_id`, and `metrics`. Its `model_name` goes before the agent's.
- `metrics.prompt_tokens` is the whole prompt, cached tokens included. A step is one request, unless `llm_call_count`
  says more: then its metrics are a sum, and no request's report.
- A result without a call's id belongs to the only call; without any call, it is the next message of the user, or
  rather of the environment.
- The system prompt is the first step if the agent wrote it; tools are in `agent.tool_definitions` since 1.5.
- `subagent_trajectories` are conversations of their own. Missing: compactions, unless the agent starts a new file.
"""

from __future__ import annotations

from typing import Any

from workbench.log.events import AssistantMessage, Reasoning, SlotContent, SystemMessage, UserMessage, text_of
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.reading import Document
from workbench.wire.event_builder import cost_in
from workbench.wire.values import content_of, dict_in, list_in, number_in, text_in

NAME = format_names.ATIF
_READ = ("schema_version", "session_id", "agent", "steps", "subagent_trajectories", "final_metrics")


def recognises(document: Document) -> bool:
    """Whether its `schema_version` says so."""
    return any(_is_trajectory(value) for value in first_objects(document))


def _is_trajectory(value: Any) -> bool:
    return text_in(value, "schema_version").startswith("ATIF-") and bool(list_in(value, "steps"))


def read(document: Document, text: str) -> list[Recording]:
    """One conversation per trajectory, with those of sub-agents after their own."""
    found: list[Recording] = []
    for _, value in log_entries(document, text):
        if _is_trajectory(value):
            for each in (value, *filter(_is_trajectory, list_in(value, "subagent_trajectories"))):
                found.append(_Reader(Builder(NAME, () if found else document.broken)).trajectory(each))
    return found


class _Reader:
    """One trajectory, step by step."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._steps = 0

    def trajectory(self, value: dict[str, Any]) -> Recording:
        agent = dict_in(value, "agent")
        self._builder.says_model(text_in(agent, "model_name"))
        for tool in list_in(agent, "tool_definitions"):
            self._builder.tool(tool)
        for step in list_in(value, "steps"):
            self._step(step)
        self._builder.leave_out_all_but(_READ, value)
        return self._builder.finish()

    def _step(self, step: Any) -> None:
        self._steps += 1
        source, content = text_in(step, "source"), content_of(step.get("message") if isinstance(step, dict) else None)
        if source in ("system", "user", "agent"):
            self._builder.when(step.get("timestamp"))
        if source == "system" and not self._builder.has_talk:
            self._builder.add(SlotContent("system", f"step {self._steps}", text_of(content)))
        elif source == "system" and content:
            self._builder.add(SystemMessage(content))
        elif source == "user":
            self._builder.add(UserMessage(content))
        elif source == "agent":
            self._agent(step)
        else:
            self._builder.unknown("step", step)
            return
        self._results(step)

    def _agent(self, step: dict[str, Any]) -> None:
        reply = f"r{self._steps}"
        builder = self._builder
        builder.says_model(text_in(step, "model_name"))
        if text_in(step, "reasoning_content"):
            builder.add(Reasoning(text_in(step, "reasoning_content"), reply))
        content, calls = content_of(step.get("message")), list_in(step, "tool_calls")
        if content or not calls:
            builder.add(AssistantMessage(content, reply, model=builder.model))
        for call in calls:
            builder.call(text_in(call, "tool_call_id"), text_in(call, "function_name"), _arguments(call), reply)
        self._metrics(step)

    def _metrics(self, step: dict[str, Any]) -> None:
        used = dict_in(step, "metrics")
        if number_in(step, "llm_call_count") > 1:
            self._builder.leave_out("metrics of several requests")
            return
        extra = dict_in(used, "extra")
        self._builder.usage(
            number_in(used, "prompt_tokens"),
            number_in(used, "completion_tokens"),
            cached=number_in(used, "cached_tokens"),
            cache_write=number_in(extra, "cache_creation_input_tokens"),
            reasoning=number_in(extra, "reasoning_tokens"),
            cost=cost_in(used, "cost_usd"),
        )

    def _results(self, step: dict[str, Any]) -> None:
        calls = [text_in(call, "tool_call_id") for call in list_in(step, "tool_calls")]
        for result in list_in(dict_in(step, "observation"), "results"):
            content = content_of(result.get("content") if isinstance(result, dict) else result)
            call_id = text_in(result, "source_call_id") or (calls[0] if len(calls) == 1 else "")
            if call_id:
                self._builder.result(call_id, content)
            elif content:
                self._builder.add(UserMessage(content))


def _arguments(call: Any) -> Any:
    return call.get("arguments") if isinstance(call, dict) else None
