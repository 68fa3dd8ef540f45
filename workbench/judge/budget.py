"""What requests to models may cost: estimated before they are made, agreed to by the user, and kept within a budget."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from workbench.compaction.summariser import cost_of
from workbench.config.errors import Refused
from workbench.config.text import counted
from workbench.log.events import Usage
from workbench.models.catalogue import Catalogue, is_built_in


class CostEstimate(NamedTuple):
    """What some requests may cost at most."""

    requests: int
    tokens: int
    """Input tokens of all of them."""
    cost: float | None
    """Dollars; None if a price is not known."""
    models: tuple[str, ...]

    @property
    def is_free(self) -> bool:
        """Whether only models are asked that come with the program."""
        return all(map(is_built_in, self.models))

    def words(self) -> str:
        """The estimate in words: requests, models, tokens, and the price."""
        if not self.requests:
            return "no request is left to make"
        price = "free" if self.is_free else price_words(self.cost)
        who = " and ".join(self.models)
        return f"{counted(self.requests, 'request')} to {who} with about {self.tokens:,} tokens, {price}"


def estimate_cost(usages: Iterable[Usage], catalogue: Catalogue) -> CostEstimate:
    """The estimate for requests of these sizes, with answers as long as they may be."""
    asked = list(usages)
    models = tuple(dict.fromkeys(usage.model for usage in asked))
    return CostEstimate(len(asked), sum(usage.estimate for usage in asked), cost_of(asked, catalogue), models)


def price_words(cost: float | None) -> str:
    """An estimated price, as part of a sentence."""
    if cost is None:
        return "at a price that is not known"
    return f"for about ${cost:,.2f}" if cost >= 1 else f"for about ${cost:.4f}"


class BudgetUsedUp(Refused):
    """The next request might cost more than what is left of the budget. It was not sent."""


class Spending:
    """What was spent, and what may still be spent."""

    def __init__(self, budget: float | None = None) -> None:
        """`budget`: in dollars; None: no limit."""
        self.budget = budget
        self.spent = 0.0
        self.unpriced = 0
        """Requests whose price is not known. They do not count against the budget; the user agreed to that."""

    def check_budget(self, most: float | None) -> None:
        """Raise BudgetUsedUp if a request that costs at most this much would exceed the budget."""
        if self.budget is not None and most is not None and self.spent + most > self.budget:
            left = max(0.0, self.budget - self.spent)
            raise BudgetUsedUp(f"the next request may cost ${most:.4f}, and ${left:.4f} of ${self.budget:.2f} are left")

    def note_cost(self, cost: float | None) -> None:
        """Add the cost of a request that was answered."""
        if cost is None:
            self.unpriced += 1
        else:
            self.spent += cost
