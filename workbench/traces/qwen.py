"""Qwen Code: `~/.qwen/projects/-PATH/chats/SESSION.jsonl`, which looks like Claude Code's and has Gemini's contents.

- A line has a `uuid`, its `parentUuid`, the `sessionId` and a `type`: `user`, `assistant` and `tool_result`, each with
  a content of Gemini's (`role`, `parts`) as its `message`, or `system` with a `subtype` and a `systemPayload`. The
  conversation is the path that leads to the last line; what the user went back from is counted, not kept.
- An `assistant` has its `model` and the `usageMetadata` of its request; cached tokens are part of the prompt.
- `system` lines with the subtype `ui_telemetry` repeat that report, and report on requests whose answers are not in the
  file: sub-agents, such as the one that keeps the memory, and attempts to compress.
- `chat_compression` has the `compressedHistory`, which replaces everything before it: a summary, an answer to it, files
  that were read lately, and the user's last message; with Qwen's own figures. Messages not answered yet that are not
  in that history follow it.
- `custom_title` is the title. Other `system` lines are counted.
- Exact: messages and results of tools. Not in these files: system prompt, tools, and the reminders (skills,
  environment, date) before the user's message.
"""

from __future__ import annotations

from typing import Any, Final

from workbench.log.events import DialectName, Purpose, Request, Usage
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects, log_entries
from workbench.traces.histories import History, NamedContent
from workbench.traces.parents import path_to_last, report_gaps
from workbench.traces.reading import Document
from workbench.wire.values import dict_in, list_in, number_in, text_in

NAME = format_names.QWEN
_DIALECTS: Final[dict[str, DialectName]] = {"anthropic": "anthropic", "gemini": "gemini", "vertex-ai": "gemini"}


def recognises(document: Document) -> bool:
    """Whether a line near the beginning is one of Qwen's."""
    return any(is_qwen_line(value) for value in first_objects(document))


def is_qwen_line(value: dict[str, Any]) -> bool:
    """Whether it is a line of Qwen's: Claude Code's lines have no `parts` and no `systemPayload`."""
    has_ids = bool(text_in(value, "uuid") and text_in(value, "sessionId"))
    return has_ids and (isinstance(dict_in(value, "message").get("parts"), list) or "systemPayload" in value)


def read(document: Document, text: str) -> list[Recording]:
    values = [value for _, value in log_entries(document, text)]
    reader = _Reader(Builder(NAME, document.broken))
    parents = {text_in(value, "uuid"): text_in(value, "parentUuid") for value in values if text_in(value, "uuid")}
    path, gaps = path_to_last(parents)
    for value in values:
        if path and text_in(value, "uuid") and text_in(value, "uuid") not in path:
            reader.builder.leave_out("entries of branches that were left")
        else:
            reader.line(value)
    report_gaps(reader.builder, gaps)
    return [reader.finish()]


class _Reader:
    """One session, line by line."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._history = History(builder, NAME)
        self._waiting: list[dict[str, Any]] = []
        """Messages without an answer so far; a compression is placed before them."""
        self._reports: list[dict[str, Any]] = []
        """Reports on requests whose answers did not come yet."""

    def finish(self) -> Recording:
        """Everything that was read."""
        self._add_reports("side")
        self._add_waiting()
        return self.builder.finish()

    def line(self, value: Any) -> None:
        kind, subtype = text_in(value, "type"), text_in(value, "subtype")
        has_content = isinstance(dict_in(value, "message").get("parts"), list)
        if kind in ("user", "tool_result") and has_content and subtype != "realtime_message":
            self._waiting.append(value)
        elif kind == "assistant" and has_content:
            self._reply(value)
        elif kind == "system":
            self.builder.when(value.get("timestamp"))
            self._system(subtype, dict_in(value, "systemPayload"))
        else:
            self.builder.unknown(kind or "line", value)

    def _system(self, subtype: str, payload: dict[str, Any]) -> None:
        report = dict_in(payload, "uiEvent")
        if text_in(report, "event.name").endswith("api_response"):
            self._reports.append(report)
        elif subtype == "chat_compression" and list_in(payload, "compressedHistory"):
            self._add_reports("compaction")
            info = dict_in(payload, "info")
            history = [_content(content) for content in list_in(payload, "compressedHistory")]
            history_parts = [part for content in history for part in content["parts"]]
            if all(part in history_parts for value in self._waiting for part in value["message"]["parts"]):
                self._add_waiting()
            self._history.replace(
                [NamedContent("", content) for content in history],
                trigger=text_in(info, "triggerReason"),
                tokens_before=number_in(info, "originalTokenCount"),
                tokens_after=number_in(info, "newTokenCount"),
            )
        elif subtype == "custom_title":
            self.builder.says_title(text_in(payload, "customTitle"))
        else:
            self.builder.leave_out(f"system {subtype}".strip())

    def _reply(self, value: dict[str, Any]) -> None:
        used = dict_in(value, "usageMetadata")
        prompt, output = number_in(used, "promptTokenCount"), number_in(used, "candidatesTokenCount")
        own = [report for report in self._reports if number_in(report, "input_token_count") == prompt]
        if own:
            self._reports.remove(own[-1])
        self._add_reports("side")
        self._add_waiting()
        self.builder.when(value.get("timestamp"))
        self.builder.says_model(text_in(value, "model"))
        self.builder.says_window(number_in(value, "contextWindowSize"))
        before, content = self.builder.last, _content(value["message"])
        self._history.add_events(content)
        cached, thought = number_in(used, "cachedContentTokenCount"), number_in(used, "thoughtsTokenCount")
        output = max(output, number_in(used, "totalTokenCount") - prompt)  # thoughts are included or separate
        self.builder.usage(prompt, output, cached=cached, reasoning=thought)
        self._history.record_content(text_in(value, "uuid"), content, before)

    def _add_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for value in waiting:
            self.builder.when(value.get("timestamp"))
            self._history.add_content(text_in(value, "uuid"), _content(value["message"]))

    def _add_reports(self, purpose: Purpose) -> None:
        """Add requests whose answers are not in the file; `purpose`: that of the last one, if no sub-agent made it."""
        reports, self._reports = self._reports, []
        for report in reports:
            agent = text_in(report, "subagent_name")
            why: Purpose = "sub-agent" if agent else purpose if report is reports[-1] else "side"
            model = text_in(report, "model") or self.builder.model
            dialect = _DIALECTS.get(text_in(report, "auth_type"), "chat")
            asked = self.builder.request(Request(dialect, model, why, agent))
            cached, thought = number_in(report, "cached_content_token_count"), number_in(report, "thoughts_token_count")
            prompt, output = number_in(report, "input_token_count"), number_in(report, "output_token_count")
            used = Usage(model, 0, prompt, cached, completion=output, reasoning=thought, request=asked)
            self.builder.add(used)


def _content(value: Any) -> dict[str, Any]:
    role = "model" if text_in(value, "role") == "model" else "user"
    return {"role": role, "parts": list_in(value, "parts")}
