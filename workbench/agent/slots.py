"""The content of a session's fixed slots: the system prompt, instructions, memory and tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from workbench.agent.instructions import load_instructions
from workbench.agent.memory import load_memory, slot_contents
from workbench.config.paths import config_dir
from workbench.context.policy import InstructionsPolicy
from workbench.log.events import Event, SlotContent


@cache
def system_prompt() -> str:
    """The built-in prompt."""
    return (files("workbench") / "prompts" / "system.md").read_text(encoding="utf-8").strip()


def current_slot_contents(
    cwd: Path, policy: InstructionsPolicy, tools: Iterable[Mapping[str, Any]]
) -> tuple[list[SlotContent], list[str]]:
    """The contents that the slots should have now, and the problems with files that could not be read."""
    instructions = load_instructions(cwd, config_dir(), policy)
    memory = load_memory(config_dir())
    found = [SlotContent("system", "workbench", system_prompt()), *slot_contents(instructions, memory)]
    for tool in tools:
        found.append(SlotContent("tools", tool["function"]["name"], json.dumps(tool, ensure_ascii=False)))
    return found, [*instructions.problems, *memory.problems]


def slot_changes(in_effect: Iterable[Event], contents: Iterable[SlotContent]) -> list[SlotContent]:
    """The events to append to give the slots these contents: new, different, and removed ones."""
    bodies = [event.body for event in in_effect]
    now = {(body.slot, body.name): body for body in bodies if isinstance(body, SlotContent)}
    asked = {(content.slot, content.name): content for content in contents}
    fresh = [content for key, content in asked.items() if now.get(key) != content]
    gone = [SlotContent(slot, name, "") for slot, name in now if (slot, name) not in asked]
    return [*fresh, *gone]
