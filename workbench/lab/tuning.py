"""The search for a policy on real sessions: read, split into what is searched on and what is held out, and compared."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from workbench.config.errors import WrongCall
from workbench.config.text import printable
from workbench.context.load import DEFAULT, RECORDED, LoadedPolicy, describe_policy, load_policy, preset_names
from workbench.lab.kept import KeptRuns
from workbench.lab.reports import added, figures
from workbench.lab.running import LabWorkers, Progress
from workbench.lab.search import Figures, Tried, best
from workbench.lab.tasks import LabPolicy, LabTask, TaskOutcome

PRESET_POLICIES = tuple(name for name in preset_names() if name != RECORDED)
"""Those that one can go on under."""


class TuneSession(NamedTuple):
    """A conversation that is searched on, or held out."""

    name: str
    digest: str
    """Of its content: the same session is always in the same part, wherever it lies."""
    model: str
    requests: int
    by_policy: Mapping[LabPolicy, Figures]
    """What was sent, the presets, and the policy that the search begins from."""


class Comparison(NamedTuple):
    """How one policy did where it was searched, and where it was not."""

    label: str
    training: Figures
    held_out: Figures | None
    """None where nothing was held out."""


@dataclass(frozen=True, slots=True)
class TuneParts:
    """The sessions, in two parts."""

    training: tuple[TuneSession, ...]
    held_out: tuple[TuneSession, ...]

    @property
    def spent(self) -> str:
        """What the front sets against misses: cost, or tokens where no price is known."""
        sessions = (*self.training, *self.held_out)
        known = all(row["cost"] is not None for each in sessions for row in each.by_policy.values())
        return "cost" if known else "tokens"


class TuneCorpus:
    """Replays policies over all sessions of a part at a time."""

    def __init__(self, tasks: Sequence[LabTask], kept: KeptRuns) -> None:
        self._tasks = tasks
        self._kept = kept
        self.failed: list[tuple[str, str]] = []
        self.others = 0
        """Files of a folder that are no transcripts."""

    def read(self, workers: LabWorkers, base: str, progress: Progress | None = None) -> list[TuneSession]:
        """Every session under `recorded`, the presets and the base."""
        policies = tuple(LabPolicy(name) for name in dict.fromkeys((RECORDED, base, *PRESET_POLICIES)))
        found = []
        for outcome in self._run(workers, self._tasks, policies, progress):
            if outcome.is_other:
                self.others += 1
            elif outcome.error:
                self.failed.append((outcome.task.source, outcome.error))
            stamp = self._kept.stamp(outcome.task) or outcome.task.source
            for run in outcome.runs:
                if run.requests:
                    digest = sha256(f"{stamp}{run.source.removeprefix(outcome.task.source)}".encode()).hexdigest()
                    rows = dict(zip(policies, (figures([each]) for each in run.runs), strict=True))
                    found.append(TuneSession(run.source, digest, run.model, run.requests, rows))
        return found

    def measure(
        self,
        workers: LabWorkers,
        sessions: Sequence[TuneSession],
        policies: Sequence[LabPolicy],
        progress: Progress | None = None,
    ) -> list[Figures]:
        """Figures of each policy over these sessions together; what is known of them already is not replayed."""
        fresh = tuple(each for each in policies if each not in sessions[0].by_policy)
        rows: dict[LabPolicy, list[Figures]] = {
            each: [] if each in fresh else [session.by_policy[each] for session in sessions] for each in policies
        }
        names = {each.name for each in sessions}
        for outcome in self._run(workers, self.tasks_of(sessions) if fresh else (), fresh, progress):
            if outcome.error:
                raise WrongCall(outcome.error)
            for run in outcome.runs:
                for policy, each in zip(fresh, run.runs, strict=True) if run.source in names else ():
                    rows[policy].append(figures([each]))
        return [added(rows[each]) for each in policies]

    def tasks_of(self, sessions: Sequence[TuneSession]) -> list[LabTask]:
        """The sources that these sessions are in."""
        names = {each.name for each in sessions}
        files = names | {name.rpartition("#")[0] for name in names}
        return [task for task in self._tasks if task.source in files]

    def _run(
        self,
        workers: LabWorkers,
        tasks: Sequence[LabTask],
        policies: tuple[LabPolicy, ...],
        progress: Progress | None,
    ) -> Iterable[TaskOutcome]:
        return workers.run([task._replace(policies=policies) for task in tasks], progress, self._kept)


def split(sessions: Sequence[TuneSession], share: float) -> TuneParts:
    """About this share is held out: those with the smallest digests, so that a session stays in its part wherever it
    lies, and the same session twice is in one part. Of two that differ, one is in each."""
    digests = sorted({each.digest for each in sessions})
    held = set(digests[: min(max(1, round(share * len(digests))), len(digests) - 1)] if share > 0 else ())
    return TuneParts(
        tuple(each for each in sessions if each.digest not in held),
        tuple(each for each in sessions if each.digest in held),
    )


def short_name(ref: str) -> str:
    """What a policy is called: of a path nothing but the file, because it is another one elsewhere."""
    return printable(re.split(r"[/\\]", ref)[-1].removesuffix(".toml"))


@dataclass(frozen=True, slots=True)
class TuneResult:
    """What a search found."""

    tried: tuple[Tried, ...]
    chosen: Tried
    parts: TuneParts
    comparisons: tuple[Comparison, ...]
    """The chosen one, the policy the search began from, the best preset, and what was sent."""
    extends: str
    knobs: Mapping[str, Any]
    """What the chosen one sets on top of that preset."""


def result(
    tried: Sequence[Tried], base: str, fixed: Sequence[str], parts: TuneParts, held_out: Figures | None
) -> TuneResult:
    """`held_out`: how the best did on what it never saw."""
    chosen = best(tried)
    if not math.isfinite(chosen.value):
        raise WrongCall("--objective: is no finite number under any policy that was tried")
    preset = best([each for each in tried if each.is_preset])
    beside = dict.fromkeys([LabPolicy(base), preset.policy, LabPolicy(RECORDED)])
    compared = [Comparison("this policy", chosen.figures, held_out)]
    compared += [Comparison(short_name(each.ref), *_both(each, parts)) for each in beside if each != chosen.policy]
    extends, knobs = _self_contained(chosen.policy, fixed)
    return TuneResult(tuple(tried), chosen, parts, tuple(compared), extends, knobs)


def _both(policy: LabPolicy, parts: TuneParts) -> tuple[Figures, Figures | None]:
    training, held_out = ([each.by_policy[policy] for each in part] for part in (parts.training, parts.held_out))
    return added(training), added(held_out) if held_out else None


def _self_contained(policy: LabPolicy, fixed: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """A preset and all that differs from it: a file that extends another of the user's would not travel."""
    loaded = load_policy(policy.ref, sets=(*fixed, *policy.knobs))
    preset = policy.ref if policy.ref in PRESET_POLICIES else _preset_of(loaded)
    before = {row.name: row.value for row in describe_policy(load_policy(preset, env={}))}
    return preset, {row.name: row.value for row in describe_policy(loaded) if row.value != before.get(row.name)}


def _preset_of(loaded: LoadedPolicy) -> str:
    """The preset at the bottom of a policy."""
    found = (origin.removeprefix("preset ") for origin in loaded.origins.values() if origin.startswith("preset "))
    return next(found, DEFAULT)
