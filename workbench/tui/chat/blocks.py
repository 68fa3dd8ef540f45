"""Draws an entry of the transcript as lines of a given width."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content

from workbench.config.text import counted, printable, printable_lines, typed_text
from workbench.context.items import SIGNS
from workbench.context.tool_kinds import CallLine
from workbench.context.tool_lines import call_parts
from workbench.context.tool_outcomes import Outcome
from workbench.tui.chat import markdown
from workbench.tui.widgets.cells import fit_cells, fit_middle, fit_start
from workbench.tui.widgets.soft_wrap import BARE, soft_pieces
from workbench.views.values import ChatCall, ChatEntry, EntryState, LiveCall

GUTTER = 6
"""Cells on the left: the speaker, and the sign of the state."""
QUIET = "$quiet"
MOST_TEXT = 30_000
"""Characters of a message to show until the user asks for all of it."""
FIRST_ROWS = 20
"""Lines of a result to show when a call unfolds."""
MORE_ROWS = 200
"""Lines to add each time the user asks for more."""
OUTPUT_ROWS = 5
"""Lines of a running command's output to show."""

LEAST_SUBJECT = 8
"""Cells of a path or a command to keep when a line is cut."""

FINISHES = {
    "cancelled": "you stopped the answer here; what came so far is kept",
    "broken": "the connection broke here; R asks again",
    "killed": "the program was ended here; R asks again",
    "length": "the limit of the model's output cut the answer off here",
    "refused": "the model declined to go on",
    "empty": "the model answered with nothing; R asks again",
}
OUTCOMES: dict[Outcome, tuple[str, str]] = {
    "done": ("✓", "$success"),
    "failed": ("✗ failed", "$error"),
    "denied": ("⊘ denied", "$warning"),
    "cancelled": ("■ cancelled", QUIET),
}
"""The sign and the style of each outcome."""
FOLDED = frozenset({"tool", "reasoning", "summary", "system"})
"""Kinds that are one line until the user unfolds them."""
TIGHT = frozenset({"tool", "reasoning", "notice"})
"""Kinds that belong to the entry above, without a blank line between."""

_ESCAPES = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")


MakeLines = Callable[[str], Iterable[Content]]
Render = Callable[[str, int], Iterable[Content]]
"""Turns Markdown into lines of a given width."""


class EntryFold(NamedTuple):
    """How much of an entry is open."""

    is_open: bool = False
    rows: int = FIRST_ROWS
    whole: bool = False
    """Whether all of a huge message is shown."""


CLOSED = EntryFold()


class DrawnEntry(NamedTuple):
    """An entry's lines, without the cursor mark on the left."""

    lines: tuple[Content, ...]
    more: int = -1
    """The line that shows more when it is clicked; -1: none."""
    head: int = 0
    """The line that folds and unfolds."""


def clipboard_text(text: str) -> str:
    """A text for the clipboard and the composer, without escape sequences and control characters."""
    return typed_text(_ESCAPES.sub("", text))


def screen_text(text: str) -> str:
    """A text for the screen, with its line breaks."""
    return "\n".join(printable_lines(text))


def draw_entry(
    entry: ChatEntry,
    state: EntryState | None,
    width: int,
    fold: EntryFold = CLOSED,
    live: LiveCall | None = None,
    render: Render = markdown.render_markdown,
    folder: str = "",
) -> DrawnEntry:
    """The lines of an entry; each is at most `width` cells. Paths in `folder` are shown relative to it."""
    inner = max(width - GUTTER, markdown.NARROWEST)
    top = 0 if entry.kind in TIGHT else 1
    if entry.kind == "tool":
        body = list(tool_lines(entry, state, inner, fold, live, folder))
    else:
        body = list(_body(entry, state, inner, fold, render))
    lines = [_divider(entry.asked_before, width)] if entry.asked_before else []
    top += len(lines)
    more = next((top + at for at, line in enumerate(body) if line.plain.startswith("…")), -1)
    first = _gutter(entry, state)
    lines += [Content()] * (top - len(lines))
    for number, line in enumerate(body):
        lines.append(Content.assemble(first if number == 0 else " " * GUTTER, line))
    if entry.kind == "you":
        ground = min(width, GUTTER + markdown.PROSE)
        lines[top:] = [
            Content.assemble(line, (" " * max(ground - line.cell_length, 0), BARE)).stylize("on $panel")
            for line in lines[top:]
        ]
    if entry.is_later:
        lines[top:] = [line.stylize(QUIET) for line in lines[top:]]
    return DrawnEntry(tuple(lines), more, top)


def _divider(request: int, width: int) -> Content:
    """The line that marks where the selected request was made."""
    text = fit_cells(f"── request {request:,} was asked here ──", width).rstrip()
    return Content.styled(text.ljust(min(width, GUTTER + markdown.PROSE), "─"), "$accent")


def _gutter(entry: ChatEntry, state: EntryState | None) -> Content:
    """`you`, `ai` or nothing, and the letter of a state other than sent."""
    if entry.kind == "failure":
        return Content.styled("   !".ljust(GUTTER), "bold $error")
    if entry.kind == "notice":
        return Content.styled("   ·".ljust(GUTTER), QUIET)
    who, style = {"you": ("you", "bold $primary"), "ai": ("ai", "bold $accent")}.get(entry.kind, ("", ""))
    is_plain = not who or state is None or state.state == "aside"
    sign = "" if is_plain or state is None else SIGNS[state.state].strip()
    return Content.assemble((who.ljust(4), style), (sign.ljust(GUTTER - 4), _state_style(state)))


def _state_style(state: EntryState | None) -> str:
    return f"$state-{state.state}" if state else QUIET


def _body(entry: ChatEntry, state: EntryState | None, width: int, fold: EntryFold, render: Render) -> Iterator[Content]:
    match entry.kind:
        case "you":
            yield from _bounded(entry.text, fold, lambda text: plain_lines(text, width))
        case "ai":
            yield from _bounded(entry.text, fold, lambda text: render(text, width))
            if entry.finish:
                yield from _notes(
                    f"■ {FINISHES.get(entry.finish, f'ended: {printable(entry.finish)}')}", width, "$warning"
                )
        case "failure":
            yield from plain_lines(entry.text, width, "$error")
            yield from _notes("R asks again · e on your message changes it · /model picks another model", width)
        case "notice":
            yield from plain_lines(printable(entry.text), width, QUIET)
        case _:
            yield from _folded(entry, state, width, fold, render)
    if fold.is_open:
        yield from _notes(_facts(entry, state), width)


def _folded(
    entry: ChatEntry, state: EntryState | None, width: int, fold: EntryFold, render: Render
) -> Iterator[Content]:
    """Reasoning, a summary or the system prompt: a line with its size, or the whole text."""
    name = {"reasoning": "reasoning", "summary": "summary of what came before"}.get(entry.kind, entry.kind)
    size = f"{state.tokens:,} t" if state and state.tokens else counted(len(entry.text), "character")
    size = size if entry.text else "text not recorded"
    yield _head(CallLine(name), [*_state(state), HeadPart(size, QUIET, 0)], width, fold.is_open)
    if fold.is_open:
        if entry.kind == "summary":
            yield from _bounded(entry.text, fold, lambda text: render(text, width - 2), "  ")
        else:
            yield from _bounded(entry.text, fold, lambda text: plain_lines(text, width - 2, QUIET), "  ")


def tool_lines(
    entry: ChatEntry, state: EntryState | None, width: int, fold: EntryFold, live: LiveCall | None, folder: str
) -> Iterator[Content]:
    """A call in one line, or unfolded with its facts, arguments and result."""
    call = entry.call or ChatCall(entry.text, "")
    what = call_parts(call.tool, call.arguments, folder)
    yield _head(what, _outcome(call, state, live), width, fold.is_open)
    if not fold.is_open:
        yield from output_tail(live, width)
        return
    inner = width - 2
    yield from _notes(_facts(entry, state), inner, indent="  ")
    yield Content.styled("  arguments", "bold")
    yield from _rows(_arguments(call.arguments), inner, fold)
    yield Content.styled("  result", "bold")
    if call.result is None:
        yield Content.styled("  none yet" if live else "  none: the call never returned", QUIET)
        yield from output_tail(live, width)
    else:
        yield from _rows(call.result or "(empty)", inner, fold)


def output_tail(live: LiveCall | None, width: int) -> Iterator[Content]:
    """The last lines of a running command's output."""
    if live and live.output:
        for line in printable_lines(live.output.rstrip("\n"))[-OUTPUT_ROWS:]:
            yield Content.styled(fit_cells(f"  │ {line}", width).rstrip(), QUIET)


LEAST_IMPORTANT = 3
"""The rank of a call's duration: its arguments are more important."""


class HeadPart(NamedTuple):
    """A part on the right of a call's first line."""

    text: str
    style: str
    rank: int
    """If there is no room for all parts, those with the highest rank are dropped first."""


def _head(what: CallLine, right: list[HeadPart], width: int, is_open: bool) -> Content:
    """`▸ Bash pytest -x     8,000 t`: the call on the left, the outcome on the right."""
    mark = "▾ " if is_open else "▸ "
    whole = cell_len(mark) + cell_len(str(what))
    wanted = whole + sum(cell_len(part.text) + 2 for part in right)
    width = min(width, max(markdown.PROSE, wanted))  # on a wide screen, the tokens stay near the text
    while right:
        last = max(part.rank for part in right)
        least = min(whole, width // 2 if last == LEAST_IMPORTANT else width * 2 // 5)
        if sum(cell_len(part.text) + 2 for part in right) + least <= width:
            break
        right = [part for part in right if part.rank < last]
    tail = Content("  ").join(Content.styled(part.text, part.style) for part in right)
    room = width - tail.cell_length - (2 if tail else 0)
    if whole > room:
        cut = fit_middle if what.is_path else fit_start
        subject = cut(what.subject, max(room - whole + cell_len(what.subject), LEAST_SUBJECT))
        what = what._replace(subject=subject)
    about = f" {what.subject} {what.rest}".rstrip().replace("  ", " ")
    left = Content.assemble((mark, QUIET), (what.verb, "bold"), about)
    left = left.truncate(room, ellipsis=True) if left.cell_length > room else left
    return Content.assemble(left, " " * (width - left.cell_length - tail.cell_length), tail)


def _outcome(call: ChatCall, state: EntryState | None, live: LiveCall | None) -> list[HeadPart]:
    """The outcome, the duration, the state and the tokens; tokens come last, so that they line up."""
    if call.result is None:
        words = {"writing": "… being written", "asking": "? asks you", "running": "… running"}
        return [HeadPart(words[live.state] if live else "– no result", "$warning", 0)]
    parts = [HeadPart(*OUTCOMES[call.outcome or "done"], 1)]
    if call.seconds is not None:
        parts.append(HeadPart(duration_words(call.seconds), QUIET, LEAST_IMPORTANT))
    parts += _state(state)
    if state:
        parts.append(HeadPart(f"{state.tokens:,} t".rjust(8), QUIET, 0))
    return parts


def _state(state: EntryState | None) -> list[HeadPart]:
    """The letter and the word of a state other than sent."""
    if state is None or state.state in ("sent", "aside"):
        return [HeadPart("⚑ pinned", "$accent", 2)] if state and state.pinned else []
    return [HeadPart(f"{SIGNS[state.state]} {state.state}", _state_style(state), 2)]


def duration_words(seconds: float) -> str:
    if seconds < 0.095:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60} s"


def _facts(entry: ChatEntry, state: EntryState | None) -> str:
    """Everything known about an entry besides its text."""
    parts = [printable(entry.call.tool)] if entry.call else []
    parts += [f"event {entry.seq}", f"turn {entry.turn}"]
    if entry.model:
        parts.append(printable(entry.model))
    if entry.call and entry.call.seconds is not None:
        parts.append(duration_words(entry.call.seconds))
    if state:
        cut = state.tokens != state.original_tokens
        parts.append(f"{state.tokens:,} of {state.original_tokens:,} t" if cut else f"{state.tokens:,} t")
        parts.append(f"{state.state}: {printable(state.why)}" if state.why else state.state)
        parts += ["pinned"] * state.pinned
    return " · ".join(parts)


def _arguments(text: str) -> str:
    """Arguments as indented JSON; unchanged if they are not JSON."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
        return "\n".join(f"{name}: {each}" for name, each in value.items())
    return json.dumps(value, ensure_ascii=False, indent=2)


def _rows(text: str, width: int, fold: EntryFold) -> Iterator[Content]:
    """The unfolded lines of a text, and the number of the others."""
    lines = text.split("\n")
    shown, rows = 0, 0
    for line in lines:
        if rows >= fold.rows:
            break
        for piece in soft_pieces(screen_text(line[: MOST_TEXT if fold.whole else 2_000]), width):
            yield Content.assemble(Content.styled("  ", BARE), piece)
            rows += 1
        shown += 1
    if shown < len(lines):
        yield Content.styled(f"… {len(lines) - shown:,} more lines · + shows more", f"{QUIET} italic")


def _bounded(text: str, fold: EntryFold, make: MakeLines, indent: str = "") -> Iterator[Content]:
    """A message up to a size, and how to see the rest."""
    over = 0 if fold.whole else len(text) - MOST_TEXT
    for line in make(screen_text(text[:MOST_TEXT] if over > 0 else text)):
        yield Content.assemble(indent, line) if indent else line
    if over > 0:
        yield Content.styled(f"… {over:,} more characters · + shows all", f"{QUIET} italic")


def plain_lines(text: str, width: int, style: str = "") -> Iterator[Content]:
    """Plain text, wrapped."""
    for line in printable_lines(text):
        yield from soft_pieces(line, max(markdown.prose_width(width), 2), style)


def _notes(text: str, width: int, style: str = QUIET, indent: str = "") -> Iterable[Content]:
    return [Content.assemble(indent, piece) for piece in soft_pieces(text, max(markdown.prose_width(width), 2), style)]
