"""Codex: the JSON lines of a rollout.

- A rollout is `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`; those of sub-agents are conversations after the session
  that started them (`codex_sub_agents`). A line is `{"timestamp", "type", "payload"}`. `turn_context` has the `model`;
  `response_item` an item of OpenAI's Responses API, as it is sent. Rollouts of the first versions have the same items
  bare, after a header without a type.
- `session_meta` has the `base_instructions`, which are the system prompt. For some models they are sent as an item of
  the developer, which is in the file too: then the item is used. Those models also get their tools as an item
  (`additional_tools`); for others the tools are not in the file.
- Codex writes the `AGENTS.md` files and the `<environment_context>` as messages of the user, or as parts of them. They
  are instructions: each fills the instructions slot, the newest of a name wins, and no turn begins with one.
- An output is an error if `success` is false or its head has an exit code other than 0.
- `token_usage_record` is the report on the response before it. Older versions have only the `token_count` among the
  `event_msg`, after the outputs of the calls; it is repeated if nothing was asked in between, and has the window. The
  other `event_msg` repeat the items for the screen: they are counted, not kept; but errors are failures.
- `compacted` replaces everything before it by its `replacement_history`: entries that are earlier messages are kept by
  the compaction, a summary among them or in `message` becomes its summary, and new entries follow as messages. The
  summary may be encrypted; then a line says so. `compaction_response_id` names the response that wrote the summary: it
  is no part of the conversation. The `token_count` that follows has only the size of what is left.
- `thread_rolled_back` among the `event_msg` undoes the last `num_turns` turns: they are excluded (`codex_rollback`).
  Later versions begin a new file instead, which continues the one before (`codex_history`), as forks do.
- `agent_message` is a message from another agent of the session; the model sees it. Parts may be encrypted.
- Encrypted reasoning is sent back. Its size is not in the file.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any

from workbench.config.errors import WrongCall
from workbench.log.events import Usage, text_of
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, SubAgentReport, first_objects, log_entries
from workbench.traces.codex_history import CodexThread, thread_history
from workbench.traces.codex_lines import SAME_BEGINNING, CodexReader, is_old_header
from workbench.traces.codex_sub_agents import (
    codex_reports,
    codex_sub_agent_files,
    codex_sub_agent_name,
    copied_lines,
    in_time,
    report_times,
)
from workbench.traces.companion_files import read_files
from workbench.traces.reading import Document
from workbench.wire.values import content_of, dict_in, text_in

NAME = format_names.CODEX
_KINDS = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")


def recognises(document: Document) -> bool:
    """Whether a line near the beginning is one of a rollout, or the first is the header of an old one."""
    first = first_objects(document)
    if any(text_in(value, "type") in _KINDS and isinstance(value.get("payload"), dict) for value in first):
        return True
    return document.lines and bool(first) and is_old_header(first[0])


def read(document: Document, text: str) -> list[Recording]:
    """The rollout as one conversation, with those of its sub-agents after it."""
    own = [value for _, value in log_entries(document, text)]
    known = thread_history(document.path, own) if document.path else CodexThread(own, {}, "")
    thread = text_in(dict_in(own[0], "payload"), "id") if document.path else ""
    files = codex_sub_agent_files(known.first_file, thread)
    sub_agents, broken = read_files(files, os.path.dirname(document.path) or ".") if files else ([], [])
    talks: list[Recording] = []
    reports: list[list[SubAgentReport]] = []
    for other in sub_agents:
        theirs = [value for _, value in other.values]
        before = thread_history(other.name, theirs)
        talks.append(_conversation(before, (*other.broken, *before.broken)))
        talks[-1].sub_agent = codex_sub_agent_name(theirs[0])
        inherited = before.lines[: len(before.lines) - len(theirs) + copied_lines(theirs)]
        others = _conversation(CodexThread(inherited, {}, ""), ()) if inherited else []
        reports.append(codex_reports(talks[-1], theirs[0])[sum(isinstance(body, Usage) for body in others) :])
    return [_conversation(known, (*document.broken, *known.broken, *broken), in_time(reports)), *talks]


def _conversation(
    known: CodexThread, broken: Iterable[WrongCall], sub_agents: Sequence[SubAgentReport] = ()
) -> Recording:
    """`sub_agents`: their requests. Each comes after the report on the request before it."""
    lines = known.lines
    summaries = {text_in(dict_in(value, "payload"), "compaction_response_id") for value in lines} - {""}
    aside = _answers(lines, summaries) if summaries else set()
    reader = CodexReader(Builder(NAME, broken), summaries, _sent_instructions(lines))
    waiting = deque(sub_agents)
    until = report_times(lines) if waiting else []
    undone = set(known.went_back.values())
    starts: dict[int, int] = {}
    for at, value in enumerate(lines):
        if at in undone or at in known.went_back:
            reader.settle()
            starts[at] = reader.builder.last
        if at in known.went_back:
            reader.go_back(starts[known.went_back[at]])
        before = reader.builder.last
        if at not in aside:
            reader.line(value)
        if waiting and any(isinstance(body, Usage) for body in reader.builder.bodies[before:]):
            while waiting and waiting[0].at < until[at]:
                reader.sub_agent_asked(waiting.popleft())
    return reader.finish(waiting)


def _sent_instructions(lines: list[Any]) -> list[str]:
    """How the developer's messages before the model's first begin."""
    items = (dict_in(value, "payload") for value in lines if text_in(value, "type") == "response_item")
    first = takewhile(lambda item: not _is_models(item), items)
    return [
        text_of(content_of(item.get("content")))[:SAME_BEGINNING]
        for item in first
        if text_in(item, "role") == "developer"
    ]


def _answers(lines: list[Any], responses: set[str]) -> set[int]:
    """The indexes of the items that belong to these responses."""
    found: set[int] = set()
    run: list[int] = []
    """The model's items since the last message of anyone else."""
    for at, value in enumerate(lines):
        kind, payload = text_in(value, "type"), dict_in(value, "payload")
        if kind == "response_item":
            run = [*run, at] if _is_models(payload) else []
        elif kind == "token_usage_record":
            if text_in(payload, "response_id") in responses:
                found.update(run)
            run = []
    return found


def _is_models(item: dict[str, Any]) -> bool:
    return text_in(item, "role") == "assistant" or text_in(item, "type").endswith(("_call", "reasoning"))
