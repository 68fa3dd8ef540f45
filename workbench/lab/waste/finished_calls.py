"""Calls with their results, described so that they can be compared: which file, which command, which result.

A doubtful call is not classified: one that reads an unknown file does not count as a read.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from workbench.context.tool_kinds import (
    CallLine,
    Values,
    command_folder,
    command_text,
    file_named,
    known_tool,
    named_values,
)
from workbench.context.tool_lines import arguments_of, server_and_tool
from workbench.context.tool_outcomes import Outcome, outcome_of
from workbench.log.events import Event, TextPart, ToolCall, ToolResult, text_of

CallVerb = Literal["read", "write", "edit", "run", "todos", "other"]
_VERBS: Mapping[str, CallVerb] = {
    "Read": "read",
    "Write": "write",
    "Edit": "edit",
    "Insert": "edit",
    "Bash": "run",
    "TodoWrite": "todos",
}
_DO_NOT_COUNT = frozenset(
    ("description", "explanation", "justification", "timeout", "timeoutms", "yieldtimems", "maxoutputtokens", "reason")
)
"""Arguments that say how or why a call is made, but not what it does."""
_WORD = r"""[^\s;&|<>$`"'*?{}()~-][^\s;&|<>$`"'*?{}()]*"""
_MOVED = rf"(?:cd (?P<place>{_WORD}) && )?"
_SOME = r"""sed -n ['"]?(?P<span>\d+,\d+)p['"]?|head -(?:n ?)?(?P<top>\d+)"""
_SHOWS = re.compile(rf"{_MOVED}(?:cat(?: -n)?|nl -ba|{_SOME}) (?P<path>{_WORD})")
"""A command that prints one file, or some of its lines, and does nothing else."""
_WRITES = re.compile(rf"{_MOVED}cat (?:> ?(?P<path>{_WORD}) <<|<<-? ?\S+ > ?(?P<other>{_WORD})\n)")
"""A command that begins with writing a whole file."""
_CD = re.compile(r"(?:^|[;&|(\n]\s*)(?:cd|pushd|popd)\b")
_HEAD = re.compile(
    r"\A(?:(?:Chunk ID|Wall time|Process exited|Original token count|Exit code|Total output lines)\b[^\n]*\n)+Output:\n"
)
"""The lines that Codex writes before the output. They differ each time."""
_REMINDER = "\n\n<system-reminder>"
_EXIT = re.compile(r"(?:exited with code|Exit code:|exit code|<returncode>)\s*(\d+)", re.IGNORECASE)
_REFUSED = re.compile(
    r"\W*(?:errno \d+\W+)?(?:\w*error|failed|failure|cannot|could not|unable|permission denied)\b", re.IGNORECASE
)
"""How tools say that nothing was written, in formats without a mark for errors. Reads are not checked: a file may begin
like this."""
_ENDS = 300
"""An exit code is searched in this many characters at both ends of a command's output."""
_SEVERAL = re.compile(r" and \d+ more$")


class FinishedCall(NamedTuple):
    """A call that has its result."""

    call: int
    """Its event."""
    result: int
    tool: str
    verb: CallVerb
    same: str
    """The arguments that count, in a normal form. Calls of a tool with equal ones are the same call."""
    path: str
    """The file that is read or written; empty where there is none, several, or it is not known."""
    span: str
    """Which lines of the file; empty: all."""
    values: Values
    command: str
    text: str | None
    """The result without the parts that differ each time; None where it is not only text."""
    outcome: Outcome

    @property
    def is_whole_read(self) -> bool:
        """Whether a file was read from end to end."""
        return self.verb == "read" and bool(self.path) and not self.span

    @property
    def lines(self) -> frozenset[str]:
        """The lines of the arguments, without the path."""
        texts = [text for key, value in self.values.items() for text in _texts(value) if text != self.path]
        return frozenset(line.strip() for text in texts for line in text.splitlines() if line.strip())


def finished_calls(events: Sequence[Event]) -> Iterator[tuple[Event, FinishedCall | None]]:
    """Every event, and with each result its finished call. A call without a result is never finished."""
    waiting: dict[str, Event] = {}
    moves = 0  # after a `cd` a shell may be in another folder, where the same name is another file
    for event in events:
        done = None
        if isinstance(event.body, ToolCall):
            waiting[event.body.call_id] = event
        elif isinstance(event.body, ToolResult) and event.body.call_id in waiting:
            done = _finished(waiting.pop(event.body.call_id), event, moves)
            moves += done.verb == "run" and bool(_CD.search(done.command))
        yield event, done


def _finished(call: Event, result: Event, moves: int) -> FinishedCall:
    body, answer = call.body, result.body
    assert isinstance(body, ToolCall)
    assert isinstance(answer, ToolResult)
    values = named_values(arguments_of(body.arguments))
    known = known_tool(server_and_tool(body.tool)[1], values)
    verb: CallVerb = _VERBS.get(known.verb, "other") if known else "other"
    path = span = command = ""
    if verb == "run":
        command = command_text(values).strip()
        verb, path, span = _shell_file(command, command_folder(values), moves)
    elif known and verb in ("read", "write", "edit"):
        own = file_named(values) if verb == "edit" else ""  # an edit needs no line numbers
        line = CallLine("", own) if own else known.describe(values)
        several = _SEVERAL.search(line.subject) or "more" in line.rest
        path = "" if several or not line.subject else posixpath.normpath(line.subject)
        span = line.rest if verb == "read" else ""
        if verb == "write" and (values.get("append") or str(values.get("mode", "")).startswith("a")):
            verb = "edit"
    text = _plain_text(answer)
    outcome = outcome_of(text or "", answer.is_error)
    if outcome == "done" and text is not None:
        refused = verb in ("write", "edit") and _REFUSED.match(text)
        if refused or (command and _exit_code(text)):
            outcome = "failed"
    shown = None if text is None else _without_frame(text)
    same = _same({key: value for key, value in values.items() if key not in _DO_NOT_COUNT})
    return FinishedCall(call.seq, result.seq, body.tool, verb, same, path, span, values, command, shown, outcome)


def _shell_file(command: str, folder: str, moves: int) -> tuple[CallVerb, str, str]:
    """What a command does with a file, if it does nothing else."""
    verb: CallVerb = "read"
    found = _SHOWS.fullmatch(command)
    if found is None:
        verb, found = "write", _WRITES.match(command)
    if found is None:
        return "run", "", ""
    parts = found.groupdict()
    path = parts.get("path") or parts.get("other") or ""
    place = posixpath.join(folder, parts["place"] or "")
    if not place and not path.startswith("/"):
        place = f"({moves})"
    span = parts.get("span") or parts.get("top") or ""
    return verb, posixpath.normpath(posixpath.join(place, path)), span


def _plain_text(body: ToolResult) -> str | None:
    if isinstance(body.content, str) or all(isinstance(part, TextPart) for part in body.content):
        return text_of(body.content)
    return None


def _without_frame(text: str) -> str:
    return _HEAD.sub("", text, count=1).partition(_REMINDER)[0].strip()


def _exit_code(text: str) -> int:
    ends = text[:_ENDS] + "\n" + text[-_ENDS:]
    return max((int(code) for code in _EXIT.findall(ends)), default=0)


def _same(values: Mapping[str, Any]) -> str:
    try:
        return json.dumps(values, sort_keys=True, default=str)
    except (ValueError, TypeError, RecursionError):
        return repr(values)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
