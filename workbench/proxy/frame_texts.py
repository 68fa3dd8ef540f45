"""Reads and writes requests and responses in the frames of a websocket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from workbench.proxy.unpacking import BodyTooLarge, checked_size
from workbench.wire.speaking import to_json
from workbench.wire.streams import parsed_json
from workbench.wire.values import dict_in, list_in

ITEM: Final = "response.output_item.done"


def is_request(text: str) -> bool:
    """Whether a frame of the client requests a response. Its type is at one of its ends; the rest may be megabytes."""
    return '"response.create"' in text[:2000] + text[-2000:]


def request_in(text: str) -> dict[str, Any]:
    """The request in a frame; empty if it has none. Raises BodyTooLarge."""
    frame = parsed_json(checked_size(text))
    if not isinstance(frame, dict):
        return {}
    body = {key: value for key, value in frame.items() if key != "type"}
    return dict_in(body, "response") or body


def frame_of(body: Mapping[str, Any], before: str) -> str:
    """A frame with another request, in the same form as the frame `before`."""
    frame = parsed_json(before)
    is_inside = isinstance(frame, dict) and bool(dict_in(frame, "response"))
    return to_json({"type": "response.create", **({"response": body} if is_inside else body)})


def response_in(frames: Sequence[str]) -> tuple[dict[str, Any], int]:
    """The response in frames, and its status; 0 if there is no response."""
    events = [each for each in map(read_frame, frames) if isinstance(each, dict)]
    failed = next((each for each in events if each.get("type") == "error"), None)
    if failed:
        status = failed.get("status")
        return failed, status if isinstance(status, int) and status > 0 else 500
    response = next((dict_in(each, "response") for each in reversed(events) if dict_in(each, "response")), {})
    done = [each["item"] for each in events if each.get("type") == ITEM and "item" in each]
    return {**response, "output": list_in(response, "output") or done}, 200 if events else 0


def read_frame(text: str) -> Any:
    """The value in a frame; None if it is not JSON, or too large."""
    try:
        return parsed_json(checked_size(text))
    except BodyTooLarge:
        return None
