"""Values of other libraries as plain JSON values: the objects of the providers' SDKs become dicts."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from workbench.config.errors import WrongCall
from workbench.config.tables import shown_value

_SCALARS: Final = (str, int, float, bool, type(None))
_TO_ADDED: Final = ("choices", "message", "output", "content", "tool_calls", "function")
"""Keys that lead from an answer or a message to what SDKs add. Arguments and schemas are not among them."""
_DEEPEST: Final = 200
_BINARY: Final = ("data", "bytes", "image_bytes", "imageBytes", "thought_signature", "thoughtSignature")
"""Keys under which SDKs have bytes, which go over the wire as base64."""


class BadMessage(WrongCall):
    """A message, an answer or a tool that cannot be read. It says where and what was expected."""


def bad_message(where: str, expected: str, got: object) -> BadMessage:
    """The error for a value that is not what was expected."""
    return BadMessage(f"{where}: expected {expected}, got {described(got)}")


def described(value: object) -> str:
    """A wrong value in a few words."""
    if value is None or isinstance(value, str | int | float | bool | list | dict):
        return shown_value(value)
    return f"an object of the type {type(value).__module__}.{type(value).__qualname__}"


def plain(value: Any, where: str) -> Any:
    """A copy of a value with dicts, lists, texts and numbers only. Raises BadMessage for what is none of these.

    What OpenAI's SDK adds to a message for its users, `parsed` and `parsed_arguments`, is left out: no provider takes
    it.
    """
    made = _copied_or_converted(value, where)
    _drop_added(made)
    return made


def _copied_or_converted(value: Any, where: str) -> Any:
    if type(value) is dict:
        try:
            return copied(value)  # most messages are plain already
        except (TypeError, ValueError, RecursionError):
            pass  # an object of an SDK is in it, or what JSON does not have
    return _plain(value, where, _DEEPEST)


def _drop_added(value: Any) -> None:
    if isinstance(value, list):
        for each in value:
            _drop_added(each)
    elif isinstance(value, dict):
        if "parsed" in value and ("role" in value or value.get("type") == "output_text"):
            del value["parsed"]
        if "arguments" in value:
            value.pop("parsed_arguments", None)
        for key in _TO_ADDED:
            if key in value:
                _drop_added(value[key])


def copied(value: Any) -> Any:
    """A copy of a plain value. Raises TypeError or ValueError for what JSON does not have.

    Texts are shared, because nobody can change them: a copy through JSON takes ten times as long.
    """
    kind = type(value)
    if kind is str:
        if not value.isascii():
            value.encode()  # raises UnicodeEncodeError, which is a ValueError, for half a character
        return value
    if kind is dict:
        return {_key(key): copied(each) for key, each in value.items()}
    if kind is list or kind is tuple:
        return [copied(each) for each in value]
    if kind is float and not math.isfinite(value):
        raise ValueError(value)
    if kind not in _SCALARS:
        raise TypeError(kind)
    return value


def _key(key: Any) -> str:
    if type(key) is not str:
        raise TypeError(key)
    if not key.isascii():
        key.encode()
    return key


def _plain(value: Any, where: str, depth: int) -> Any:
    if isinstance(value, str | int | float | bool | type(None)):
        return _scalar(value if type(value) in _SCALARS else _bare(value), where)
    if depth < 0:
        raise BadMessage(f"{where}: nested more than {_DEEPEST} levels deep")
    if isinstance(value, bytes | bytearray):
        if where.rpartition(".")[2] not in _BINARY:
            raise BadMessage(f"{where}: expected a text, got bytes; decode them first")
        return base64.b64encode(value).decode()
    dumped = _dumped(value)
    if isinstance(dumped, Mapping):
        named = ((str(_bare(key)), each) for key, each in dumped.items())
        return {key: _plain(each, f"{where}.{key}", depth - 1) for key, each in named}
    if isinstance(dumped, list | tuple):
        return [_plain(each, f"{where}[{at}]", depth - 1) for at, each in enumerate(dumped)]
    raise bad_message(where, "a dict, or an object of an SDK", value)


def _scalar(value: Any, where: str) -> Any:
    """A text without halves of characters, which cannot be sent; a number that JSON has."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        raise BadMessage(f"{where}: expected a number, got {value}")
    return value


def _bare(value: Any) -> Any:
    """The text or number of an enum's member, or of a subclass of either."""
    inner = getattr(value, "value", value)
    if isinstance(inner, str):
        return str.__str__(inner)
    if isinstance(inner, bool | type(None)):
        return inner
    return float(inner) if isinstance(inner, float) else int(inner) if isinstance(inner, int) else str(inner)


def _dumped(value: Any) -> Any:
    """An SDK's object as the dict that the SDK itself would send."""
    if isinstance(value, Mapping | list | tuple):
        return value
    if callable(dump := getattr(value, "model_dump", None)):  # pydantic
        return dump(mode="json", by_alias=True, exclude_none=True, warnings=False)
    if callable(dump := getattr(value, "to_dict", None)):
        return dump()
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return value
