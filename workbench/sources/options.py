"""What the user asked for when the program was called. The ways in make one; nothing below them knows how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Empty where nothing was said: then the session decides, then the settings, then the defaults."""

    model: str = ""
    policy: str = ""
    """A name, or the path of a file."""
    knobs: tuple[str, ...] = ()
    """As `masking.keep_last=3`."""
    window: int | None = None
    reserve: int | None = None
    api_base: str = ""
    """The address of a server of the user's own. It is for the session's own model and no other."""
    fallbacks: tuple[str, ...] = ()
    """Models to ask where the one before cannot answer; the configured ones where this is empty."""
    allow: tuple[str, ...] = ()
    """Patterns of tool calls that need no question, as `run_command:git status`."""
    without: tuple[str, ...] = ()
    """Patterns of tools that are not offered, as `notes__*`."""

    follow: bool = False
    """Whether a file is read anew while somebody else writes it; of its last line, nothing before it is whole."""

    @property
    def for_any_session(self) -> Options:
        """What holds for whatever is opened later: model and policy were meant for what was opened first."""
        return Options(window=self.window, reserve=self.reserve)

    @property
    def for_any_model(self) -> Options:
        """What holds for a model to fall back on: window, reserve and address were meant for the session's own."""
        return Options(policy=self.policy, knobs=self.knobs)


class Detour(NamedTuple):
    """How a screen ends that comes back after the demo."""

    back: str
    """What to open then; empty: this folder's last session."""
