"""Qwen Code: `~/.qwen/projects/-PATH/chats/SESSION.jsonl`, which looks like Claude Code's and holds Gemini's contents.

- A line has a `uuid`, its `parentUuid`, the `sessionId` and a `type`: `user`, `assistant` and `tool_result`, each with
  a content of Gemini's (`role`, `parts`) as its `message`, or `system` with a `subtype` and a `systemPayload`. The
  conversation is the path that leads to the last line; what the user went back from is counted, not kept.
- An `assistant` has its `model` and the `usageMetadata` of its request; what was cached is part of the prompt.
- `system` lines with the subtype `ui_telemetry` repeat that report, and tell of requests whose answers are not in the
  file: sub-agents, such as the one that keeps the memory, and attempts to compress.
- `chat_compression` has the `compressedHistory`, which stands for all before it: a summary, an answer to it, files that
  were read lately, and what the user had just asked; with Qwen's own figures. What is not answered and not part of it
  comes behind it.
- `custom_title` is the title. Other `system` lines are counted.
- Exact: what was said, and what tools gave. Not in these files: system prompt, tools, and the reminders (skills,
  environment, date) that stand before what the user said.
"""

from __future__ import annotations

from typing import Any, Final

from workbench.log.events import DialectName, Purpose, Request, Usage
from workbench.traces.building import Builder, Recording, beginning, entries
from workbench.traces.histories import History, NamedContent
from workbench.traces.parents import path_to_last, tell_gaps
from workbench.traces.reading import Document
from workbench.wire.values import dict_in, list_in, number_in, text_in

NAME = "Qwen Code"
_DIALECTS: Final[dict[str, DialectName]] = {"anthropic": "anthropic", "gemini": "gemini", "vertex-ai": "gemini"}


def recognises(document: Document) -> bool:
    """Whether a line near the beginning is one of Qwen's."""
    return any(is_line(value) for value in beginning(document))


def is_line(value: dict[str, Any]) -> bool:
    """Whether it is a line of Qwen's: one of Claude Code's has no `parts` and no `systemPayload`."""
    ours = text_in(value, "uuid") and text_in(value, "sessionId")
    return bool(ours) and (isinstance(dict_in(value, "message").get("parts"), list) or "systemPayload" in value)


def read(document: Document, text: str) -> list[Recording]:
    """The session as one conversation."""
    values = [value for _, value in entries(document, text)]
    reader = _Reader(Builder(NAME, document.broken))
    parents = {text_in(value, "uuid"): text_in(value, "parentUuid") for value in values if text_in(value, "uuid")}
    path, gaps = path_to_last(parents)
    for value in values:
        if path and text_in(value, "uuid") and text_in(value, "uuid") not in path:
            reader.builder.leave_out("entries of branches that were left")
        else:
            reader.line(value)
    tell_gaps(reader.builder, gaps)
    return [reader.finish()]


class _Reader:
    """One session, line by line."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._history = History(builder, NAME)
        self._waiting: list[dict[str, Any]] = []
        """What was not answered yet: a compression comes before it."""
        self._reports: list[dict[str, Any]] = []
        """Those of requests whose answers did not come yet."""

    def finish(self) -> Recording:
        """All that was read."""
        self._tell_reports("side")
        self._tell_waiting()
        return self.builder.finish()

    def line(self, value: Any) -> None:
        """Take in what comes next."""
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
        told = dict_in(payload, "uiEvent")
        if text_in(told, "event.name").endswith("api_response"):
            self._reports.append(told)
        elif subtype == "chat_compression" and list_in(payload, "compressedHistory"):
            self._tell_reports("compaction")
            info = dict_in(payload, "info")
            history = [_content(content) for content in list_in(payload, "compressedHistory")]
            there = [part for content in history for part in content["parts"]]
            if all(part in there for value in self._waiting for part in value["message"]["parts"]):
                self._tell_waiting()
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
        own = [told for told in self._reports if number_in(told, "input_token_count") == prompt]
        if own:
            self._reports.remove(own[-1])
        self._tell_reports("side")
        self._tell_waiting()
        self.builder.when(value.get("timestamp"))
        self.builder.says_model(text_in(value, "model"))
        self.builder.says_window(number_in(value, "contextWindowSize"))
        before, content = self.builder.last, _content(value["message"])
        self._history.tell(content)
        cached, thought = number_in(used, "cachedContentTokenCount"), number_in(used, "thoughtsTokenCount")
        output = max(output, number_in(used, "totalTokenCount") - prompt)  # thoughts count among it, or beside
        self.builder.usage(prompt, output, cached=cached, reasoning=thought)
        self._history.keep(text_in(value, "uuid"), content, before)

    def _tell_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for value in waiting:
            self.builder.when(value.get("timestamp"))
            self._history.add(text_in(value, "uuid"), _content(value["message"]))

    def _tell_reports(self, purpose: Purpose) -> None:
        """Requests whose answers are not in the file; `purpose`: that of the last one, if no sub-agent made it."""
        reports, self._reports = self._reports, []
        for told in reports:
            agent = text_in(told, "subagent_name")
            why: Purpose = "sub-agent" if agent else purpose if told is reports[-1] else "side"
            model = text_in(told, "model") or self.builder.model
            dialect = _DIALECTS.get(text_in(told, "auth_type"), "chat")
            asked = self.builder.request(Request(dialect, model, why, agent))
            cached, thought = number_in(told, "cached_content_token_count"), number_in(told, "thoughts_token_count")
            prompt, output = number_in(told, "input_token_count"), number_in(told, "output_token_count")
            used = Usage(model, 0, prompt, cached, completion=output, reasoning=thought, request=asked)
            self.builder.add(used)


def _content(value: Any) -> dict[str, Any]:
    role = "model" if text_in(value, "role") == "model" else "user"
    return {"role": role, "parts": list_in(value, "parts")}
