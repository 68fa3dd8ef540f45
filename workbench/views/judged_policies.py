"""What is still known at the end of a session under each policy, by the rules of `judge`. No model is asked."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.judge.by_rule import judge_by_rule
from workbench.judge.contexts import judged_source, plan_context
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.values import JudgedShare


def judge_policies(
    lab: LabSource, policies: Sequence[tuple[str, Sequence[str]]], wanted: int
) -> list[JudgedShare | None]:
    """For each policy with its knobs: how many of the same questions its last request answers. None if there is no
    request, or nothing could be asked."""
    if not lab.marks:
        return [None] * len(policies)
    base = judged_source(lab.services, lab.options, lab.source, lab.without_decisions)
    plans = [(ref, lab.plan_request(len(lab.marks), ref, knobs)) for ref, knobs in policies]
    scores = [each.all for each in judge_by_rule(base, [plan_context(ref, plan) for ref, plan in plans], wanted)]
    return [None if each.mean is None else JudgedShare(each.probes, each.mean, each.low, each.high) for each in scores]
