"""Everything a plan needs beside the events, put together from options, the session, the user's settings and the
catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from workbench.config.errors import WrongCall
from workbench.config.settings import Settings
from workbench.context.budget import Limits, limits
from workbench.context.load import Loaded, load_policy
from workbench.context.plan import ContextPlan
from workbench.context.planner import Planner
from workbench.log.events import Event
from workbench.models.catalogue import Catalogue, ModelInfo
from workbench.models.tokens import CountStore, TokenCounter, counter


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asked for in one call; empty where nothing was."""

    policy: str = ""
    sets: Sequence[str] = ()
    model: str = ""
    window: int | None = None
    reserve: int | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """A model, a policy and a budget, ready to plan with."""

    model: str
    """Its name; empty where none was named and o200k stands in."""
    info: ModelInfo
    loaded: Loaded
    limits: Limits
    counter: TokenCounter

    def planner(self, events: Iterable[Event] = (), *, live: bool = False) -> Planner:
        """A planner for a log."""
        return Planner(
            self.loaded.policy,
            self.limits,
            self.counter,
            model=self.model,
            provider=self.info.provider or "openai",
            live=live,
            events=events,
        )

    def plan(self, events: Iterable[Event], *, live: bool = False) -> ContextPlan:
        """What the model sees of a log."""
        made = self.planner(events, live=live).plan()
        self.counter.flush()
        return made


def set_up(
    wishes: Wishes,
    settings: Settings,
    catalogue: Catalogue,
    *,
    model: str = "",
    policy: str = "",
    store: CountStore | None = None,
) -> Setup:
    """What was asked for wins over what the session says (`model`, `policy`), and that over the user's settings."""
    name = wishes.model or model or settings.model
    info = catalogue.find(name)
    if not name:
        info = replace(info, tokenizer_exact=True, tokenizer_note="no model was named; counted in o200k_base")
    loaded = load_policy(
        wishes.policy or policy or settings.policy or None,
        sets=wishes.sets,
        model_knobs=settings.model_knobs(name),
        model_origin=settings.model_origin(name),
    )
    for key, value, least in (("window", wishes.window, 1), ("reserve", wishes.reserve, 0)):
        if value is not None and value < least:
            raise WrongCall(f"--{key}: expected a whole number from {least} up, got {value}")
    budget = limits(info, loaded.policy.budget, window=wishes.window, reserve=wishes.reserve)
    counted = counter(info.tokenizer, store, exact=info.tokenizer_exact, note=info.tokenizer_note)
    return Setup(name, info, loaded, budget, counted)
