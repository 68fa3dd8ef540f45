"""What plug-ins register in tests: parts that work, parts that raise, and parts of the wrong type."""

from __future__ import annotations

import random
from typing import Any

from workbench.agent.tools.base import Tool
from workbench.context.stages.plugin import LeaveOut, Replace, StageDecision, StageInput
from workbench.live.known_agents import KnownAgent
from workbench.traces.format_kinds import TextFormat
from workbench.wire.dialect import Dialect

WRONG_TYPE = 3
COLOURS = {
    *("primary", "secondary", "accent", "foreground", "background"),
    *("success", "warning", "error", "surface", "panel"),
}


def fail(*_: Any) -> Any:
    """Raise, as a plug-in with a mistake does."""
    raise RuntimeError("a mistake\nof the plug-in")


def leave(*_: Any) -> Any:
    """Try to end the program."""
    raise SystemExit(3)


def tidy_stage(given: StageInput) -> dict[str, StageDecision]:
    """Leave out and replace at random, the same for the same item, and within the rules."""
    found: dict[str, StageDecision] = {}
    for item in given.items:
        chance = random.Random(min(item.id, item.pair or item.id)).random()
        pair = next((each for each in given.items if each.id == item.pair), None)
        if item.is_fixed or (pair is not None and pair.is_fixed):
            continue
        if chance < 0.3 and not (pair is None and item.kind in ("tool_call", "tool_result")):
            found[item.id] = LeaveOut("by chance")
        elif chance < 0.6 and item.kind in ("message", "tool_result"):
            found[item.id] = Replace(f"[shorter] {item.text[:5]}", "too long")
    return {} if len(found) == len(given.items) else found


def unruly_stage(given: StageInput) -> dict[Any, Any]:
    """Decide at random, whatever the rules say."""
    choices: list[Any] = [LeaveOut("x"), LeaveOut(""), Replace("y", "z"), Replace(" ", "z"), None, "text"]
    chance = random.Random(len(given.items))
    found: dict[Any, Any] = {item.id: chance.choice(choices) for item in given.items if chance.random() < 0.2}
    return {**found, "nowhere": LeaveOut("x")} if chance.random() < 0.1 else found


def shouting_stage(given: StageInput) -> dict[str, StageDecision]:
    """Replace each result that another stage has not touched by its size."""
    return {
        item.id: Replace(f"{given.count(item.text)} tokens of {item.tool}", "results are kept elsewhere")
        for item in given.items
        if item.kind == "tool_result" and item.state == "sent" and not item.is_fixed
    }


def parting_stage(given: StageInput) -> dict[str, StageDecision]:
    """Leave out results without their calls."""
    return {item.id: LeaveOut("results are long") for item in given.items if item.kind == "tool_result"}


def deaf_stage(given: StageInput) -> dict[str, StageDecision]:
    """Leave out what the user said."""
    return {item.id: LeaveOut("not heard") for item in given.items if item.role == "user"}


class HalfDialect(Dialect):
    """Has a name and nothing else."""

    name = "half"


ODD_POLICY = {"masking": {"keep_lost": 1}}
PALE_THEME = {"dark": True, "background": "pale", **dict.fromkeys(COLOURS - {"background"}, "#ffffff")}
SOFT_THEME = {"dark": True, **dict.fromkeys(COLOURS, "#123456")}
READ_FILE = Tool("read_file", "read", "", {}, fail, fail)
LOUD_FORMAT = TextFormat("Loud", ("ACME",), fail, fail)
ODD_FORMAT = TextFormat("Odd", ("ODD",), lambda text: True, lambda name, text: ["text"])  # type: ignore[list-item]
LOUD_AGENT = KnownAgent("Loud", (), ("loud",), fail)
