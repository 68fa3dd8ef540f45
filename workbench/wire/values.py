"""Reads JSON of providers and agents without trusting its types, and converts it to the parts of a message."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from itertools import chain
from json.encoder import encode_basestring as _quoted
from typing import Any

from workbench.config.text import without_surrogates
from workbench.log.events import Content, ImagePart, OtherPart, Part, TextPart

_TEXTS = ("text", "input_text", "output_text")
_TEXT_ALONE = frozenset({str})
_WRITER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_WRITER_OF_ANY_NUMBER = json.JSONEncoder(ensure_ascii=False)


def text_in(value: Any, key: str) -> str:
    """The text under a key; empty if it is missing or not a text."""
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, str):
        return ""
    return found if found.isascii() else without_surrogates(found)


def dict_in(value: Any, key: str) -> dict[str, Any]:
    """The object under a key; empty if it is missing or not an object."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def list_in(value: Any, key: str) -> list[Any]:
    """The list under a key; empty if it is missing or not a list."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def number_in(value: Any, key: str) -> int:
    """The positive integer under a key; 0 if it is missing or anything else."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if type(found) is int and found > 0 else 0  # True is no number


def either(value: Any, key: str) -> Any:
    """The value under a key, in camel case or with underscores."""
    if not isinstance(value, dict):
        return None
    under = "".join(f"_{char.lower()}" if char.isupper() else char for char in key)
    return value.get(key, value.get(under))


def is_models(message: Any) -> bool:
    """Whether a message is the model's, in any dialect."""
    role, kind = text_in(message, "role"), text_in(message, "type")
    return role in ("assistant", "model") if role else kind == "reasoning" or kind.endswith("_call")


def parsed(value: Any) -> Any:
    """Decode a value that may be JSON text. Text that is not JSON is returned unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            return json_value(value)
        except (ValueError, RecursionError):
            return value
    return value


def json_value(text: str | bytes) -> Any:
    """Decode JSON as other programs write it: a number that JSON or a float cannot hold becomes its text.

    Raises ValueError or RecursionError if the text is not JSON.
    """
    return json.loads(text, parse_float=_float_or_digits, parse_constant=str)


def _float_or_digits(digits: str) -> float | str:
    number = float(digits)
    return number if math.isfinite(number) else digits


def json_text(value: Any) -> str:
    """A value as JSON text that can be stored. A text is not encoded, because the model wrote it that way."""
    return without_surrogates(value if isinstance(value, str) else _storable(value)[1])


def cleaned(value: Any) -> Any:
    """A JSON value that can be stored; the same object if it already can."""
    value, written = _storable(value)
    stored = without_surrogates(written)
    return value if stored is written else json.loads(stored)


def _storable(value: Any) -> tuple[Any, str]:
    """A value and its JSON, in which NaN and Infinity have become text."""
    if type(value) is dict and _TEXT_ALONE.issuperset(map(type, chain(value, value.values()))):
        # As most arguments of tools are; an encoder would be made for each.
        return value, "{" + ", ".join([f"{_quoted(key)}: {_quoted(text)}" for key, text in value.items()]) + "}"
    try:
        return value, _WRITER.encode(value)
    except ValueError:
        value = json_value(_WRITER_OF_ANY_NUMBER.encode(value))
        return value, _WRITER.encode(value)


def part_of(value: Any) -> Part:
    """Convert a part of a message, in any form used by OpenAI, Anthropic and their clients."""
    if isinstance(value, str):
        return TextPart(without_surrogates(value))
    if not isinstance(value, dict):
        return other_part(value)
    kind, image, source = value.get("type"), value.get("image_url"), value.get("source")
    if kind in _TEXTS and isinstance(value.get("text"), str):
        return TextPart(without_surrogates(value["text"]))
    if kind == "image_url" and isinstance(image, str):
        return ImagePart(without_surrogates(image))
    if kind == "image_url" and isinstance(image, dict) and isinstance(image.get("url"), str):
        return ImagePart(without_surrogates(image["url"]), without_surrogates(str(image.get("detail") or "auto")))
    if kind == "input_image" and isinstance(image, str):
        return ImagePart(without_surrogates(image), without_surrogates(str(value.get("detail") or "auto")))
    if kind == "image" and isinstance(source, dict):
        url = source.get("url") or f"data:{source.get('media_type', '')};base64,{source.get('data', '')}"
        return ImagePart(without_surrogates(str(url)))
    if kind == "image" and isinstance(value.get("image"), str):
        return ImagePart(without_surrogates(value["image"]), without_surrogates(str(value.get("detail") or "auto")))
    if kind == "image" and isinstance(value.get("data"), str):
        return ImagePart(without_surrogates(f"data:{value.get('mimeType', '')};base64,{value['data']}"))
    return other_part(value)


def other_part(value: Any) -> OtherPart:
    """A part that is not understood, with its full contents. It gets a `type`, which every part of a request has."""
    kind = text_in(value, "type")
    known = kind and kind not in _TEXTS
    return OtherPart(cleaned(value) if known else {"type": "unknown", "value": cleaned(value)})


def content_of(value: Any) -> Content:
    """A message's content: a text or parts. A list with a single text gives that text."""
    if value is None:
        return ""
    if not isinstance(value, list):
        return json_text(value)
    return content_from(part_of(part) for part in value)


def content_from(parts: Iterable[Part]) -> Content:
    """Parts as a message's content; a single text part gives its text."""
    found = tuple(parts)
    if len(found) == 1 and isinstance(found[0], TextPart):
        return found[0].text
    return found or ""
