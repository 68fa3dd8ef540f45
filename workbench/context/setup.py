"""Everything a plan needs besides the events, from options, the session, the user's settings and the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from workbench.config.errors import WrongCall
from workbench.config.settings import Settings
from workbench.config.values import replace
from workbench.context.agent_window import as_the_agent_used_it
from workbench.context.budget import Limits, model_limits
from workbench.context.load import NOT_SET, LoadedPolicy, load_policy
from workbench.context.plan import ContextPlan
from workbench.context.planner import Planner
from workbench.log.events import Event, Usage
from workbench.log.learnt_windows import LearntWindow, learnt_window
from workbench.models.calibrated_counts import calibrated_counter
from workbench.models.calibration import Calibration
from workbench.models.catalogue import Catalogue, ModelInfo, is_local
from workbench.models.families import tokenizer_factor
from workbench.models.tokens import CountStore, TokenCounter, counter_named

_BY_HAND = (
    "selection",
    "keep_user_tokens",
    "keep_user_ratio",
    "keep_messages",
    "keep_turns",
    "summary_tokens",
    "summary_ratio",
    "update",
    "prompt",
    "model",
    "min_freed",
)
"""Knobs that decide what a compaction by hand summarises, and how."""


class PlanOptions(Struct, frozen=True):
    """The user's options for one call; empty values are not set."""

    policy: str = ""
    sets: Sequence[str] = ()
    model: str = ""
    window: int | None = None
    reserve: int | None = None


class Setup(Struct, frozen=True):
    """A model, a policy and a budget, ready to plan with."""

    model: str
    """Its name; empty if none was named, and o200k is used to count."""
    info: ModelInfo
    loaded: LoadedPolicy
    limits: Limits
    counter: TokenCounter
    options: PlanOptions = field(default_factory=PlanOptions)
    """What it was made from, to make it again."""
    listed: ModelInfo | None = None
    """The model's entry without what was learnt from its provider."""
    calibration: Calibration | None = None
    """Learnt from the reports of another agent's session; None: nothing, and the family's factor applies."""
    own_form: bool = False
    """Whether tools and parts of messages are planned as another agent sends them. Our own requests have the form that
    every chat API takes."""

    @property
    def calls_tools(self) -> bool:
        """Whether the model is offered tools: all but the embedded one, which is too small to use them."""
        return not is_local(self.model)

    def with_window(self, tokens: int) -> Setup:
        """The setup with a window that the provider itself named; 0: with the one known without it."""
        info = _sized(self.info, LearntWindow(tokens)) if tokens else self.listed or self.info
        window = None if tokens else self.options.window
        budget = model_limits(info, self.loaded.policy.budget, window=window, reserve=self.options.reserve)
        return replace(self, info=info, limits=budget)

    @property
    def plain(self) -> Setup:
        """The setup without any calibration: plain tokenizer counts."""
        return replace(self, counter=calibrated_counter(self.counter, 1), limits=replace(self.limits, unattributed=0))

    def with_calibration(self, learnt: Calibration, unattributed: int) -> Setup:
        """The setup with counts calibrated by a session's reports.

        `unattributed`: tokens of requests outside their items; below 0: our counts of the items are that much too high.
        """
        note = "learnt from this session's reports" if learnt.samples else "measured for its family"
        return replace(
            self,
            counter=calibrated_counter(self.counter, learnt.factor, note, 1 + learnt.extra),
            limits=replace(self.limits, unattributed=unattributed),
            calibration=learnt,
        )

    def compacting_like(self, other: LoadedPolicy) -> Setup:
        """The setup with another policy's rules for compactions by hand, except for knobs set here.

        When a compaction begins by itself, and how a summary is sent, stays.
        """
        rules, own = other.policy.compaction, self.loaded
        taken = {name: getattr(rules, name) for name in _BY_HAND if own.origins[f"compaction.{name}"] == NOT_SET}
        policy = replace(own.policy, compaction=replace(own.policy.compaction, **taken))
        origins = {**own.origins, **{f"compaction.{name}": other.origins[f"compaction.{name}"] for name in taken}}
        return replace(self, loaded=LoadedPolicy(policy, origins))

    def summarised_by(self, model: str) -> Setup:
        """The setup with a summarising model, if neither it nor its policy names one."""
        policy = self.loaded.policy
        if self.model or policy.compaction.model:
            return self
        policy = replace(policy, compaction=replace(policy.compaction, model=model))
        return replace(self, loaded=replace(self.loaded, policy=policy))

    def planner(
        self, events: Iterable[Event] = (), *, live: bool = False, thinking: bool = False, own_tools: bool = False
    ) -> Planner:
        """A planner for a log; see `Planner` for the options."""
        return Planner(
            self.loaded.policy,
            self.limits,
            self.counter,
            model=self.model,
            provider=self.info.provider or "openai",
            live=live,
            thinking=thinking,
            own_tools=own_tools or self.own_form,
            own_parts=self.own_form,
            events=events,
        )

    def counts_like(self, other: Setup) -> bool:
        """Whether both count and cut alike: only their rules for compactions and what is unattributed may differ."""
        policy = replace(self.loaded.policy, compaction=other.loaded.policy.compaction)
        limits = replace(self.limits, unattributed=other.limits.unattributed)
        mine = (self.model, self.info, self.calibration, policy, limits)
        return mine == (other.model, other.info, other.calibration, other.loaded.policy, other.limits)

    def plan(self, events: Iterable[Event], *, live: bool = False, thinking: bool = False) -> ContextPlan:
        """What the model sees of a log."""
        made = self.planner(events, live=live, thinking=thinking).plan()
        self.counter.flush()
        return made


def set_up(
    options: PlanOptions,
    settings: Settings,
    catalogue: Catalogue,
    *,
    model: str = "",
    policy: str = "",
    counts: CountStore | None = None,
    events: Iterable[Event] = (),
    reported: int | None = None,
) -> Setup:
    """A setup. The options win over what the session says (`model`, `policy`), and that over the user's settings.

    `events`: the log, which may have a learnt window. `reported`: the window that a local server reports for the
    model.
    """
    name = options.model or model or settings.model
    listed = corrected_info(catalogue.find_model(name), None, reported)
    events = events if isinstance(events, Sequence) else tuple(events)
    info = corrected_info(catalogue.find_model(name), learnt_window(events, name), reported)
    if info.window_source in ("catalogue", "fallback", "guess"):
        info = as_the_agent_used_it(info, events)
    if not name:
        info = replace(info, tokenizer_exact=True, tokenizer_note="no model was named; counted in o200k_base")
    loaded = load_policy(
        options.policy or policy or settings.policy or None,
        sets=options.sets,
        model_knobs=settings.model_knobs(name),
        model_origin=settings.model_origin(name),
    )
    for key, value, least in (("window", options.window, 1), ("reserve", options.reserve, 0)):
        if value is not None and value < least:
            raise WrongCall(f"--{key}: expected a whole number from {least} up, got {value}")
    budget = model_limits(info, loaded.policy.budget, window=options.window, reserve=options.reserve)
    counted = counter_named(info.tokenizer, counts, exact=info.tokenizer_exact, note=info.tokenizer_note)
    if not info.tokenizer_exact:
        counted = calibrated_counter(counted, tokenizer_factor(name), "measured for its family")
    return Setup(name, info, loaded, budget, counted, options, listed)


# Windows that are learnt while a session runs


def can_be_window(tokens: int, plan: ContextPlan, events: Iterable[Event]) -> bool:
    """Whether a number can be the window of the plan's model.

    It must leave room next to what every request has, and nothing larger was answered before.
    """
    budget = plan.budget
    if budget.system + budget.instructions + budget.memory + budget.tools >= tokens:
        return False
    usages = (event.body for event in events if isinstance(event.body, Usage) and event.body.model == plan.model)
    return all((usage.prompt or 0) <= tokens for usage in usages)


def corrected_info(info: ModelInfo, learnt: LearntWindow | None, reported: int | None) -> ModelInfo:
    """The window from the session's provider or user wins over the user's entry, that over a server's report, and all
    over the tables."""
    if learnt is not None and learnt.source in ("provider", "option"):
        return _sized(info, learnt)
    if info.window_source == "config":
        return info
    if reported is not None:
        return _sized(info, LearntWindow(reported, "server"))
    return info if learnt is None else _sized(info, learnt)


def _sized(info: ModelInfo, learnt: LearntWindow) -> ModelInfo:
    input_only = info.input_only and learnt.source != "option"
    return replace(info, window=learnt.tokens, window_source=learnt.source, input_only=input_only)
