"""The plan: what the model sees, as a value. The request is rendered from it and the inspector draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from workbench.config.values import replace
from workbench.context.budget import Budget, Limits
from workbench.context.plan_items import PlanItems
from workbench.context.stages.verdict import Status
from workbench.models.calibration import NOTHING, TokensOutsideRows


class Verdict(Struct, eq=False):
    """Whether the request can be sent."""

    status: Status
    _why: str | Callable[[], str]
    """The reason in numbers, or what makes it when it is first read."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verdict) and (self.status, self.why) == (other.status, other.why)

    def __hash__(self) -> int:
        return hash((self.status, self.why))

    def __repr__(self) -> str:
        return f"Verdict({self.status!r}, {self.why!r})"

    @property
    def why(self) -> str:
        """The reason, with its numbers."""
        if not isinstance(self._why, str):
            self._why = self._why()
        return self._why

    @property
    def fits(self) -> bool:
        """Whether it fits. Only a plan that fits is sent."""
        return self.status == "fits"


class Totals(NamedTuple):
    """Sums over the plan."""

    tokens: int
    """Items and framing: the size of the request."""
    items: int
    framing: int
    original_tokens: int
    """What the items would cost uncut."""


@dataclass(frozen=True, slots=True)
class ContextPlan:
    """What the model sees, and why."""

    model: str
    limits: Limits
    policy: str
    verdict: Verdict
    budget: Budget
    totals: Totals
    items: PlanItems
    warnings: tuple[str, ...] = ()
    gives_way: bool = False
    """Whether the policy leaves something out if room is short."""
    reported: int | None = None
    """The provider's count for this request; None if it was not sent, or not reported."""
    unattributed: int = 0
    """Tokens in the request, but in no item: what was reported beyond our count (below 0: what we counted too much),
    or, without a report, the part that is not in the log, as calibrated."""
    known_rest: TokensOutsideRows = NOTHING
    """The known part of `unattributed`: a system prompt and tools, thinking."""
    framing: float = 1.0
    """The factor on the documented framing around messages, as calibrated."""
    whole: bool = False
    """Whether the items are all that was sent: what was reported beyond them is then a difference in counting."""
    cut_to_fit: int = 0
    """Tokens that results lost so that the request fits."""
    _source: object = field(default=None, init=False, repr=False, compare=False)
    """Has the values of the fields that nobody has asked for so far."""

    @classmethod
    def read_from(cls, source: object, verdict: Verdict, totals: Totals) -> ContextPlan:
        """A plan whose other fields are read from attributes of the same names, each when it is first asked for."""
        made = cls.__new__(cls)
        put = object.__setattr__
        put(made, "_source", source)
        put(made, "verdict", verdict)
        put(made, "totals", totals)
        return made

    if not TYPE_CHECKING:  # a type checker would take any attribute for one that exists

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            value = getattr(self._source, name)
            object.__setattr__(self, name, value)
            return value

    @property
    def size(self) -> int:
        """The whole request, as the provider counted it or is expected to.

        Never below 0, as the sum can be where reports are far below our count: not all that the log has was sent.
        """
        return max(0, self.totals.tokens + self.unattributed)

    @property
    def uncut_size(self) -> int:
        """The size of the request if no result had been cut to make it fit."""
        return self.size + self.cut_to_fit

    @property
    def overflows(self) -> bool:
        """Whether it is too long, or fits only because results were cut."""
        return self.verdict.status == "too_large" or self.cut_to_fit > 0

    def as_reported(
        self, reported: int | None, rest: int = 0, known_rest: TokensOutsideRows = NOTHING, whole: bool = False
    ) -> ContextPlan:
        """The plan of a request that was sent, with its report: it fitted, even by a larger count of ours.

        `rest`: the estimated tokens outside the items, if nothing was reported. `known_rest`: the known part of that.
        `whole`: the items are all.
        """
        rest = rest if reported is None else reported - self.totals.tokens
        size, window = self.totals.tokens + rest, self.limits.window
        free = window - size - self.budget.margin - self.budget.reserve
        about = "about " if reported is None else ""
        sent = f"{about}{size:,} tokens were sent, "
        sent += f"more than the window of {window:,} holds" if size > window else f"of a window of {window:,}"
        return replace(
            self,
            verdict=Verdict("fits", sent),
            budget=self.budget._replace(unattributed=rest, free=free),
            reported=reported,
            unattributed=rest,
            known_rest=known_rest,
            whole=whole,
        )

    def counted_as(self, size: int) -> ContextPlan:
        """The plan if the provider is expected to count so many tokens."""
        rest = size - self.totals.tokens
        free = self.budget.free + self.budget.unattributed - rest
        return replace(self, budget=self.budget._replace(unattributed=rest, free=free), unattributed=rest)

    @property
    def room(self) -> int:
        """The most tokens of a request before something is left out, or it is refused."""
        return self.limits.target if self.gives_way else self.limits.capacity

    @property
    def max_output(self) -> int | None:
        """The limit on the answer that is sent with the request; None: none is sent."""
        return self.limits.bound(self.totals.tokens)
