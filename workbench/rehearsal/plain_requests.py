"""Plain requests in English: "read FILE", "list FOLDER", "search for X in Y", "run COMMAND", "write FILE: ..." ...

A message may contain several, which are done at the same time; "then" delays what follows it until the rest is done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from workbench.config.patterns import late_pattern
from workbench.wire.own_words import QUOTED, unquoted

Kind = Literal["read", "list", "search", "run", "write", "edit", "call"]


class PlainRequest(NamedTuple):
    """One thing the user asked for."""

    kind: Kind
    values: dict[str, str]
    """By role: path, pattern, command, content, old, new; for a call: tool and arguments."""


LOOKED_AT = 20_000
"""Characters of a message that are searched for requests; the rest is pasted material."""

_VERBS = (
    "read|show|open|view|cat|print|list|ls|search|grep|look|find|run|execute|"
    "write|create|save|edit|change|replace|call|use"
)
_TALK = "explain|describe|tell|say|summari[sz]e|report|answer|comment"
"""Requests that need no tool: they end the request before them."""
_LATER = r"then|after that|afterwards|finally|next"
_GLUE = (
    rf"and|also|please|now|{_LATER}|(?:can|could|would|will) you|let us|let's|"
    r"i want you to|i would like you to|i'd like you to|go and"
)
_START = late_pattern(rf"\s*(?:(?:{_GLUE}|hi|hello|hey|ok|okay|yes|sure|first)\b[,.!:]?\s+)*", re.IGNORECASE)
_BREAK = late_pattern(
    # A mark counts only directly after a word: the dot in `git add . and list src` belongs to the command.
    rf"(?:(?<=\S)[;,.!?]+)?(?P<glue>(?:\s+(?:{_GLUE})\b,?)*)\s+"
    rf"(?=(?:{_VERBS})\s|(?:{_TALK})(?:[\s.,!?]|$))",
    re.IGNORECASE,
)
_VERB = late_pattern(rf"\b(?:{_VERBS})\b", re.IGNORECASE)
_TAIL = late_pattern(rf"[;,.!?]*(?:\s+(?:{_GLUE})\b,?)*\s*$", re.IGNORECASE)
"""Words that lead to the next request."""

_BULLET = late_pattern(r"^[ \t]*(?:[-*•]|\d+[.)])[ \t]+", re.MULTILINE)
_FENCE = late_pattern(r"\s*```[^\n]*\n(?P<text>.*?)\n?```[^\S\n]*", re.DOTALL)
_HELD = late_pattern("\0(\\d+)\0")
"""A placeholder for a quoted part, which keeps its content from looking like a request."""

_FILE = "[^\\s:,;\0]+|\0\\d+\0"
_WRITE = late_pattern(
    rf"(?:^|(?<=[\s,;.]))(?:write|create|save)\s+(?:to\s+|in\s+)?(?:(?:a|the)\s+)?(?:file\s+)?(?P<path>{_FILE})"
    r"(?:\s+with)?\s*:[^\S\n]*\n?",
    re.IGNORECASE,
)


def request_rounds(text: str) -> list[list[PlainRequest]]:
    """The requests of a message, round by round."""
    held: list[str] = []

    def hold(found: re.Match[str]) -> str:
        held.append(found.group())
        return f"\0{len(held) - 1}\0"

    def back(part: str) -> str:
        return _HELD.sub(lambda found: held[int(found.group(1))], part)

    found: list[list[PlainRequest]] = [[]]
    text = text.replace("\0", "").replace("\r\n", "\n")
    while text:
        writing = _WRITE.search(text, 0, LOOKED_AT)
        before = text[: writing.start() if writing else LOOKED_AT]
        later = bool(writing and re.search(rf"\b(?:{_LATER})\W*$", before, re.IGNORECASE))
        plain = QUOTED.sub(hold, _TAIL.sub("", before) if writing else before)
        for put_off, part in _requests(plain):
            _add(found, put_off, [PlainRequest(wish.kind, _restored(wish.values, back)) for wish in _wishes(part)])
        if writing is None:
            break
        content, text = _content(text[writing.end() :])
        _add(found, later, [PlainRequest("write", {"path": unquoted(writing["path"]), "content": content})])
    return [each for each in found if each]


def _restored(values: dict[str, str], back: Callable[[str], str]) -> dict[str, str]:
    return {role: back(value) if role == "arguments" else unquoted(back(value)) for role, value in values.items()}


def _add(found: list[list[PlainRequest]], later: bool, wishes: list[PlainRequest]) -> None:
    if later and wishes and found[-1]:
        found.append([])
    known = [wish for each in found for wish in each]
    found[-1] += [wish for number, wish in enumerate(wishes) if wish not in known and wish not in wishes[:number]]


def _content(rest: str) -> tuple[str, str]:
    """The content to write, and the text after it: a fenced block, a quoted line, or the whole rest."""
    fence = _FENCE.match(rest)
    if fence:
        return fence["text"] + "\n", rest[fence.end() :]
    quoted = QUOTED.match(rest)
    if quoted:
        return quoted.group()[1:-1], rest[quoted.end() :]
    return rest.rstrip() + "\n" if "\n" in rest.strip() else rest.strip(), ""


def _requests(text: str) -> Iterator[tuple[bool, str]]:
    """The parts that may be requests, and whether each has to wait for those before it."""
    text = _BULLET.sub("\n", text)
    for line in text.split("\n"):
        if not _VERB.search(line):
            continue
        begun = _START.match(line)
        at = begun.end() if begun else 0
        later = bool(re.search(rf"\b(?:{_LATER})\b", line[:at], re.IGNORECASE))
        for found in _BREAK.finditer(line, at):
            if not found.group().strip():
                continue
            yield later, line[at : found.start()]
            later = bool(re.search(rf"\b(?:{_LATER})\b", found["glue"], re.IGNORECASE))
            at = found.end()
        yield later, line[at:]


# One request

_READ = late_pattern(
    r"(?P<verb>read|show|open|view|cat|print)\s+(?:me\s+)?(?:the\s+)?(?:contents?\s+of\s+)?(?:the\s+)?(?:files?\s+)?(?P<what>.+)",
    re.IGNORECASE,
)
_LIST = late_pattern(
    r"(?:list|ls|show)\s+(?:me\s+)?(?P<all>(?:all\s+)?(?:of\s+)?(?:the\s+)?(?:files|contents|entries|everything)\b\s*"
    r"(?:(?:in|of|under|inside)\s+)?)?(?:the\s+)?(?:folders?\s+|director(?:y|ies)\s+)?(?P<what>.*)",
    re.IGNORECASE,
)
_SEARCH_IN = late_pattern(
    r"(?:search|grep|look)\s+(?:in\s+|through\s+)?(?P<where>\S+)\s+for\s+(?P<what>.+)", re.IGNORECASE
)
_SEARCH = late_pattern(
    r"(?:(?:search|grep|look)(?:\s+for)?|find)\s+(?P<what>.+?)(?:\s+(?:in|under|inside|within)\s+(?P<where>.+))?",
    re.IGNORECASE,
)
_RUN = late_pattern(r"(?:run|execute)\s+(?:(?:the\s+)?command:?\s+)?(?P<what>.+)", re.IGNORECASE | re.DOTALL)
_EDIT = late_pattern(
    rf"(?:edit|change)\s+(?:the\s+)?(?:file\s+)?(?P<path>{_FILE})\s*:\s*(?:replace\s+)?(?P<old>.+?)\s+(?:with|by|to)\s+(?P<new>.+)",
    re.IGNORECASE,
)
_REPLACE = late_pattern(
    rf"replace\s+(?P<old>.+?)\s+(?:with|by)\s+(?P<new>.+)\s+in\s+(?:the\s+)?(?:file\s+)?(?P<path>{_FILE})",
    re.IGNORECASE,
)
_SAVE = late_pattern(
    rf"(?:write|save)\s+(?P<content>\0\d+\0)\s+(?:to|in|into)\s+(?:the\s+)?(?:file\s+)?(?P<path>{_FILE})", re.I
)
_CHANGING = ("edit", "change", "replace", "write", "save")
"""The verbs of the three patterns before this, which take long to compile."""
_CALL = late_pattern(
    r"(?:call|use)\s+(?:the\s+)?(?:tool\s+)?(?P<tool>[\w.-]+)(?:\s+with)?\s*(?P<arguments>\{.*\})?", re.I
)

_HERE = ("", ".", "here", "this folder", "this directory", "the current folder", "current folder", "everywhere")
_PROJECT = (*_HERE, "the project", "all files", "the files", "the code", "this project", "the repository")
_END = late_pattern(r"(?:[,\s]+(?:please|for me|now|thanks|thank you))*[\s.!?;,]*$", re.IGNORECASE)
_BETWEEN = late_pattern(r"\s*,\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)


def _wishes(part: str) -> list[PlainRequest]:
    """The requests of one part; empty if it contains none. Quoted parts are still placeholders."""
    line = part.strip()
    for match in (_edit, _read, _list, _search, _run, _call):
        found = match(line)
        if found:
            return found
    return []


def _read(line: str) -> list[PlainRequest]:
    found = _READ.fullmatch(_ended(line))
    if not found:
        return []
    names = _BETWEEN.split(found["what"])
    plain = found["verb"].lower() in ("read", "cat") and re.fullmatch(r"[\w-]+", found["what"]) is not None
    if not plain and not all(_is_path(name) for name in names):
        return []
    return [PlainRequest("read", {"path": name}) for name in names]


def _is_path(word: str) -> bool:
    """Whether this is a single word with a dot or a slash inside, or in quotes."""
    return bool(_HELD.fullmatch(word)) or bool(re.fullmatch(r"[^\s\0]*\w[^\s\0]*", word) and re.search(r"[./\\]", word))


def _list(line: str) -> list[PlainRequest]:
    if line.lower() in ("ls", "list"):
        return [PlainRequest("list", {"path": "."})]
    found = _LIST.fullmatch(_ended(line, keep_dot=True))
    if not found or (line.lower().startswith("show") and not found["all"]):
        return []
    what = re.sub(r"(?:^|\s+)(?:folders?|director(?:y|ies))$", "", found["what"])
    if what.lower() in _PROJECT:
        return [PlainRequest("list", {"path": "."})]
    names = _BETWEEN.split(what)
    return (
        [PlainRequest("list", {"path": name}) for name in names]
        if all(len(name.split()) == 1 for name in names)
        else []
    )


def _search(line: str) -> list[PlainRequest]:
    line = _ended(line, keep_dot=True)
    found = _SEARCH_IN.fullmatch(line) or _SEARCH.fullmatch(line)
    if not found or found["what"].lower() in ("for", "at"):
        return []
    where = (found["where"] or "").strip()
    if line.lower().startswith(("find", "look")) and not (_HELD.search(found["what"]) or where):
        return []
    where = re.sub(r"^(?:the\s+)?(?:folder|directory|file)\s+|^the\s+", "", where, flags=re.IGNORECASE)
    if len(where.split()) > 1 and where.lower() not in _PROJECT:
        return []
    path = "." if f"the {where.lower()}" in _PROJECT or where.lower() in _PROJECT else where
    return [PlainRequest("search", {"pattern": found["what"], "path": path})]


def _run(line: str) -> list[PlainRequest]:
    found = _RUN.fullmatch(line)
    if not found or re.match(r"(?:the|all|it|this|that|your|my)\b", found["what"], re.IGNORECASE):
        return []
    held = _HELD.match(found["what"])
    if held and not _ended(found["what"][held.end() :]):
        return [PlainRequest("run", {"command": held.group()})]
    return [PlainRequest("run", {"command": re.sub(r"(?<=\w)[.!?]$", "", found["what"].strip())})]


def _edit(line: str) -> list[PlainRequest]:
    if not line.casefold().startswith(_CHANGING):
        return []
    found = _EDIT.fullmatch(line) or _REPLACE.fullmatch(_ended(line))
    if found:
        return [PlainRequest("edit", {role: found[role] for role in ("path", "old", "new")})]
    found = _SAVE.fullmatch(_ended(line))
    return [PlainRequest("write", {role: found[role] for role in ("path", "content")})] if found else []


def _call(line: str) -> list[PlainRequest]:
    found = _CALL.fullmatch(line)
    return [PlainRequest("call", {"tool": found["tool"], "arguments": found["arguments"] or "{}"})] if found else []


def _ended(line: str, keep_dot: bool = False) -> str:
    """The line without polite words and marks at the end."""
    kept = _END.sub("", line)
    return line if keep_dot and re.search(r"(?:^|[\s/])\.{1,2}$", line) else kept
