"""Folder, title, model and last report of a transcript, from its beginning and its end. The rest is not read."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from workbench.config.foreign_files import open_regular_file
from workbench.live.reports import LastReport, format_of, last_report
from workbench.traces import aider, mini_swe_agent

HEAD, TAIL = 16_384, 65_536
"""Bytes to read of every file."""
LAST_LINES = 8_192
"""Bytes at the end that may have a title or another model."""
MORE = 262_144
"""Bytes to read of the beginning if the first ones have no message: instructions can be long."""
TITLE = 120
"""Characters of a message that is used as a title."""

_BEGIN = rb'"((?:[^"\\]|\\.){1,1000})'
_TEXT = _BEGIN + rb'"'
_FOLDER = re.compile(rb'"(?:cwd|workspaceDirectory)"\s*:\s*' + _TEXT)
_MODEL = re.compile(rb'"(?:model|modelId|modelAlias|selectedModel)"\s*:\s*' + _TEXT)
_TITLE = re.compile(rb'"(?:aiTitle|customTitle|title)"\s*:\s*' + _TEXT)
_AIDER_MODEL = re.compile(rb"^> (?:Main m|M)odel: (\S+)", re.MULTILINE)
_AIDER_MESSAGE = re.compile(rb"^#### ([^/].+)", re.MULTILINE)
_NOT_BY_USER = ("<", "# AGENTS.md", "Caveat:", "[Request interrupted")
"""How texts begin that an agent sends as the user's: reminders, instructions, the environment."""
_QUERY = ("<user_query>\n", "\n</user_query>")
_NO_TITLE = ("", "Untitled Session", "New Session", "New Chat")


class TranscriptHead(NamedTuple):
    """What is known of a transcript without reading all of it."""

    folder: str = ""
    title: str = ""
    model: str = ""
    agent: str = ""
    report: LastReport | None = None


def read_head(path: str, agent: str = "", folder_file: str = "") -> TranscriptHead:
    """Read the ends of a file of an agent. Raises OSError where it cannot be read."""
    with open_regular_file(path) as file:
        head = file.read(HEAD)
        size = os.fstat(file.fileno()).st_size
        end = _end(file, size)
        tail = end[-LAST_LINES:]
        if path.endswith(".md"):
            return _of_aider(path, head, tail)
        title = _title(head, tail) or _first_message(head)
        more = head
        if size > HEAD and not (title and agent):
            file.seek(0)
            more = file.read(MORE)
            title = title or _first_message(more)
    folder = _last(_FOLDER.search(head)) or (_folder_from(path, folder_file) if folder_file else "")
    model = _last_model(tail) or _last_model(end) or _last_model(head)
    lines = (end if size > HEAD + TAIL else head + end).split(b"\n")
    agent = agent or (mini_swe_agent.NAME if mini_swe_agent.SIGN in (end or head)[-LAST_LINES:] else format_of(more))
    report = last_report(agent, lines[1:] if size > HEAD + TAIL else lines)
    return TranscriptHead(folder, title[:TITLE], (report and report.model) or model, agent, report)


def _end(file: BinaryIO, size: int) -> bytes:
    file.seek(max(HEAD, size - TAIL))
    return file.read(TAIL)


def _last(found: re.Match[bytes] | None) -> str:
    """The text of a match, unescaped from JSON."""
    if found is None:
        return ""
    try:
        return str(json.loads(f'"{found[1].decode("utf-8", "ignore")}"'))
    except ValueError:
        return ""


def _last_model(part: bytes) -> str:
    """The last model in a part. An agent's placeholder for its own messages does not count."""
    models = [_last(found) for found in _MODEL.finditer(part)]
    return next((each for each in reversed(models) if not each.startswith("<")), "")


def _title(head: bytes, tail: bytes) -> str:
    """The latest title that the agent gave it, from lines that hold nothing else."""
    for part in (tail, head):
        for line in reversed(part.split(b"\n")):
            if len(line) < 1000 and (found := _TITLE.search(line)) and b'"message"' not in line:
                title = " ".join(_last(found).split())
                if title not in _NO_TITLE:
                    return title
    return ""


def _first_message(head: bytes) -> str:
    for value in _values(head):
        text = " ".join(_untagged(_user_message(value)).split())
        if text and not text.startswith(_NOT_BY_USER):
            return text
    return ""


def _values(head: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines, or the messages of one that is a single object."""
    if head.startswith(b"{\n"):
        for found in re.finditer(rb'"role"\s*:\s*"user",\s*"content"\s*:\s*' + _BEGIN, head):
            message = _last(found).strip().removeprefix(mini_swe_agent.TASK).strip()
            yield {"role": "user", "content": message.partition("\n\n")[0]}
        return
    for line in head.split(b"\n"):
        if b"user" in line or b"turn.prompt" in line:
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):  # the last line may be cut
                continue
            if isinstance(value, dict):
                yield value


def _user_message(value: dict[str, Any]) -> str:
    """The user's message in a line of any format; empty if the line is something else."""
    if value.get("type") == "turn.prompt":
        return _text(value.get("input"))
    inner = value.get("payload", value.get("data", value))
    if not isinstance(inner, dict) or value.get("isMeta") or value.get("isSidechain"):
        return ""
    message = inner.get("message", inner)
    if isinstance(message, str):
        return message if inner.get("type") == "user_message" else ""
    role = message.get("role", value.get("type", value.get("role"))) if isinstance(message, dict) else ""
    return _text(message.get("content", message.get("parts"))) if role in ("user", "user.message") else ""


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    messages = (_untagged(text) for text in texts if isinstance(text, str))
    return next((text for text in messages if not text.startswith(_NOT_BY_USER)), "")


def _untagged(text: str) -> str:
    """The user's message without the tag that Cursor puts around it."""
    return text.removeprefix(_QUERY[0]).removesuffix(_QUERY[1])


def _folder_from(path: str, folder_file: str) -> str:
    """The folder from a file next to the session: as JSON, or as the path alone."""
    try:
        with open_regular_file(os.path.join(os.path.dirname(path), folder_file)) as file:
            content = file.read(HEAD)
    except OSError:
        return ""
    plain = content.decode("utf-8", "replace").strip()
    return _last(_FOLDER.search(content)) or (plain if os.path.isabs(plain) and "\n" not in plain else "")


def _of_aider(path: str, head: bytes, tail: bytes) -> TranscriptHead:
    """aider writes Markdown into its working folder."""
    messages, models = _AIDER_MESSAGE.findall(tail) or _AIDER_MESSAGE.findall(head), _AIDER_MODEL.findall(tail + head)
    title, model = ((each[-1] if each else b"").decode("utf-8", "replace").strip() for each in (messages, models))
    return TranscriptHead(os.path.dirname(path), title[:TITLE], model, aider.NAME)
