"""Pastes: what is pasted is text to its end, whatever it holds.

Textual takes escape sequences inside a paste for keys. A coloured log would end the paste, and its line ends would send
messages that nobody wrote. Some terminals take such sequences out of what is pasted; tmux, for one, does not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.message import Message

ESCAPE = "\x1b"
CSI = "\x9b"
"""`ESC [` as one character: the parser passes it on, and the composer takes out its sequences as well."""
START, END = "\x1b[200~", "\x1b[201~"


class PasteParser(XTermParser):
    """Textual's own, which gets to see no escape sequence in a paste but its end."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pasting = False
        self._held = ""
        """In a paste: what may be the beginning of its end. Else: the last that came, in which a paste may begin."""

    def feed(self, data: str) -> Iterable[Message]:
        """What the terminal sent, in pieces that may end anywhere."""
        quiet = self._quiet(data)
        # Nothing at all means to the parser that the terminal is gone.
        return super().feed(quiet) if quiet or not data else ()

    def _quiet(self, data: str) -> str:
        parts = []
        while data:
            if self._pasting:
                text, end, data = (self._held + data).partition(END)
                self._held, self._pasting = "", not end
                if not end:
                    self._held = _begun(text)
                    text = text.removesuffix(self._held)
                parts += [text.replace("\x1b[", CSI).replace(ESCAPE, ""), end]
            else:
                seen = self._held + data
                before, start, after = seen.partition(START)
                parts.append(data.removesuffix(after) if start else data)
                self._held, self._pasting = "" if start else before[1 - len(START) :], bool(start)
                data = after
        return "".join(parts)


def _begun(text: str) -> str:
    """How much of a paste's end stands at the end of a text."""
    return next((END[:size] for size in range(len(END) - 1, 0, -1) if text.endswith(END[:size])), "")


def guard(driver: type[Driver]) -> type[Driver]:
    """The driver, with this parser in place of the one that its module names: it offers no other way."""
    module = sys.modules[driver.__module__]
    if getattr(module, "XTermParser", None) is XTermParser:
        setattr(module, "XTermParser", PasteParser)  # noqa: B010 - to a type checker the name is a class, not a value
    return driver
