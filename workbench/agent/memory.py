"""The user's lasting preferences, `preferences.md` in the config folder; and how files get into the log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workbench.agent.instructions import Instructions, UnusableError, encodable_path, fit_instructions, read_text
from workbench.log.events import SlotContent

FILE_NAME = "preferences.md"
MAX_BYTES = 32 * 1024
"""Protects against a file that was put there by mistake; a sensible one is far smaller, see `budget.memory_tokens`."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The text that the user wants in every session."""

    path: Path
    text: str = ""
    """The text that is sent, including the marker of a cut; empty if there is none."""
    original_bytes: int = 0
    """Size of the whole text, in bytes of UTF-8."""
    cut: bool = False
    problems: tuple[str, ...] = ()
    """What could not be used, or not unchanged; one line each that begins with the path."""


def load_memory(config_folder: Path, max_bytes: int = MAX_BYTES) -> Memory:
    """Read `preferences.md`. Problems with it are reported, never raised."""
    path = config_folder / FILE_NAME
    try:
        reading = read_text(path, max_bytes)
    except UnusableError as error:
        return Memory(path, problems=(f"{encodable_path(path)}: {error}",))
    if reading is None or not reading.text.strip():
        return Memory(path)
    problems = [f"{encodable_path(path)}: {reading.problem}"] if reading.problem else []
    file = fit_instructions(path, reading, max_bytes)
    if file is None:
        problems.append(f"{encodable_path(path)}: left out, only {max_bytes} bytes are allowed")
        return Memory(path, "", reading.size, True, tuple(problems))
    return Memory(path, file.text, file.original_bytes, file.cut, tuple(problems))


def slot_contents(instructions: Instructions, memory: Memory) -> list[SlotContent]:
    """The files as events for the log: one for each `AGENTS.md`, then one for the preferences."""
    contents = [SlotContent("instructions", encodable_path(file.path), file.text) for file in instructions.files]
    if memory.text:
        contents.append(SlotContent("memory", encodable_path(memory.path), memory.text))
    return contents
