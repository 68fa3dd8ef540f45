"""The knobs of a policy in the lab: what changing them does to the whole session, before they are used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from workbench.context.knobs import find_knob, parse_text
from workbench.context.policy_files import short_policy_name
from workbench.lab.values import PolicyRun
from workbench.tui.screens.policy_editor import PolicyEditor
from workbench.tui.screens.what_if import SessionSnapshot
from workbench.tui.widgets.cells import short_number
from workbench.tui.widgets.main_screen_api import MainScreenApi

Replay = Callable[[str, tuple[str, ...]], PolicyRun]
"""Replays the session under a policy with these knobs; called in the background."""
SMALL = 20
"""Numbers up to this are changed in steps of one, larger ones by a tenth."""


class LabKnobs(PolicyEditor):
    """The policy editor in the lab. Its result is drawn, and used only if the user asks for it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "draw it", id="lab-knobs.draw")]

    def __init__(
        self, host: MainScreenApi, asked: SessionSnapshot, ref: str, turned: Sequence[str], replay: Replay
    ) -> None:
        super().__init__(host, asked, ref, turned)
        self._replay = replay

    def _effect(self, sets: list[str]) -> str:
        # The session's own knobs come first, and are part of the base replay.
        turned = tuple(sets[len(self._asked.knobs) :])
        return knob_effect(self._replay(self._ref, ()), self._replay(self._ref, turned))

    def action_leave(self) -> None:
        """Go back to the plot, with the changes."""
        self.dismiss(self.change._replace(is_used=False))


def knob_effect(before: PolicyRun, after: PolicyRun) -> str:
    """What changed knobs do to a session, in words."""
    parts = [
        f"{short_number(before.tokens, 7)} → {short_number(after.tokens, 7)} tokens",
        f"{len(before.misses):,} → {len(after.misses):,} missed",
    ]
    if before.cost is not None and after.cost is not None:
        parts.append(f"${before.cost:,.2f} → ${after.cost:,.2f}")
    return f"whole session: {', '.join(parts)}" if before.points else "no requests yet"


def step_knob(setting: str, steps: int) -> str:
    """`masking.keep_last=3` a bit higher or lower.

    A number moves within its limits, a choice to the next one, and text stays.
    """
    name, _, text = setting.partition("=")
    name = name.strip()
    found, value = find_knob(name), parse_text(text.strip())
    if found.choices or found.kind == "bool":
        choices = found.choices or ("false", "true")
        before = str(value).lower() if found.kind == "bool" else str(value)
        return f"{name}={choices[(choices.index(before) + steps) % len(choices)]}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return setting
    if found.kind == "int":
        step = 1 if abs(value) <= SMALL else max(1, round(abs(value) / 10))
        moved: float = int(value) + steps * step
    else:
        moved = round(value + steps * (0.05 if found.high <= 1 else max(0.05, abs(value) / 10)), 4)
    return f"{name}={min(max(moved, found.low), found.high):.15g}"


def knobs_title(ref: str, turned: Sequence[str]) -> str:
    """A policy and its changed knobs."""
    return f"{short_policy_name(ref)} with {', '.join(turned)}" if turned else short_policy_name(ref)
