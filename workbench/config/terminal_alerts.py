"""A bell and desktop notifications, as sequences that a terminal understands. Nothing is written here.

A desktop notification is OSC 9 or OSC 777. A terminal that is known gets the one that it understands; any other gets
both, and ignores what it does not know. tmux passes neither on by itself: they are wrapped, and tmux has to allow it
(`set -g allow-passthrough on`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from workbench.config.errors import WrongCall
from workbench.config.text import printable

AlertWay = Literal["bell", "desktop"]
WAYS: tuple[AlertWay, ...] = get_args(AlertWay)
NONE = "none"
MOST = 160
"""Characters of a notification's text."""
_BELL, _ESCAPE = "\x07", "\x1b"
_ONLY_9 = ("iTerm.app", "WezTerm", "ghostty", "kitty")
"""Terminals that show OSC 9, by `TERM_PROGRAM`; some of them would show OSC 777 as a second one."""
_ONLY_777 = ("rxvt", "foot")
"""Terminals that show OSC 777 alone, by the beginning of `TERM`; so does VTE, which sets a variable of its own."""


def parse_alert_ways(text: str) -> tuple[AlertWay, ...]:
    """The ways in a list such as `bell,desktop`; none for `none`. Raises WrongCall."""
    names = [name.strip() for name in text.split(",")]
    if names == [NONE]:
        return ()
    if unknown := [name for name in names if name not in WAYS]:
        raise WrongCall(f"expected {', '.join((*WAYS, ','.join(WAYS)))} or {NONE}, got {unknown[0][:40]!r}")
    return tuple(way for way in WAYS if way in names)


def alert_sequence(title: str, text: str, ways: Sequence[AlertWay], environ: Mapping[str, str]) -> str:
    """What to write to the terminal. Whatever the texts hold, no control character of theirs reaches it."""
    bell = _BELL if "bell" in ways else ""
    return bell + (_notification(_safe(title), _safe(text), environ) if "desktop" in ways else "")


def _safe(text: str) -> str:
    """A text without control characters, and without the sign that separates the parts of a sequence."""
    return printable(text).replace(";", ",")[:MOST]


def _notification(title: str, text: str, environ: Mapping[str, str]) -> str:
    nine, other = f"{_ESCAPE}]9;{title}: {text}{_BELL}", f"{_ESCAPE}]777;notify;{title};{text}{_BELL}"
    if environ.get("TMUX"):
        return "".join(f"{_ESCAPE}Ptmux;{each.replace(_ESCAPE, _ESCAPE * 2)}{_ESCAPE}\\" for each in (nine, other))
    term = environ.get("TERM", "")
    if environ.get("TERM_PROGRAM") in _ONLY_9 or "kitty" in term or "ghostty" in term:
        return nine
    return other if "VTE_VERSION" in environ or term.startswith(_ONLY_777) else nine + other
