"""One source under many policies: the piece of work that one process, or one machine, does at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from workbench.context.load import RECORDED, load_policy, portable_policy, preset_names
from workbench.lab.replay import LabSource
from workbench.lab.values import PolicyRun, SourceRun
from workbench.sources.options import Options


class LabPolicy(NamedTuple):
    """A policy to replay under."""

    ref: str
    """A name, or the path of a file."""
    knobs: tuple[str, ...] = ()
    """As `masking.keep_last=3`, on top of those of the task."""
    name: str = ""
    """What it is called in the results; the policy's own name where this is empty."""


class LabTask(NamedTuple):
    """What is to be done with one source."""

    source: str
    policies: tuple[LabPolicy, ...]
    options: Options = Options()
    """The model, the window and the knobs that hold under every policy but `recorded`."""
    folder: str = ""
    """What a path is seen from; empty: the folder of whoever does it."""
    is_guess: bool = False
    """Whether it lay in a folder that was named: what is no transcript there is passed over."""
    waste: bool = False
    """Whether to look for what is no longer needed, which replays what was recorded."""
    summarise: bool = False
    """Whether a model is asked for the summaries of compactions."""


class TaskOutcome(NamedTuple):
    """What became of a task."""

    task: LabTask
    runs: tuple[SourceRun, ...] = ()
    """One for each conversation of the source; none where it failed."""
    error: str = ""
    """Why it failed, in one line that names the source."""
    is_other: bool = False
    """Whether it is no transcript, and nobody said that it was one: it lay in a folder."""
    is_kept: bool = False
    """Whether all of it was known from before."""


def portable_policies(policies: Sequence[LabPolicy], knobs: Sequence[str]) -> tuple[LabPolicy, ...]:
    """The same for another machine: they say all that this one knows of them, and have the knobs of the task."""
    found = []
    for each in policies:
        preset, own = portable_policy(each.ref)
        name = each.name or load_policy(each.ref).policy.name
        found.append(LabPolicy(preset, (*own, *knobs, *each.knobs), name))
    return tuple(found)


def all_policies() -> tuple[str, ...]:
    """What was sent, and every preset."""
    return (RECORDED, *(name for name in preset_names() if name != RECORDED))


def run_task(task: LabTask, labs: Sequence[LabSource]) -> tuple[SourceRun, ...]:
    """Replay all conversations of a source."""
    return tuple(_run(task, lab, numbered(task.source, number, len(labs))) for number, lab in enumerate(labs, 1))


def numbered(source: str, number: int, of: int) -> str:
    """What a conversation of a source is called."""
    return f"{source}#{number}" if of > 1 else source


def _run(task: LabTask, lab: LabSource, name: str) -> SourceRun:
    return SourceRun(
        name,
        task.options.model or lab.source.model,
        len(lab.marks),
        tuple(_named(lab.run(each.ref, (*task.options.knobs, *each.knobs)), each.name) for each in task.policies),
        lab.waste if task.waste else None,
    )


def _named(run: PolicyRun, name: str) -> PolicyRun:
    return replace(run, policy=name) if name else run
