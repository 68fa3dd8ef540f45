"""Notes in a session's log about the policy of its requests: writes them, and describes them for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from workbench.config.text import counted
from workbench.log.events import ON_THE_WAY, Event, Setting

OFF: Final = "off"
DEFAULT: Final = "default"
"""Values in place of a policy's name. They mean: nothing is changed; the policy of the whole proxy."""

NO_PROXY: Final = (
    "no proxy that runs writes this session; agents that are started with workbench proxy -- COMMAND have one"
)


def policy_note(do: str, policy: str = "", results: int = 0) -> Setting:
    """Make a note. `do`: set, off, default or undo; `policy`: with its knobs; `results`: how many were undone.

    An empty `policy` means none.
    """
    value = {"do": do, "policy": policy, "results": results}
    return Setting(ON_THE_WAY, {key: each for key, each in value.items() if each})


def policy_in(note: Mapping[str, Any]) -> str | None:
    """The policy from this note on, empty if nothing is changed; None if the note does not change the policy."""
    return None if note.get("do") == "undo" else str(note.get("policy") or "")


def undone_in(note: Mapping[str, Any]) -> int:
    """How many results were undone, according to a note."""
    return int(note.get("results") or 0)


def without_policy(events: Iterable[Event]) -> list[Setting]:
    """The notes for a log that continues in a proxy without a policy; empty if it had none before."""
    last = ""
    for event in events:
        if isinstance(event.body, Setting) and event.body.key == ON_THE_WAY:
            policy = policy_in(event.body.value)
            last = last if policy is None else policy
    return [policy_note("default")] if last else []


def note_words(note: Mapping[str, Any]) -> str:
    """Describe a note for people."""
    policy = str(note.get("policy") or "")
    match note.get("do"):
        case "undo":
            results = counted(undone_in(note), "result")
            return f"last batch undone, {results} whole again from the next batch on"
        case "off":
            return "off; masked results are sent in full again when the next batch is due"
        case "default":
            return f"{policy or 'none'}, as all of this proxy"
    return policy
