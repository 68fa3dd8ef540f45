"""The budget: how the window is divided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from workbench.context.policy import BudgetPolicy
from workbench.models.catalogue import ModelInfo

DEFAULT_MAX_OUTPUT = 8_192
"""The reserve where nobody knows the model's maximum output."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a request has to keep to, before anything is in it."""

    window: int
    window_source: str
    reserve: int
    """Room for the answer inside the window; 0 where the window is for input alone."""
    margin: int

    @property
    def capacity(self) -> int:
        """The most tokens a request may have."""
        return self.window - self.reserve - self.margin


def limits(info: ModelInfo, policy: BudgetPolicy, *, window: int | None = None, reserve: int | None = None) -> Limits:
    """The limits of a model under a policy; `window` and `reserve` are the user's own figures and win."""
    size, input_only = info.window, info.input_only
    source: str = info.window_source
    if window is not None:
        size, source, input_only = window, "option", False
    by_name = source in ("fallback", "guess")
    if policy.max_input_tokens and (by_name or policy.max_input_tokens < size):
        size, source, input_only = policy.max_input_tokens, "policy", False
    if input_only and reserve is None:
        room = 0
    elif reserve is not None:
        room = reserve
    elif policy.reserve_tokens:
        room = policy.reserve_tokens
    elif policy.reserve_ratio:
        room = int(size * policy.reserve_ratio)
    else:
        room = min(info.max_output or DEFAULT_MAX_OUTPUT, int(size * policy.reserve_max_ratio))
    return Limits(size, source, room, int(size * policy.margin_ratio))


class Budget(NamedTuple):
    """Where the tokens are. The parts add up to the window; `free` is negative when the plan does not fit."""

    system: int
    instructions: int
    memory: int
    tools: int
    summaries: int
    history: int
    turn: int
    framing: int
    margin: int
    reserve: int
    free: int

    @property
    def window(self) -> int:
        """The whole."""
        return sum(self)
