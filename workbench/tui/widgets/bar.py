"""The budget as a bar: the parts of the window, the free room, and where the policy compacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from textual.content import Content

from workbench.context.budget import Budget
from workbench.tui.widgets.cells import painted_line, short_number
from workbench.views.values import Level, WindowUse


class BarSegment(NamedTuple):
    """A part of the budget, with its own character, so that the bar is readable without colour."""

    name: str
    short: str
    char: str
    words: str = ""
    """Its name in the legend, if that differs."""
    full: str = ""
    """A longer name, if there is room."""


SEGMENTS = (
    BarSegment("system", "sys", "▓"),
    BarSegment("instructions", "instr", "▒"),
    BarSegment("memory", "mem", "▀"),
    BarSegment("tools", "tools", "▚"),
    BarSegment("unattributed", "not in file", "?", "not in file"),
    BarSegment("summaries", "sums", "▄"),
    BarSegment("history", "hist", "█"),
    BarSegment("turn", "turn", "▌", full="this turn"),
    BarSegment("framing", "frame", "+", full="message framing"),
    BarSegment("free", "free", "·"),
    BarSegment("margin", "margin", "╱"),
    BarSegment("reserve", "res", "░"),
)
"""In the order of the bar: the sent parts, the free part, and at the right end what must stay empty."""


COUNTED = BarSegment("unattributed", "counting", "?", "counted otherwise")
TOO_MUCH = BarSegment("unattributed", "too high", "−", "counted too high")
"""Used instead of `unattributed` if the provider counted less than the rows."""


def apportion(amounts: Sequence[int], width: int) -> list[int]:
    """Proportional widths that add up to `width`; every positive amount gets a cell while there are enough."""
    given = [0] * len(amounts)
    total = sum(amounts)
    if total <= 0 or width <= 0:
        return given
    largest = sorted((at for at, amount in enumerate(amounts) if amount > 0), key=lambda at: -amounts[at])
    for at in largest[:width]:
        given[at] = 1
    left = width - sum(given)
    over = [max(0, amount * width - total) for amount in amounts]
    whole = sum(over)
    if not left or not whole:
        return given
    for at, amount in enumerate(over):
        given[at] += left * amount // whole
    rests = sorted(range(len(over)), key=lambda at: -(left * over[at] % whole))
    for at in rests[: width - sum(given)]:
        given[at] += 1
    return given


def budget_amounts(budget: Budget) -> list[int]:
    """The parts of a budget in the bar's order; the free part is never negative."""
    return [max(0, getattr(budget, part.name)) for part in SEGMENTS]


LEVELS: dict[Level, str] = {"calm": "$success", "warm": "$warning", "hot": "$error"}
"""The colour for each level; `WindowUse.word` says the same."""
MARK = "┊"
"""Where the policy compacts. Drawn only on free room, so that it covers nothing that is sent."""
SENT = [part.name for part in SEGMENTS].index("free")
"""The number of parts that are sent."""


def draw_bar(budget: Budget, window: int, width: int, compact_at: int = 0) -> Content:
    """The bar. The sent parts together get exactly their share of the cells.

    A nearly full bar has the colour of a warning, then of an error; anything beyond the window is an error.
    """
    parts, too_much = budget_amounts(budget), max(0, -budget.unattributed)
    sent, total = sum(parts[:SENT]) - too_much, sum(parts) - too_much
    if total <= 0 or width <= 0:
        return Content()
    filled = min(width, max(1, round(width * sent / total))) if sent else 0
    cells = [*apportion(parts[:SENT], filled), *apportion(parts[SENT:], width - filled)]
    level = WindowUse(sent, window).level
    found: list[tuple[str, str]] = []
    for at, (part, count) in enumerate(zip(SEGMENTS, cells, strict=True)):
        colour = LEVELS[level] if at < SENT and level != "calm" else f"$slot-{part.name}"
        found += [(part.char, colour)] * count
    found += [("·", "$slot-free")] * (width - len(found))
    place = width * compact_at // max(total, 1)
    if compact_at and filled <= place < width:
        found[place] = (MARK, "bold $foreground")
    if budget.free < 0:
        end = width * window // total
        found[end:] = [(char, "reverse $error") for char, _ in found[end:]]
    return painted_line(found)


class LegendForm(NamedTuple):
    """One way to write the legend."""

    names: Literal["full", "words", "short"]
    digits: int
    """The cells of a figure."""
    gap: str
    between: str


LEGEND_FORMS = (
    LegendForm("full", 12, " ", "  "),
    LegendForm("full", 4, " ", "  "),
    LegendForm("full", 4, "", " "),
    LegendForm("words", 4, "", " "),
    LegendForm("short", 4, " ", "  "),
    LegendForm("short", 4, "", " "),
)
"""From the longest to the shortest."""


def budget_legend(budget: Budget, width: int, compact_at: int = 0, *, whole: bool = False) -> Content:
    """The meaning of the bar's characters, in the longest form that fits; the shortest has figures for few parts only.

    `whole`: the request is complete, so tokens in no row are a difference in counting.

    If there is room left, the legend also explains the compaction mark.
    """
    named = [COUNTED if whole and part.name == COUNTED.name else part for part in SEGMENTS]
    parts = {part: amount for part, amount in zip(named, budget_amounts(budget), strict=True) if amount}
    if budget.unattributed < 0:
        parts = {TOO_MUCH: -budget.unattributed, **parts}
    over = f"over by {-budget.free:,}" if budget.free < 0 else ""
    largest = sorted(parts, key=lambda part: -parts[part])
    tries = [(form, largest) for form in LEGEND_FORMS]
    tries += [(LEGEND_FORMS[-1], largest[:count]) for count in range(len(largest) - 1, -1, -1)]
    for form, figured in tries:
        entries = [(part, _entry(part, amount, form, part in figured)) for part, amount in parts.items()]
        texts = [*([over] if over else []), *(text for _, text in entries)]
        if sum(map(len, texts)) + len(form.between) * (len(texts) - 1) <= width:
            break
    made = [(over, "bold $error"), *([(form.between, "")] if entries else [])] if over else []
    for place, (part, text) in enumerate(entries):
        made += [(text[:1], f"$slot-{part.name}"), (text[1:] + form.between * (place < len(entries) - 1), "")]
    line = Content.assemble(*made)
    if compact_at and line.cell_length + len(form.between) + len(f"{MARK} compacts") <= width:
        line = Content.assemble(line, form.between, (MARK, "bold"), " compacts")
    return line if line.cell_length <= width else line.truncate(width, ellipsis=True)


def _entry(part: BarSegment, amount: int, form: LegendForm, figured: bool) -> str:
    words = part.words or part.name
    name = {"full": part.full or words, "words": words, "short": part.short}[form.names]
    return f"{part.char}{form.gap}{name}{f' {short_number(amount, form.digits)}' if figured else ''}"
