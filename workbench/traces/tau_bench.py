"""tau-bench: the results of a run, a list of tasks with the conversation of each under `traj`.

- A task has its `task_id`, the `trial`, the `reward` and `info`; `traj` is OpenAI-style messages, the system prompt
  first, calls and results paired by id. The user is a model too.
- Missing: the agent's model, its tools, usage and times.
"""

from __future__ import annotations

from typing import Any

from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.reading import Document
from workbench.wire.chat import ChatReader
from workbench.wire.values import list_in, text_in

NAME = format_names.TAU_BENCH


def recognises(document: Document) -> bool:
    """Whether the first entries are tasks with their conversation."""
    first = first_objects(document)
    return bool(first) and all(_is_task(value) for value in first)


def _is_task(value: Any) -> bool:
    known = isinstance(value, dict) and "task_id" in value and ("reward" in value or "trial" in value)
    talk = list_in(value, "traj")
    return known and bool(talk) and all(text_in(message, "role") for message in talk)


def read(document: Document, text: str) -> list[Recording]:
    """One conversation per task and trial."""
    found: list[Recording] = []
    for _, value in log_entries(document, text):
        builder = Builder(NAME, () if found else document.broken)
        if not _is_task(value):
            builder.unknown("task", value)
        else:
            builder.says_title(f"task {value['task_id']}, trial {value.get('trial', 0)}")
            reader = ChatReader(builder)
            head = reader.head({"messages": value["traj"]})
            for message in value["traj"][head:]:
                reader.message(message)
            builder.leave_out_all_but(("task_id", "trial", "traj"), value)
        found.append(builder.finish())
    return found
