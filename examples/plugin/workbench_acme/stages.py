"""A stage: results that repeat one line again and again say so once."""

from __future__ import annotations

from itertools import groupby

from workbench.plugins import LeaveOut, Replace, StageInput

_FEWEST = 3
"""Repetitions that are worth a note."""


def without_repeats(given: StageInput) -> dict[str, LeaveOut | Replace]:
    """Decisions by the ids of items; what is not named stays as it is.

    The same conversation has to give the same decisions: what a stage changes must not change again with the next
    request, or the provider's cache is lost.
    """
    found: dict[str, LeaveOut | Replace] = {}
    for item in given.items:
        if item.kind != "tool_result" or item.state == "masked" or item.is_fixed:
            continue
        text, repeated = _squeezed(item.text)
        if repeated and given.count(text) < item.tokens:
            found[item.id] = Replace(text, f"{repeated:,} repeated lines left out")
    return found


def _squeezed(text: str) -> tuple[str, int]:
    lines: list[str] = []
    repeated = 0
    for line, same in groupby(text.splitlines()):
        count = len(list(same))
        lines.append(line)
        if count >= _FEWEST:
            lines.append(f"[the line above {count - 1} more times]")
            repeated += count - 1
        else:
            lines.extend([line] * (count - 1))
    return "\n".join(lines), repeated
