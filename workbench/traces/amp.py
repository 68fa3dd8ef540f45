"""Amp: a thread, one JSON object, as `~/.local/share/amp/threads/T-ID.json` and `amp threads export` have it.

- `messages` have a `messageId`, a `role` and Anthropic's blocks. A result has the `toolUseID` of its call and a `run`:
  `status` (`done`, `error`, `cancelled`, `rejected-by-user`) with its `result` or `error`. Amp sends objects as tags,
  one for each key; the reader does the same.
- `info` messages are sent as the user's: text, a shell command that the user ran, or a summary of everything before.
- A reply has its `usage`: `totalInputTokens` are the whole prompt. `maxInputTokens` is Amp's window.
- Not in the file: system prompt, tools, guidance files, the messages of sub-agents.
"""

from __future__ import annotations

from typing import Any

from workbench.log.events import SystemMessage
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording, first_objects
from workbench.traces.reading import Document
from workbench.wire.anthropic import FINISH, AnthropicReader
from workbench.wire.values import dict_in, json_text, list_in, number_in, text_in

NAME = format_names.AMP
_READ = ("messages", "title", "id", "created", "v", "nextMessageId")
_DEPTH = 20
"""How deep an object is written as tags; what lies deeper is JSON."""
_RAN = (
    "The following is content that was produced by the user manually running a shell command. Do not mention this to "
    "the user directly unless they refer to the content of this bash command."
)


def recognises(document: Document) -> bool:
    """Whether it is an object whose messages have Amp's ids, and one of its other marks."""
    first = first_objects(document, 1)
    if document.lines or len(first) != 1:
        return False
    messages = [each for each in list_in(first[0], "messages") if isinstance(each, dict)]
    numbered = bool(messages) and all("messageId" in each and "role" in each for each in messages)
    return numbered and (text_in(first[0], "id").startswith("T-") or "nextMessageId" in first[0] or "v" in first[0])


def read(document: Document, text: str) -> list[Recording]:
    thread = first_objects(document, 1)[0] if first_objects(document, 1) else {}
    builder = Builder(NAME, document.broken)
    builder.when(thread.get("created"))
    builder.says_title(text_in(thread, "title"))
    reader = _Reader(builder)
    for message in list_in(thread, "messages"):
        reader.message(message)
    builder.leave_out_all_but(_READ, thread)
    return [builder.finish()]


class _Reader:
    """One thread, message by message."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._wire = AnthropicReader(builder)

    def message(self, value: Any) -> None:
        self._builder.when(dict_in(value, "meta").get("sentAt"))
        match text_in(value, "role"):
            case "user":
                self._wire.user([_block(block) for block in list_in(value, "content")] or value.get("content"))
            case "assistant":
                self._assistant(value)
            case "info":
                for block in list_in(value, "content"):
                    self._info(block)
            case _:
                self._builder.unknown("message", value)

    def _assistant(self, value: dict[str, Any]) -> None:
        used, state = dict_in(value, "usage"), dict_in(value, "state")
        self._builder.says_model(text_in(used, "model"))
        self._builder.says_window(number_in(used, "maxInputTokens"))
        self._builder.when(used.get("timestamp"))
        blocks = [each for each in list_in(value, "content") if not _is_blank(each)]
        finish = FINISH.get(text_in(state, "stopReason"), "stop")
        if text_in(state, "type") == "cancelled":
            finish = "cancelled"
        self._wire.reply(blocks, f"m{value.get('messageId')}", finish)
        cached, written = number_in(used, "cacheReadInputTokens"), number_in(used, "cacheCreationInputTokens")
        prompt = number_in(used, "totalInputTokens") or number_in(used, "inputTokens") + cached + written
        self._builder.usage(prompt, number_in(used, "outputTokens"), cached=cached, cache_write=written)

    def _info(self, block: Any) -> None:
        match text_in(block, "type"):
            case "text" if text_in(block, "text").strip():
                self._builder.add(SystemMessage(text_in(block, "text"), "user"))
            case "manual_bash_invocation":
                self._ran(block)
            case "summary":
                details = block.get("summary")
                summary = (
                    details if isinstance(details, str) else text_in(details, "summary") or text_in(details, "text")
                )
                self._builder.compaction(1, self._builder.last if self._builder.has_talk else 0, summary)
            case "text":
                self._builder.leave_out("empty text")
            case _:
                self._builder.unknown("info", block)

    def _ran(self, block: dict[str, Any]) -> None:
        args, run = dict_in(block, "args"), dict_in(block, "toolRun")
        if text_in(run, "status") != "done" or block.get("hidden") is True:
            self._builder.leave_out("shell command that was not sent")
            return
        result = dict_in(run, "result")
        details = {"command": text_in(args, "cmd"), "working_directory": text_in(args, "cwd") or "unknown"}
        details |= {"output": text_in(result, "output"), "exit_code": str(number_in(result, "exitCode"))}
        self._builder.add(SystemMessage(f"{_RAN}\n{as_tags(details)}", "user"))


def _is_blank(block: Any) -> bool:
    return text_in(block, "type") == "text" and not text_in(block, "text").strip()


def _block(block: Any) -> Any:
    """A block as Anthropic has it."""
    if text_in(block, "type") != "tool_result":
        return block
    run = dict_in(block, "run")
    status = text_in(run, "status")
    content: Any
    match status:
        case "done":
            content = _result(run.get("result"))
        case "error":
            error = text_in(run, "error") or text_in(run.get("error"), "message")
            content = f"<error>{error}</error>" if error else "unknown error"
        case "rejected-by-user":
            content = "User rejected invoking the tool"
        case "cancelled":
            content = "User cancelled tool invocation"
        case _:
            content = json_text(run) if run else block.get("content")
    failed = status in ("error", "rejected-by-user", "cancelled")
    call = text_in(block, "toolUseID") or text_in(block, "tool_use_id")
    return {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": failed}


def _result(value: Any) -> Any:
    """What is sent for the result of a tool."""
    info = dict_in(value, "imageInfo")
    if info:
        data = text_in(value, "content") or text_in(value, "contentURL").partition("base64,")[2]
        return [{"type": "image", "data": data, "mimeType": text_in(info, "mimeType")}]
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    if isinstance(value, list) and all(text_in(each, "type") in ("text", "image") for each in value):
        return value
    return value if isinstance(value, str) else as_tags(value)


def as_tags(value: Any, name: str = "result", depth: int = 0) -> str:
    """A value as Amp writes it for the model: each key of an object is a tag."""
    if isinstance(value, dict) and depth < _DEPTH:
        found = []
        for key, each in value.items():
            inner = as_tags(each, str(key), depth + 1)
            found.append(f"<{key}>\n{inner}\n</{key}>" if isinstance(each, dict) else inner)
        return "\n".join(found)
    return f"<{name}>{json_text(value)}</{name}>"
