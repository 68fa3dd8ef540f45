"""Windsurf: the steps of Cascade, as its hooks write them to `~/.windsurf/transcripts/ID.jsonl`.

- A line has a `type`, a `status`, and under the name of its type what happened. `user_input` is the user's message
  (`user_response`), `planner_response` the model's (`response`, and in some versions `thinking`).
- Every other step is a tool: its call and its result are together and have no id. Arguments and result are separated by
  the names of their keys.
- Not in these files: the model, system prompt, tools, reports, times; the arguments of a call as the model wrote them.
  Commands that the user typed into the terminal are steps like those of the model.
"""

from __future__ import annotations

from typing import Any

from workbench.log.events import AssistantMessage, Reasoning, UserMessage
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, read_entries
from workbench.traces.reading import Document
from workbench.wire.values import dict_in, json_text, text_in

NAME = format_names.WINDSURF
_TEXTS = ("output", "content", "stdout", "result", "results")
_GIVEN = frozenset(
    (
        *_TEXTS,
        *("exit_code", "total_results", "user_rejected", "acknowledgement_type", "original_content", "error"),
        *("stderr", "matches", "entries", "truncated", "num_results", "full_length", "resources", "diff"),
    )
)
"""Keys of a tool's result."""
_STATUSES = ("done", "error", "running", "pending", "canceled", "cancelled", "waiting", "generating", "interrupted")
_FAILED = ("error", "canceled", "cancelled", "interrupted")


def recognises(document: Document) -> bool:
    """Whether the lines are steps: each with a status and an object under the name of its type."""
    first = first_objects(document)
    steps = [value for value in first if _is_step(value)]
    return bool(steps) and len(steps) * 2 > len(first) and any(map(_is_said, steps))


def _is_step(value: dict[str, Any]) -> bool:
    return isinstance(value.get(text_in(value, "type")), dict) and text_in(value, "status").lower() in _STATUSES


def _is_said(value: dict[str, Any]) -> bool:
    return text_in(value, "type") in ("user_input", "planner_response")


def read(document: Document, text: str) -> list[Recording]:
    return read_entries(document, text, NAME, lambda builder: _Reader(builder).step)


class _Reader:
    """One session, step by step."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._calls = 0

    def step(self, value: Any) -> None:
        kind = text_in(value, "type")
        inside = dict_in(value, kind)
        self._builder.when(value.get("timestamp") or value.get("created_at") if isinstance(value, dict) else None)
        if kind == "user_input":
            self._builder.end_reply()
            self._builder.add(UserMessage(text_in(inside, "user_response") or text_in(inside, "text")))
        elif kind == "planner_response":
            self._add_reply(inside)
        elif inside:
            self._tool(kind, inside, text_in(value, "status").lower() in _FAILED)
        else:
            self._builder.unknown(kind or "step", value)

    def _add_reply(self, inside: dict[str, Any]) -> None:
        self._builder.says_model(text_in(inside, "model"))
        thought, text = text_in(inside, "thinking"), text_in(inside, "response")
        reply = self._builder.open_reply()
        if thought:
            self._builder.add(Reasoning(thought, reply))
        if text or not thought:
            self._builder.add(AssistantMessage(text, reply, model=self._builder.model))

    def _tool(self, kind: str, inside: dict[str, Any], failed: bool) -> None:
        self._calls += 1
        call = f"call_{self._calls}"
        asked = {key: each for key, each in inside.items() if key not in _GIVEN}
        given = {key: each for key, each in inside.items() if key in _GIVEN and key != "original_content"}
        self._builder.call(call, kind, asked, self._builder.open_reply())
        texts = [given[key] for key in _TEXTS if isinstance(given.get(key), str)]
        content = texts[0] if len(texts) == 1 else json_text(given) if given else ""
        code = inside.get("exit_code")
        failed = failed or (isinstance(code, int) and code != 0) or inside.get("user_rejected") is True
        self._builder.result(call, content, failed)
        self._builder.end_reply()
