"""The search for a policy: presets first, then what Optuna proposes, then the best without what it does not need.

Whoever searches says how a policy is measured; nothing here knows of sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.config.errors import WrongCall
from workbench.context.knobs import as_toml
from workbench.context.load import LoadedPolicy, describe_policy, load_policy
from workbench.lab.knob_ranges import KnobRange, matters
from workbench.lab.objective import Objective
from workbench.lab.tasks import LabPolicy

if TYPE_CHECKING:
    import optuna

AT_ONCE = 4
"""Proposals that are measured together. The same however many processes there are, so that the result is, too."""
_STALE = 5
"""So many times in a row with nothing but what was tried before, and the search is at its end."""
_NEVER = 1e12
"""What a request that does not fit weighs for the search, where the objective says nothing of it."""

Figures = Mapping[str, Any]
Measure = Callable[[Sequence[LabPolicy]], Sequence[Figures]]
"""The figures of policies, over all sessions of the training part together."""


class Tried(NamedTuple):
    """A policy and how it did."""

    policy: LabPolicy
    figures: Figures
    value: float
    """The objective."""
    misfits: int
    """Requests that did not fit, where the objective leaves it to us to avoid them."""
    is_preset: bool = False

    @property
    def rank(self) -> tuple[int, float, int]:
        """Smaller is better. Of equals, the one with fewer knobs."""
        return self.misfits, self.value, len(self.policy.knobs)


def best(tried: Sequence[Tried]) -> Tried:
    """The first of the best."""
    return min(tried, key=lambda each: each.rank)


def front(tried: Sequence[Tried], spent: str) -> list[Tried]:
    """The policies that no other beats in both what is spent and misses; the cheapest first, each point once.

    A request that does not fit is no saving: those under which more requests failed than need be are left out.
    """
    least = min((each.misfits for each in tried), default=0)
    found: list[Tried] = []
    order = sorted(
        (each for each in tried if each.misfits == least),
        key=lambda each: (each.figures[spent], each.figures["misses"], each.rank),
    )
    for each in order:
        if not found or each.figures["misses"] < found[-1].figures["misses"]:
            found.append(each)
    return found


class KnobSearch:
    """One search. Same seed, same measure: same result."""

    def __init__(
        self,
        base: str,
        fixed: Sequence[str],
        ranges: Sequence[KnobRange],
        objective: Objective,
        measure: Measure,
        *,
        presets: Sequence[str],
        budget: int,
        seed: int,
    ) -> None:
        """`fixed`: knobs that hold in every trial, as `masking.keep_last=3`. `presets` has the base in it or not."""
        self._base = base
        self._fixed = tuple(fixed)
        self._ranges = ranges
        self._objective = objective
        self._measure = measure
        self._presets = tuple(dict.fromkeys((base, *presets)))
        self._budget = budget
        self._values = {name: _values(load_policy(name, sets=fixed)) for name in self._presets}
        self._known: dict[LabPolicy, Figures] = {}
        self._study = _study(seed)

    def run(self) -> Iterator[Tried]:
        """Every policy that is tried, once, as soon as it is measured."""
        tried: dict[LabPolicy, Tried] = {}
        for each in self._all(tried):
            if each.policy not in tried:
                tried[each.policy] = each
                yield each

    def _all(self, tried: Mapping[LabPolicy, Tried]) -> Iterator[Tried]:
        """The presets, trials until the budget is used up, and the best with less."""
        yield from self._measured([LabPolicy(name) for name in self._presets], is_preset=True)
        for name in self._presets:
            self._study.enqueue_trial(self._nearest(name), skip_if_exists=True)
        done, stale = len(self._presets), 0
        while done < self._budget and stale < _STALE:
            trials = [self._study.ask() for _ in range(min(AT_ONCE, self._budget - done))]
            known = len(self._known)
            yield from self._told(trials)
            done += len(trials)
            stale = 0 if len(self._known) > known else stale + 1
        yield from self._simpler(best(list(tried.values())))

    def _told(self, trials: Sequence[optuna.Trial]) -> Iterator[Tried]:
        """Measure what is proposed, and tell how it did."""
        proposed = [(trial, self._proposed(trial)) for trial in trials]
        for trial, policy in proposed:
            if policy is None:
                self._study.tell(trial, state=_failed())
        asked = [(trial, policy) for trial, policy in proposed if policy is not None]
        for (trial, _), each in zip(asked, self._measured([policy for _, policy in asked]), strict=True):
            self._study.tell(trial, each.value + each.misfits * _NEVER)
            yield each

    def _measured(self, policies: Sequence[LabPolicy], *, is_preset: bool = False) -> Iterator[Tried]:
        fresh = [each for each in dict.fromkeys(policies) if each not in self._known]
        if fresh:
            self._known.update(zip(fresh, self._measure(fresh), strict=True))
        for policy in policies:
            figures = self._known[policy]
            misfits = 0 if "overflows" in self._objective.names else figures["overflows"]
            yield Tried(policy, figures, self._objective.value(figures), misfits, is_preset)

    # What is proposed

    def _proposed(self, trial: optuna.Trial) -> LabPolicy | None:
        """The knobs that do something and are not as in the base; None where they contradict each other."""
        chosen: dict[str, Any] = {}
        value_of = self._value_of(chosen)
        for each in self._ranges:
            if not matters(each.name, value_of):
                continue
            if each.is_ordered:
                chosen[each.name] = each.values[trial.suggest_int(each.name, 0, len(each.values) - 1)]
            else:
                chosen[each.name] = each.values[trial.suggest_categorical(each.name, range(len(each.values)))]
        return self._policy(chosen)

    def _nearest(self, preset: str) -> dict[str, int]:
        """A preset's values for the knobs that are searched."""
        has = self._values[preset]
        return {each.name: each.values.index(each.nearest(has.get(each.name))) for each in self._ranges}

    def _policy(self, chosen: Mapping[str, Any]) -> LabPolicy | None:
        own = self._values[self._base]
        knobs = tuple(f"{name}={as_toml(value)}" for name, value in sorted(chosen.items()) if own.get(name) != value)
        try:
            load_policy(self._base, sets=(*self._fixed, *knobs))
        except WrongCall:
            return None
        return LabPolicy(self._base, knobs)

    def _value_of(self, chosen: Mapping[str, Any]) -> Callable[[str], Any]:
        own = self._values[self._base]
        return lambda name: chosen[name] if name in chosen else own.get(name)

    # What is left of it

    def _simpler(self, found: Tried) -> Iterator[Tried]:
        """The best without each knob that it is no worse without, where the range reaches the base's own value."""
        own = self._values[self._base]
        may_go = {each.name for each in self._ranges if own.get(each.name) in each.values}
        for knob in found.policy.knobs:
            if knob.partition("=")[0] not in may_go:
                continue
            without = LabPolicy(self._base, tuple(each for each in found.policy.knobs if each != knob))
            try:
                load_policy(self._base, sets=(*self._fixed, *without.knobs))
            except WrongCall:
                continue
            for each in self._measured([without]):
                yield each
                if each.rank < found.rank:
                    found = each


def _values(loaded: LoadedPolicy) -> dict[str, Any]:
    return {row.name: row.value for row in describe_policy(loaded)}


def optuna_is_there() -> None:
    """Raises WrongCall with what to do where it is not: told before time is spent on anything else."""
    if find_spec("optuna") is None:
        raise WrongCall("workbench tune: expected the package optuna; pip install 'workbench[tune]' brings it")


def _study(seed: int) -> optuna.Study:
    import optuna  # late: it takes a second, and is there only with the extra

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True)
    return optuna.create_study(sampler=sampler)


def _failed() -> optuna.trial.TrialState:
    from optuna.trial import TrialState

    return TrialState.FAIL
