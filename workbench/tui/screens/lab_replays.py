"""The replays behind the lab: a session under many policies, each with the knobs that were changed in the lab."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.config.errors import WorkbenchError
from workbench.config.values import replace
from workbench.context.plan import ContextPlan
from workbench.context.policy import Policy
from workbench.context.policy_names import RECORDED
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.values import JudgedShare, PolicyRun
from workbench.sources.source import as_source
from workbench.tui.screens.what_if import SessionSnapshot
from workbench.tui.widgets.main_screen_api import MainScreenApi

QUESTIONS = 20
"""How many questions are asked to judge what the policies keep."""

Knobs = tuple[str, ...]


class LabReplays:
    """Replays and plans in any thread. The session's own knobs apply below those that are given."""

    def __init__(self, host: MainScreenApi, asked: SessionSnapshot) -> None:
        source = as_source(asked.name, [*asked.events], live=asked.live, is_file=asked.is_file)
        source = source._replace(model=asked.model, recorded=asked.recorded is not None)
        self.source = LabSource(host.services, replace(host.options, model=asked.model), source)
        self._own_knobs = asked.knobs
        self._kept: dict[tuple[str, Knobs], tuple[Policy | None, PolicyRun]] = {}
        """With the policy of each run, so that undoing a change is instant, and a changed file is noticed."""

    def kept_run(self, ref: str) -> PolicyRun | None:
        """The run of a policy without changed knobs, if it was made."""
        kept = self._kept.get((ref, ()))
        return kept[1] if kept is not None else None

    def replay_policy(self, ref: str, knobs: Knobs) -> PolicyRun:
        """The same run as before, unless the policy's file, or one that it extends, says something else now."""
        sets = (*self._own_knobs, *knobs)
        policy = self.source.setup(ref, sets).loaded.policy if ref != RECORDED else None
        before, run = self._kept.get((ref, knobs), (None, None))
        if run is None or policy != before:
            if run is not None:
                self.source.forget_plan()
            run = self.source.run_policy(ref, sets)
            self._kept[ref, knobs] = policy, run
        return run

    def attempt_replay(self, ref: str, knobs: Knobs) -> PolicyRun | WorkbenchError:
        try:
            return self.replay_policy(ref, knobs)
        except WorkbenchError as error:
            return error

    def plan_request(self, number: int, ref: str, knobs: Knobs) -> ContextPlan:
        return self.source.plan_request(number, ref, (*self._own_knobs, *knobs))

    def judge(self, policies: Sequence[tuple[str, Knobs]]) -> list[JudgedShare | None]:
        """What the last request under each policy still answers."""
        from workbench.views.judged_policies import judge_policies  # late: it imports all of `judge`

        asked = [(ref, (*self._own_knobs, *knobs)) for ref, knobs in policies]
        return judge_policies(self.source, asked, QUESTIONS)
