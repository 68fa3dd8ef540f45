"""Searches for a policy: tries the presets, then what Optuna proposes, then the best without knobs it does not need.

The caller passes a function that measures policies; this module knows nothing about sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.config.distribution import extra_command
from workbench.config.errors import WrongCall
from workbench.context.knobs import as_toml
from workbench.context.load import LoadedPolicy, describe_policy, load_policy
from workbench.lab.running.tasks import LabPolicy
from workbench.lab.tuning.knob_ranges import KnobRange, knob_matters
from workbench.lab.tuning.scoring import Figures, PolicyScore

if TYPE_CHECKING:
    import optuna

AT_ONCE = 4
"""How many proposals are measured together. It does not depend on the number of processes, so the result does not."""
_STALE = 5
"""The search ends when this many rounds in a row propose nothing new."""
_NEVER = 1e12
"""The penalty for a request that does not fit, where the objective does not name `overflows`."""
_TOO_MANY = 1e9
"""The penalty for a request with a miss more than the base has, where the objective limits them."""

Measure = Callable[[Sequence[LabPolicy]], Sequence[PolicyScore]]
"""Returns the score of each policy over all sessions that are searched on."""


class TriedPolicy(NamedTuple):
    """A policy and its figures."""

    policy: LabPolicy
    score: PolicyScore
    is_preset: bool = False

    @property
    def figures(self) -> Figures:
        """The figures, summed over the sessions as they are."""
        return self.score.figures

    @property
    def value(self) -> float:
        """The value of the objective."""
        return self.score.value

    @property
    def rank(self) -> tuple[float, ...]:
        """Smaller is better. Between equals, fewer knobs win."""
        return *self.score.rank, len(self.policy.knobs)


def best_tried(tried: Sequence[TriedPolicy]) -> TriedPolicy:
    """The best policy; the first one between equals."""
    return min(tried, key=lambda each: each.rank)


def pareto_front(tried: Sequence[TriedPolicy], spent: str, missed: str = "misses") -> list[TriedPolicy]:
    """The policies that no other policy beats in both `spent` and `missed`, the cheapest first, each point once.

    A request that does not fit saves nothing: policies under which more requests fail than under the best are left out.
    """
    least = min((each.score.misfits for each in tried), default=0)
    found: list[TriedPolicy] = []
    order = sorted(
        (each for each in tried if each.score.misfits == least),
        key=lambda each: (each.score.weighed[spent], each.score.weighed[missed], each.rank),
    )
    for each in order:
        if not found or each.score.weighed[missed] < found[-1].score.weighed[missed]:
            found.append(each)
    return found


class KnobSearch:
    """One search. The same seed and the same figures give the same result."""

    def __init__(
        self,
        base: str,
        fixed: Sequence[str],
        ranges: Sequence[KnobRange],
        measure: Measure,
        *,
        presets: Sequence[str],
        budget: int,
        seed: int,
        known: dict[LabPolicy, PolicyScore] | None = None,
    ) -> None:
        """`fixed`: knobs that are set in every trial, as `masking.keep_last=3`. `presets` may contain the base.

        `known`: what other searches on the same sessions have measured. This search adds to it.
        """
        self._base = base
        self._fixed = tuple(fixed)
        self._ranges = ranges
        self._measure = measure
        self._presets = tuple(dict.fromkeys((base, *presets)))
        self._budget = budget
        self._values = {name: _values(load_policy(name, sets=fixed)) for name in self._presets}
        self._known = {} if known is None else known
        self._study = _study(seed)

    def try_policies(self) -> Iterator[TriedPolicy]:
        """Each policy that is tried, once, as soon as it is measured."""
        tried: dict[LabPolicy, TriedPolicy] = {}
        for each in self._all(tried):
            if each.policy not in tried:
                tried[each.policy] = each
                yield each

    def _all(self, tried: Mapping[LabPolicy, TriedPolicy]) -> Iterator[TriedPolicy]:
        """The presets, trials until the budget is used up, and the best with fewer knobs."""
        yield from self._measured([LabPolicy(name) for name in self._presets], is_preset=True)
        for name in self._presets:
            self._study.enqueue_trial(self._nearest(name), skip_if_exists=True)
        done, stale = len(self._presets), 0
        while done < self._budget and stale < _STALE:
            trials = [self._study.ask() for _ in range(min(AT_ONCE, self._budget - done))]
            before = len(tried)
            yield from self._run_trials(trials)
            done += len(trials)
            stale = 0 if len(tried) > before else stale + 1
        yield from self._simpler(best_tried(list(tried.values())))

    def _run_trials(self, trials: Sequence[optuna.Trial]) -> Iterator[TriedPolicy]:
        """Measure proposals and report their values to Optuna."""
        proposed = [(trial, self._proposed(trial)) for trial in trials]
        for trial, policy in proposed:
            if policy is None:
                self._study.tell(trial, state=_failed())
        asked = [(trial, policy) for trial, policy in proposed if policy is not None]
        for (trial, _), each in zip(asked, self._measured([policy for _, policy in asked]), strict=True):
            self._study.tell(trial, each.value + each.score.misfits * _NEVER + each.score.excess * _TOO_MANY)
            yield each

    def _measured(self, policies: Sequence[LabPolicy], *, is_preset: bool = False) -> Iterator[TriedPolicy]:
        fresh = [each for each in dict.fromkeys(policies) if each not in self._known]
        if fresh:
            self._known.update(zip(fresh, self._measure(fresh), strict=True))
        for policy in policies:
            yield TriedPolicy(policy, self._known[policy], is_preset)

    # Proposals

    def _proposed(self, trial: optuna.Trial) -> LabPolicy | None:
        """The knobs that have an effect and differ from the base; None where they contradict each other."""
        chosen: dict[str, Any] = {}
        value_of = self._value_of(chosen)
        for each in self._ranges:
            if not knob_matters(each.name, value_of):
                continue
            if each.is_ordered:
                chosen[each.name] = each.values[trial.suggest_int(each.name, 0, len(each.values) - 1)]
            else:
                chosen[each.name] = each.values[trial.suggest_categorical(each.name, range(len(each.values)))]
        return self._policy(chosen)

    def _nearest(self, preset: str) -> dict[str, int]:
        """The values of a preset for the knobs that are searched."""
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

    # Fewer knobs

    def _simpler(self, found: TriedPolicy) -> Iterator[TriedPolicy]:
        """Drop each knob without which the best is no worse, if the base's own value is in the range."""
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


def require_optuna() -> None:
    """Raise WrongCall where Optuna is not installed. Called before anything that takes time."""
    if find_spec("optuna") is None:
        raise WrongCall(f"workbench tune: expected the package optuna; {extra_command('tune')} brings it")


def _study(seed: int) -> optuna.Study:
    import optuna  # late: it takes a second, and only the extra has it

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True)
    return optuna.create_study(sampler=sampler)


def _failed() -> optuna.trial.TrialState:
    from optuna.trial import TrialState

    return TrialState.FAIL
