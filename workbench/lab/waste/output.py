"""Waste as lines, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from workbench.config.text import counted, fit_columns, fit_columns_end, printable, table
from workbench.lab.waste.costs import CarriedWaste, WasteReport, WasteSum

WORST = 3
"""How many tools are named."""


def merge_waste(reports: Sequence[WasteReport]) -> WasteReport:
    """The waste of many sessions as one report."""
    return WasteReport(tuple(item for report in reports for item in report.items))


def waste_json(report: WasteReport, *, items: bool = True) -> dict[str, Any]:
    """The sums, and each item if asked for."""
    total = report.total
    found: dict[str, Any] = {
        "tokens": total.tokens,
        "carried": total.carried,
        "cost": _rounded(total.cost),
        "kinds": [_sum_json(each, "kind") for each in report.kinds],
        "tools": [_sum_json(each, "tool") for each in report.tools],
    }
    if items:
        found["items"] = [_item_json(item) for item in report.items]
    return found


def _sum_json(found: WasteSum, of: str) -> dict[str, Any]:
    figures = found._asdict() | {"cost": _rounded(found.cost)}
    return {of: figures.pop("name") or None, **figures}


def _item_json(item: CarriedWaste) -> dict[str, Any]:
    fields = item._asdict()
    del fields["is_path"]
    return fields | {
        "tool": item.tool or None,
        "pair": item.pair or None,
        "request": item.request or None,
        "cost": _rounded(item.cost),
    }


def _rounded(cost: float | None) -> float | None:
    return None if cost is None else round(cost, 6)


def waste_lines(report: WasteReport, width: int) -> list[str]:
    """A line with the sums, and one with the worst tools. Empty where there is no waste."""
    total = report.total
    if not total.items:
        return []
    kinds = ", ".join(f"{each.items:,} {each.name}" for each in report.kinds)
    spent = f"carried as {total.carried:,} tokens{in_dollars(total.cost, ' ({})')}"
    found = [f"waste: {counted(total.items, 'item')}, {total.tokens:,} tokens, {spent}: {kinds}"]
    tools = [each for each in report.tools if each.carried][:WORST]
    if tools:
        found.append("most by " + ", ".join(f"{each.name or 'no tool'} {each.carried:,}" for each in tools))
    shown = [found[0], *(_BELOW + printable(line) for line in found[1:])]
    return [part for line in shown for part in wrap(line, width, subsequent_indent=_BELOW)] if width else shown


_BELOW = " " * len("waste: ")


def in_dollars(cost: float | None, words: str = "{}") -> str:
    """A cost as text; empty where it is not known. Below a cent it has more digits."""
    if cost is None:
        return ""
    return words.format(f"${cost:,.2f}" if cost >= 0.01 or not cost else f"${cost:.4f}")


_COLUMNS = ("kind", "event", "tokens", "since", "requests", "carried", "cost")
_GIVE_WAY = ("since", "requests", "tokens")
"""The columns to leave out, in this order, where a terminal is too narrow."""
_WHAT = 24
"""The width that a path or a command needs to be recognised."""


def waste_table(report: WasteReport, width: int) -> list[str]:
    """A row per item, the worst first."""
    ordered = sorted(report.items, key=lambda item: (-item.carried, -item.tokens, item.event))
    rows = [
        (
            item.kind,
            f"#{item.event}",
            f"{item.tokens:,}",
            f"#{item.since}",
            f"{item.requests:,}",
            f"{item.carried:,}",
            in_dollars(item.cost) or "–",
        )
        for item in ordered
    ]
    columns, gone = list(range(len(_COLUMNS))), iter(_GIVE_WAY)
    while True:
        shown = [[row[at] for at in columns] for row in (_COLUMNS, *rows)]
        made = table(shown[0], shown[1:], frozenset(range(1, len(columns))))
        room = width - len(made[0]) - 2
        narrower = next(gone, None) if width and room < _WHAT else None
        if narrower is None:
            break
        columns.remove(_COLUMNS.index(narrower))
    names = (waste_name(item, max(1, room) if width else 0) for item in ordered)
    return [f"{line}  {text}" for line, text in zip(made, ("what", *names), strict=True)]


def waste_name(item: CarriedWaste, room: int) -> str:
    """The line of an item, cut to `room` columns (0: not cut). A path is cut at its beginning."""
    line = printable(item.line)
    if not room:
        return line
    verb, _, path = line.partition(" ")
    return f"{verb} {fit_columns_end(path, max(1, room - len(verb) - 1))}" if item.is_path else fit_columns(line, room)
