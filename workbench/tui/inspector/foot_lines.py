"""The line under the rows: the effect of a change, the chosen, filtered and hidden rows."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from workbench.config.text import counted, percent, printable
from workbench.context.compare import Effect, Mark, RequestChanges
from workbench.tui.inspector.columns import MARKS
from workbench.tui.inspector.order import RowLines
from workbench.tui.inspector.overrides import OverridePreview
from workbench.tui.widgets.cells import join_cells

MUCH = 1_000
"""A smaller change in tokens outside the rows is a difference in counting."""
SEVERAL = {"snapshot": "snapshots", "error": "errors"}
"""Plurals of the kinds that are never sent."""


def question_line(preview: OverridePreview, width: int) -> Content:
    """What a change would do, and the keys to answer, which are never left out."""
    choice, effect = preview.choice, preview.effect
    event = choice.decisions[0].first
    whole = f"event {event}" if choice.rows == 1 else f"{choice.rows:,} items"
    asked, short = (
        Content.styled(f"{choice.verb} {what}?", "bold $accent") for what in (whole, whole.removeprefix("event "))
    )
    warned = [] if preview.fits else [Content.styled("! it would not fit", "bold $error")]
    frees, caches = _frees(effect), _cache(effect)
    share = f" ({percent(effect.freed / preview.size)} of what is used)" if effect.freed > 0 and preview.size else ""
    both = ("Enter apply  Esc cancel", "Enter  Esc")
    wordings = [(asked, freed, cache, keys) for cache in caches for freed in (frees + share, frees) for keys in both]
    shortest = (frees.removesuffix(" tokens"), caches[-1], "Enter Esc")
    for what, freed, cache, keys in (*wordings, (asked, *shortest), (short, *shortest)):
        line = Content(" · ").join(
            [what, Content(freed), *warned, Content(cache), Content.styled(keys, "bold $primary")]
        )
        if line.cell_length <= width:
            return line
    return join_cells([asked, Content.styled(keys, "bold $primary"), *warned, Content(freed), Content(cache)], width)


def _frees(effect: Effect) -> str:
    if effect.freed > 0:
        return f"frees {effect.freed:,} tokens"
    return f"adds {-effect.freed:,} tokens" if effect.freed else "frees nothing"


def _cache(effect: Effect) -> tuple[str, ...]:
    """The effect on the prompt cache, from the longest form to the shortest."""
    if effect.first_changed is None:
        return "no change to the request; prompt cache kept", "prompt cache kept"
    if not effect.rewritten:
        return ("prompt cache kept",)
    return (
        f"invalidates {effect.rewritten:,} cached tokens, from token {effect.first_changed:,} on",
        f"invalidates {effect.rewritten:,} cached tokens",
        f"invalidates {effect.rewritten:,}",
    )


def changes_line(found: RequestChanges, width: int) -> Content:
    """The changes since the request before."""
    if found.effect.first_changed is None:
        return Content("the same request as the one before")
    parts = []
    kinds: tuple[tuple[Mark, str, int, int], ...] = (
        ("added", "$success", found.added.items, found.added.tokens),
        ("changed", "$warning", found.changed.items, found.changed.tokens),
        ("gone", "$error", found.gone.items, -found.gone.tokens),
    )
    for mark, colour, items, tokens in kinds:
        if items:
            parts.append(Content.assemble((f"{MARKS[mark]} {items:,} {mark}", colour), f" ({tokens:+,})"))
    if abs(found.outside_items) >= MUCH:
        parts.append(Content.assemble(("not in file", "$warning"), f" {found.outside_items:+,}"))
    if found.effect.rewritten:
        parts.append(Content(f"first changed token {found.effect.first_changed:,}"))
        parts.append(Content(f"invalidates {found.effect.rewritten:,} cached tokens"))
    elif found.outside_items > -MUCH:  # otherwise something was removed from the middle
        parts.append(Content("prompt cache kept"))
    return join_cells(parts, width)


def arrangement_line(lines: RowLines, width: int) -> Content:
    """How the rows are filtered, sorted and grouped, if they are."""
    wish = lines.wish
    parts = []
    if wish.filter:
        total = counted(len(lines.rows), "item")
        parts.append(Content.assemble((f"{lines.matches:,}", "bold"), f" of {total} match"))
        parts.append(Content.styled(f"filter {printable(wish.filter.text)}", "$accent"))
    if wish.group:
        parts.append(Content(f"{len(lines.groups):,} groups by {wish.group}"))
    if wish.sort:
        parts.append(Content(f"{wish.sort} first"))
    parts.append(Content.styled("Esc: all items, in order", "$quiet"))
    return join_cells(parts, width)


def chosen_line(rows: int, tokens: int | None, original: int | None, width: int) -> Content:
    """The chosen rows, with their sum once it is known."""
    parts = [Content.styled(f"{counted(rows, 'item')} chosen", "bold $accent")]
    if tokens is not None:
        parts.append(Content(f"{tokens:,} tokens"))
        if original is not None and original != tokens:
            parts.append(Content(f"{original:,} before cuts"))
    parts.append(Content.styled("p pin  m mask  x exclude  r restore  y copy  Esc", "$quiet"))
    return join_cells(parts, width)


def hidden_line(asides: Mapping[str, int], listed: bool, width: int) -> Content:
    """The number of items that are never sent, and the key that shows or hides them."""
    most_first = sorted(asides.items(), key=lambda kind: -kind[1])
    each = ", ".join(counted(count, name, SEVERAL.get(name, name)) for name, count in most_first)
    count = f"{sum(asides.values()):,} {'never sent' if listed else 'hidden'}: {each}"
    them = "it" if sum(asides.values()) == 1 else "them"
    key = Content.assemble((".", "bold $primary"), f" hides {them}" if listed else f" shows {them}")
    return join_cells([Content.styled(count, "$quiet"), key], width)
