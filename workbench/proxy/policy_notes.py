"""What a session's log says of the policy that its requests are sent under: written down, and told in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from workbench.config.text import counted
from workbench.log.events import ON_THE_WAY, Event, Setting

OFF: Final = "off"
DEFAULT: Final = "default"
"""What stands in place of a policy's name: nothing is changed; as the proxy does with all others."""

NO_PROXY: Final = (
    "no proxy that runs writes this session; agents that are started with workbench proxy -- COMMAND have one"
)


def noted(do: str, policy: str = "", results: int = 0) -> Setting:
    """`do`: set, off, default or undo; `policy`: with its knobs, empty for none; `results`: how many were undone."""
    value = {"do": do, "policy": policy, "results": results}
    return Setting(ON_THE_WAY, {key: each for key, each in value.items() if each})


def policy_in(note: Mapping[str, Any]) -> str | None:
    """The policy from here on, empty where nothing is changed; None: the note says nothing of it."""
    return None if note.get("do") == "undo" else str(note.get("policy") or "")


def undone_in(note: Mapping[str, Any]) -> int:
    """How many results a note says were undone."""
    return int(note.get("results") or 0)


def without_policy(events: Iterable[Event]) -> list[Setting]:
    """What a log has to say that goes on in a proxy without a policy; nothing, where it had none before."""
    last = ""
    for event in events:
        if isinstance(event.body, Setting) and event.body.key == ON_THE_WAY:
            policy = policy_in(event.body.value)
            last = last if policy is None else policy
    return [noted("default")] if last else []


def note_words(note: Mapping[str, Any]) -> str:
    """A note as people read it."""
    policy = str(note.get("policy") or "")
    match note.get("do"):
        case "undo":
            results = counted(undone_in(note), "result")
            return f"last batch undone, {results} whole again from the next batch on"
        case "off":
            return "off; what is masked is sent whole again once a batch would be due"
        case "default":
            return f"{policy or 'none'}, as all of this proxy"
    return policy
