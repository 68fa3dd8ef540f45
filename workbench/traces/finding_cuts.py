"""Finds out whether an agent cut a text before it sent it, by the words of `agent_cuts`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Final, NamedTuple

from workbench.log.events import AgentCut
from workbench.traces.agent_cuts import AGENT_CUTS
from workbench.traces.cut_words import CutWords
from workbench.wire.values import text_in

_END = 2_000
"""Characters at the end of a text that are searched for a note."""
IN_MESSAGES: Final = frozenset({"SWE-agent", "mini-swe-agent"})
"""Agents that send results of tools as user messages."""
_GROUP_NAME = re.compile(r"\(\?P<\w+>")
_NEVER: Final = "(?!)"
_IN_JSON: Final = frozenset({"Codex", "Cline"})
"""Agents that write results of tools into JSON, in some versions."""


def cut_in(agent: str, text: str, tool: str = "", arguments: str = "") -> AgentCut | None:
    """What an agent did to a text before it sent it; None if nothing, or if the text does not show it.

    `tool`, `arguments`: the call that the text is the result of.
    """
    known = _finders(agent)
    if not known.all or not text:
        return None
    for each_text in (text, *_inside_json(text)) if agent in _IN_JSON else (text,):
        for words, find in known.all if known.may_begin(each_text) else known.elsewhere:
            fits = not words.tools or tool in words.tools
            if fits and (found := find(each_text)) is not None and not _was_asked(words, arguments):
                return AgentCut(words.state, agent, *_size_words(found))
    return None


def _was_asked(known: CutWords, arguments: str) -> bool:
    """Whether the model itself asked for only a part."""
    if not known.unless or not arguments:
        return False
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    inside = [each for entry in value.values() if isinstance(entry, list) for each in entry if isinstance(each, dict)]
    return any(each.get(name) is not None for each in (value, *inside) for name in known.unless)


def _inside_json(text: str) -> Iterator[str]:
    """The outputs in a result that is JSON."""
    if not text.startswith(("{", "[")):
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    for each in value if isinstance(value, list) else [value]:
        yield from filter(None, (text_in(each, key) for key in ("output", "result")))


Finder = Callable[[str], re.Match[str] | None]


class _Finders(NamedTuple):
    """The functions that find the cuts of an agent."""

    all: list[tuple[CutWords, Finder]]
    elsewhere: list[tuple[CutWords, Finder]]
    """Those whose words need not be at the start of a text."""
    may_begin: Finder
    """Finds whether a text may begin with the words of the others: one search for all of them."""


@cache
def _finders(agent: str) -> _Finders:
    """How the cuts of an agent are found."""
    known = AGENT_CUTS.get(agent, ())
    # A pattern that names one of its groups again cannot be a part of another.
    first = [words for words in known if words.place in ("start", "whole") and "(?P=" not in words.pattern]
    begin = "|".join(_GROUP_NAME.sub("(?:", f"(?:{words.pattern})") for words in first)
    return _Finders(
        [(words, _finder(words)) for words in known],
        [(words, _finder(words)) for words in known if words not in first],
        re.compile(begin or _NEVER, re.DOTALL).match,
    )


def _finder(known: CutWords) -> Callable[[str], re.Match[str] | None]:
    pattern = re.compile(known.pattern, re.DOTALL)
    match known.place:
        case "start":
            return pattern.match
        case "whole":
            return pattern.fullmatch
        case "end":
            return lambda text: pattern.search(text, max(0, len(text) - _END))
        case "middle":
            return partial(_in_the_middle, known, pattern)


def _in_the_middle(known: CutWords, pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Find the words between two halves of about the same length: elsewhere they are part of the text."""
    if known.inside not in text:
        return None
    ahead = re.match(known.before, text) if known.before else None
    first = ahead.end() if ahead is not None else 0
    behind = re.compile(known.behind).search(text, max(0, len(text) - _END)) if known.behind else None
    last = behind.start() if behind is not None else len(text)
    for found in pattern.finditer(text, first, last):
        before, after = text[first : found.start()], text[found.end() : last]
        apart = min(abs(len(before) - len(after)), abs(len(before.encode()) - len(after.encode())))
        if before and after and apart <= known.slack:
            return found
    return None


def _size_words(found: re.Match[str]) -> tuple[str, int]:
    """The size that an agent reports, in words, and the original's tokens if it counted them."""
    groups = {name: size for name, size in found.groupdict().items() if size}
    for name, size in sorted(groups.items(), key=lambda each: each[0] != "tokens"):
        digits = re.sub(r"[,.]", "", size)
        if name == "size":
            return f"{size} before", 0
        if digits.isascii() and digits.isdecimal() and len(digits) <= 15:
            unit, number = name.removeprefix("left_").replace("chars", "characters"), int(digits)
            rest = "left out" if name.startswith("left_") else "before"
            return f"{number:,} {unit} {rest}", number if name == "tokens" else 0
    return "", 0
