"""Completes requests of OpenAI's Responses API that send only new items and name the response that they continue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from workbench.wire.values import list_in, text_in

EARLIER: Final = "previous_response_id"


def input_items(body: Mapping[str, Any]) -> list[Any]:
    """The items of a request. A bare text becomes an item of the user."""
    found = body.get("input")
    if isinstance(found, list):
        return found
    if found in (None, ""):
        return []
    return [{"role": "user", "content": found} if isinstance(found, str) else found]


class UnknownResponse(KeyError):
    """Raised for a request that continues an unknown response. It has the response's id."""

    def __str__(self) -> str:
        return str(self.args[0])


class EarlierResponses:
    """Remembers requests and responses, for requests that send only new items and name the response they continue."""

    def __init__(self, keep: int = 256) -> None:
        self._keep = keep
        self._known: dict[str, _KnownResponse] = {}

    def resolved(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body with the items of all earlier responses that are known.

        It still names an earlier response only if the first of these items continues one that is not known.
        """
        earlier = body.get(EARLIER)
        if not isinstance(earlier, str) or not earlier:
            return dict(body)
        if earlier not in self._known:
            raise UnknownResponse(earlier)
        known = self._known[earlier]
        made = {**body, EARLIER: known.earlier, "input": [*known.items, *input_items(body)]}
        if not known.earlier:
            del made[EARLIER]
        return made

    def remember_response(self, resolved: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Remember a request, as `resolved` returned it, and the response to it."""
        items = [*input_items(resolved), *list_in(response, "output")]
        self._known[text_in(response, "id")] = _KnownResponse(text_in(resolved, EARLIER), items)
        if len(self._known) > self._keep:
            del self._known[next(iter(self._known))]

    def is_named_in(self, text: str) -> bool:
        """Whether a text contains the id of a remembered response."""
        return any(name in text for name in self._known)


class _KnownResponse(NamedTuple):
    earlier: str
    """The id of an unknown response that comes before these items; empty if there is none."""
    items: list[Any]
    """The items of the request, then those of the response."""
