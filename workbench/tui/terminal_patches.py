"""Fixes for how Textual handles input from a terminal, and a terminal that is gone."""

from __future__ import annotations

import codecs
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.driver import Driver
from textual.drivers._writer_thread import WriterThread
from textual.message import Message

# Pastes. Textual treats escape sequences inside a paste as keys: a coloured log would end the paste, and its line ends
# would send messages. Some terminals remove such sequences from a paste; tmux does not. And each character of a paste
# costs as much as a key: ten million of them block the screen for many seconds.

ESCAPE = "\x1b"
CSI = "\x9b"
"""`ESC [` as one character: the parser passes it on, and the composer removes its sequences, too."""
START, END = "\x1b[200~", "\x1b[201~"
MOST_PASTED = 250_000
"""The most characters of a paste to keep, plus one to know that there were more."""


class PasteParser(XTermParser):
    """Textual's parser, which only sees the start and the end of a paste, not its contents."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pasting = False
        self._held = ""
        """In a paste: perhaps the beginning of its end sequence. Otherwise: perhaps that of its start sequence."""
        self._pieces: list[str] = []
        self._room = 0
        """The number of characters that the paste may still have."""
        self._pasted: deque[str] = deque()
        """Finished pastes."""

    def feed(self, data: str) -> Iterable[Message]:
        """Parse data from the terminal, in pieces that may end anywhere."""
        quiet = self._without_pastes(self._without_reports(data))
        if quiet or not data:  # for the parser, an empty string means that the terminal is gone
            for event in super().feed(quiet):
                yield events.Paste(self._pasted.popleft()) if isinstance(event, events.Paste) else event

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        """The keys of a sequence. Textual takes Alt with a digit for the sign that a Mac types with Option."""
        if len(sequence) == 2 and sequence[0] == ESCAPE and sequence[1] in "0123456789":
            return (events.Key(f"alt+{sequence[1]}", None),)
        return super()._sequence_to_key_events(sequence, alt)

    def _without_reports(self, data: str) -> str:
        """Remove and handle keyboard reports, which Textual would treat as keys."""
        if self._pasting or ESCAPE not in data:
            return data
        KEYBOARD.reports_modifiers |= _MODIFIED.search(data) is not None
        return _REPORT.sub("", data)

    def _without_pastes(self, data: str) -> str:
        parts = []
        while data:
            if self._pasting:
                text, end, data = (self._held + data).partition(END)
                self._held = "" if end else _begun(text)
                self._add_pasted(text.removesuffix(self._held))
                if end:
                    self._pasting = False
                    self._pasted.append("".join(self._pieces))
                    parts.append(END)
            else:
                seen = self._held + data
                before, start, after = seen.partition(START)
                parts.append(data.removesuffix(after) if start else data)
                self._held, self._pasting = "" if start else before[1 - len(START) :], bool(start)
                self._pieces, self._room = [], MOST_PASTED + 1
                data = after
        return "".join(parts)

    def _add_pasted(self, text: str) -> None:
        text = text[: self._room].replace("\x00", "").replace("\x1b[", CSI).replace(ESCAPE, "")
        self._pieces.append(text)
        self._room -= len(text)


def _begun(text: str) -> str:
    """The part of the paste's end sequence at the end of a text."""
    return next((END[:size] for size in range(len(END) - 1, 0, -1) if text.endswith(END[:size])), "")


# Keyboards. Textual asks every terminal to send Shift+Enter as its own key, but never learns whether it does, so we
# could not say which keys work. A terminal that does it answers a query, and sends such keys.

ASK_KEYBOARD = "\x1b[?u"
_REPORT = re.compile(r"\x1b\[\?\d+u")
_MODIFIED = re.compile(r"\x1b\[(?:\?[1-9]\d*|\d[\d:;]*)u")


class Keyboard:
    """What we know about the user's keyboard."""

    reports_modifiers = False
    """Whether Shift+Enter differs from Enter."""


KEYBOARD = Keyboard()


def ask_keyboard(app: App[Any]) -> None:
    """Ask the terminal; the answer comes with the keys, or never."""
    if app._driver is not None:
        app._driver.write(ASK_KEYBOARD)


# Terminals that are gone, or send invalid text. The writer thread ends with the first failed write, and after thirty
# more writes the screen's loop waits for it for ever. The reader thread ends the program at a byte that is not UTF-8.


class SteadyWriter(WriterThread):
    """Textual's writer, which drops the output when the terminal is gone."""

    def run(self) -> None:
        """Write until the end."""
        try:
            super().run()
        except OSError:
            while self._queue.get() is not None:
                pass


def lenient_decoder(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    """A decoder that replaces invalid bytes."""
    return lambda: codecs.getincrementaldecoder(encoding)("replace")


REPLACEMENTS = {"XTermParser": PasteParser, "WriterThread": SteadyWriter, "getincrementaldecoder": lenient_decoder}


def guarded_driver(driver: type[Driver]) -> type[Driver]:
    """The driver, with our classes in its module's namespace; it has no other hook."""
    module = sys.modules[driver.__module__]
    for name, ours in REPLACEMENTS.items():
        if hasattr(module, name):
            setattr(module, name, ours)
    return driver
