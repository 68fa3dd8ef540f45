"""Bars and a calendar of what was used, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta

from textual.content import Content

from workbench.config.text import fit_columns, printable, width

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_SHADES = "·░▒▓█"
"""A day without requests, and four degrees of use."""
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MOST_WEEKS = 26
_LEAST = 10
"""Cells that a bar gets, unless that leaves no room for names: models often differ in the end of their names."""
_BETWEEN = 4
"""Blanks between two columns of figures."""


def bar_of(value: float, most: float, columns: int) -> str:
    """A bar whose length is the share of the largest value; any use at all can be seen."""
    eighths = round(8 * columns * value / most) if most > 0 and value > 0 else 0
    eighths = max(eighths, 1) if value > 0 else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def bar_lines(rows: Sequence[tuple[str, float, str]], columns: int) -> Content:
    """A line for each row: its name, a bar, and its value in words."""
    if not rows:
        return Content()
    words = max(width(text) for _, _, text in rows)
    names = [fit_columns(printable(name), max(8, columns - words - 4 - _LEAST)) for name, _, _ in rows]
    wide = max(map(width, names))
    left = max(3, columns - wide - words - 4)
    most = max(value for _, value, _ in rows)
    lines = []
    for name, (_, value, text) in zip(names, rows, strict=True):
        bar = bar_of(value, most, left)
        blanks = " " * (left - len(bar))
        lines.append(
            Content.assemble(name + " " * (wide - width(name)), "  ", (bar, "$accent"), blanks, "  ", text.rjust(words))
        )
    return Content("\n").join(lines)


def figures_in_columns(figures: Sequence[tuple[str, str]], columns: int) -> Content:
    """Names and their values in as many columns as fit, to be read downwards."""
    names, values = max(width(name) for name, _ in figures), max(width(value) for _, value in figures)
    fit = max(1, (columns + _BETWEEN) // (names + 2 + values + _BETWEEN))
    lines = -(-len(figures) // fit)
    rows = []
    for at in range(lines):
        parts: list[Content | str | tuple[str, str]] = []
        for name, value in figures[at::lines]:
            blanks = " " * (values - width(value))
            parts += [(name.ljust(names + 2), "$quiet"), f"{blanks}{value}{' ' * _BETWEEN}"]
        rows.append(Content.assemble(*parts).rstrip())
    return Content("\n").join(rows)


def calendar_of(values: Mapping[str, float], columns: int) -> Content:
    """The last weeks up to the last day, a column each, from Monday to Sunday; the darker, the more."""
    days = [day for day in values if day]
    if not days:
        return Content()
    last = date.fromisoformat(max(days))
    monday = last - timedelta(days=last.weekday())
    weeks = max(1, min(_MOST_WEEKS, (columns - 4) // 2))
    first = monday - timedelta(weeks=weeks - 1)
    most = max((value for day, value in values.items() if day >= first.isoformat()), default=0.0)
    lines = [*_weekday_lines(values, first, last, weeks, most)]
    about = f"{first.isoformat()} to {last.isoformat()}"
    return Content("\n").join([Content.styled(about, "$quiet"), *lines])


def _weekday_lines(values: Mapping[str, float], first: date, last: date, weeks: int, most: float) -> Iterator[Content]:
    for weekday, name in enumerate(_WEEKDAYS):
        days = [first + timedelta(weeks=week, days=weekday) for week in range(weeks)]
        signs = [_shade(values.get(day.isoformat()), most) if day <= last else " " for day in days]
        yield Content.assemble((name.ljust(5), "$quiet"), (" ".join(signs).rstrip(), "$accent"))


def _shade(value: float | None, most: float) -> str:
    if value is None:
        return _SHADES[0]
    return _SHADES[1 + min(3, int(4 * value / most))] if most > 0 else _SHADES[1]
