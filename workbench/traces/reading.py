"""Reads JSON so that every error can name the file, the line and what was expected."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import msgspec

from workbench.config.errors import WrongCall
from workbench.config.file_limits import largest_file
from workbench.config.foreign_files import NotRegularFile, TooLargeFile, open_regular_file, read_to_end

_SPACE = " \t\r\n"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
_QUICK: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


class Located(NamedTuple):
    """A JSON value and its first line."""

    line: int
    value: Any


class Document(NamedTuple):
    """A JSON file: one value, or one per line."""

    name: str
    values: list[Located]
    lines: bool
    """Whether it was JSON lines."""
    broken: tuple[WrongCall, ...] = ()
    """What is wrong with the skipped lines."""
    path: str = ""
    """The path of the file, to find files that belong to it; empty: only the file itself is read."""


def bad_file(name: str, line: int, expected: str, got: object = None) -> WrongCall:
    """The one-line error about a file."""
    found = "" if got is None else f", got {_short(got)}"
    return WrongCall(f"{name}: line {line}: expected {expected}{found}")


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
        return codecs.getincrementaldecoder("utf-8-sig")().decode(raw, final=is_whole)
    except UnicodeDecodeError as error:
        raise bad_file(name, raw[: error.start].count(b"\n") + 1, "text in UTF-8", hex(raw[error.start])) from None


def whole_lines(raw: bytes) -> bytes:
    """A file that is being written, without an unfinished last line; a last line that is a JSON value needs no end.

    A single value over several lines is either complete or not; its lines are not separated.
    """
    end = raw.rfind(b"\n") + 1
    if not end or _is_json(raw[end:]):
        return raw
    first = raw.lstrip()
    single = first[:1] in (b"{", b"[") and not _is_json(first[: first.find(b"\n")])
    return raw if single else raw[:end]


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def read_json(name: str, text: str, *, skip: bool = False) -> Document:
    """One JSON value, or JSON lines. `skip`: lines that are not JSON are skipped and reported, unless all are."""
    start = _skip(text, 0)
    if start == len(text):
        raise bad_file(name, 1, "JSON, but the file is empty")
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError as error:
        if "\n" in text[start:].rstrip() and text[start] == "{":
            return _by_line(name, text, skip)
        raise _not_json(name, text, error) from None
    except RecursionError:
        raise bad_file(name, 1, "JSON that is not nested thousands of levels deep") from None
    if _skip(text, end) == len(text):
        return Document(name, [Located(_line(text, start), value)], False)
    return _by_line(name, text, skip)


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


def _by_line(name: str, text: str, skip: bool) -> Document:
    values: list[Located] = []
    broken: list[WrongCall] = []
    for number, line in enumerate(_lines(text), 1):
        if line.strip():
            try:
                values.append(Located(number, _one(name, number, line)))
            except WrongCall as error:
                if not skip:
                    raise
                broken.append(error)
    if not values:
        raise broken[0]
    return Document(name, values, True, tuple(broken))


def _lines(text: str) -> Iterator[str]:
    """Line by line, because all lines together are as large as the text.

    Only line feeds end a line of JSON; str.splitlines would also split at characters that a string may contain.
    """
    at = 0
    while (end := text.find("\n", at)) >= 0:
        yield text[at:end]
        at = end + 1
    yield text[at:]


def _one(name: str, number: int, line: str) -> Any:
    try:
        return _QUICK.decode(line)  # keys that many lines have are in memory once
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        pass  # it refuses more than JSON does, such as half a surrogate pair
    try:
        return json.loads(line, parse_constant=_no_constant)
    except ValueError as error:
        detail = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise bad_file(name, number, f"one JSON value on the line ({detail})") from None
    except RecursionError:
        raise bad_file(name, number, "JSON that is not nested thousands of levels deep") from None


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
