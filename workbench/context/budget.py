"""The budget: how the window is divided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.context.items import Slot
from workbench.context.policy import NO_LIMIT, BudgetPolicy
from workbench.models.catalogue import ModelInfo

DEFAULT_MAX_OUTPUT = 8_192
"""The reserve if the model's maximum output is not known."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a request, before it has any content."""

    window: int
    window_source: str
    reserve: int
    """Room wanted for the answer inside the window; 0 if the window is for input alone."""
    margin: int
    least: int = NO_LIMIT
    """The smallest useful room for an answer: if nothing else gives way, the reserve shrinks to this."""
    max_output: int | None = None
    """The longest answer that the model can give; None if not known."""
    unattributed: int = 0
    """Tokens of every request that are not in the log, as calibrated: a system prompt and tools that no file has.
    Below 0: the provider counts that much less than we do."""
    room: int = field(init=False, repr=False, compare=False)
    """The tokens that request and answer share."""
    target: int = field(init=False, repr=False, compare=False)
    """The most tokens that leave the whole reserve. Stages that leave something out cut to this."""
    capacity: int = field(init=False, repr=False, compare=False)
    """The most tokens that a request may have."""

    def __post_init__(self) -> None:
        room = self.window - self.margin - self.unattributed
        object.__setattr__(self, "room", room)
        object.__setattr__(self, "target", room - self.reserve)
        object.__setattr__(self, "capacity", room - min(self.reserve, self.least))

    def answer(self, tokens: int) -> int:
        """Room for the answer to a request of so many tokens: the reserve, or what is left of it."""
        return min(self.reserve, max(self.least, self.room - tokens))

    def need(self, tokens: int) -> int:
        """What a request of so many tokens takes of the window, with the reserve and the margin."""
        return tokens + self.unattributed + self.margin + self.answer(tokens)

    def bound(self, tokens: int) -> int | None:
        """The room for the answer if it limits the answer; None if it does not, or if nothing fits."""
        room = self.answer(tokens)
        shorter = room < min(self.reserve, self.max_output or self.reserve)
        return room if shorter and tokens <= self.capacity else None


def model_limits(
    info: ModelInfo, policy: BudgetPolicy, *, window: int | None = None, reserve: int | None = None
) -> Limits:
    """The limits of a model under a policy.

    The user's own `window` replaces the model's, but `budget.max_input_tokens` still limits it; the user's own
    `reserve` wins.
    """
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
    elif policy.reserve_tokens or policy.reserve_ratio:
        room = capped_tokens(policy.reserve_tokens or size, policy.reserve_ratio, size)
    else:
        room = min(info.max_output or DEFAULT_MAX_OUTPUT, int(size * policy.reserve_max_ratio))
    least = max(1, capped_tokens(policy.least_answer_tokens, policy.least_answer_ratio, size))
    return Limits(size, source, room, int(size * policy.margin_ratio), least, info.max_output)


def capped_tokens(tokens: int, ratio: float, window: int) -> int:
    """A number of tokens, limited to a share of the window; a share of 0 is no limit."""
    return min(tokens, int(window * ratio)) if ratio else tokens


def slot_guidance(policy: BudgetPolicy, window: int) -> tuple[tuple[Slot, int], ...]:
    """The policy's recommended maximum for each slot that has one."""
    advised: dict[Slot, int] = {"system": policy.system_tokens, "memory": policy.memory_tokens}
    bounds = ((slot, capped_tokens(tokens, policy.guidance_ratio, window)) for slot, tokens in advised.items())
    return tuple((slot, most) for slot, most in bounds if most > 0)


class Budget(NamedTuple):
    """How the tokens are divided. The parts add up to the window; `free` is negative if the plan does not fit.

    `reserve` is what is left for the answer: less than wanted if the request needs the room.
    """

    system: int
    instructions: int
    memory: int
    tools: int
    summaries: int
    history: int
    turn: int
    framing: int
    unattributed: int
    """In the request, but not in the log."""
    margin: int
    reserve: int
    free: int

    @property
    def window(self) -> int:
        return sum(self)
