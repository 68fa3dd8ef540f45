"""A past request of another agent's session under a policy.

It is the request that the lab counts: the policy decides in the agent's place from the first request on, and compacts
where it would have.
"""

from __future__ import annotations

from workbench.config.values import replace
from workbench.context.policy_names import DEFAULT, RECORDED
from workbench.sources.found_plans import FoundPlan, find_plan
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import Source


def find_any_plan(
    services: Services, source: Source, asked: Options, nth: int | None = None, at: int | None = None
) -> FoundPlan:
    """The plan of one request, like `find_plan`; if it is a what-if of a past request, as the lab replays it.

    The next request and those of sub-agents are planned from the log as it is: nothing was replayed for them.
    """
    found = find_plan(services, source, asked, nth, at)
    policy = asked.policy or source.policy or services.settings.policy or DEFAULT
    if found.view == "recorded" or not source.recorded or found.number is None or policy == RECORDED:
        return found
    from workbench.lab.replay.lab_source import LabSource  # late: nearly half of the imports of `plan`

    lab = LabSource(services, replace(asked, policy="", knobs=()), source)
    number = lab.number_of(found.number)
    if number is None:
        return found
    knobs = (*source.knobs, *asked.knobs)
    return found._replace(plan=lab.plan_request(number, policy, knobs), setup=lab.setup(policy, knobs))
