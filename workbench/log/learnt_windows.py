"""A model's window as a session learnt it while it ran, kept in its log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from workbench.log.events import Event, Setting


class LearntWindow(NamedTuple):
    """A window in the log."""

    tokens: int
    """0: an earlier one is no longer valid."""
    source: Literal["provider", "server", "option"] = "provider"
    """provider: an error named it; server: a local server reported it; option: the user named it."""


def window_setting(model: str, learnt: LearntWindow) -> Setting:
    """A learnt window as a setting for the log, for this model alone."""
    return Setting("window", {"model": model, **learnt._asdict()})


def learnt_window(events: Iterable[Event], model: str) -> LearntWindow | None:
    """The last window in a log for a model. A bare number is for the model of that time."""
    found: LearntWindow | None = None
    current = ""
    for event in events:
        if not isinstance(event.body, Setting):
            continue
        match event.body.key, event.body.value:
            case "model", value:
                current = str(value or "")
            case "window", {
                "model": str(name),
                "tokens": int(tokens),
                "source": "provider" | "server" | "option" as source,
            }:
                found = (LearntWindow(tokens, source) if tokens > 0 else None) if name == model else found
            case "window", int(tokens) if current == model and tokens > 0:
                found = LearntWindow(tokens)
    return found
