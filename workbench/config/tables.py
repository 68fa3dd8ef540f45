"""The user's TOML files and their tables, read strictly. An error is one line that names the place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from workbench.config.errors import WrongCall
from workbench.config.foreign_files import read_small_text

T = TypeVar("T", bound=msgspec.Struct)


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a table, each with a `Meta` whose description says what is expected."""


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file. Raises WrongCall with the file and, where known, the line."""
    import tomllib  # late: most people have no such file

    text = read_user_text(path)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise WrongCall(f"{path}: expected TOML, got brackets nested too deeply") from None
    except ValueError as error:
        raise WrongCall(_toml_problem(path, text, error)) from None


def read_user_text(path: Path) -> str:
    """The text of a file that the user named or wrote."""
    try:
        return read_small_text(path)
    except FileNotFoundError:
        raise WrongCall(f"{path}: no such file") from None
    except OSError as error:
        raise WrongCall(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        wrong = f"got the byte {error.object[error.start]:#04x}"
        raise WrongCall(f"{path}, line {line}: expected UTF-8 text, {wrong}") from None


def _toml_problem(path: Path, text: str, error: ValueError) -> str:
    """tomllib's message with the place, which is somewhere in its text, moved to the front."""
    message = " ".join(str(error).split())
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    if place is None:
        return f"{path}: expected TOML: {message}"
    line = place[1] or max(len(text.splitlines()), 1)
    return f"{path}, line {line}: expected TOML: {message[: place.start()]}"


_LONGEST_NAME = 80
"""Characters of an unknown key that an error shows."""


def read_table(kind: type[T], value: Any, file: str, name: str = "") -> T:
    """A value of a file as a table; `name`: its name, empty for the whole file. Raises WrongCall."""
    try:
        # msgspec ignores unknown keys of a mapping that is not a dict.
        return msgspec.convert(dict(value) if isinstance(value, Mapping) else value, kind)
    except msgspec.ValidationError as error:
        raise WrongCall(f"{file}: {_problem(kind, value, name, str(error))}") from None
    except UnicodeEncodeError:
        raise WrongCall(f"{file}: {name}{': ' if name else ''}expected text, got half of a surrogate pair") from None


def _problem(kind: type[msgspec.Struct], value: Any, name: str, message: str) -> str:
    """msgspec's message in words for people, with the wrong value, which it leaves out."""
    if not isinstance(value, Mapping):
        return f"{name}{': ' if name else ''}expected a table, got {shown_value(value)}"
    described = msgspec.structs.fields(kind)
    fields = {each.encode_name: each.type for each in described}
    before = f"{name}." if name else ""
    unknown = next((key for key in value if key not in fields), None)
    if unknown is not None and kind.__struct_config__.forbid_unknown_fields:
        shown = unknown if len(unknown) <= _LONGEST_NAME else unknown[:_LONGEST_NAME] + "…"
        return f"{before}{escaped_name(shown)}: {no_such_key(unknown, fields)}"
    # A missing key has no place in the message. Of a list only the name is used: `$.fallback[1]` is `fallback`.
    missing = [each.encode_name for each in described if each.required and each.encode_name not in value]
    key = re.findall(r" - at .*`\$\.([\w-]+)|$", message)[0] or missing[0]
    # With None for a default the type is `Annotated[...] | None`.
    annotated = next(each for each in (fields[key], *get_args(fields[key])) if hasattr(each, "__metadata__"))
    got = shown_value(value[key]) if key in value else "nothing"
    return f"{before}{key}: expected {annotated.__metadata__[0].description}, got {got}"


def shown_value(value: Any) -> str:
    """A wrong value for an error message: short, on one line."""
    try:
        text = repr(value)
    except ValueError:
        # An integer with more digits than Python prints.
        text = "a number with thousands of digits"
    return text if len(text) <= 80 else text[:77] + "..."


def escaped_name(name: str) -> str:
    """A name that the user wrote, safe for one line of a terminal: as it is, or quoted with escapes."""
    return name if name.isprintable() else repr(name)


def no_such_key(key: str, known: Iterable[str]) -> str:
    """The message for an unknown key: the known ones, and which was probably meant."""
    import difflib  # late, as few keys are wrong

    names = list(known)
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"no such key; expected {'one of ' * (len(names) > 1)}{', '.join(names)}{hint}"
