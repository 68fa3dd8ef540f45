"""The pages of the detail: an item's original, what is sent, and the facts. Independent of widgets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from workbench.config.text import counted, percent, printable, printable_lines
from workbench.context.items import SIGNS, Item, state_words
from workbench.log.codec import encode_event
from workbench.log.events import Event
from workbench.tui.inspector.difference import CONTEXT, text_difference
from workbench.tui.widgets.text_view import TOKENS, TextLine, TextPage, text_page
from workbench.views.context_view import COUNTING, SessionQueries

if TYPE_CHECKING:
    from workbench.views.item_effects import ItemEffect

TOKENS_FROM = 20_000
"""The most characters of a text whose tokens are shown one by one."""
NEWLINE = "⏎"
MISSING = "not in this request"
SIGNED = {"removed": "- ", "added": "+ ", "same": "  "}


class PageTab(NamedTuple):
    """A tab of the detail."""

    key: str
    name: str
    short: str = ""
    """The name if there is little room."""


TABS = (
    PageTab("original", "original"),
    PageTab("sent", "as sent"),
    PageTab("diff", "what was cut", "cut"),
    PageTab("tokens", "tokens"),
    PageTab("edits", "edits"),
    PageTab("json", "JSON"),
)


def first_tab(item: Item) -> str:
    """The most useful tab: what was cut and why, or the text of a whole item."""
    return "diff" if item.text != item.original and item.state != "aside" else "original"


def page_weight(item: Item, tab: str) -> int:
    """The approximate number of characters of a page."""
    if tab in ("tokens", "edits"):
        return 0
    sent = len(item.text or "")
    return {"sent": sent, "diff": sent + len(item.original)}.get(tab, len(item.original))


class ItemFacts(NamedTuple):
    """Facts about an item that are not in the item."""

    request: int = 0
    """Tokens of the whole request; 0: unknown."""
    since: str = ""
    """Since which request it has its state; empty if unknown."""
    effect: ItemEffect | None = None
    """What `explain` found about it."""


NOTHING_KNOWN = ItemFacts()


def item_page(
    item: Item, tab: str, queries: SessionQueries | None, most: int = 0, *, about: ItemFacts = NOTHING_KNOWN
) -> TextPage:
    """A page of an item, with at most `most` characters of its text (0: all)."""
    match tab:
        case "sent":
            return _sent(item, about, most)
        case "diff":
            return _diff(item, about, most)
        case "tokens":
            return _tokens(item, queries)
        case "edits":
            return _edits(item, about)
        case "json":
            return _json(item, queries, most)
        case _:
            return text_page(item.original, most)


def missing_page() -> TextPage:
    """The page for an item that the request lacks."""
    return TextPage(
        [TextLine(f"It is {MISSING}.", "head"), TextLine("[ and ] go to others, } to the newest.", "quiet")]
    )


def item_title(item: Item) -> str:
    """The title of an item, in a line."""
    if item.slot == "unattributed":
        return item.who if item.who == COUNTING else f"{item.who} · in the request, but in no row"
    kind = item.kind.replace("_", " ")
    who = item.tool or item.role or ""
    name = f" “{item.name}”" if item.name and item.name != who else ""
    place = _made(item) if item.seq is None else f"event {item.seq}"
    return printable(f"{kind} · {who}{name} · {place}" if who else f"{kind}{name} · {place}")


def _made(item: Item) -> str:
    """The origin of an item that is no event: a summary says what it replaces and who wrote it."""
    return item.edits[0].why if item.kind == "summary" and item.edits else "added by the policy"


def state_and_size(item: Item) -> str:
    """The state, with its figures."""
    exact = "" if item.exact else " (approximate)"
    state = f"{SIGNS[item.state]} {state_words(item.state)}".strip()
    pinned = ", pinned" if item.pinned else ""
    if item.tokens == item.original_tokens:
        return f"{state}{pinned}: {item.tokens:,} tokens{exact}"
    return f"{state}{pinned}: {item.tokens:,} of {item.original_tokens:,} tokens{exact}"


def effect_line(effect: ItemEffect) -> str:
    """What `explain` found about an item, and for which request."""
    verdict, figure, sentence = effect.found.verdict, effect.found.figure, effect.found.sentence
    figures = f"{verdict}, effect {figure}" if figure else verdict
    return printable(f"{sentence} · {figures} · request {effect.request:,} to {effect.model}")


def _sent(item: Item, about: ItemFacts, most: int) -> TextPage:
    if item.text is None:
        why = printable(item.edits[-1].why) if item.edits else "it is not part of the request"
        return TextPage([TextLine("It is not sent.", "head"), TextLine(why, "why"), *_since(about)])
    return text_page(item.text, most)


def _diff(item: Item, about: ItemFacts, most: int) -> TextPage:
    if item.text == item.original:
        return TextPage([TextLine("It is sent as it is: nothing was cut.", "quiet")])
    if item.text is None:
        page = text_page(item.original, most)
        all_of_it = [TextLine(f"- {line.text}", "removed") for line in page.lines]
        return TextPage([TextLine("It is not sent.", "head"), *_whys(item), *_since(about), *all_of_it], item.original)
    lines: list[TextLine] = [*_whys(item), *_since(about)]
    gone = []
    pieces = text_difference(item.original, item.text)
    for number, (kind, text) in enumerate(pieces):
        if kind == "removed":
            gone.append(text)
        shown = text[:most] if most else text
        if kind == "same":
            lines += _context(shown, number > 0, number < len(pieces) - 1)
        else:
            lines += _signed(shown, kind)
    return TextPage(lines, "".join(gone))


def _whys(item: Item) -> Iterator[TextLine]:
    """The reasons why it is not sent whole."""
    yield from (TextLine(printable(edit.why), "why") for edit in item.edits)


def _since(about: ItemFacts) -> Iterator[TextLine]:
    """Since which request it has its state."""
    if about.since:
        yield TextLine(about.since, "why")


def _signed(text: str, kind: str) -> Iterator[TextLine]:
    for line in printable_lines(text.removesuffix("\n")):
        yield TextLine(SIGNED[kind] + line, kind)


def _context(text: str, follows: bool, leads: bool) -> Iterator[TextLine]:
    """Unchanged text: the lines after a change (`follows`) or before one (`leads`), and the number of others."""
    lines = printable_lines(text.removesuffix("\n"))
    head = lines[: CONTEXT * follows]
    tail = lines[max(len(head), len(lines) - CONTEXT * leads) :]
    between = len(lines) - len(head) - len(tail)
    yield from (TextLine(SIGNED["same"] + line) for line in head)
    if between:
        yield TextLine(f"  … {counted(between, 'unchanged line')} …", "quiet")
    yield from (TextLine(SIGNED["same"] + line) for line in tail)


def _tokens(item: Item, queries: SessionQueries | None) -> TextPage:
    text = item.original if item.text is None else item.text
    if queries is None or not text:
        return TextPage([TextLine("(empty)" if queries else "The tokens are not available here.", "quiet")])
    shown = text[:TOKENS_FROM]
    tokens = queries.spans(shown)
    count = f"{len(tokens):,} tokens"
    note = ""
    if len(shown) < len(text):
        note = count = f"the first {count}: {len(shown):,} of {len(text):,} characters"
    what = "as sent" if item.text is not None else "of the original, which is not sent"
    if not note and item.text is not None and not item.exact and len(tokens) != item.tokens:
        what = f"{what}, by our tokenizer; in the request about {item.tokens:,}, as the provider's reports have taught"
    return TextPage([TextLine(f"{count}, {what}", "head"), *_coloured(tokens)], text, note)


def _coloured(tokens: Iterable[str]) -> Iterator[TextLine]:
    """The tokens in four alternating styles; a line break in a token is marked, and the line ends after it."""
    line, spans = "", []
    for number, token in enumerate(tokens):
        style = TOKENS[number % len(TOKENS)]
        pieces = token.split("\n")
        for at, piece in enumerate(pieces):
            shown = printable_lines(piece)[0] + (NEWLINE if at < len(pieces) - 1 else "")
            line += shown
            if shown:
                spans.append((len(line), style))
            if at < len(pieces) - 1:
                yield TextLine(line, "text", tuple(spans))
                line, spans = "", []
    if line:
        yield TextLine(line, "text", tuple(spans))


def _edits(item: Item, about: ItemFacts) -> TextPage:
    lines = [TextLine(state_and_size(item), "head"), TextLine("")]
    lines += [TextLine(f"{name.ljust(6)} {value}", "quiet") for name, value in _facts(item, about.request)]
    lines.append(TextLine(""))
    if not item.edits:
        lines.append(TextLine("No stage changed it."))
    for edit in item.edits:
        lines.append(
            TextLine(f"{edit.stage}: {edit.before:,} → {edit.after:,} tokens, {state_words(edit.state)}", "head")
        )
        lines.append(TextLine(f"  {printable(edit.why)}", "why"))
    lines += _since(about)
    if about.effect is not None:
        lines += [TextLine(""), TextLine(effect_line(about.effect), "why")]
    return TextPage(lines, "\n".join(line.text for line in lines))


def _facts(item: Item, request: int) -> Iterator[tuple[str, str]]:
    yield "id", printable(item.id)
    yield "turn", str(item.turn)
    yield "slot", item.slot
    if request > 0:
        yield "share", f"{percent(item.tokens / request, 1)} of the request's {request:,} tokens"
    if item.call_id:
        yield "call", printable(item.call_id)
    if item.name:
        yield "name", printable(item.name)


def _json(item: Item, queries: SessionQueries | None, most: int) -> TextPage:
    event = queries.event(item.seq) if queries is not None and item.seq is not None else None
    if event is None:
        return TextPage([TextLine("The plan made this row: there is no event behind it.", "quiet")])
    return text_page(event_json(event), most)


def event_json(event: Event) -> str:
    """An event as in the log, as indented JSON."""
    return json.dumps(json.loads(encode_event(event)), ensure_ascii=False, indent=2)
