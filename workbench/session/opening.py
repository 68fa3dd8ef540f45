"""Opening: what was named, the newest, a new one, a fork, a session made of a file; and the same under another setup.

All of it reads and plans, so it runs in the background. Raises WorkbenchError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from workbench.agent import slots
from workbench.config.errors import WrongCall
from workbench.config.folders import work_folder
from workbench.config.text import printable
from workbench.context.load import DEFAULT
from workbench.context.planner import Planner
from workbench.context.setup import LearntWindow, Setup, learnt_window, window_setting
from workbench.log.errors import NotFound
from workbench.log.events import Body, Event, Setting, SlotContent
from workbench.log.session import Session
from workbench.models.ledger import Ledger
from workbench.session.open_session import OpenSession
from workbench.session.tools import toolbox, tools_off
from workbench.sources.options import Options
from workbench.sources.planned_under import PlannedUnder, planned_under
from workbench.sources.recorded import RecordedSession, make_setup, policy_for
from workbench.sources.requests import RequestMarks
from workbench.sources.services import Services
from workbench.sources.source import Source, as_source, knobs_of, names_file, setting_in
from workbench.views.transcript import Entries

NEW = "new session"


TITLE = 60
"""Characters of the first message that become a session's title."""


def title_of(message: str) -> str:
    """What a session is called after its first message."""
    return printable(message)[:TITLE]


Glance = Callable[[str, list[Event]], None]
"""Is told the name and the last events of something long, while the rest of it is read and planned."""

GLANCED = 200
"""Events of a session that are shown ahead; a screen or two."""
LONG = 3_000
"""Events from which on a session takes so long to plan that its end is shown ahead."""


def first(services: Services, options: Options, ref: str, glance: Glance | None = None) -> OpenSession:
    """What the program starts with."""
    if not ref:
        services.store.drop_unused()
        here = work_folder().path
        last = services.store.list(limit=1, folder=here) if here else []
        ref = last[0].id if last else ""
    return open_source(services, options, ref, glance) if ref else new_session(services, options)


def open_source(services: Services, options: Options, ref: str, glance: Glance | None = None) -> OpenSession:
    """A session or a file."""
    if not names_file(ref):
        with suppress(NotFound):
            session = services.store.session(ref)
            if glance is not None and len(session) >= LONG:
                glance(session.title or NEW, session.last(GLANCED))
            made = open_session(services, options, session)
            made.asked = options
            return made
    found = services.source(ref, growing=options.follow)  # what cannot be found either way is told here
    if glance is not None and len(found.events) >= LONG:
        glance(found.name, found.events)
    model = options.model or found.model
    made = _opened(services, options, found._replace(model=model), found.name, None)
    made.ref, made.asked = ref, options
    return made


def open_session(services: Services, options: Options, session: Session) -> OpenSession:
    """A session of the store; where it has no model yet, it gets the user's, or the stand-in.

    What another agent recorded without a model has none before something is asked here. Nothing is added to the log:
    what is new about its model and its slots is said before the next turn.
    """
    found = as_source(session.id, session.events(), live=session.is_written)
    if found.recorded and session.writable:
        found = found._replace(live=False)
    model = options.model or found.model or ("" if found.recorded else services.default_model)
    return _opened(services, options, found._replace(model=model), session.title or NEW, session)


def note_model(opened: OpenSession) -> None:
    """Say in the log what it does not know yet of the session's model: its name, and how large its window is where a
    server or the user told that."""
    setup = opened.setup
    before = setting_in(opened.events, "model")
    news: list[Body] = [Setting("model", setup.model)] if before != setup.model else []
    told = LearntWindow(setup.info.window, "server") if setup.info.window_source == "server" else None
    if setup.options.window is not None:
        told = LearntWindow(setup.options.window, "option")
    if told is not None and learnt_window(opened.events, setup.model) != told:
        news.append(window_setting(setup.model, told))
    opened.append(*news)


def note_policy(services: Services, opened: OpenSession) -> None:
    """Say in the log what the turn that begins is planned under, where its settings would not tell it later."""
    now = PlannedUnder(opened.policy, opened.knobs, opened.setup.options.reserve)
    policy = setting_in(opened.events, "policy") or services.settings.policy or DEFAULT
    if (planned_under(opened.events) or PlannedUnder(policy, knobs_of(opened.events))) != now:
        opened.append(now.setting)


def new_session(services: Services, options: Options, title: str = "", *, fill: bool = True) -> OpenSession:
    """An empty session, ours to write. Where it cannot be set up, there is none.

    `fill`: show what would be sent before anything was said. The first turn does it in any case.
    """
    session = services.store.create(title=title, folder=work_folder(), unused=True)
    try:
        made = begun(services, options, session, fill=fill)
    except BaseException:
        session.close()
        services.store.delete(session.id)
        raise
    made.ours = True
    return made


def begun(services: Services, options: Options, session: Session, *, fill: bool = True) -> OpenSession:
    """A session that was just made, with its model and its slots in the log."""
    made = open_session(services, options, session)
    note_model(made)
    if fill:
        fill_slots(made)
    return made


def session_of(services: Services, opened: OpenSession, upto: int | None = None) -> OpenSession:
    """A session that starts as a copy of a file, under what was asked for there."""
    made = stored_copy(services, Path(opened.name).name, opened.setup.model, opened.events[:upto])
    copied = open_session(services, replace(opened.asked, follow=False), made)
    note_model(copied)
    return copied


def stored_copy(services: Services, title: str, model: str, events: Sequence[Event]) -> Session:
    """A session of the store that has the events of a file."""
    # At the end, so that the events keep the numbers by which compactions and overrides name them.
    more = [Setting("title", title), *([Setting("model", model)] if model else [])]
    return services.store.create_from(events, *more)


def fork(services: Services, options: Options, opened: OpenSession, at: int | None) -> OpenSession:
    """A copy that ends with an event, or has them all."""
    if opened.session is None:
        return session_of(services, opened, at)
    made = open_session(services, options, services.store.fork(opened.session.id, at))
    assert made.session is not None
    if made.session.title and not made.session.title.endswith("(fork)"):
        made.name = f"{made.session.title} (fork)"
        made.append(Setting("title", made.name))
    return made


def _opened(services: Services, options: Options, source: Source, name: str, session: Session | None) -> OpenSession:
    knobs = (*source.knobs, *options.knobs)
    recorded = RecordedSession(services, options, source) if source.recorded else None
    policy = policy_for(services, options, source)
    setup = make_setup(services, options, source, policy, knobs, recorded)
    planner = setup.planner(source.events, live=source.live)
    setup.counter.flush()
    entries = Entries(source.events)
    account = Ledger(services.catalogue)
    if recorded is not None:
        account = Ledger(services.catalogue, recorded.estimates, recorded.calibration)
    made = OpenSession(
        name, session, source.events, setup, policy, planner, account, entries, RequestMarks(), recorded, knobs=knobs
    )
    made.off = tools_off(source.events)
    made.catch_up()
    if recorded is not None:
        made.requests.set_estimates(recorded.unreported)
    return made


def fill_slots(opened: OpenSession) -> None:
    """Put into the fixed slots what should stand there now.

    A turn does the same. Here it shows what would be sent before anything was said.
    """
    changed = wanted_slots(opened, opened.setup, opened.planner)
    if changed:
        opened.append(*changed)


def wanted_slots(opened: OpenSession, setup: Setup, planner: Planner) -> list[SlotContent]:
    """What has to be appended to a plan of a session so that its slots hold what should stand there now."""
    tools = toolbox(opened)
    definitions = tools.definitions() if setup.calls_tools else []
    contents, _ = slots.wanted(tools.places.root, setup.loaded.policy.instructions, definitions)
    return slots.changes(planner.slots, contents)


class Replanned(NamedTuple):
    """The same log under another setup."""

    setup: Setup
    policy: str
    knobs: tuple[str, ...]
    planner: Planner
    length: int
    """How many events the planner has."""
    settings: tuple[Setting, ...]
    """What the log has to say of it."""
    recorded: RecordedSession | None
    """What another agent recorded, where its next request goes to the model that was chosen."""


def replan(
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

    `as_ours`: what another agent recorded is counted as a session that goes on here.
    """
    name, ref = model or opened.setup.model, policy or opened.policy
    knobs = _with_knob(opened.knobs, knob)
    events = list(opened.events)
    live = opened.calls_may_return if opened.recorded is None or not as_ours else opened.writable
    said: list[Setting] = [Setting("model", name)] if model else []
    if model and learnt_window(events, name) is not None:
        said.append(window_setting(name, LearntWindow(0)))  # chosen again, it starts with what is known of it
    chosen = [*events, *(Event(len(events) + at, "", 0, body) for at, body in enumerate(said, 1))]
    source = Source(opened.name, chosen, name, ref, live, opened.session is None)
    recorded = None if as_ours else opened.recorded
    if recorded is not None and name != opened.setup.model:
        recorded = recorded.with_model(name)
    setup = make_setup(services, options, source, ref, knobs, recorded)
    planner = setup.planner(events, live=live)
    setup.counter.flush()
    said += [Setting("policy", ref)] if policy else []
    # What the command line set is for this run alone, and not for the log.
    said += [Setting("knobs", list(_with_knob(knobs_of(events), knob)))] if knob else []
    return Replanned(setup, ref, knobs, planner, len(events), tuple(said), recorded)


def _with_knob(knobs: Sequence[str], knob: str) -> tuple[str, ...]:
    """Of two settings of one knob the later holds."""
    if not knob:
        return tuple(knobs)
    name, equals, _ = knob.partition("=")
    if not equals:
        raise WrongCall(f"{knob}: expected KNOB=VALUE, as in masking.keep_last=3")
    return (*(each for each in knobs if each.partition("=")[0].strip() != name.strip()), knob)
