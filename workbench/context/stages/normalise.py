"""Normalise: every call has exactly one result, every result has its call, every id is used once, nothing is empty.

A call without a result gets a synthetic one that says so. A result without a call, or a second result for one call, is
dropped, visibly. Empty content, which providers refuse, is replaced by a short note or left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn

from workbench.context.items import Edit
from workbench.log.events import Content, TextPart

EMPTY_MESSAGE = "(empty message)"
EMPTY_RESULT = "(no output)"
EMPTY_SUMMARY = "(empty summary)"
NO_RESULT = "[no result: the call did not return]"
"""Replaces the missing result of a call, so that the pair is complete."""
OPENING = "[the conversation begins with the assistant]"
OPENING_REASON = "a request begins with a user message; some providers refuse it otherwise"
_ID = re.compile(r"[A-Za-z0-9_-]+")
_NOT_ID = re.compile(r"[^A-Za-z0-9_-]")
UNNAMED_TOOL = "unnamed_tool"
BLANK = "it is empty, and providers refuse empty content"


def is_blank(content: Content) -> bool:
    """Whether a content has neither text nor anything else."""
    if isinstance(content, str):
        return not content or content.isspace()
    return all(isinstance(part, TextPart) and not part.text.strip() for part in content)


def drop_edit(tokens: int, why: str) -> Edit:
    """The edit that leaves out what has no pair or no content."""
    return Edit("normalise", "dropped", tokens, 0, why)


def change_edit(before: int, after: int, why: str) -> Edit:
    """The edit that sends what every provider accepts in place of the original."""
    return Edit("normalise", "sent", before, after, why)


def repair_edit(call_id: str, tokens: int) -> Edit:
    """The edit that adds a result for a call without one."""
    return Edit("normalise", "sent", 0, tokens, f"the call {call_id!r} has no result; this one was added")


def sound_arguments(arguments: str) -> tuple[str, str]:
    """A call's arguments as a JSON object, which some providers require, and what had to be changed."""
    if not arguments or arguments.isspace():
        return "{}", "it has no arguments; sent as {}"
    start = 0 if arguments[0] == "{" else len(arguments) - len(arguments.lstrip(_BLANKS))
    try:
        value, end = _DECODER.raw_decode(arguments, start)
        if isinstance(value, dict) and (end == len(arguments) or not arguments[end:].strip(_BLANKS)):
            return arguments, ""
    except (ValueError, RecursionError):
        pass
    wrapped = json.dumps({"arguments": arguments}, ensure_ascii=False)
    return wrapped, "the arguments are not a JSON object; sent inside one"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
"""`json.loads` has a setup cost above that of a short value, and accepts NaN."""
_BLANKS = " \t\n\r"
"""JSON's white space; Python's `strip` removes more."""


def _is_id(call_id: str) -> bool:
    """Whether every provider takes this id."""
    return (call_id.isidentifier() and call_id.isascii()) or _ID.fullmatch(call_id) is not None


_SETTLED = -1
"""In place of a call: it has its result."""


class Pairs:
    """Which calls wait for a result. A careless transcript may reuse ids; on the wire each is unique."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        """By id in the log: the last call that waits."""
        self._earlier: dict[str, tuple[int, ...]] = {}
        """Calls with the same id before it that wait as well."""
        self._made: set[str] = set()
        """Ids on the wire that are in no call of the log, or in one that was forgotten."""

    def copy(self) -> Pairs:
        made = Pairs()
        made._last, made._earlier, made._made = self._last.copy(), self._earlier.copy(), self._made.copy()
        return made

    def moved(self, places: Mapping[int, int], ids: Iterable[str]) -> Pairs:
        """The pairs for calls with new indexes; other calls are forgotten."""
        made = Pairs()
        for call_id in ids:
            waiting = [places[at] for at in self._waiting(call_id) if at in places]
            made._set_waiting(call_id, waiting)
        made._made = self._made | (self._last.keys() - made._last.keys())
        return made

    def wait(self, call_id: str, at: int) -> None:
        """Note that the call at index `at` waits for its result."""
        self._set_waiting(call_id, (*self._waiting(call_id), at))

    def _waiting(self, call_id: str) -> tuple[int, ...]:
        last = self._last.get(call_id, _SETTLED)
        return () if last == _SETTLED else (*self._earlier.get(call_id, ()), last)

    def _set_waiting(self, call_id: str, waiting: Sequence[int]) -> None:
        self._last[call_id] = waiting[-1] if waiting else _SETTLED
        if len(waiting) > 1:
            self._earlier[call_id] = (*waiting[:-1],)
        else:
            self._earlier.pop(call_id, None)

    def call(self, call_id: str, at: int) -> tuple[str, str]:
        """Like `wait`; returns the call's id on the wire, with a note if that is not its own."""
        last, made = self._last, self._made
        if call_id not in last and call_id not in made and _is_id(call_id):
            last[call_id] = at
            return call_id, ""
        self.wait(call_id, at)
        stem = _NOT_ID.sub("_", call_id) or "call"
        wire, number = stem, 1
        while wire in last or wire in made:
            number += 1
            wire = f"{stem}_{number}"
        made.add(wire)
        if not call_id:
            return wire, f"it has no id; sent as {wire!r}"
        fault = "was used before" if stem == call_id else "is not one that every provider takes"
        return wire, f"the id {call_id!r} {fault}; sent as {wire!r}"

    def add_settled(self, call_id: str) -> bool:
        """Note a call that has its result already; False if it must not have this id on the wire."""
        if call_id in self._last or call_id in self._made or not _is_id(call_id):
            return False
        self._last[call_id] = _SETTLED
        return True

    def take_call(self, call_id: str, is_newest: Callable[[int], bool]) -> tuple[int, str]:
        """The call that a result belongs to: one in the newest unit if any, else the last that waits. It waits no more.

        Returns its index, or -1 and the reason.
        """
        last = self._last.get(call_id)
        if last is None:
            return -1, f"no call has the id {call_id!r}"
        if last == _SETTLED:
            return -1, f"a second result for the call {call_id!r}"
        if call_id not in self._earlier:
            self._last[call_id] = _SETTLED
            return last, ""
        waiting = self._waiting(call_id)
        found = next(filter(is_newest, waiting), last)
        self._set_waiting(call_id, [at for at in waiting if at != found])
        return found, ""
