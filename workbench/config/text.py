"""Text for a terminal: one line, no control characters, cut to a width."""

from __future__ import annotations

import json
import re
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from itertools import chain, repeat
from typing import Any

from workbench.config.errors import WrongCall


def printable(text: str, most: int | None = None) -> str:
    """One line that a terminal only shows: white space becomes single blanks, control characters become pictures.

    `most`: the first characters of it. Most of a long text is then not looked at.
    """
    if most is not None:
        for read in (most + most // 4, 4 * most):  # mostly, few characters are white space that is left out
            if len(text) > read:
                start = _shown(" ".join(text[:read].split()))
                if len(start) > most:  # its last character may depend on the next one
                    return start[:most]
    return _shown(" ".join(text.split()))[:most]


def printable_lines(text: str) -> list[str]:
    """Like `printable` for a text of many lines, which keep their white space; tabs become blanks."""
    return [_shown(line.expandtabs(4)) for line in text.replace("\r\n", "\n").split("\n")]


def editable(text: str) -> str:
    """A text to edit: tabs stay, control characters become pictures."""
    return "\n".join("\t".join(map(_shown, line.split("\t"))) for line in text.replace("\r\n", "\n").split("\n"))


def edited(text: str, typed: str) -> str:
    """A text after someone edited what `editable` gave: untouched lines keep their control characters."""
    end = "\r\n" if "\r\n" in text else "\n"
    *lines, last = text.split("\n")
    old = [*((line.removesuffix("\r"), "\r\n" if line.endswith("\r") else "\n") for line in lines), (last, end)]
    shown, new = editable(text).split("\n"), typed.split("\n")
    most = min(len(shown), len(new))
    head = next((at for at in range(most) if shown[at] != new[at]), most)
    tail = next((at for at in range(most - head) if shown[-1 - at] != new[-1 - at]), most - head)
    now = [*old[:head], *((line, end) for line in new[head : len(new) - tail]), *old[len(old) - tail :]]
    return "".join(line + ending for line, ending in now[:-1]) + now[-1][0]


def _shown(line: str) -> str:
    if line.isascii() and line.isprintable():
        return line
    shown = line if line.isprintable() else "".join(map(_visible, line))
    if JOINER in shown:
        shown = re.sub(JOINER, lambda found: JOINER if _joins(shown, found.start()) else "�", shown)
    return shown if shown.isascii() else _MARKS.sub(lambda found: _few_marks(found[0]), shown)


JOINER = "\u200d"


def _joins(line: str, at: int) -> bool:
    """Whether a joiner makes one sign of its neighbours: emoji, or letters with a mark between them.

    Other joiners would join the text to its surroundings, and terminals do not agree on their width.
    """
    before, after = (unicodedata.category(each) if each else "" for each in (line[at - 1 : at], line[at + 1 : at + 2]))
    return (after == "So" and before in ("So", "Sk", "Mn")) or (before == "Mn" and after == "Lo")


MOST_MARKS = 8
"""Marks to show on one character. Thousands would take no column, so no width would ever cut them."""
_MARKS = re.compile(rf"[^\w\s\x21-\x7e]{{{MOST_MARKS + 1},}}")
"""Where more marks may be: a mark is neither a letter nor a digit."""


def _few_marks(run: str) -> str:
    kept, many = [], 0
    for char in run:
        many = many + 1 if _columns(char) == 0 else 0
        if many <= MOST_MARKS:
            kept.append(char)
        elif many == MOST_MARKS + 1:
            kept.append("�")
    return "".join(kept)


_ASCII_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def without_controls(text: str) -> str:
    """A text without characters that a terminal acts on, as wide as before."""
    return "".join(" " * (char == "\xad") if _acts(char) else char for char in text)


def typed_text(text: str) -> str:
    """A text as a user can type it: lines and tabs, but no other control characters, and nothing invisible."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")  # terminals paste line ends as carriage returns
    if lines.isascii():
        return _ASCII_CONTROLS.sub("", lines)
    return "".join(char for char in lines if char in "\n\t" or not _acts(char))


def _visible(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    return "�" if _acts(char) else char


def _acts(char: str) -> bool:
    """C1 controls, marks that change the direction of writing, and line separators."""
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") and char not in "\u200c\u200d"


def width(text: str) -> int:
    """The columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


@cache
def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me") or char in "\u200c\u200d":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fit_columns(text: str, columns: int) -> str:
    """Cut to a width, with an ellipsis when something was cut."""
    if width(text) <= columns:
        return text
    kept, used = [], 1
    for char in text:
        used += _columns(char)
        if used > columns:
            break
        kept.append(char)
    return "".join(kept) + "…"


def fit_columns_end(text: str, columns: int) -> str:
    """Like `fit_columns`, but the beginning is cut: the end of a path says more."""
    return fit_columns(text[::-1], columns)[::-1]


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: frozenset[int] = frozenset(), most: int = 0
) -> list[str]:
    """Lines of a table of at most `most` columns of text; the columns in `right` are aligned to the right."""
    return [*table_lines(header, rows, right, most)]


def table_lines(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: frozenset[int] = frozenset(), most: int = 0
) -> Iterator[str]:
    """The same one by one: all lines of a long table are as large again as its cells."""
    padded: list[Iterable[str]] = []
    used = 0
    for number, column in enumerate(zip(header, *rows, strict=True)):
        is_last = number == len(header) - 1
        cells: Sequence[str] = column
        if is_last and most:
            cells = [fit_columns(_shown(cell), max(8, most - used)) for cell in column]
        if is_last and number not in right:
            padded.append(map(_shown, cells))
        else:
            lines, columns = _padded(cells, str.rjust if number in right else str.ljust)
            padded.append(lines)
            used += columns + 2
    return ("  ".join(row).rstrip() for row in zip(*padded, strict=True))


def _padded(cells: Sequence[str], pad: Callable[[str, int], str]) -> tuple[Iterator[str], int]:
    """The cells of a column, all as wide as the widest, and how wide that is."""
    whole = "".join(cells)
    if whole.isascii() and whole.isprintable():
        columns = max(map(len, cells))
        return map(pad, cells, repeat(columns)), columns
    # Cells with other characters are few, or there many times.
    shown = {cell: _shown(cell) for cell in set(cells) if not (cell.isascii() and cell.isprintable())}
    widths = {line: width(line) for line in shown.values()}
    columns = max(chain(widths.values(), (len(cell) for cell in cells if cell not in shown)))
    # A character may take two columns, or none.
    made = {cell: pad(line, columns + len(line) - widths[line]) for cell, line in shown.items()}
    return (made[cell] if cell in made else pad(cell, columns) for cell in cells), columns


def without_surrogates(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD: a lone surrogate cannot be stored as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def line_width() -> int:
    """The width of the terminal; 0 where output goes to a file or a pipe and lines may have any length."""
    if not sys.stdout.isatty():
        return 0
    import shutil  # late: it loads three ways to pack files

    return shutil.get_terminal_size((120, 24)).columns


def whole_number(digits: str) -> int:
    """A number that somebody typed; the caller has checked that it has only digits (`isdecimal`).

    Python refuses thousands of digits; eighteen are enough for any count and fit a database.
    """
    return int(digits.lstrip("0")[:18] or "0")


def event_range(typed: str) -> tuple[int, int]:
    """The first and the last event that somebody named: `12`, `12-20` or `#12-#20`. Raises WrongCall otherwise."""
    found = re.fullmatch(r"#?(\d+)(?:\s*-\s*#?(\d+))?", typed)
    if found is None:
        raise WrongCall(f"{typed}: expected the number of an event, or two as in 12-20")
    return whole_number(found[1]), whole_number(found[2] or found[1])


def when(milliseconds: int) -> str:
    """A time in milliseconds since 1970, in the user's time zone; a dash where it is out of range."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):  # a file may hold any number
        return "–"


_AGES = ((60, "s"), (60, "min"), (24, "h"), (7, "d"), (52, "wk"))
"""How many of each make one of the next."""


def age(milliseconds: int, now: float | None = None) -> str:
    """How long ago a time was, in one unit: `5 min`. The future counts as now, because clocks differ."""
    passed = int((time.time() if now is None else now) - milliseconds / 1000)
    if passed < 60:
        return "now"
    for many, unit in _AGES:
        if passed < many:
            return f"{passed} {unit}"
        passed //= many
    return f"{passed:,} y"


SCHEMA = 1
"""The version of the JSON that commands and the library give: keys may be added; nothing else changes under it."""


def print_json(value: Any, indent: int | None = 2) -> None:
    """What a command reports, as JSON for programs to read. Each object at the top says its schema."""
    print_plain_json([_with_schema(each) for each in value] if isinstance(value, list) else _with_schema(value), indent)


def _with_schema(value: Any) -> Any:
    return {"schema": SCHEMA, **value} if isinstance(value, dict) else value


def print_plain_json(value: Any, indent: int | None = 2) -> None:
    """A value as JSON and nothing more: what has a schema of its own, such as a provider's request."""
    print(escaped_json(json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)), flush=True)


def print_streamed_json(pairs: Iterable[tuple[str, Any]]) -> None:
    """The same as `print_json` of an object with these pairs, for one with long lists: an iterator is written as a
    list, one item after the other, so that only one of them is in memory. The pairs after it are asked for later."""
    between = "{\n"
    for name, each in chain([("schema", SCHEMA)], pairs):
        sys.stdout.write(f"{between}  {_json_text(name, 2)}: ")
        between = ",\n"
        if not isinstance(each, Iterator):
            sys.stdout.write(_json_text(each, 2))
            continue
        begin = "["
        for item in each:
            sys.stdout.write(f"{begin}\n    {_json_text(item, 4)}")
            begin = ","
        sys.stdout.write("[]" if begin == "[" else "\n  ]")
    print("\n}", flush=True)


def _json_text(value: Any, by: int) -> str:
    """JSON whose lines after the first are moved to the right."""
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    return escaped_json(text.replace("\n", "\n" + " " * by))


def utf8_json(text: str) -> bytes:
    """JSON in UTF-8. Half a surrogate pair has no UTF-8 form, so it stays an escape."""
    return text.encode(errors="backslashreplace")


_MAY_ACT = re.compile(r"[^\x00-\x7e\w]")


def escaped_json(text: str) -> str:
    """JSON that is safe on a terminal: what it would act on becomes a JSON escape, so the value is the same."""
    return _MAY_ACT.sub(lambda found: json.dumps(found[0])[1:-1] if _acts(found[0]) else found[0], text)


def counted(number: int, word: str, several: str = "") -> str:
    """A number with its noun, `1 turn` or `2 turns`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {several or word + 's'}"


def percent(share: float, digits: int | None = None) -> str:
    """A share in per cent, rounded the same way everywhere. By default a small share has one digit more."""
    if digits is None:
        digits = 1 if 0 < abs(share) < 0.1 else 0
    return f"{share:.{digits}%}".replace("%", " %")
