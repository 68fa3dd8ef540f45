"""Finds waste: items of a session that are no longer needed. The rules need no model, and one pass over the log.

- repeated: the same call returned the same again, or a later read of the file includes it; the earlier copy is waste.
- overwritten: after a file was read, it was written as a whole, or changed and read again as a whole; or a list of
  tasks was written again.
- retried: a call failed, and a later call with the same purpose succeeded.
- duplicate: a definition of a tool, a system message or instructions that the session has twice.

Only what a later item holds, or what is no longer true, is waste. In doubt it is not: a file that was read and then
edited is still needed, because the edits show only what changed. What the user said is never waste.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from workbench.context.tool_lines import server_and_tool
from workbench.lab.waste.finished_calls import FinishedCall, finished_calls
from workbench.log.events import Event, SlotContent, SystemMessage, ToolCall, text_of

WasteKind = Literal["repeated", "overwritten", "retried", "duplicate"]
KINDS: Final[tuple[WasteKind, ...]] = ("repeated", "overwritten", "retried", "duplicate")

MOST_OPEN: Final = 20
"""How many reads of a file, or failures of a kind, can still become waste. Older ones are dropped."""
SOON: Final = 5
"""A changed command is a retry of one that failed if it comes at most this many calls later."""
_LIKE: Final = 0.5
"""A text is another state of the same file if it has at least this share of the lines."""
_CUT = re.compile(
    r"""
    (?:[\[(…<]|\.\.\.)[^\n]{0,60}(?:truncated|omitted|elided|masked|more\ lines)
    | (?:output|content|file|response|result)s?\ (?:is|was|has\ been)\ [^\n]{0,30}(?:truncated|cut|too\ (?:long|large))
    | (?:output|content|file)\ too\ (?:long|large) | warning:\ truncated | unchanged\ since
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""The words of a tool that cut its result. A file that has these words itself is skipped."""
_LINE_NUMBER = re.compile(r"^\s*\d+(?:→|\t|:| ?\| ?)?")
_MOVED = re.compile(r"cd \S+ && ")
_VERSION = re.compile(r"(?<=[a-z])[\d.]+$")
_NEAR: Final = 0.75
"""Two commands differ only in small things if they share at least this share of their words."""
_ANSWERS = frozenset(["grep", "egrep", "fgrep", "rg", "ag", "test", "[", "[[", "diff", "cmp", "which", "pgrep", "find"])
"""Programs whose exit code can mean "nothing found": that is an answer, not a failure."""


class WastedItem(NamedTuple):
    """Something that is no longer needed."""

    kind: WasteKind
    event: int
    """The event to mask or leave out."""
    tool: str
    """The tool that it belongs to; empty where there is none."""
    since: int
    """The event from which on it is waste."""
    by: int
    """The event that holds it now, or replaced it."""
    pair: int = 0
    """If the call is waste as well: its result. Then `event` is the call, and both are left out."""
    until: int = 0
    """The event that ended a definition; 0: none."""


def find_waste(events: Sequence[Event]) -> list[WastedItem]:
    """All waste of a log, in the order of the events."""
    finder, definitions = _CallWaste(), _Definitions()
    for event, done in finished_calls(events):
        if done is not None:
            finder.add_call(done)
        elif isinstance(event.body, ToolCall):
            definitions.used.add(event.body.tool)
        elif isinstance(event.body, SlotContent | SystemMessage):
            definitions.add_definition(event)
    return sorted([*finder.found.values(), *definitions.found()], key=lambda item: item.event)


class _CallWaste:
    def __init__(self) -> None:
        self.found: dict[int, WastedItem] = {}
        """By event."""
        self._copies: dict[tuple[str, str, str], FinishedCall] = {}
        """By tool, arguments and result: the last such call."""
        self._reads: dict[str, list[FinishedCall]] = {}
        """By path: the reads that are not waste so far."""
        self._failed: dict[tuple[str, str], list[tuple[int, FinishedCall]]] = {}
        """By tool, and path or program: the calls that failed, each with its number."""
        self._todos: dict[str, FinishedCall] = {}
        self._calls = 0

    def add_call(self, done: FinishedCall) -> None:
        self._calls += 1
        if done.outcome in ("denied", "cancelled"):
            return
        self._repeat(done)
        if done.outcome == "failed":
            waiting = self._failed.setdefault(_purpose(done), [])
            waiting.append((self._calls, done))
            del waiting[:-MOST_OPEN]
            return
        self._retry(done)
        if done.verb == "todos":
            self._rewrite(done)
        elif done.verb == "write" and done.path:
            for read in self._reads.pop(done.path, ()):
                self._note("overwritten", read, done)
        elif done.verb == "read" and done.path and done.text:
            self._read(done)

    def _note(self, kind: WasteKind, old: FinishedCall, new: FinishedCall, *, with_call: bool = False) -> None:
        event = old.call if with_call else old.result
        made = WastedItem(kind, event, old.tool, new.result, new.result, old.result if with_call else 0)
        self.found.setdefault(event, made)

    def _repeat(self, done: FinishedCall) -> None:
        if done.text:
            key = (done.tool, done.same, done.text)
            if key in self._copies and done.verb != "todos":
                self._note("repeated", self._copies[key], done)
            self._copies[key] = done

    def _read(self, done: FinishedCall) -> None:
        left = []
        for old in self._reads.get(done.path, ()):
            assert old.text is not None
            assert done.text is not None
            if old.result in self.found:
                continue
            if old.text in done.text:
                self._note("repeated", old, done)
            elif done.is_whole_read and _is_newer(old.text, done.text):
                self._note("overwritten", old, done)
            else:
                left.append(old)
        self._reads[done.path] = [*left, done][-MOST_OPEN:]

    def _rewrite(self, done: FinishedCall) -> None:
        """Only for whole lists: a call that merges into the list changes only a part."""
        steps = [each for value in done.values.values() if isinstance(value, list) for each in value]
        if not steps or not all(isinstance(each, dict) for each in steps) or done.values.get("merge"):
            return
        old = self._todos.get(done.tool)
        if old is not None:
            self._note("overwritten", old, done, with_call=True)
        self._todos[done.tool] = done

    def _retry(self, done: FinishedCall) -> None:
        key = _purpose(done)
        left = []
        for at, failed in self._failed.get(key, ()):
            if _is_retry(failed, done, self._calls - at):
                self._note("retried", failed, done)
            else:
                left.append((at, failed))
        if left:
            self._failed[key] = left
        else:
            self._failed.pop(key, None)


def _purpose(done: FinishedCall) -> tuple[str, str]:
    """Only calls with the same purpose are compared."""
    if done.command:
        return done.tool, next(iter(_words(done.command)), "")
    return done.tool, done.path


def _words(command: str) -> list[str]:
    """The words of a command, without a leading `cd`; `python3` counts as `python`."""
    words = _MOVED.sub("", command, count=1).split()
    return [_VERSION.sub("", words[0]), *words[1:]] if words else []


def _is_near(failed: str, done: str) -> bool:
    """Whether two commands differ only in small things."""
    one, other = set(_words(failed)), set(_words(done))
    is_answer = not _ANSWERS.isdisjoint(one | other)
    return not is_answer and len(one & other) >= _NEAR * max(len(one), len(other))


def _is_retry(failed: FinishedCall, done: FinishedCall, calls: int) -> bool:
    """Whether a call succeeded in what an earlier call failed to do."""
    if done.command and not _ANSWERS.isdisjoint(_words(failed.command)[:1]):
        return False
    if failed.same == done.same:
        return True
    if done.command:
        return calls <= SOON and _is_near(failed.command, done.command)
    if done.verb == "read" and done.path:
        return True
    if done.verb in ("edit", "write") and done.path:
        return _share(failed.lines, done.lines) >= _LIKE
    given = {key: value for key, value in failed.values.items() if value not in (None, "")}
    return bool(given) and all(done.values.get(key) == value for key, value in given.items())


def _is_newer(old: str, new: str) -> bool:
    """Whether a text is a later state of the whole file."""
    return not _CUT.search(new) and _share(_bare_lines(old), _bare_lines(new)) >= _LIKE


def _bare_lines(text: str) -> frozenset[str]:
    return frozenset(_LINE_NUMBER.sub("", line).strip() for line in text.splitlines() if line.strip())


def _share(of: frozenset[str], there: frozenset[str]) -> float:
    return len(of & there) / len(of) if of else 0.0


class _FixedText(NamedTuple):
    event: int
    name: str
    key: tuple[str, str]


class _Definitions:
    """Texts and definitions that are part of every request until they are replaced."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        """The names of tools that were called."""
        self._slots: dict[tuple[str, str], _FixedText] = {}
        self._by_key: dict[tuple[str, str], list[_FixedText]] = {}
        self._pairs: list[tuple[_FixedText, _FixedText]] = []
        self._ended: dict[int, int] = {}
        """By event: the event that replaced it."""

    def add_definition(self, event: Event) -> None:
        body = event.body
        if isinstance(body, SlotContent):
            before = self._slots.pop((body.slot, body.name), None)
            if before is not None:
                self._ended[before.event] = event.seq
                self._by_key[before.key].remove(before)
            if not body.text.strip():
                return
            key = _tool_key(body) if body.slot == "tools" else ("", body.text.strip())
            made = self._slots[body.slot, body.name] = _FixedText(event.seq, body.name, key)
        else:
            assert isinstance(body, SystemMessage)
            key = ("", text_of(body.content).strip())
            made = _FixedText(event.seq, "", key)
            if not key[1] or not isinstance(body.content, str):
                return
        earlier = self._by_key.setdefault(key, [])
        if earlier:
            self._pairs.append((earlier[-1], made))
        earlier.append(made)

    def found(self) -> Iterator[WastedItem]:
        """The duplicates. Of two tools the one that is called stays, otherwise the later one."""
        kept: dict[int, _FixedText] = {}
        """By wasted event: the one that stays."""
        for first, new in self._pairs:
            old = first
            while old.event in kept:
                old = kept[old.event]
            is_tool = bool(new.key[0])
            stays, goes = (old, new) if is_tool and old.name in self.used else (new, old)
            if old is new or (is_tool and goes.name in self.used):
                continue
            kept[goes.event] = stays
            ends = [self._ended[each.event] for each in (old, new) if each.event in self._ended]
            tool = goes.name if is_tool else ""
            yield WastedItem("duplicate", goes.event, tool, new.event, stays.event, until=min(ends, default=0))


def _tool_key(body: SlotContent) -> tuple[str, str]:
    """A tool's own name, and the rest of its definition."""
    try:
        value: Any = json.loads(body.text)
    except (ValueError, RecursionError):
        return body.name, body.text
    inner = value.get("function") if isinstance(value, dict) else None
    for each in (value, inner):
        if isinstance(each, dict):
            each.pop("name", None)
    return server_and_tool(body.name)[1], json.dumps(value, sort_keys=True)
