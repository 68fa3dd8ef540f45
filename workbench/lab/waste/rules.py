"""Waste: what a session holds and is no longer needed, by rules that ask no model. One pass over the log.

- repeated: the same call gave the same again, or a later read of the file has it all; the earlier copy is of no use.
- overwritten: a file that was read was then written anew as a whole, or read again as a whole after a change; a list of
  tasks that was written anew.
- retried: a call failed, and one to the same purpose went well after it.
- duplicate: a definition of a tool, or a text of the system or of instructions, that stands there twice.

Only what is held elsewhere later, or is not true any more, is called waste. In doubt it is none: a file that was read
and edited since is still needed, because the edits say only what changed. What the user said never is.
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
"""So many reads of a file, or failures of a kind, wait for something to take their place; older ones are forgotten."""
SOON: Final = 5
"""A command in other words is a retry of one that failed if it is among so many calls behind it."""
_LIKE: Final = 0.5
"""The share of a text's lines that another has to have to be the same in another state."""
_CUT = re.compile(
    r"""
    (?:[\[(…<]|\.\.\.)[^\n]{0,60}(?:truncated|omitted|elided|masked|more\ lines)
    | (?:output|content|file|response|result)s?\ (?:is|was|has\ been)\ [^\n]{0,30}(?:truncated|cut|too\ (?:long|large))
    | (?:output|content|file)\ too\ (?:long|large) | warning:\ truncated | unchanged\ since
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Words of a tool that did not give all; a file that has them itself is passed over."""
_LINE_NUMBER = re.compile(r"^\s*\d+(?:→|\t|:| ?\| ?)?")
_MOVED = re.compile(r"cd \S+ && ")
_VERSION = re.compile(r"(?<=[a-z])[\d.]+$")
_NEAR: Final = 0.75
"""The share of the words that two commands have to have in common to be the same but for small changes."""
_ANSWERS = frozenset(["grep", "egrep", "fgrep", "rg", "ag", "test", "[", "[[", "diff", "cmp", "which", "pgrep", "find"])
"""Programs that say no with their exit code: that nothing was found is an answer, not a failure."""


class WastedItem(NamedTuple):
    """Something that is no longer needed."""

    kind: WasteKind
    event: int
    """What is to be masked, or left out."""
    tool: str
    """Whose it is; empty where it is no tool's."""
    since: int
    """The event from which on it is of no use."""
    by: int
    """The event that holds it now, or took its place."""
    pair: int = 0
    """Where the call is no longer needed either, its result: then `event` is the call, and both are left out."""
    until: int = 0
    """Of a definition: the event that ended it; 0: none."""


def find_waste(events: Sequence[Event]) -> list[WastedItem]:
    """All waste of a log, in the order of its events."""
    finder, definitions = _CallWaste(), _Definitions()
    for event, done in finished_calls(events):
        if done is not None:
            finder.take(done)
        elif isinstance(event.body, ToolCall):
            definitions.used.add(event.body.tool)
        elif isinstance(event.body, SlotContent | SystemMessage):
            definitions.take(event)
    return sorted([*finder.found.values(), *definitions.found()], key=lambda item: item.event)


class _CallWaste:
    def __init__(self) -> None:
        self.found: dict[int, WastedItem] = {}
        """By event."""
        self._copies: dict[tuple[str, str, str], FinishedCall] = {}
        """By tool, arguments and result: the last that gave it."""
        self._reads: dict[str, list[FinishedCall]] = {}
        """By path: the reads that nothing took the place of."""
        self._failed: dict[tuple[str, str], list[tuple[int, FinishedCall]]] = {}
        """By tool, and path or program: what failed, and how many calls had been before."""
        self._todos: dict[str, FinishedCall] = {}
        self._calls = 0

    def take(self, done: FinishedCall) -> None:
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
        """Only lists that are whole: a call that merges into the list changes a part of it."""
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
    """What two calls have to have in common before they are compared."""
    if done.command:
        return done.tool, next(iter(_words(done.command)), "")
    return done.tool, done.path


def _words(command: str) -> list[str]:
    """A command's words, without the folder it goes to; `python3` is `python`."""
    words = _MOVED.sub("", command, count=1).split()
    return [_VERSION.sub("", words[0]), *words[1:]] if words else []


def _is_near(failed: str, done: str) -> bool:
    """Whether a command is another but for small changes."""
    one, other = set(_words(failed)), set(_words(done))
    is_answer = not _ANSWERS.isdisjoint(one | other)
    return not is_answer and len(one & other) >= _NEAR * max(len(one), len(other))


def _is_retry(failed: FinishedCall, done: FinishedCall, calls: int) -> bool:
    """Whether a call that went well did what one had failed to do."""
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
    """Whether a text is another state of the same file, and all of it."""
    return not _CUT.search(new) and _share(_bare_lines(old), _bare_lines(new)) >= _LIKE


def _bare_lines(text: str) -> frozenset[str]:
    return frozenset(_LINE_NUMBER.sub("", line).strip() for line in text.splitlines() if line.strip())


def _share(of: frozenset[str], there: frozenset[str]) -> float:
    return len(of & there) / len(of) if of else 0.0


class _Standing(NamedTuple):
    event: int
    name: str
    key: tuple[str, str]


class _Definitions:
    """What stands in every request, while it stands."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        """The tools that were called."""
        self._slots: dict[tuple[str, str], _Standing] = {}
        self._by_key: dict[tuple[str, str], list[_Standing]] = {}
        self._pairs: list[tuple[_Standing, _Standing]] = []
        self._ended: dict[int, int] = {}
        """By event: the one that ended it."""

    def take(self, event: Event) -> None:
        body = event.body
        if isinstance(body, SlotContent):
            before = self._slots.pop((body.slot, body.name), None)
            if before is not None:
                self._ended[before.event] = event.seq
                self._by_key[before.key].remove(before)
            if not body.text.strip():
                return
            key = _tool_key(body) if body.slot == "tools" else ("", body.text.strip())
            made = self._slots[body.slot, body.name] = _Standing(event.seq, body.name, key)
        else:
            assert isinstance(body, SystemMessage)
            key = ("", text_of(body.content).strip())
            made = _Standing(event.seq, "", key)
            if not key[1] or not isinstance(body.content, str):
                return
        standing = self._by_key.setdefault(key, [])
        if standing:
            self._pairs.append((standing[-1], made))
        standing.append(made)

    def found(self) -> Iterator[WastedItem]:
        """Of two tools the one that is called stays; else the later."""
        kept: dict[int, _Standing] = {}
        """By what is waste: what stays in its place."""
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
    """A tool's own name, and all that its definition says beside it."""
    try:
        value: Any = json.loads(body.text)
    except (ValueError, RecursionError):
        return body.name, body.text
    inner = value.get("function") if isinstance(value, dict) else None
    for each in (value, inner):
        if isinstance(each, dict):
            each.pop("name", None)
    return server_and_tool(body.name)[1], json.dumps(value, sort_keys=True)
