"""A session, or one of its requests, as one page for a browser: the rows, the bar, the timeline, and a search.

The page holds the data as JSON and draws it with its own script (`page/session.js`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

from workbench.config.garbage import collector_paused
from workbench.config.html_pages import html_page, page_text, theme_style
from workbench.config.text import counted, printable, printable_lines
from workbench.config.variables import known_keys
from workbench.context.items import SLOTS, Edit, Item, State, state_words
from workbench.context.plan import ContextPlan
from workbench.log.events import Compaction
from workbench.proxy.redaction import Redactor
from workbench.sources.found_plans import find_plan
from workbench.sources.options import Options
from workbench.sources.own_requests import OwnRequests
from workbench.sources.recorded import RecordedSession
from workbench.sources.requests import RequestMark
from workbench.sources.services import Services
from workbench.sources.source import Source, setting_in
from workbench.views.context_view import unattributed_words

STATES: Final[tuple[State, ...]] = ("sent", "truncated", "masked", "summarised", "dropped", "excluded", "aside")
EXACT: Final = 1
PINNED: Final = 2
_HISTORY: Final = SLOTS.index("history")


class PageRows:
    """Rows as lists of numbers, for the page's script: it reads texts by their number."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        """`clean`: changes every text before it is stored, such as to mask secrets."""
        self._clean = clean
        self.texts: list[str] = []
        """What is sent, and the originals; of many lines."""
        self.words: list[str] = []
        """Names and reasons, a line each."""
        self.rows: list[list[int | None]] = []
        """Each: event, turn, slot, who, state, tokens, original tokens, flags, reason, text, original (-1: none)."""
        self._text_numbers: dict[str, int] = {}
        self._word_numbers: dict[str, int] = {}
        self._row_numbers: dict[tuple[Any, ...], int] = {}

    def add_request(self, items: Iterable[Item]) -> list[int]:
        """Add the rows of a request; returns runs, flat in one list: the first row's number, how many rows."""
        numbers = self._row_numbers
        runs: list[int] = []
        following = -1
        for item in items:
            # A row moves from the current turn to history without being another row.
            key = (item.id, item.seq, item.state, item.tokens, item.pinned, item.edits, item.text, item.original)
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(self.rows)
                self.rows.append(self._row(item))
            if number == following:
                runs[-1] += 1
            else:
                runs += (number, 1)
            following = number + 1
        return runs

    def _row(self, item: Item) -> list[int | None]:
        slot = _HISTORY if item.slot == "turn" else SLOTS.index(item.slot) if item.slot in SLOTS else _HISTORY
        text = -1 if item.text is None else self._text_number(item.text)
        original = -1 if item.text == item.original else self._text_number(item.original)
        return [
            item.seq,
            item.turn,
            slot,
            self._word_number(item.who),
            STATES.index(item.state),
            item.tokens,
            item.original_tokens,
            EXACT * item.exact + PINNED * item.pinned,
            self._word_number(_reasons(item.edits)),
            text,
            original,
        ]

    def _text_number(self, text: str) -> int:
        number = self._text_numbers.get(text)
        if number is None:
            number = self._text_numbers[text] = len(self.texts)
            self.texts.append("\n".join(printable_lines(self._clean(text))))
        return number

    def _word_number(self, words: str) -> int:
        number = self._word_numbers.get(words)
        if number is None:
            number = self._word_numbers[words] = len(self.words)
            self.words.append(printable(self._clean(words)))
        return number


def _reasons(edits: Sequence[Edit]) -> str:
    return "; ".join(edit.why for edit in edits)


_LIGHT: Final = {
    "raised": "#f3f5f7",
    "found": "#ffe58a",
    "system": "#7c6fae",
    "instructions": "#9a8fd0",
    "memory": "#c0a5dd",
    "tools": "#3f7fb5",
    "summaries": "#a86f14",
    "history": "#7fb285",
    "turn": "#1f7a4d",
    "framing": "#b4bac2",
    "outside": "#8b939e",
}
_DARK: Final = {
    "raised": "#1f242a",
    "found": "#6b5900",
    "system": "#9d8fd6",
    "instructions": "#b3a8e8",
    "memory": "#d0b8ec",
    "tools": "#5fa3dc",
    "summaries": "#dda44e",
    "history": "#5f9a68",
    "turn": "#41c58a",
    "framing": "#59626c",
    "outside": "#7d8792",
}
_OUTSIDE: Final = "not in the rows"
_BODY: Final = """<header><div><h1>{title}</h1><p>{about}</p></div>
<button id="theme" type="button">Dark</button></header>
<noscript><p>The rows are drawn by the page's own script, which is switched off here.</p></noscript>
<main id="page" hidden>
<div id="chart" role="img" aria-label="tokens of each request"><div id="here"></div></div>
<div id="legend"><span id="most"></span><span id="window"></span><span id="compactions"></span></div>
<div id="steps"><button id="earlier" type="button" aria-label="the request before">←</button>
<input id="slide" type="range" min="1" max="1" aria-label="request">
<button id="later" type="button" aria-label="the next request">→</button></div>
<p class="facts" id="facts"></p>
<div id="bar"></div><div id="key"></div><p class="facts" id="verdict"></p>
<div id="tools"><input id="find" type="search" placeholder="find ( / )" aria-label="find in the rows">
<select id="scope" aria-label="where to find"><option value="here">in this request</option>
<option value="all">in all requests</option></select>
<select id="order" aria-label="order"><option value="sent">as sent</option>
<option value="size">largest first</option></select>
<button id="unfold" type="button">unfold all</button><button id="fold" type="button">fold all</button>
<div id="states"></div><span id="found" role="status"></span></div>
<div id="rows"></div></main>
"""


class SessionPage(NamedTuple):
    """A page, and what is in it."""

    html: str
    redacted: int
    """How many secrets were masked."""


class _PagePlan(NamedTuple):
    plan: ContextPlan
    number: int | None = None
    """None: the next request."""
    mark: RequestMark | None = None
    compacted: bool = False
    """Whether the past was compacted since the request before."""


def make_session_page(
    services: Services, source: Source, number: int | None = None, *, redact: bool = False
) -> SessionPage:
    """The page of a session. `number`: of this request alone, as `workbench requests` counts them.

    `redact`: mask secrets everywhere on the page. Raises WrongCall where there is no such request.
    """
    redactor = Redactor(known_keys() if redact else ())
    clean = redactor.redact if redact else str
    rows = PageRows(clean)
    recorded = RecordedSession(services, Options(), source)
    of = len(recorded.marks)
    with collector_paused():
        requests = [_request_json(each, rows, clean) for each in _plans(services, source, recorded, number)]
    name = clean(os.path.basename(source.name) if source.is_file else source.name)  # a path says who the user is
    title = clean(setting_in(source.events, "title")) or name
    which = counted(of, "request") if number is None else f"request {number:,} of {of:,}"
    about = [*([name] if name != title else []), which, counted(len(source.events), "event")]
    data = {
        "slots": SLOTS,
        "states": [[state, state_words(state)] for state in STATES],
        "outside": _OUTSIDE,
        "all": of,
        "start": max(0, of - 1) if source.recorded and not source.decided and number is None else len(requests) - 1,
        "requests": requests,
        "rows": rows.rows,
        "words": rows.words,
        "texts": rows.texts,
    }
    style = theme_style(_LIGHT, _DARK) + _part("session.css")
    body = _BODY.format(title=page_text(title) or "a session", about=page_text(" · ".join(about)))
    return SessionPage(html_page(title, style, body, _part("session.js"), data), redactor.count)


def _part(name: str) -> str:
    return (files("workbench.views") / "page" / name).read_text("utf-8")


def _plans(services: Services, source: Source, recorded: RecordedSession, number: int | None) -> Iterator[_PagePlan]:
    """The requests as they were sent, and the next one, which holds what came after the last of them."""
    own = None if source.recorded else OwnRequests(services, source.events)
    alone = None if number is None else recorded.place(number, "--request")
    compactions = [event.seq for event in source.events if isinstance(event.body, Compaction)]
    before = 0
    for at, mark in enumerate(recorded.marks):
        if alone in (None, at):
            made = recorded.plan(at) if own is None else own.plan(at, mark)
            yield _PagePlan(made, at + 1, mark, any(before < seq <= mark.upto for seq in compactions))
        before = max(before, mark.upto)
    if alone is not None:
        return
    if own is not None or source.decided:
        yield _PagePlan(find_plan(services, source, Options()).plan)
    elif recorded.place_of(len(source.events)) is None:  # the last answer is in no request that was made
        yield _PagePlan(recorded.plan_upto(len(source.events)))


def _request_json(each: _PagePlan, rows: PageRows, clean: Callable[[str], str]) -> dict[str, Any]:
    plan, mark = each.plan, each.mark

    def line(text: str) -> str:
        return printable(clean(text))

    return {
        "number": each.number,
        "turn": plan.items.cuts.turn,
        "purpose": mark.purpose if mark is not None else "",
        "who": line(mark.who) if mark is not None else "",
        "model": line(plan.model),
        "size": plan.size,
        "reported": plan.reported,
        "window": plan.limits.window,
        "guess": plan.limits.window_source == "guess",
        "compacted": each.compacted,
        "fits": plan.verdict.fits,
        "verdict": line(plan.verdict.why),
        "framing": plan.totals.framing,
        "outside": plan.unattributed,
        "outsideWhy": line(unattributed_words(plan)) if plan.unattributed else "",
        "event": mark.upto if mark is not None else None,
        "aside": sum(plan.items.asides.values()),
        "rows": rows.add_request(plan.items.candidates()),
    }
