"""Spans in a file, and their attributes as one flat object, for all exporters."""

from __future__ import annotations

from typing import Any

from workbench.wire.values import dict_in, list_in, text_in

_DEPTH = 12
"""How deep objects among the attributes are flattened."""


def spans_of(value: Any) -> list[dict[str, Any]]:
    """The spans of an entry: those of an OTLP request, of a list under `spans`, or the entry itself."""
    if not isinstance(value, dict):
        return []
    resources = list_in(value, "resourceSpans") or list_in(value, "resource_spans")
    if resources:
        scopes = [
            scope
            for each in resources
            for scope in (list_in(each, "scopeSpans") or list_in(each, "scope_spans") or list_in(each, "spans"))
        ]
        return [span for scope in scopes for span in list_in(scope, "spans") if isinstance(span, dict)]
    inside = list_in(value, "spans") or list_in(value, "data")
    if inside and "attributes" not in value:
        return [span for each in inside for span in (spans_of(each) if isinstance(each, dict) else [])]
    if any(key.startswith("attributes.") for key in value):
        value = _from_columns(value)
    return [value] if _is_span(value) else []


def _from_columns(value: dict[str, Any]) -> dict[str, Any]:
    """A span from a row of a table, whose columns are named `attributes.llm.model_name` and the like."""
    attributes = {key.removeprefix("attributes."): each for key, each in value.items() if key.startswith("attributes.")}
    others = {key: each for key, each in value.items() if not key.startswith(("attributes.", "context."))}
    context = {key.removeprefix("context."): each for key, each in value.items() if key.startswith("context.")}
    present = {key: each for key, each in attributes.items() if each is not None}
    return {**others, "context": context, "attributes": present}


def _is_span(value: dict[str, Any]) -> bool:
    known = not value.keys().isdisjoint(("spanId", "span_id", "context", "traceId", "trace_id", "span_kind"))
    return "attributes" in value and "name" in value and known


def attributes_of(span: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a span, or of one of its events: flat, with plain values."""
    found = span.get("attributes")
    if isinstance(found, list):
        return {text_in(each, "key"): _plain(each.get("value")) for each in found if isinstance(each, dict)}
    flat: dict[str, Any] = {}
    _flatten(found if isinstance(found, dict) else {}, "", flat, 0)
    return flat


def _flatten(value: dict[str, Any], prefix: str, flat: dict[str, Any], depth: int) -> None:
    for key, each in value.items():
        name = f"{prefix}{key}"
        listed = isinstance(each, list) and any(isinstance(inner, dict) for inner in each)
        if isinstance(each, dict) and depth < _DEPTH:
            _flatten(each, f"{name}.", flat, depth + 1)
        elif listed and depth < _DEPTH and name.startswith("llm."):
            _flatten({str(at): inner for at, inner in enumerate(each)}, f"{name}.", flat, depth + 1)
        else:
            flat[name] = each


def _plain(value: Any, depth: int = 0) -> Any:
    """A value of OTLP, which has its type as its key."""
    if not isinstance(value, dict) or depth > _DEPTH:
        return value
    for key in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if key in value:
            return value[key]
    if "intValue" in value:
        number = value["intValue"]
        return int(number) if isinstance(number, str) and number.isdecimal() and len(number) < 20 else number
    if "arrayValue" in value:
        return [_plain(each, depth + 1) for each in list_in(value["arrayValue"], "values")]
    if "kvlistValue" in value:
        pairs = list_in(dict_in(value, "kvlistValue"), "values")
        return {text_in(each, "key"): _plain(each.get("value"), depth + 1) for each in pairs if isinstance(each, dict)}
    return None


def numbered_objects(attributes: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The objects under `prefix.0`, `prefix.1` and so on, each with the rest of its keys."""
    found: dict[int, dict[str, Any]] = {}
    start = f"{prefix}."
    for key, value in attributes.items():
        if key.startswith(start):
            number, _, rest = key[len(start) :].partition(".")
            if number.isdecimal() and len(number) < 7:
                found.setdefault(int(number), {})[rest] = value
    return [found[at] for at in sorted(found)]
