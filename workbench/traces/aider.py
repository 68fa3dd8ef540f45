"""aider: its history, `.aider.chat.history.md`.

- Markdown: `# aider chat started at TIME` begins a chat, `#### ` a line that the user typed, `> ` a line by aider;
  these end with two spaces. Everything else is the model's. Each chat is a conversation.
- `> Tokens: 730 sent, 27 received.` reports on the reply before it; above a thousand it is rounded, as in `12k`.
- A line that begins with `/` or `!` is a command, which no model sees. One that clears the history excludes all before.
- A chat with `Restored previous conversation history` begins with the messages of all chats before it, spaced as aider
  reads them from this file, commands included.
- Exact: what was typed and answered. Missing: system prompt, examples, the map of the repository, the files in the
  chat, reminders after the last message, summaries of a long history, and what is sent back when an edit fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from workbench.config.errors import WrongCall
from workbench.config.text import without_surrogates
from workbench.log.events import AssistantMessage, Override, UserMessage
from workbench.traces import format_names
from workbench.traces.building import Builder, Recording

NAME = format_names.AIDER
_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_MODEL = re.compile(r"(?:Main model|Model): (\S+) with ")
_TOKENS = re.compile(
    r"Tokens: (?P<sent>[\d.]+k?) sent(?:, (?P<written>[\d.]+k?) cache write)?(?:, (?P<cached>[\d.]+k?) cache hit)?,"
    r" (?P<received>[\d.]+k?) received\.(?: Cost: \$(?P<cost>[\d.]+) message)?"
)
_RESTORED = "Restored previous conversation history."
_CLEARED = ("All chat history cleared.", "All files dropped and chat history cleared.")
CLEARED = "cleared in aider"
_LONGEST = 1024 * 1024
"""Bytes of a line that are read at a time when chats are counted."""
_MOST_RESTORED = 200_000
"""Messages of earlier chats that are repeated in later ones, in all: every chat may restore all chats before it."""


class _Block(NamedTuple):
    kind: str
    """start, user, assistant or notice."""
    text: str


def recognises(text: str) -> bool:
    """Whether it begins like aider's history."""
    return _START.match(text.lstrip()) is not None


def read(name: str, text: str) -> list[Recording]:
    """The chats with messages."""
    found: list[Recording] = []
    before: list[_Block] = []
    left = _MOST_RESTORED
    chats: list[list[_Block]] = []
    for block in _blocks(text):
        if block.kind == "start":
            chats.append([])
        chats[-1].append(block)
    for chat in chats:
        if any(_is_said(block) for block in chat):
            restores = any(block.kind == "notice" and block.text.strip() == _RESTORED for block in chat)
            restored = before[max(len(before) - left, 0) :] if restores else []
            left -= len(restored)
            found.append(_chat(chat, restored))
        before += [block for block in chat if block.kind in ("user", "assistant")]
    if not found:
        raise WrongCall(f"{name}: found aider's history, but no conversation in it")
    return found


def count_chats(file: BinaryIO) -> int:
    """How many chats `read` finds in a history, without holding it in memory; 0 if it is something else."""
    chats = 0
    is_counted = False
    for number, block in enumerate(_block_beginnings(file)):
        if number == 0 and block.kind != "start":
            return 0
        if block.kind == "start":
            is_counted = False
        elif not is_counted and _is_said(block):
            chats, is_counted = chats + 1, True
    return chats


def _block_beginnings(file: BinaryIO) -> Iterator[_Block]:
    """The blocks of a file, as `_blocks` makes them, but only as much of each as shows its kind."""
    kind, lines = "", [""]
    for line in _lines(file):
        now, content = _kind(line)
        if now != kind or now in ("start", "notice"):
            if kind and "".join(lines).strip():
                yield _Block(kind, "".join(lines))
            kind, lines = now, []
        if not lines or (len(lines) < 3 and content.strip()):
            lines.append(f"{content}\n")
    if kind and "".join(lines).strip():
        yield _Block(kind, "".join(lines))


def _lines(file: BinaryIO) -> Iterator[str]:
    is_begun = False
    while raw := file.readline(_LONGEST):
        line = raw.decode("utf-8", "replace").removesuffix("\n")
        if not is_begun:
            line = line.removeprefix("\ufeff").lstrip()
            is_begun = bool(line)
        if is_begun:
            yield line


def _is_said(block: _Block) -> bool:
    return block.kind == "assistant" or (block.kind == "user" and not _is_command(block.text))


def _blocks(text: str) -> Iterator[_Block]:
    """The file in blocks: consecutive lines of one kind, as aider reads them."""
    kind, lines = "", [""]
    for line in text.lstrip().split("\n"):
        now, content = _kind(line)
        if now != kind or now in ("start", "notice"):
            if kind and "".join(lines).strip():
                yield _Block(kind, without_surrogates("".join(lines)))
            kind, lines = now, []
        lines.append(f"{content}\n")
    if kind and "".join(lines).strip():
        yield _Block(kind, without_surrogates("".join(lines)))


def _kind(line: str) -> tuple[str, str]:
    if start := _START.fullmatch(line):
        return "start", start[1]
    if line.startswith("#### ") and line.endswith("  "):
        return "user", line[5:]
    if line.startswith("> ") and (line.endswith("  ") or line.startswith("> Tokens: ")):
        return "notice", line[2:]
    return "assistant", line


def _is_command(text: str) -> bool:
    return text.startswith(("/", "!")) or text.strip() == "<blank>"


def _chat(blocks: list[_Block], before: list[_Block]) -> Recording:
    builder = Builder(NAME)
    replies, has_talk = 1, False
    for kind, text in blocks:
        match kind:
            case "start":
                builder.when(text.strip())
            case "user" if _is_command(text):
                builder.leave_out("command")
            case "user":
                if not has_talk:
                    has_talk = True
                    builder.says_title(text)
                builder.add(UserMessage("\n".join(line.rstrip() for line in text.rstrip().split("\n"))))
            case "assistant":
                builder.add(AssistantMessage(text.strip(), f"r{replies}", model=builder.model))
            case _:
                replies += _notice(builder, text.strip(), before)
                if text.strip() == _RESTORED:
                    before = []  # aider restores once in a chat
    return builder.finish()


def _notice(builder: Builder, text: str, before: list[_Block]) -> bool:
    """Read a notice of aider's; returns whether it was the report that ends a reply."""
    if found := _MODEL.match(text):
        builder.says_model(found[1])
    elif text == _RESTORED:
        for at, (kind, message) in enumerate(before):
            if kind == "user":
                builder.add(UserMessage(message))
            elif kind == "assistant":
                builder.add(AssistantMessage(message, f"b{at}"))
    elif text in _CLEARED:
        if builder.last:
            builder.add(Override("exclude", 1, builder.last, CLEARED))
    elif found := _TOKENS.match(text):
        sent, received = _count(found["sent"]), _count(found["received"])
        cached, written = _count(found["cached"]), _count(found["written"])
        cost = float(found["cost"]) if found["cost"] and found["cost"].count(".") < 2 else None
        builder.usage(sent, received, cached=cached, cache_write=written, cost=cost)
    else:
        builder.leave_out("notice")
    return text.startswith("Tokens: ")


def _count(text: str | None) -> int:
    """A count as aider rounds it: 730, 2.3k, 12k."""
    try:
        return round(float((text or "0").rstrip("k")) * (1000 if text and text.endswith("k") else 1))
    except (ValueError, OverflowError):
        return 0
