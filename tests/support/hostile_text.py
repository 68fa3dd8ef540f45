"""Text that a stranger may have written: markup, escape sequences, marks that turn or stack characters, huge names."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Any

from msgspec.structs import asdict

from workbench.config.values import replace
from workbench.log.events import Body, Setting

CLIPBOARD = "\x1b]52;c;ZXZpbA==\x07"
"""Would set the clipboard of the terminal."""
MARKUP = (
    "[A @click=app.quit()]X",
    "[b]x[/b",
    "[@click=app.exit()]quit[/]",
    "[link=https://example.org]here[/link]",
    "\\[b]x\\",
    "[/]",
    "[$error on $panel]x",
    "[[[]]]",
)
CONTROLS = (
    CLIPBOARD,
    "\x1b[31mred\x1b[0m",
    "\x9b31m",
    "\x1b]0;title\x07",
    "\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\",
    "\x1bPq#0\x1b\\",
    "\x1b_Ga=T\x1b\\",
    "\x1b[2J\x1b[H",
    "a\rb",
    "a\tb",
    "a\x00b\x7fc",
    "a\nb\u2028c\u2029d\x85e",
)
MARKS = (
    "\u202eabc\u202c",
    "\u2066abc\u2069",
    "\u200f\u061cabc",
    "a\u200bb\ufeffc\u00add",
    "e" + "\u0301" * 500,
    "\u200d" * 300 + "x",
    "x" + "\ufe0f" * 300,
    "ก" + "ั" * 200,
    "👩\u200d👩\u200d👧\u200d👦",
    "🇩🇪🇩",
    "\U000e0041\U000e0042",
    "語" * 40,
)
HUGE = ("x" * 5_000, "[" * 2_000, "語 " * 1_000)
SURROGATES = ("\ud800", "a\udfffb")
"""Not in the store, which holds UTF-8; a file or an answer may have them."""
TEXTS = (*MARKUP, *CONTROLS, *MARKS, *HUGE)


def hostile_text(chance: Random) -> str:
    """One of them, or some of them together."""
    return "".join(chance.choices(TEXTS, k=chance.choice((1, 1, 2, 4))))


NAMES = ("tool", "model", "agent", "name", "content", "text", "call_id", "message", "summary", "why")
"""Fields of events in which a stranger's text stands."""


def poisoned(bodies: Iterable[Body], chance: Random) -> list[Body]:
    """The same events with hostile text in them; what belongs together still does."""
    known: dict[str, str] = {}
    return [_poisoned(body, known, chance) for body in bodies]


def _poisoned(body: Any, known: dict[str, str], chance: Random) -> Any:
    if isinstance(body, Setting):
        return Setting(body.key, hostile_text(chance)) if body.key in ("title", "model") else body
    fields = {key: value for key, value in asdict(body).items() if key in NAMES and isinstance(value, str) and value}
    for key, value in fields.items():
        if value not in known:
            known[value] = f"{value} {hostile_text(chance)}" if key in ("content", "text") else hostile_text(chance)
        fields[key] = known[value]
    return replace(body, **fields)
