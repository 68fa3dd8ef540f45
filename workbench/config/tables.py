"""Tables of the user's files, read strictly; what is wrong with one is told in a line that names the place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

import msgspec

from workbench.config.errors import WrongCall
from workbench.config.settings import escaped_name, no_such_key, shown

T = TypeVar("T", bound=msgspec.Struct)


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of a table: each has a default, and a `Meta` whose description says what is expected."""


def read_table(kind: type[T], value: Any, file: str, name: str = "") -> T:
    """A value of a file as a table; `name`: which one, empty for the whole file. Raises WrongCall."""
    try:
        # Of a mapping that is no dict, msgspec lets unknown keys pass.
        return msgspec.convert(dict(value) if isinstance(value, Mapping) else value, kind)
    except msgspec.ValidationError as error:
        raise WrongCall(f"{file}: {_problem(kind, value, name, str(error))}") from None


def _problem(kind: type[msgspec.Struct], value: Any, name: str, said: str) -> str:
    """What msgspec said, in words for people and with the value that it does not tell."""
    if not isinstance(value, Mapping):
        return f"{name}: expected a table, got {shown(value)}"
    fields = {each.encode_name: each.type for each in msgspec.structs.fields(kind)}
    before = f"{name}." if name else ""
    unknown = next((key for key in value if key not in fields), None)
    if unknown is not None:
        return f"{before}{escaped_name(unknown)}: {no_such_key(unknown, fields)}"
    # A list is told as a whole: `$.fallback[1]` is about `fallback`.
    (key,) = re.findall(r" - at .*`\$\.(\w+)", said)
    # With None for a default the type is `Annotated[...] | None`.
    annotated = next(each for each in (fields[key], *get_args(fields[key])) if hasattr(each, "__metadata__"))
    return f"{before}{key}: expected {annotated.__metadata__[0].description}, got {shown(value[key])}"
