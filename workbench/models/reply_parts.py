"""What a model's answer is made of, as it arrives: the typed parts of one stream."""

from __future__ import annotations

from typing import Literal, NamedTuple

Reason = Literal["stop", "length", "tool_calls", "refused"]


class Text(NamedTuple):
    """More of the answer's text."""

    text: str


class Thinking(NamedTuple):
    """More of the model's reasoning."""

    text: str
    signature: str = ""


class CallFragment(NamedTuple):
    """A piece of a tool call. Pieces with the same number belong together; the id and the name come with the first."""

    number: int
    call_id: str
    name: str
    arguments: str


class Reported(NamedTuple):
    """What the provider says the request cost; comes once, near the end, or not at all."""

    prompt: int
    """Cached tokens included."""
    completion: int
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0
    cost: float | None = None


class Finished(NamedTuple):
    """The answer is complete. A stream that ends without it is a broken one."""

    reason: Reason


Part = Text | Thinking | CallFragment | Reported | Finished
