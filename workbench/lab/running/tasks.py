"""One source under many policies: the unit of work for a process or a machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.config.values import replace
from workbench.context.load import load_policy, portable_policy, preset_names
from workbench.context.policy_names import RECORDED
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.values import PolicyRun, SourceRun
from workbench.sources.options import Options


class LabPolicy(NamedTuple):
    """A policy to replay under."""

    ref: str
    """A name, or the path of a file."""
    knobs: tuple[str, ...] = ()
    """In the form `masking.keep_last=3`, in addition to those of the task."""
    name: str = ""
    """Its name in the results; the policy's own name where this is empty."""


class LabTask(NamedTuple):
    """The replays of one source."""

    source: str
    policies: tuple[LabPolicy, ...]
    options: Options = Options()
    """The model, the window and the knobs for every policy except `recorded`."""
    folder: str = ""
    """The folder that a path is relative to; empty: the current folder of the worker."""
    is_guess: bool = False
    """Whether it was found in a folder. Then it is skipped if it is no transcript."""
    waste: bool = False
    """Whether to look for waste, which needs a replay of what was recorded."""
    summarise: bool = False
    """Whether to ask a model for the summaries of compactions."""


class TaskOutcome(NamedTuple):
    """The result of a task."""

    task: LabTask
    runs: tuple[SourceRun, ...] = ()
    """One for each conversation of the source; none where it failed."""
    error: str = ""
    """Why it failed, in one line that names the source."""
    is_other: bool = False
    """Whether it is no transcript and was only found in a folder, so that it is no error."""
    is_kept: bool = False
    """Whether all runs were kept from before."""


def portable_policies(policies: Sequence[LabPolicy], knobs: Sequence[str]) -> tuple[LabPolicy, ...]:
    """The same policies for another machine: complete, without files of this one, and with the knobs of the task."""
    found = []
    for each in policies:
        preset, own = portable_policy(each.ref)
        name = each.name or load_policy(each.ref).policy.name
        found.append(LabPolicy(preset, (*own, *knobs, *each.knobs), name))
    return tuple(found)


def all_policies() -> tuple[str, ...]:
    """`recorded` and every preset."""
    return (RECORDED, *(name for name in preset_names() if name != RECORDED))


def run_task(task: LabTask, labs: Sequence[LabSource]) -> tuple[SourceRun, ...]:
    """Replay all conversations of a source."""
    return tuple(
        _run(task, lab, conversation_name(task.source, number, len(labs))) for number, lab in enumerate(labs, 1)
    )


def conversation_name(source: str, number: int, of: int) -> str:
    """The name of a conversation: the source, with a number where it has several."""
    return f"{source}#{number}" if of > 1 else source


def _run(task: LabTask, lab: LabSource, name: str) -> SourceRun:
    return SourceRun(
        name,
        task.options.model or lab.source.model,
        len(lab.marks),
        tuple(
            _named(lab.run_policy(each.ref, (*task.options.knobs, *each.knobs)), each.name) for each in task.policies
        ),
        lab.waste if task.waste else None,
    )


def _named(run: PolicyRun, name: str) -> PolicyRun:
    return replace(run, policy=name) if name else run
