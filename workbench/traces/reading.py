"""Reads JSON so that every error can name the file, the line and what was expected."""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO, NamedTuple, TypeVar, overload

import msgspec

from workbench.config.errors import WrongCall
from workbench.config.file_limits import largest_file
from workbench.config.foreign_files import NotRegularFile, TooLargeFile, open_regular_file, read_to_end

_SPACE = " \t\r\n"
_MORE = re.compile(rb"\S")
_CHUNK = 1 << 20
_FIRST = 40
"""How many lines are read to recognise the format of a file."""


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_QUICK: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
_REFUSED = (msgspec.MsgspecError, UnicodeEncodeError, RecursionError)
T = TypeVar("T")
Lines = str | bytes
"""Lines of JSON, or one of them; bytes are UTF-8, which takes up to a quarter of a text's memory."""


class Located(NamedTuple):
    """A JSON value and its first line."""

    line: int
    value: Any


class Document(NamedTuple):
    """A JSON file: one value, or one per line."""

    name: str
    values: Sequence[Located]
    lines: bool
    """Whether it was JSON lines."""
    path: str = ""
    """The path of the file, to find files that belong to it; empty: only the file itself is read."""

    @property
    def broken(self) -> tuple[WrongCall, ...]:
        """What is wrong with the skipped lines."""
        return self.values.broken if isinstance(self.values, JsonLines) else ()


class JsonLines(Sequence[Located]):
    """The values of the lines of a file; lines that are not JSON are skipped.

    The first are read at once, the rest only when a later one is needed. `passing_values` keeps none of them: together
    they are three times as large as the file.
    """

    def __init__(self, name: str, text: Lines) -> None:
        """Raises WrongCall if no line is JSON."""
        self._name = name
        self._text = text
        self._broken: tuple[WrongCall, ...] | None = None
        """Known once all lines were read."""
        self._all: list[Located] | None = None
        self._first = [*islice(map(Located._make, self._each_line(_QUICK.decode, _unchanged)), _FIRST)]
        if len(self._first) < _FIRST:
            self._all = self._first
        if not self._first:
            raise self.broken[0] if self.broken else _empty(name)

    def each_value(self, decode: Callable[[Lines], T], convert: Callable[[Any], T]) -> Iterator[T]:
        """Each value in turn; see `passing_values`."""
        if self._all is not None:
            return (convert(value) for _, value in self._all)
        return (value for _, value in self._each_line(decode, convert))

    def _each_line(self, decode: Callable[[Lines], T], convert: Callable[[Any], T]) -> Iterator[tuple[int, T]]:
        broken: list[WrongCall] = []
        for number, line in enumerate(_lines(self._text), 1):
            try:
                value = decode(line)  # keys that many lines have are in memory once
            except _REFUSED:
                if _is_blank(line):
                    continue
                try:
                    value = convert(decode_line(line, self._name, number))
                except WrongCall as error:
                    broken.append(error)
                    continue
            yield number, value
        self._broken = tuple(broken)

    @property
    def broken(self) -> tuple[WrongCall, ...]:
        """What is wrong with the skipped lines."""
        if self._broken is None:
            self._keep_all()
        return self._broken or ()

    def _keep_all(self) -> list[Located]:
        if self._all is None:
            self._all = [*map(Located._make, self._each_line(_QUICK.decode, _unchanged))]
            self._text = ""
        return self._all

    def __len__(self) -> int:
        return len(self._keep_all())

    def __iter__(self) -> Iterator[Located]:
        return iter(self._keep_all())

    @overload
    def __getitem__(self, at: int) -> Located: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Located]: ...
    def __getitem__(self, at: int | slice) -> Located | Sequence[Located]:
        first, end = (at.start or 0, at.stop) if isinstance(at, slice) else (at, at + 1)
        is_near = first >= 0 and end is not None and 0 <= end <= len(self._first)
        return (self._first if is_near else self._keep_all())[at]


def _is_blank(line: Lines) -> bool:
    text = line if isinstance(line, str) else line.decode()  # bytes know no space outside ASCII
    return not text or text.isspace()


def _unchanged(value: Any) -> Any:
    return value


def passing_values(
    entries: Sequence[Located], decode: Callable[[Lines], T] = _QUICK.decode, convert: Callable[[Any], T] = _unchanged
) -> Iterator[T]:
    """The values of entries, without keeping the lines of a file in memory: to go through them once more.

    `decode`: from the text of a line to its value; `convert`: from a value that was decoded otherwise, such as that of
    a line that `decode` refuses.
    """
    if isinstance(entries, JsonLines):
        return entries.each_value(decode, convert)
    return (convert(value) for _, value in entries)


def bad_file(name: str, line: int, expected: str, got: object = None) -> WrongCall:
    """The one-line error about a file."""
    found = "" if got is None else f", got {_short(got)}"
    return WrongCall(f"{name}: line {line}: expected {expected}{found}")


def _empty(name: str) -> WrongCall:
    return bad_file(name, 1, "JSON, but the file is empty")


def _short(value: object) -> str:
    shown = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def read_transcript_text(source: str) -> tuple[str, str]:
    """The display name and the text of a file; `-` is standard input."""
    with open_transcript(source) as (name, file):
        return name, decode_text(name, read_to_end(file, largest_file()))


@contextmanager
def open_transcript(source: str) -> Iterator[tuple[str, BinaryIO]]:
    """The display name and the bytes of a file; `-` is standard input."""
    name = "standard input" if source == "-" else source
    try:
        if source == "-":
            yield name, sys.stdin.buffer
        else:
            with open_regular_file(source) as file:
                yield name, file
    except NotRegularFile as error:
        hint = "; only standard input, named -, may be a pipe" if error.is_pipe else ""
        raise WrongCall(f"{name}: {error.strerror}{hint}") from None
    except TooLargeFile as error:
        raise WrongCall(f"{name}: {error.strerror}; max_bytes under [files] in config.toml allows more") from None
    except OSError as error:
        raise WrongCall(f"{name}: cannot be read: {error.strerror or error}") from None


def decode_text(name: str, raw: bytes, *, is_whole: bool = True) -> str:
    """The text of some bytes. If they are not the whole text, they may end in the middle of a character."""
    try:
        if is_whole:
            return raw.decode("utf-8-sig")
        return codecs.getincrementaldecoder("utf-8-sig")().decode(raw)
    except UnicodeDecodeError as error:
        raise bad_file(name, raw[: error.start].count(b"\n") + 1, "text in UTF-8", hex(raw[error.start])) from None


def whole_lines(raw: bytes) -> bytes:
    """A file that is being written, without an unfinished last line; a last line that is complete JSON is kept.

    A single value over several lines is either complete or not; its lines are not separated.
    """
    end = raw.rfind(b"\n") + 1
    if not end or _is_json(raw[end:]):
        return raw
    first = raw.removeprefix(codecs.BOM_UTF8).lstrip()
    single = first[:1] in (b"{", b"[") and not _is_json(first[: first.find(b"\n")])
    return raw if single else raw[:end]


def are_json_lines(raw: bytes) -> bool:
    """Whether a file is UTF-8, and more follows after a first line that is an object."""
    end = raw.find(b"\n")
    begins = raw.startswith(b"{") and end > 0 and _MORE.search(raw, end) is not None and _is_json(raw[:end])
    return begins and _is_utf8(raw)


def _is_utf8(raw: bytes) -> bool:
    """Whether it is, without keeping its text, which may be several times as large."""
    if raw.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(raw), _CHUNK):
            decoder.decode(raw[at : at + _CHUNK], at + _CHUNK >= len(raw))
    except UnicodeDecodeError:
        return False
    return True


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def read_json(name: str, text: str | bytes, *, skip: bool = False) -> Document:
    """One JSON value, or JSON lines, for which `are_json_lines` if they are bytes.

    `skip`: lines that are not JSON are skipped and reported, unless all are.
    """
    if isinstance(text, bytes):
        return _document(name, text, skip)
    start = _skip(text, 0)
    if start == len(text):
        raise _empty(name)
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError as error:
        if "\n" in text[start:].rstrip() and text[start] == "{":
            return _document(name, text, skip)
        raise _not_json(name, text, error) from None
    except RecursionError:
        raise bad_file(name, 1, "JSON that is not nested thousands of levels deep") from None
    if _skip(text, end) == len(text):
        return Document(name, [Located(_line(text, start), value)], False)
    return _document(name, text, skip)


def _document(name: str, text: Lines, skip: bool) -> Document:
    found = JsonLines(name, text)
    if not skip and found.broken:
        raise found.broken[0]
    return Document(name, found, True)


def list_elements(text: str, key: str | None = None) -> list[Located]:
    """The elements of the file's list, or of the list under `key` of its object, each with its line."""
    at = _skip(text, 0)
    if key is not None:
        at = _value_of(text, at, key)
    found = []
    line, counted = 1, 0
    at = _skip(text, at + 1)
    while text[at] != "]":
        line, counted = line + text.count("\n", counted, at), at
        value, end = _DECODER.raw_decode(text, at)
        found.append(Located(line, value))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _value_of(text: str, at: int, key: str) -> int:
    """The position of the value of `key` in the object at `at`; the last one, as in JSON parsers."""
    found = at
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, end) + 1)
        if name == key:
            found = at
        _, end = _DECODER.raw_decode(text, at)
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _lines(text: Lines) -> Iterator[Lines]:
    """Line by line, because all lines together are as large as the text. Lines of bytes keep their line feed.

    Only line feeds end a line of JSON; str.splitlines would also split at characters that a string may contain.
    """
    return BytesIO(text) if isinstance(text, bytes) else _lines_of_text(text)


def _lines_of_text(text: str) -> Iterator[str]:
    at = 0
    while (end := text.find("\n", at)) >= 0:
        yield text[at:end]
        at = end + 1
    yield text[at:]


def decode_line(line: Lines, name: str = "", number: int = 0) -> Any:
    """The value of a line. Raises WrongCall with the name of the file and the line's number if it is not JSON."""
    with suppress(*_REFUSED):  # msgspec refuses some of what JSON allows, such as half a surrogate pair
        return _QUICK.decode(line)
    try:
        # Python's module guesses the encoding of bytes, and would take their line feed for a part of an open string.
        text = line if isinstance(line, str) else line.decode().removesuffix("\n")
        return json.loads(text, parse_constant=_no_constant, parse_int=_whole)
    except ValueError as error:
        detail = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise bad_file(name, number, f"one JSON value on the line ({detail})") from None
    except RecursionError:
        raise bad_file(name, number, "JSON that is not nested thousands of levels deep") from None


def _whole(digits: str) -> int | str:
    """A whole number; its digits if they are more than Python converts."""
    try:
        return int(digits)
    except ValueError:
        return digits


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _not_json(name: str, text: str, error: ValueError) -> WrongCall:
    if isinstance(error, json.JSONDecodeError):
        return bad_file(name, error.lineno, f"JSON ({error.msg} at column {error.colno})")
    return bad_file(name, 1, f"JSON ({error})")
