"""Prepares a provider's event stream for its readers: bounded, in linear time, in the shapes that litellm knows.

The readers copy an event once for every line of it, treat a byte-order mark as a part of the first field, and fail if a
text comes as a list of parts. So each event is passed on as one piece, with one line of data.
"""

from __future__ import annotations

import json
import math
from typing import Any

from workbench.models.failures import ModelFailure

MOST_EVENT = 16 * 2**20
"""The most bytes of one event. A picture fits; a line that never ends does not."""

_MARK = b"\xef\xbb\xbf"


class EventStream:
    """Takes bytes as they arrive, and returns the events that are complete."""

    def __init__(self) -> None:
        self._begun = False
        self._first = b""
        """Bytes at the beginning that may become a byte-order mark."""
        self._open: list[bytes] = []
        """The pieces of a line that has not ended."""
        self._after_return = False
        """Whether the last piece ended with a carriage return: a line feed after it is not a line of its own."""
        self._name = b""
        self._data: list[bytes] = []
        self._size = 0
        """Bytes of the event that has not ended."""

    def feed(self, piece: bytes) -> bytes:
        """The events that end in this piece. Raises ModelFailure if one is too long."""
        if not self._begun:
            self._first += piece
            if len(self._first) < len(_MARK) and _MARK.startswith(self._first):
                return b""
            self._begun = True
            piece = self._first.removeprefix(_MARK)
        if self._after_return:
            piece = piece.removeprefix(b"\n")
        self._after_return = piece.endswith(b"\r")
        whole: list[bytes] = []
        for line in piece.splitlines(keepends=True):
            self._size += len(line)
            if self._size > MOST_EVENT:
                raise ModelFailure("unreadable_answer", f"a single event of it is over {MOST_EVENT:,} bytes.")
            self._open.append(line)
            if line.endswith((b"\n", b"\r")):
                whole.append(self._line())
        return b"".join(whole)

    def end(self) -> bytes:
        """The last event, if no blank line followed it. A line that was cut off is left out, as incomplete JSON."""
        rest = self._line()
        if self._data and _json(self._data[-1]) is None and self._data[-1] != b"[DONE]":
            self._data.pop()
        return rest + self._event()

    def _line(self) -> bytes:
        """Process the line that has ended. Returns an event if this was the blank line after it."""
        line = b"".join(self._open).rstrip(b"\r\n")
        self._open.clear()
        if not line:
            return self._event()
        field, _, value = line.partition(b":")
        match field:
            case b"data":
                self._data.append(value.removeprefix(b" "))
            case b"event":
                self._name = line
            case b"" | b"id" | b"retry":  # comments and fields that nobody reads
                self._size -= len(line)
            case _:  # some servers send plain lines of JSON
                self._size -= len(line)
                return line + b"\n\n"
        return b""

    def _event(self) -> bytes:
        data, name = self._data, self._name
        self._data, self._name, self._size = [], b"", 0
        if not data:
            return b""
        # A newline inside JSON is between values, where a blank means the same.
        return (name + b"\n" if name else b"") + b"data: " + mended_event(b" ".join(data)) + b"\n\n"


def mended_event(data: bytes) -> bytes:
    """An event's JSON with texts and ids in the form that litellm reads; anything else unchanged."""
    body = _json(data)
    if not isinstance(body, dict):
        return data
    mends = [*map(_mend_choice, _dicts(body.get("choices"))), _mend_block(body), _mend_figures(body.get("usage"))]
    if not any(mends):
        return data
    return json.dumps(body).encode()


def _mend_choice(choice: dict[str, Any]) -> bool:
    """Repair a choice of OpenAI's dialect. Return whether anything was changed."""
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        return False
    changed = False
    content = delta.get("content")
    if content is not None and not isinstance(content, str):
        delta["content"], thinking = _texts(content)
        if thinking:
            delta.setdefault("reasoning_content", thinking)
        changed = True
    for call in _dicts(delta.get("tool_calls")):
        function = call.get("function")
        if call.get("id") is not None and not isinstance(call["id"], str):
            call["id"] = str(call["id"])
            changed = True
        if isinstance(function, dict) and isinstance(function.get("arguments"), dict):
            function["arguments"] = json.dumps(function["arguments"])
            changed = True
    return changed


def _mend_block(body: dict[str, Any]) -> bool:
    """Repair a block of Anthropic's dialect. Return whether anything was changed."""
    block = body.get("content_block")
    if not isinstance(block, dict) or block.get("type") != "tool_use" or isinstance(block.get("id"), str):
        return False
    block["id"] = "" if block.get("id") is None else str(block["id"])
    return True


def _mend_figures(figures: Any) -> bool:
    """Remove figures that are not numbers: litellm would fail on the whole answer because of them."""
    if not isinstance(figures, dict):
        return False
    wrong = [name for name, value in figures.items() if isinstance(value, float) and not math.isfinite(value)]
    for name in wrong:
        del figures[name]
    return any([bool(wrong), *map(_mend_figures, figures.values())])


def _texts(content: Any) -> tuple[str, str]:
    """The text and the thinking of a content that came as parts."""
    text: list[str] = []
    thinking: list[str] = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict) and part.get("type") == "thinking":
            thinking.append(_texts(part.get("thinking"))[0])
        elif isinstance(part, dict):
            text.append(part["text"] if isinstance(part.get("text"), str) else "")
        elif isinstance(part, str):
            text.append(part)
    return "".join(text), "".join(thinking)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _json(data: bytes) -> Any:
    """The value, or None if it is not JSON."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
