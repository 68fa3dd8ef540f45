"""The knobs as data: names, types, bounds and meanings, read from the dataclasses of `policy.py`.

There is no second list of knobs. Loading, checking, showing and documenting a policy all use this one.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from msgspec import Struct

from workbench.config.settings import ADK_NAMES
from workbench.config.tables import shown_value
from workbench.context.policy import NO_LIMIT, Policy, ToolTruncation

TOOLS = "truncation.tools"
"""The one table inside a section: its keys are the names of tools."""

Kind = Literal["int", "float", "bool", "str", "list"]


class Knob(Struct, frozen=True):
    """One knob: its name and its allowed values."""

    name: str
    """Dotted, `masking.keep_last`; for one tool `truncation.tools.NAME.max_tokens`."""
    kind: Kind
    default: Any
    meaning: str
    """What it does, in a sentence or two for people."""
    choices: tuple[str, ...] = ()
    low: float = 0
    high: float = NO_LIMIT

    @property
    def key(self) -> str:
        """The last part of the name, which is the field's own."""
        return self.name.rpartition(".")[2]

    def allowed(self) -> str:
        """The allowed values, in words that follow "expected"."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        match self.kind:
            case "bool":
                return "true or false"
            case "str":
                return "text"
            case "list":
                return 'a list of names, such as [".git", ".hg"]'
            case _:
                number = "a whole number" if self.kind == "int" else "a number"
                if self.high >= NO_LIMIT:
                    return f"{number} from {self.low:g} up"
                return f"{number} from {self.low:g} to {self.high:g}"

    def check_value(self, value: Any) -> Any:
        """The value as the policy holds it. Raises ValueError with what was expected."""
        match self.kind:
            case "int" | "float":
                fits = self._is_number(value)
            case "bool":
                fits = isinstance(value, bool)
            case "str":
                fits = _is_text(value) and (not self.choices or value in self.choices)
            case "list":
                fits = isinstance(value, list | tuple) and all(_is_text(each) and each for each in value)
        if not fits:
            raise ValueError(f"expected {self.allowed()}, got {shown_value(value)}")
        if self.kind == "float":
            return float(value)
        return tuple(value) if self.kind == "list" else value

    def _is_number(self, value: Any) -> bool:
        """Whether it is a number of the right type within the bounds; booleans and nan are not numbers."""
        allowed = (int,) if self.kind == "int" else (int, float)
        if isinstance(value, bool) or not isinstance(value, allowed):
            return False
        if self.low <= value <= self.high:
            return True
        if value > NO_LIMIT <= self.high:
            raise ValueError(f"expected {self.allowed()} and at most {NO_LIMIT}, got {shown_value(value)}")
        return False


def _is_text(value: Any) -> bool:
    """A string that can be written as UTF-8; arguments and variables may contain stray bytes as surrogates."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_none(hint: Any) -> Any:
    """`X | None` as X: a knob that is not set is left out, never written as a value."""
    arms = get_args(hint)
    return next(arm for arm in arms if arm is not NoneType) if NoneType in arms else hint


def _knobs_of(section: str, table: type) -> Iterator[Knob]:
    """The knobs of one dataclass, without the table of tools."""
    hints = get_type_hints(table)
    for each in fields(table):
        hint = _without_none(hints[each.name])
        origin = get_origin(hint)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            continue
        choices = tuple(get_args(hint)) if origin is Literal else ()
        kind: Kind = "str" if choices else "list" if origin is tuple else hint.__name__
        default = each.default if each.default is not MISSING else None
        yield Knob(f"{section}.{each.name}", kind, default, choices=choices, **each.metadata)


SECTIONS: Mapping[str, type] = {
    name: hint for name, hint in get_type_hints(Policy).items() if isinstance(hint, type) and is_dataclass(hint)
}
KNOBS: Mapping[str, Knob] = {knob.name: knob for name, table in SECTIONS.items() for knob in _knobs_of(name, table)}
TOOL_KNOBS: Mapping[str, Knob] = {knob.key: knob for knob in _knobs_of(f"{TOOLS}.NAME", ToolTruncation)}


def find_knob(name: str) -> Knob:
    """The knob with a dotted name. Raises LookupError with the closest ones. A tool's name may contain dots."""
    if name in KNOBS:
        return KNOBS[name]
    if name in SECTIONS or name == TOOLS:
        raise LookupError("expected a table of knobs")
    if name.startswith(f"{TOOLS}."):
        tool, _, key = name.removeprefix(f"{TOOLS}.").rpartition(".")
        if tool and key in TOOL_KNOBS:
            return TOOL_KNOBS[key]
        raise LookupError("no such knob of a tool" + closest_hint(key, TOOL_KNOBS))
    if "." not in name:
        same = [known for known in KNOBS if known.endswith(f".{name}")]
        raise LookupError("no such section or knob" + closest_hint(name, [*SECTIONS, *same]))
    section, _, key = name.partition(".")
    if section == "compaction" and key in ADK_NAMES:
        raise LookupError(f"no such knob; here it is compaction.{ADK_NAMES[key]}")
    raise LookupError("no such knob" + closest_hint(name, KNOBS))


def closest_hint(name: str, known: Iterable[str]) -> str:
    """A hint at what was probably meant; may be empty. A knob's name without its section counts as close."""
    import difflib  # late, as few names are wrong

    names = list(known)
    key = name.rpartition(".")[2]
    same = [each for each in names if each.endswith(f".{key}")]
    near = difflib.get_close_matches(name, names)
    found = list(dict.fromkeys([*near, *same]))[:3] or difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    return f"; did you mean {' or '.join(found)}?" if found else ""


def flatten_table(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Dotted names and raw values of a TOML table; what is no knob keeps its name."""
    for section, content in table.items():
        if section not in SECTIONS or not isinstance(content, Mapping):
            yield from _nested(section, content)
            continue
        for key, value in content.items():
            if f"{section}.{key}" == TOOLS and isinstance(value, Mapping):
                for tool, overrides in value.items():
                    yield from _nested(f"{TOOLS}.{tool}", overrides)
            else:
                yield f"{section}.{key}", value


def _nested(name: str, content: Any) -> Iterator[tuple[str, Any]]:
    """The entries of a table, or the thing itself if it is empty or no table."""
    if isinstance(content, Mapping) and (content or name.startswith(f"{TOOLS}.")):
        yield from ((f"{name}.{key}", value) for key, value in content.items())
    else:
        yield name, content


def parse_text(text: str) -> Any:
    """A value from the command line or the environment: TOML if it parses, else the text itself."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return table["value"] if len(table) == 1 else text


def as_toml(value: Any) -> str:
    """A knob's value as a policy file has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, except for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, tuple):
        return "[" + ", ".join(as_toml(each) for each in value) + "]"
    return "" if value is None else repr(value)


class KnobRow(NamedTuple):
    """One line of the reference."""

    name: str
    default: str
    allowed: str
    meaning: str


def knob_table() -> list[KnobRow]:
    """Every knob with its default, range and meaning, for the reference."""
    return [
        KnobRow(knob.name, as_toml(knob.default), knob.allowed(), knob.meaning)
        for knob in (*KNOBS.values(), *TOOL_KNOBS.values())
    ]
