"""The setup with which a source is planned: its policy and window, calibrated by its reports if it was recorded."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.config.values import replace
from workbench.context.planner import Planner
from workbench.context.policy_names import DEFAULT, RECORDED
from workbench.context.setup import Setup
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import Source


def make_setup(
    services: Services,
    options: Options,
    source: Source,
    policy: str,
    knobs: Sequence[str],
    recorded: RecordedSession | None = None,
    at: int | None = None,
    upto: int | None = None,
) -> Setup:
    """A setup for a source. The command line's window applies as long as the program runs.

    For a source that another agent recorded, its reports calibrate the counts and give what requests have outside the
    log. `at`: the index of the planned request; `upto`: it is the one made from the log up to that event.
    """
    # The window is that of the whole session, also for a past request.
    whole = source if recorded is None else source._replace(events=recorded.events)
    made = services.set_up(
        replace(options, policy=policy, knobs=tuple(knobs), model=source.model), whole._replace(knobs=())
    )
    if policy == RECORDED:
        made = made.compacting_like(services.own_policy(source.model))
    if recorded is None:
        return made
    made = replace(recorded.counted_together(made.summarised_by(services.default_model)), own_form=True)
    outside = recorded.unattributed(at) if upto is None else recorded.plan_upto(upto).unattributed
    return made.with_calibration(recorded.calibration(source.model), outside)


def opening_setup(services: Services, options: Options, source: Source) -> Setup:
    """A setup for a source as the screen opens it: another agent's recording is planned as it was recorded."""
    return _opening(services, options, source)[0]


def opening_planner(services: Services, options: Options, source: Source) -> tuple[Setup, Planner]:
    """The same setup with a planner of the source; of a recording, nothing is counted a second time."""
    setup, recorded = _opening(services, options, source)
    return setup, setup.planner(source.events) if recorded is None else recorded.planner(setup, live=False)


def _opening(services: Services, options: Options, source: Source) -> tuple[Setup, RecordedSession | None]:
    if not source.recorded:
        return services.set_up(options, source), None
    source = source._replace(model=options.model or source.model)
    recorded, policy = RecordedSession(services, options, source), policy_for(services, options, source)
    return make_setup(services, options, source, policy, (*source.knobs, *options.knobs), recorded), recorded


def policy_for(services: Services, options: Options, source: Source) -> str:
    """The policy that a source opens with: the user's, else the source's own, else the one for its kind."""
    default = RECORDED if source.recorded else services.settings.policy or DEFAULT
    return options.policy or source.policy or default
