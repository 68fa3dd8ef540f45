"""Opening: a named session or file, the newest, a new one, a fork, a session made from a file; and replanning.

These functions read and plan, so call them in the background. They raise WorkbenchError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from workbench.agent import slots
from workbench.config.errors import WrongCall
from workbench.config.folders import work_folder
from workbench.config.garbage import collector_paused
from workbench.config.text import printable
from workbench.config.values import replace
from workbench.context.planner import Planner
from workbench.context.policy_names import DEFAULT
from workbench.context.setup import Setup
from workbench.log.errors import NotFound
from workbench.log.events import Body, Event, Setting, SlotContent
from workbench.log.learnt_windows import LearntWindow, learnt_window, window_setting
from workbench.log.session import Session
from workbench.models.ledger import Ledger
from workbench.session.open_session import OpenSession
from workbench.session.tools import session_toolbox, tools_off
from workbench.sources.options import Options
from workbench.sources.planned_under import PlannedUnder, planned_under
from workbench.sources.recorded import RecordedSession
from workbench.sources.requests import RequestMarks
from workbench.sources.services import Services
from workbench.sources.source import Source, as_source, knobs_of, names_file, setting_in
from workbench.sources.source_setups import make_setup, policy_for
from workbench.views.transcript import EntryIndex

NEW = "new session"


TITLE = 60
"""Characters of the first message that become a session's title."""


def title_of(message: str) -> str:
    """The title that a session gets from its first message."""
    return printable(message, TITLE)


Glance = Callable[[str, list[Event]], None]
"""Called with the name and the last events of a long session, before the rest is read and planned."""

GLANCED = 200
"""Events at the end of a session that are shown early; a screen or two."""
LONG = 3_000
"""A session with so many events takes long to plan, so its end is shown early."""


def open_first_session(services: Services, options: Options, ref: str, glance: Glance | None = None) -> OpenSession:
    """Open what the program starts with: `ref`, else this folder's last session, else a new one."""
    if not ref:
        services.store.drop_unused()
        here = work_folder().path
        last = services.store.list(limit=1, folder=here) if here else []
        ref = last[0].id if last else ""
    return open_source(services, options, ref, glance) if ref else new_session(services, options)


def open_source(services: Services, options: Options, ref: str, glance: Glance | None = None) -> OpenSession:
    """Open a session or a file."""
    if not names_file(ref):
        with suppress(NotFound):
            session = services.store.look_at(ref)
            if glance is not None and len(session) >= LONG:
                glance(session.title or NEW, session.last(GLANCED))
            made = open_session(services, options, session)
            made.asked = options
            return made
    ref = services.whole_ref(ref)
    found = services.source(ref, growing=options.follow)  # raises the error if it is neither
    if glance is not None and len(found.events) >= LONG:
        glance(found.name, found.events)
    model = options.model or found.model
    made = _opened(services, options, found._replace(model=model), found.name, None)
    made.ref, made.asked = ref, options
    return made


def open_session(services: Services, options: Options, session: Session) -> OpenSession:
    """Open a session of the store. If it has no model yet, it gets the user's, or the rehearsal model.

    A session that another agent recorded without a model has none until a model is asked here. Nothing is added to the
    log: a new model or new slots are logged before the next turn.
    """
    found = as_source(session.id, session.events(), live=session.is_written or session.writable)
    if found.recorded and session.writable:
        found = found._replace(live=False)
    model = options.model or found.model or ("" if found.recorded else services.default_model)
    return _opened(services, options, found._replace(model=model), session.title or NEW, session)


def note_model(opened: OpenSession) -> None:
    """Log the session's model if the log does not have it: its name, and its window if a server or an option set it."""
    setup = opened.setup
    before = setting_in(opened.events, "model")
    news: list[Body] = [Setting("model", setup.model)] if before != setup.model else []
    window = LearntWindow(setup.info.window, "server") if setup.info.window_source == "server" else None
    if setup.options.window is not None:
        window = LearntWindow(setup.options.window, "option")
    if window is not None and learnt_window(opened.events, setup.model) != window:
        news.append(window_setting(setup.model, window))
    opened.append(*news)


def note_policy(services: Services, opened: OpenSession) -> None:
    """Log the policy and knobs of the turn that begins, unless the log's settings show them anyway."""
    now = PlannedUnder(opened.policy, opened.knobs, opened.setup.options.reserve)
    policy = setting_in(opened.events, "policy") or services.settings.policy or DEFAULT
    if (planned_under(opened.events) or PlannedUnder(policy, knobs_of(opened.events))) != now:
        opened.append(now.setting)


def new_session(services: Services, options: Options, title: str = "", *, fill: bool = True) -> OpenSession:
    """Create an empty session. If its setup fails, it is deleted again.

    `fill`: fill the fixed slots now, to show what would be sent before the first message. The first turn fills them in
    any case.
    """
    session = services.store.create(title=title, folder=work_folder(), unused=True)
    try:
        made = open_new_session(services, options, session, fill=fill)
    except BaseException:
        session.close()
        services.store.delete(session.id)
        raise
    made.ours = True
    return made


def open_new_session(services: Services, options: Options, session: Session, *, fill: bool = True) -> OpenSession:
    """Open a session that was just created, and log its model and, with `fill`, its slots."""
    made = open_session(services, options, session)
    note_model(made)
    if fill:
        fill_slots(made)
    return made


def session_of(services: Services, opened: OpenSession, upto: int | None = None) -> OpenSession:
    """A session that starts as a copy of a file, with the options that the file was opened with."""
    made = stored_copy(services, Path(opened.name).name, opened.setup.model, opened.events[:upto])
    copied = open_session(services, replace(opened.asked, follow=False), made)
    note_model(copied)
    return copied


def stored_copy(services: Services, title: str, model: str, events: Sequence[Event]) -> Session:
    """Create a session in the store with the events of a file."""
    # The settings are appended at the end: compactions and overrides refer to events by number.
    more = [Setting("title", title), *([Setting("model", model)] if model else [])]
    return services.store.create_from(events, *more)


def open_fork(services: Services, options: Options, opened: OpenSession, at: int | None) -> OpenSession:
    """A copy of a session, up to the event `at`; None: with all events."""
    if opened.session is None:
        return session_of(services, opened, at)
    made = open_session(services, options, services.store.fork(opened.session.id, at))
    assert made.session is not None
    if made.session.title and not made.session.title.endswith("(fork)"):
        made.name = f"{made.session.title} (fork)"
        made.append(Setting("title", made.name))
    return made


@collector_paused()
def _opened(services: Services, options: Options, source: Source, name: str, session: Session | None) -> OpenSession:
    knobs = (*source.knobs, *options.knobs)
    recorded = RecordedSession(services, options, source) if source.recorded else None
    if recorded is None:
        account = Ledger(services.catalogue)
    else:
        account = Ledger(services.catalogue, recorded.counts_by_report, recorded.calibration)
    policy = policy_for(services, options, source)
    setup = make_setup(services, options, source, policy, knobs, recorded)
    if recorded is None:
        planner = setup.planner(source.events, live=source.live)
    else:
        planner = recorded.planner(setup, live=source.live)
    setup.counter.flush()
    entries = EntryIndex(source.events)
    marks = RequestMarks() if recorded is None else recorded.growing_marks
    made = OpenSession(
        name, session, source.events, setup, policy, planner, account, entries, marks, recorded, knobs=knobs
    )
    made.off = tools_off(source.events)
    made.catch_up()
    if recorded is not None:
        made.requests.set_estimates(recorded.unreported)
    return made


def fill_slots(opened: OpenSession) -> None:
    """Update the fixed slots in the log.

    A turn does the same. Here it shows what would be sent before the first message.
    """
    changed = wanted_slots(opened, opened.setup, opened.planner)
    if changed:
        opened.append(*changed)


def wanted_slots(opened: OpenSession, setup: Setup, planner: Planner) -> list[SlotContent]:
    """The slots to append to a session's log so that its plan has the current contents of the fixed slots."""
    tools = session_toolbox(opened)
    definitions = tools.definitions() if setup.calls_tools else []
    contents, _ = slots.current_slot_contents(tools.places.root, setup.loaded.policy.instructions, definitions)
    return slots.slot_changes(planner.slots, contents)


class Replanned(NamedTuple):
    """The same log under another setup."""

    setup: Setup
    policy: str
    knobs: tuple[str, ...]
    planner: Planner
    length: int
    """How many events the planner has."""
    settings: tuple[Setting, ...]
    """The settings to append to the log for this change."""
    recorded: RecordedSession | None
    """What another agent recorded, with the chosen model for the next request; None: the session is ours now."""


def replan_session(
    services: Services,
    options: Options,
    opened: OpenSession,
    model: str = "",
    policy: str = "",
    knob: str = "",
    *,
    as_ours: bool = False,
) -> Replanned:
    """Plan for another model, under another policy, or with one knob set.

    `as_ours`: count a session that another agent recorded as one that is continued here.
    """
    name, ref = model or opened.setup.model, policy or opened.policy
    knobs = _with_knob(opened.knobs, knob)
    events = list(opened.events)
    live = opened.calls_may_return if opened.recorded is None or not as_ours else opened.writable
    settings: list[Setting] = [Setting("model", name)] if model else []
    if model and learnt_window(events, name) is not None:
        settings.append(window_setting(name, LearntWindow(0)))  # an earlier learnt window is no longer valid
    chosen = [*events, *(Event(len(events) + at, "", 0, body) for at, body in enumerate(settings, 1))]
    source = Source(opened.name, chosen, name, ref, live, opened.session is None)
    recorded = None if as_ours else opened.recorded
    if recorded is not None and name != opened.setup.model:
        recorded = recorded.with_model(name)
    setup = make_setup(services, options, source, ref, knobs, recorded)
    planner = setup.planner(events, live=live)
    setup.counter.flush()
    settings += [Setting("policy", ref)] if policy else []
    # Knobs from the command line are for this run only and are not logged.
    settings += [Setting("knobs", list(_with_knob(knobs_of(events), knob)))] if knob else []
    return Replanned(setup, ref, knobs, planner, len(events), tuple(settings), recorded)


def _with_knob(knobs: Sequence[str], knob: str) -> tuple[str, ...]:
    """The knobs with one more; it replaces an earlier value of the same knob."""
    if not knob:
        return tuple(knobs)
    name, equals, _ = knob.partition("=")
    if not equals:
        raise WrongCall(f"{knob}: expected KNOB=VALUE, as in masking.keep_last=3")
    return (*(each for each in knobs if each.partition("=")[0].strip() != name.strip()), knob)
