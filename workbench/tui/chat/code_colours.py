"""Syntax highlighting. Some regular expressions of a lexer never end on a text made for it.

So short code is highlighted at once, longer code in a process with a time limit, and very long code not at all. This
module is also the main module of that process: it reads text and language as JSON, and writes spans.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from textual.content import Content, Span

SHORT, SHORT_LINE = 4_000, 200
"""The most characters of code, and of its longest line, to highlight at once."""
LONG, LONG_LINE = 20_000, 1_000
"""The most characters of code, and of its longest line, to highlight at all."""
AT_MOST = 0.1
"""Seconds for highlighting in the screen's own thread."""
SECONDS = 5.0
"""Seconds for the process, including its start."""
KEPT = 200
"""The most texts to cache."""

_START = (
    "import sys; sys.path[:0] = sys.argv[1:]; "
    "from workbench.tui.chat.code_colours import serve_colours; serve_colours()"
)

Spans = list[tuple[int, int, str]]


class CodeColours:
    """A cache of highlighted code."""

    def __init__(self, ask: Callable[[str, str], object] = lambda text, language: None) -> None:
        """`ask` has to highlight long code with `in_a_process`, and then to call `learn`."""
        self._ask = ask
        self._known: OrderedDict[tuple[str, str], Content] = OrderedDict()

    def colours_so_far(self, text: str, language: str) -> Content:
        """The text in the colours known so far."""
        longest = max(map(len, text.split("\n")))
        if not language or len(text) > LONG or longest > LONG_LINE:
            return Content(text)
        if len(text) <= SHORT and longest <= SHORT_LINE:
            return coloured_code(text, language)
        known = self._known.get((text, language))
        if known is None:
            known = self.learn(text, language, [])
            self._ask(text, language)
        return known

    def learn(self, text: str, language: str, spans: Spans) -> Content:
        """Store the colours of a text."""
        self._known[text, language] = made = Content(text, [Span(*span) for span in spans])
        if len(self._known) > KEPT:
            self._known.popitem(last=False)
        return made


AT_ONCE = CodeColours().colours_so_far
"""Highlights short code, and leaves longer code plain."""


def coloured_code(text: str, language: str, seconds: float = AT_MOST) -> Content:
    """The text in colours; after `seconds`, the rest stays plain."""
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # late: needed where there is code
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return Content(text)
    spans, at, styles, end = [], 0, _styles(), time.thread_time() + seconds
    for kind, token in lexer.get_tokens(text):
        while kind is not None and kind not in styles:
            kind = kind.parent
        if kind is not None and styles[kind]:
            spans.append(Span(at, at + len(token), styles[kind]))
        at += len(token)
        if time.thread_time() > end:
            break
    return Content(text, spans).stylize_before("$text")


@cache
def _styles() -> Mapping[Any, str]:
    """Textual's styles without underlines."""
    from textual.highlight import HighlightTheme

    return {kind: style.replace(" underline", "") for kind, style in HighlightTheme.STYLES.items()}


def in_a_process(text: str, language: str) -> Spans:
    """The colours of a text; none if that takes too long. Call it in the background."""
    command = [sys.executable, "-I", "-c", _START, str(Path(__file__).parents[3])]
    asked = json.dumps([text, language])
    try:
        done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=SECONDS, check=True)
        return [(start, end, style) for start, end, style in json.loads(done.stdout)]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []


def serve_colours() -> None:
    """Run as the process."""
    text, language = json.load(sys.stdin)
    json.dump(
        [(span.start, span.end, str(span.style)) for span in coloured_code(text, language, SECONDS).spans], sys.stdout
    )
