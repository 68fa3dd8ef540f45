"""Summaries by extraction: goals, decisions, files, commands, errors and open questions, picked line by line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from workbench.compaction.actions import call_arguments
from workbench.compaction.source import both_ends
from workbench.config.patterns import late_pattern
from workbench.config.values import replace
from workbench.rehearsal.turns import asked_in, has_results, own_words_in, turn_of
from workbench.rehearsal.usage import rehearsal_tokenizer
from workbench.wire.checked_requests import CheckedMessage, CheckedRequest

ITEMS = 10
"""The most lines of a section: the first goals, and the newest lines of all other sections."""

WIDTH = 200
"""The most characters of a line."""

READ = 2000
"""Characters of a line that are read; longer ones are data."""

PRINTED = 4000
"""Characters of a tool's result that are read: from its two ends."""

MOST = 1500
"""The most tokens of a summary, by default."""

ASKED = 10_000
"""Characters at both ends of a prompt that are searched for the format of the answer."""

HEAD = "Summary by the rehearsal model, extracted by rule, without AI."

SECTIONS = ("Goals", "Decisions", "Files", "Commands", "Errors", "Open questions")

_TALK = r"(?:conversation|session|transcript|chat|history|dialogue|discussion|exchange|messages|events|work|task)"
_ASKED = late_pattern(
    rf"\bsummari[sz]e\b[^.\n]{{0,80}}\b{_TALK}\b"
    rf"|\b(?:write|create|produce|provide|make|give|update|generate|output)\b[^.\n]{{0,60}}\bsummary\b(?s:.{{0,400}})\b{_TALK}\b"
    rf"|\b{_TALK}\b[^.\n]{{0,80}}\b(?:should|must|will) be summari[sz]ed\b"
    r"|\bcontext checkpoint compaction\b|\bhand-?off summary\b"
    r"|\bcompact (?:this|the|our) (?:conversation|session|transcript|chat|history)\b"
    rf"|\byour (?:task|job) is to (?:create|write|produce) a (?:\w+ ){{0,3}}summary\b"
    rf"|\byou summari[sz]e\b[^.\n]{{0,60}}\b{_TALK}s?\b",
    re.IGNORECASE,
)
_ASKING = ("summar", "compact")
"""Every such prompt contains one of these."""
_LIMIT = late_pattern(
    r"(?:under|at most|within|below|up to|no more than|fewer than|less than|maximum of)"
    r"\s+(?P<most>\d[\d,_]*)\s+(?:tokens|words)",
    re.IGNORECASE,
)
_QUOTED_LINE = late_pattern(
    r"^\W*(?P<role>user|human|assistant|ai|model|tool|system)\b[^:\n\]>]{0,40}[:\]>]\**\s*", re.IGNORECASE
)
_FRAME = late_pattern(r"<(summary|state_snapshot)>")
"""Tags that clients expect in the answer, and name in the prompt."""
_FRAMES = ("earlier_summary", "record")
"""Tags around the text to summarise in the program's own requests; their sentences around it do not belong to it."""
_ENTRY = late_pattern(
    r"\[(?<![^\n]\[)\S{1,200} (?P<who>user|assistant|system|developer|call|result)\b[^\]\n]{0,200}\]$", re.MULTILINE
)
"""The beginning of an entry in a record: its id and its author. A pattern that begins with a literal is fast."""
_HEADING = late_pattern(r"#{1,6}\s+(\w+)")
_UNDER = {
    "goals": "Goals",
    "decisions": "Decisions",
    "facts": "Decisions",
    "files": "Files",
    "commands": "Commands",
    "tool": "Commands",
    "errors": "Errors",
    "open": "Open questions",
}
"""Sections by the first word of a heading: summaries by other programs have their own headings."""
_BULLET = late_pattern(r"\s*(?:[-*+•] +)+")
_DECISION = late_pattern(
    r"\b(?:decided?|decision|chose|chosen|agreed|we(?:'ll| will) use|let's use|instead of|"
    r"must|never|always|prefer|only use)\b",
    re.IGNORECASE,
)
_DECIDING = ("deci", "chose", "agreed", " use", "instead of", "must", "never", "always", "prefer")
"""Every decision contains one of these."""
_ERROR = late_pattern(r"\b(?:\w*Error|\w*Exception|errors?|failed|failure|fatal|traceback|denied|not found)\b")
_SIGNS = ("Error", "Exception", "error", "fail", "fatal", "traceback", "denied", "not found", "$", ">>>", "%")
"""Every error and every command contains one of these: most tool output contains none, and that is a quick check."""
_FILE = late_pattern(
    r"(?<![\w/.:-])(?:[\w.-]+/)+[\w.-]*\w|(?<![\w/.:@-])[\w-]+\.(?:[a-z]{1,4}|toml|json|yaml|lock)\b(?![\w(])"
)
_PERHAPS_FILE = late_pattern(r"/|\.[a-z]")
"""Every file name matches this."""
RECORD = 100_000
"""Characters of a record that are read, from its two ends: a summary has room for the first and the last entries."""
_PROMPT = late_pattern(r"^\s*(?:\$|>>>|%)\s+(?P<command>\S.*)$")
_ROLES = {"developer": "system", "result": "tool"}
_COMMANDS = ("command", "cmd", "script")


def _has(text: str, signs: tuple[str, ...]) -> bool:
    # A loop takes half the time of `any`.
    for sign in signs:  # noqa: SIM110
        if sign in text:
            return True
    return False


def is_summary_request(request: CheckedRequest) -> bool:
    """Whether the system message or the last user message asks for a summary of the conversation.

    If tools are offered, the system message belongs to an agent and may mention summaries without asking for one.
    """
    if has_results(request):
        return False
    system = [message.text for message in request.messages if message.role in ("system", "developer")]
    system = [] if request.tools else system
    return any(asks_for_summary(text) for text in (*system[:1], asked_in(request)))


def asks_for_summary(text: str) -> bool:
    """Whether a prompt asks for a summary of a conversation."""
    ends = (text[:4000], text[-2000:])
    return any(_has(end.casefold(), _ASKING) and _ASKED.search(end) is not None for end in ends)


def summarise(request: CheckedRequest) -> str:
    """The summary, within the requested size."""
    found: dict[str, dict[str, None]] = {name: {} for name in SECTIONS}
    seen: dict[str, set[str]] = {name: set() for name in SECTIONS}
    for message in _given(request):
        for section, line in _lines(message):
            if line not in seen[section]:  # the same files appear again and again
                seen[section].add(line)
                line = " ".join(line.split())
                line = line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
                if line:
                    found[section].setdefault(line)
    written = _written({name: list(lines) for name, lines in found.items()}, _most(request), request.model)
    prompt = _around(asked_in(request))
    frame = _FRAME.search(prompt[:ASKED]) or _FRAME.search(prompt[-ASKED:])
    return f"<{frame[1]}>\n{written}\n</{frame[1]}>" if frame else written


def _given(request: CheckedRequest) -> list[CheckedMessage]:
    """What to summarise: the messages before the prompt, or the text inside the prompt if there are none."""
    talk = [message for message in request.messages if message.role not in ("system", "developer")]
    turn = [message for message in turn_of(request) if message.role not in ("system", "developer")]
    before = [_as_written(message) for message in (talk[: -len(turn)] if turn else talk)]
    if any(message.text or message.calls for message in before):
        return before
    found = []
    for message in talk:
        asked = _ASKED.search(message.text)
        # The prompt's own sentences do not belong to the conversation, which begins after the paragraph that asks.
        rest = message.text[asked.end() :].partition("\n")[2] if asked else message.text
        rest = "\n".join(rest[start:end] for start, end in _framed(rest)) or rest
        found.append(CheckedMessage(message.role, rest, message.calls, message.call_id, message.is_error))
    return found


def _as_written(message: CheckedMessage) -> CheckedMessage:
    """A message without the text that a client adds to the user's words."""
    return replace(message, text="\n".join(own_words_in(message))) if message.role == "user" else message


def _framed(text: str) -> Iterator[tuple[int, int]]:
    """Where the texts in frames begin and end. They are long: a pattern would take ten times as long to find them."""
    at = 0
    while starts := [(found, tag) for tag in _FRAMES if (found := text.find(f"<{tag}>\n", at)) >= 0]:
        found, tag = min(starts)
        start = found + len(tag) + 3
        end = text.find(f"\n</{tag}>", start)
        at = start
        if end >= 0:
            yield start, end
            at = end + len(tag) + 4


def _around(text: str) -> str:
    """A text without its framed parts."""
    parts, at = [], 0
    for start, end in _framed(text):
        parts.append(text[at:start])
        at = end
    return "".join([*parts, text[at:]])


def _most(request: CheckedRequest) -> int:
    """How many tokens the summary may have: the limits of the prompt, of the request, and our own."""
    bounds = [MOST]
    prompts = [message for message in request.messages if message.role in ("system", "developer")]
    for message in (*prompts, *turn_of(request)[:1]):
        for found in _LIMIT.finditer(_around(message.text)):
            bounds.append(int(re.sub(r"\D", "", found["most"])))
    if request.max_tokens:
        bounds.append(request.max_tokens)
    return max(1, min(bounds))


def _lines(message: CheckedMessage) -> Iterator[tuple[str, str]]:
    """The lines of a message that belong in a section."""
    for call in message.calls:
        yield from _call(call.arguments)
    for who, text in _entries(message):
        if who == "call":
            for line in text.split("\n"):
                if "{" in line:
                    yield from _call(line[:READ])
        elif who == "tool":
            yield from _printed(text)
        else:
            yield from _spoken(who, text)


def _entries(message: CheckedMessage) -> Iterator[tuple[str, str]]:
    """Authors and their texts: the entries of a record, or the message itself."""
    who, at, text = message.role, 0, both_ends(message.text, RECORD)
    for entry in _ENTRY.finditer(text):
        yield who, text[at : entry.start()]
        who, at = _ROLES.get(entry["who"], entry["who"]), entry.end()
    yield who, text[at:]


def _printed(text: str) -> Iterator[tuple[str, str]]:
    """The commands and errors in a tool's result, from its two ends."""
    text = both_ends(text, PRINTED)
    if _has(text, _SIGNS):
        for line in text.split("\n"):
            if _has(line, _SIGNS):
                yield from _line("tool", line[:READ])


def _spoken(role: str, text: str) -> Iterator[tuple[str, str]]:
    """The lines of a message, or of an earlier summary."""
    section = ""
    for line in text.split("\n"):
        if not line:
            continue
        line = line[:READ]
        heading = _HEADING.match(line) if line.startswith("#") else None
        if heading:
            section = _UNDER.get(heading[1].lower(), "")
            if section:
                continue
            line = line.lstrip("# ")
        bullet = _BULLET.match(line)
        if bullet:
            line = line[bullet.end() :]
            if section:
                yield section, line
                continue
        quoted = _QUOTED_LINE.match(line)
        if quoted:
            role, section = quoted["role"].lower(), ""
            line = line[quoted.end() :]
        if line.strip() and line != HEAD:
            yield from _line("user" if role == "human" else role, line)


def _call(arguments: str) -> Iterator[tuple[str, str]]:
    for name, value in call_arguments(arguments).items():
        if name in _COMMANDS:
            yield "Commands", value if isinstance(value, str) else json.dumps(value)
        elif isinstance(value, str) and _FILE.fullmatch(value):
            yield "Files", value


def _line(role: str, line: str) -> Iterator[tuple[str, str]]:
    prompt = _PROMPT.match(line)
    if prompt:
        yield "Commands", prompt["command"]
    if role == "user":
        yield "Open questions" if line.rstrip().endswith("?") else "Goals", line
    elif role in ("assistant", "ai", "model") and line.rstrip().endswith("?"):
        yield "Open questions", line
    if role != "tool" and _has(line.lower(), _DECIDING) and _DECISION.search(line):
        yield "Decisions", line
    if role != "user" and (role == "tool" or _has(line, _SIGNS)) and _ERROR.search(line):
        yield "Errors", line
    if role != "tool" and _PERHAPS_FILE.search(line):
        for found in _FILE.finditer(line):
            yield "Files", found.group()


def _written(found: Mapping[str, list[str]], most: int, model: str) -> str:
    """The sections, shortened until they fit."""
    count = rehearsal_tokenizer(model)
    text = HEAD
    for items in range(ITEMS, 0, -1):
        parts = [HEAD]
        for name, lines in found.items():
            kept = lines[:items] if name == "Goals" else lines[-items:]
            if kept:
                parts.append(f"## {name}\n" + "\n".join(f"- {line}" for line in kept))
        text = (
            "\n\n".join(parts) if len(parts) > 1 else f"{HEAD}\n\nNothing in it has the form of a goal or a decision."
        )
        if count.count(text).tokens <= most:
            return text
    return text[: count.head(text, most)]
