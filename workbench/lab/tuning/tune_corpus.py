"""The sessions of a search: read, split into a training part and a held-out part, and measured under policies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from msgspec import Struct

from workbench.config.errors import WrongCall
from workbench.context.load import LoadedPolicy, describe_policy, load_policy, preset_names
from workbench.context.policy_files import short_policy_name
from workbench.context.policy_names import DEFAULT, RECORDED
from workbench.lab.figures import policy_figures
from workbench.lab.running.kept_runs import KeptRuns
from workbench.lab.running.tasks import LabPolicy, LabTask, TaskOutcome
from workbench.lab.running.workers import LabWorkers, Progress
from workbench.lab.tuning.objective import Objective
from workbench.lab.tuning.scoring import Figures, PolicyScore, SessionScoring
from workbench.lab.tuning.search import TriedPolicy, best_tried

PRESET_POLICIES = tuple(name for name in preset_names() if name != RECORDED)
"""All presets except `recorded`, which decides nothing."""


class TuneSession(NamedTuple):
    """A conversation that is searched on or held out."""

    name: str
    digest: str
    """A hash of its contents, so that a session is always in the same part, wherever its file is."""
    model: str
    requests: int
    by_policy: Mapping[LabPolicy, Figures]
    """The figures of `recorded`, of the presets, and of the policy that the search begins from."""


class Comparison(NamedTuple):
    """The scores of a policy on both parts."""

    label: str
    training: PolicyScore
    held_out: PolicyScore | None
    """None where no session was held out."""


class TuneParts(Struct, frozen=True):
    """The sessions, in two parts."""

    training: tuple[TuneSession, ...]
    held_out: tuple[TuneSession, ...]

    @property
    def spent(self) -> str:
        """What the Pareto front of the report compares with misses: cost, or tokens where a price is missing."""
        sessions = (*self.training, *self.held_out)
        known = all(row["cost"] is not None for each in sessions for row in each.by_policy.values())
        return "cost" if known else "tokens"


class TuneCorpus:
    """Replays policies over all sessions of a part."""

    def __init__(self, tasks: Sequence[LabTask], kept: KeptRuns) -> None:
        self._tasks = tasks
        self._kept = kept
        self.failed: list[tuple[str, str]] = []
        """The sources that could not be read, each with its error."""
        self.not_transcripts = 0
        """How many files in folders are not transcripts."""

    def read_sessions(self, workers: LabWorkers, base: str, progress: Progress | None = None) -> list[TuneSession]:
        """Read every session and replay it under `recorded`, the presets and the base."""
        policies = tuple(LabPolicy(name) for name in dict.fromkeys((RECORDED, base, *PRESET_POLICIES)))
        found = []
        for outcome in self._run(workers, self._tasks, policies, progress):
            if outcome.is_other:
                self.not_transcripts += 1
            elif outcome.error:
                self.failed.append((outcome.task.source, outcome.error))
            stamp = self._kept.content_stamp(outcome.task) or outcome.task.source
            for run in outcome.runs:
                if run.requests:
                    digest = sha256(f"{stamp}{run.source.removeprefix(outcome.task.source)}".encode()).hexdigest()
                    rows = dict(zip(policies, (policy_figures(each) for each in run.runs), strict=True))
                    found.append(TuneSession(run.source, digest, run.model, run.requests, rows))
        return found

    def measure_sessions(
        self,
        workers: LabWorkers,
        sessions: Sequence[TuneSession],
        policies: Sequence[LabPolicy],
        progress: Progress | None = None,
    ) -> Mapping[LabPolicy, Sequence[Figures]]:
        """By policy: the figures of each of these sessions, in their order. Known figures are not computed again."""
        fresh = tuple(each for each in policies if each not in sessions[0].by_policy)
        rows = {each.name: dict(each.by_policy) for each in sessions}
        for outcome in self._run(workers, self.tasks_of(sessions) if fresh else (), fresh, progress):
            if outcome.error:
                raise WrongCall(outcome.error)
            for run in outcome.runs:
                for policy, each in zip(fresh, run.runs, strict=True) if run.source in rows else ():
                    rows[run.source][policy] = policy_figures(each)
        return {policy: [rows[each.name][policy] for each in sessions] for policy in policies}

    def tasks_of(self, sessions: Sequence[TuneSession]) -> list[LabTask]:
        """The tasks for the sources of these sessions."""
        names = {each.name for each in sessions}
        files = names | {name.rpartition("#")[0] for name in names}
        return [task for task in self._tasks if task.source in files]

    def _run(
        self, workers: LabWorkers, tasks: Sequence[LabTask], policies: tuple[LabPolicy, ...], progress: Progress | None
    ) -> Iterable[TaskOutcome]:
        return workers.run_tasks([task._replace(policies=policies) for task in tasks], progress, self._kept)


def split_sessions(sessions: Sequence[TuneSession], share: float) -> TuneParts:
    """Hold out about this share: the sessions with the smallest digests. So a session stays in its part wherever its
    file is, and copies are in the same part. If there are at least two different sessions, no part is empty."""
    digests = sorted({each.digest for each in sessions})
    held = set(digests[: min(max(1, round(share * len(digests))), len(digests) - 1)] if share > 0 else ())
    return TuneParts(
        tuple(each for each in sessions if each.digest not in held),
        tuple(each for each in sessions if each.digest in held),
    )


class PartScorings(NamedTuple):
    """How policies are scored on each part."""

    training: SessionScoring
    held_out: SessionScoring


def part_scorings(parts: TuneParts, objective: Objective, base: str, *, is_alike: bool) -> PartScorings:
    """The scorings of both parts. `base`: the policy that the search begins from.

    `is_alike`: whether all sessions of a part weigh the same.
    """
    rows = ([each.by_policy[LabPolicy(base)] for each in part] for part in (parts.training, parts.held_out))
    return PartScorings(*(SessionScoring(objective, each, is_alike) for each in rows))


class SearchEnd(NamedTuple):
    """Where the search with one seed ended."""

    seed: int
    best: TriedPolicy


class TuneResult(Struct, frozen=True):
    """The result of a search."""

    tried: tuple[TriedPolicy, ...]
    chosen: TriedPolicy
    parts: TuneParts
    comparisons: tuple[Comparison, ...]
    """The chosen policy, the base, the best preset, and what was sent."""
    extends: str
    knobs: Mapping[str, Any]
    """The knobs that the chosen policy sets on top of that preset."""
    scorings: PartScorings
    held_out: tuple[Figures, ...] = ()
    """The figures of the chosen policy on each held-out session."""
    ends: tuple[SearchEnd, ...] = ()
    """The best policy of each seed."""


def tune_result(
    tried: Sequence[TriedPolicy],
    base: str,
    fixed: Sequence[str],
    parts: TuneParts,
    scorings: PartScorings,
    held_out: Sequence[Figures],
    ends: Sequence[SearchEnd] = (),
) -> TuneResult:
    """Choose the best policy and compare it with others. `held_out`: its figures on each held-out session."""
    chosen = best_tried(tried)
    if not math.isfinite(chosen.value):
        raise WrongCall("--objective: expected a finite number under at least one policy; none of those tried gave one")
    preset = best_tried([each for each in tried if each.is_preset])
    others = dict.fromkeys([LabPolicy(base), preset.policy, LabPolicy(RECORDED)])
    held_out_score = scorings.held_out.score(held_out) if held_out else None
    compared = [Comparison("this policy", chosen.score, held_out_score)]
    compared += [
        Comparison(short_policy_name(each.ref), *_scores(each, parts, scorings))
        for each in others
        if each != chosen.policy
    ]
    extends, knobs = _self_contained(chosen.policy, fixed)
    return TuneResult(
        tuple(tried), chosen, parts, tuple(compared), extends, knobs, scorings, tuple(held_out), tuple(ends)
    )


def _scores(policy: LabPolicy, parts: TuneParts, scorings: PartScorings) -> tuple[PolicyScore, PolicyScore | None]:
    """The scores of a known policy on the training part and on the held-out part."""
    training, held_out = ([each.by_policy[policy] for each in part] for part in (parts.training, parts.held_out))
    return scorings.training.score(training), scorings.held_out.score(held_out) if held_out else None


def _self_contained(policy: LabPolicy, fixed: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """A preset, and all knobs that differ from it. A file that extends another file would not work elsewhere."""
    loaded = load_policy(policy.ref, sets=(*fixed, *policy.knobs))
    preset = policy.ref if policy.ref in PRESET_POLICIES else _preset_of(loaded)
    before = {row.name: row.value for row in describe_policy(load_policy(preset, env={}))}
    return preset, {row.name: row.value for row in describe_policy(loaded) if row.value != before.get(row.name)}


def _preset_of(loaded: LoadedPolicy) -> str:
    """The preset that a policy extends in the end."""
    found = (origin.removeprefix("preset ") for origin in loaded.origins.values() if origin.startswith("preset "))
    return next(found, DEFAULT)
