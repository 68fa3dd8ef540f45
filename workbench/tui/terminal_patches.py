"""What Textual does not do as this program needs it with what a terminal sends, and where it is gone."""

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

# Pastes. Escape sequences inside a paste are taken for keys: a coloured log would end the paste, and its line ends
# would send messages that nobody wrote. Some terminals take such sequences out of what is pasted; tmux does not. And
# each character of a paste costs as much as a key: ten million of them stop the screen for many seconds.

ESCAPE = "\x1b"
CSI = "\x9b"
"""`ESC [` as one character: the parser passes it on, and the composer takes out its sequences as well."""
START, END = "\x1b[200~", "\x1b[201~"
MOST_PASTED = 250_000
"""Characters of a paste that are taken, and one more to tell that there were others."""


class PasteParser(XTermParser):
    """Textual's own, which gets to see where a paste begins and ends, and nothing of what is in it."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pasting = False
        self._held = ""
        """In a paste: what may be the beginning of its end. Else: the last that came, in which a paste may begin."""
        self._pieces: list[str] = []
        self._room = 0
        """Characters that the paste may still have."""
        self._pasted: deque[str] = deque()
        """Pastes that have ended."""

    def feed(self, data: str) -> Iterable[Message]:
        """What the terminal sent, in pieces that may end anywhere."""
        quiet = self._without_pastes(self._without_reports(data))
        if quiet or not data:  # nothing at all means to the parser that the terminal is gone
            for event in super().feed(quiet):
                yield events.Paste(self._pasted.popleft()) if isinstance(event, events.Paste) else event

    def _without_reports(self, data: str) -> str:
        """What a terminal tells of its keyboard is for us, since Textual would take it for keys."""
        if self._pasting or ESCAPE not in data:
            return data
        KEYBOARD.tells_modifiers |= _MODIFIED.search(data) is not None
        return _REPORT.sub("", data)

    def _without_pastes(self, data: str) -> str:
        parts = []
        while data:
            if self._pasting:
                text, end, data = (self._held + data).partition(END)
                self._held = "" if end else _begun(text)
                self._take(text.removesuffix(self._held))
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

    def _take(self, text: str) -> None:
        text = text[: self._room].replace("\x00", "").replace("\x1b[", CSI).replace(ESCAPE, "")
        self._pieces.append(text)
        self._room -= len(text)


def _begun(text: str) -> str:
    """How much of a paste's end stands at the end of a text."""
    return next((END[:size] for size in range(len(END) - 1, 0, -1) if text.endswith(END[:size])), "")


# Keyboards. Textual asks every terminal to send Shift+Enter as such and never learns whether it does, so that nobody
# can say which keys will work. A terminal that does it says so when it is asked, and by the keys that it sends.

ASK_KEYBOARD = "\x1b[?u"
_REPORT = re.compile(r"\x1b\[\?\d+u")
_MODIFIED = re.compile(r"\x1b\[(?:\?[1-9]\d*|\d[\d:;]*)u")


class Keyboard:
    """What is known of the user's."""

    tells_modifiers = False
    """Whether Shift+Enter is another key than Enter."""


KEYBOARD = Keyboard()


def ask_keyboard(app: App[Any]) -> None:
    """Ask the terminal; the answer comes with the keys, or never."""
    if app._driver is not None:
        app._driver.write(ASK_KEYBOARD)


# Terminals that are gone, or send what is no text. The thread that writes ends with the first write that fails, and
# after thirty more the screen's own loop waits for it for ever; the one that reads ends the program at a byte that is
# no UTF-8.


class SteadyWriter(WriterThread):
    """Textual's own, which throws away what no terminal takes any more."""

    def run(self) -> None:
        """Until there is nothing left to write."""
        try:
            super().run()
        except OSError:
            while self._queue.get() is not None:
                pass


def lenient_decoder(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    """Bytes that are no text become a sign that says so."""
    return lambda: codecs.getincrementaldecoder(encoding)("replace")


REPLACEMENTS = {
    "XTermParser": PasteParser,
    "WriterThread": SteadyWriter,
    "getincrementaldecoder": lenient_decoder,
}


def guard(driver: type[Driver]) -> type[Driver]:
    """The driver, with these in place of what its module names so: it offers no other way."""
    module = sys.modules[driver.__module__]
    for name, ours in REPLACEMENTS.items():
        if hasattr(module, name):
            setattr(module, name, ours)
    return driver
