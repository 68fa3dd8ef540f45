"""The user's lasting preferences, `preferences.md` in the config folder; and how files get into the log."""

from __future__ import annotations

from pathlib import Path

from workbench.agent.instructions import Instructions, UnusableError, encodable_path, fit_instructions, read_text
from workbench.log.events import SlotContent

FILE_NAME = "preferences.md"
MAX_BYTES = 32 * 1024
"""Protects against a file that was put there by mistake; a sensible one is far smaller, see `budget.memory_tokens`."""


def load_memory(config_folder: Path, max_bytes: int = MAX_BYTES) -> Instructions:
    """Read `preferences.md`: at most one file. Problems with it are reported, never raised."""
    path = config_folder / FILE_NAME
    try:
        reading = read_text(path, max_bytes)
    except UnusableError as error:
        return Instructions(problems=(f"{encodable_path(path)}: {error}",))
    if reading is None or not reading.text.strip():
        return Instructions()
    problems = [f"{encodable_path(path)}: {reading.problem}"] if reading.problem else []
    file = fit_instructions(path, reading, max_bytes)
    if file is None:
        problems.append(f"{encodable_path(path)}: left out, only {max_bytes} bytes are allowed")
        return Instructions(problems=tuple(problems))
    return Instructions((file,), tuple(problems), len(file.text.encode()))


def slot_contents(instructions: Instructions, memory: Instructions) -> list[SlotContent]:
    """The files as events for the log: one for each `AGENTS.md`, then one for the preferences."""
    return [
        *(SlotContent("instructions", encodable_path(file.path), file.text) for file in instructions.files),
        *(SlotContent("memory", encodable_path(file.path), file.text) for file in memory.files),
    ]
