"""Opening: what was named, the newest, a new one, a fork, a session made of a file; and the same under another setup.

All of it reads and plans, so it runs in the background. Raises WorkbenchError.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from workbench.agent import slots
from workbench.config.errors import WrongCall
from workbench.context.load import DEFAULT
from workbench.context.planner import Planner
from workbench.context.setup import Setup
from workbench.log.errors import NotFound
from workbench.log.events import Body, Setting
from workbench.log.session import Session
from workbench.models.catalogue import REHEARSAL
from workbench.models.ledger import Ledger
from workbench.session.insight import Requests
from workbench.session.open_session import OpenSession, make_setup
from workbench.session.services import Services
from workbench.session.source import Source, knobs_of, setting
from workbench.session.tools import toolbox, tools_off
from workbench.session.transcript import Entries

NEW = "new session"


def first(services: Services, options: Namespace, ref: str) -> OpenSession:
    """What the program starts with."""
    if not ref:
        newest = services.store.list(limit=1)
        ref = newest[0].id if newest else ""
    return open_source(services, options, ref) if ref else new_session(services, options)


def open_source(services: Services, options: Namespace, ref: str) -> OpenSession:
    """A session or a file."""
    if not _names_file(ref):
        with suppress(NotFound):
            return open_session(services, options, services.store.session(ref))
    found = services.source(ref)  # what cannot be found either way is told here
    model = getattr(options, "model", None) or found.model
    return _opened(services, options, found._replace(model=model), found.name, None)


def _names_file(ref: str) -> bool:
    """Whether a reference is the path of a file, or of a conversation in one, as in `talks.json#2`."""
    with suppress(OSError, ValueError):
        return any(Path(path).is_file() for path in (ref, ref.rpartition("#")[0]) if path)
    return False


def open_session(services: Services, options: Namespace, session: Session) -> OpenSession:
    """A session of the store; where it has no model yet, it gets the user's, or the stand-in."""
    events = session.events()
    said = setting(events, "model")
    model = getattr(options, "model", None) or said or services.settings.model or REHEARSAL
    source = Source(session.id, events, model, setting(events, "policy"), session.is_written, False)
    made = _opened(services, options, source, session.title or NEW, session)
    if made.writable and said != model:
        made.append(Setting("model", model))
    if made.writable:
        fill_slots(made)
    return made


def new_session(services: Services, options: Namespace) -> OpenSession:
    """An empty session, ours to write."""
    made = open_session(services, options, services.store.create())
    made.ours = True
    return made


def session_of(services: Services, options: Namespace, opened: OpenSession, upto: int | None = None) -> OpenSession:
    """A session that starts as a copy of a file."""
    bodies = [event.body for event in opened.events[:upto]]
    # At the end, so that the events keep the numbers by which compactions and overrides name them.
    bodies.append(Setting("title", Path(opened.name).name))
    if opened.setup.model:
        bodies.append(Setting("model", opened.setup.model))
    return open_session(services, options, services.store.create(bodies))


def fork(services: Services, options: Namespace, opened: OpenSession, at: int | None) -> OpenSession:
    """A copy that ends with an event, or has them all."""
    if opened.session is None:
        return session_of(services, options, opened, at)
    made = open_session(services, options, services.store.fork(opened.session.id, at))
    assert made.session is not None
    if made.session.title and not made.session.title.endswith("(fork)"):
        made.name = f"{made.session.title} (fork)"
        made.append(Setting("title", made.name))
    return made


def _opened(services: Services, options: Namespace, source: Source, name: str, session: Session | None) -> OpenSession:
    knobs = (*knobs_of(source.events), *(getattr(options, "set", None) or ()))
    policy = getattr(options, "policy", None) or source.policy or services.settings.policy or DEFAULT
    setup = make_setup(services, options, source, policy, knobs)
    planner = setup.planner(source.events, live=source.live)
    setup.counter.flush()
    entries = Entries(source.events)
    account = Ledger(services.catalogue)
    made = OpenSession(name, session, source.events, setup, policy, planner, account, entries, Requests(), knobs=knobs)
    made.off = tools_off(source.events)
    made.catch_up()
    return made


def fill_slots(opened: OpenSession) -> None:
    """Put into the fixed slots what should stand there now.

    A turn does the same. Here it shows what would be sent before anything was said.
    """
    tools = toolbox(opened)
    setup = opened.setup
    definitions = tools.definitions() if setup.calls_tools else []
    contents, _ = slots.wanted(tools.places.root, setup.loaded.policy.instructions, definitions)
    changed = slots.changes(opened.planner.slots, contents)
    if changed:
        opened.append(*changed)


class Another(NamedTuple):
    """The same log under another setup."""

    setup: Setup
    policy: str
    knobs: tuple[str, ...]
    planner: Planner
    length: int
    """How many events the planner has."""
    settings: tuple[Body, ...]
    """What the log has to say of it."""


def another(services: Services, options: Namespace, opened: OpenSession, model: str, policy: str, knob: str) -> Another:
    """Plan for another model, under another policy, or with one knob set."""
    name, ref = model or opened.setup.model, policy or opened.policy
    knobs = _with_knob(opened.knobs, knob)
    events = list(opened.events)
    live = opened.session is not None and opened.session.is_written
    source = Source(opened.name, events, name, ref, live, opened.session is None)
    setup = make_setup(services, options, source, ref, knobs)
    planner = setup.planner(events, live=live)
    setup.counter.flush()
    said: list[Body] = [Setting("model", name)] if model else []
    said += [Setting("policy", ref)] if policy else []
    said += [Setting("knobs", list(knobs))] if knob else []
    return Another(setup, ref, knobs, planner, len(events), tuple(said))


def _with_knob(knobs: Sequence[str], knob: str) -> tuple[str, ...]:
    """Of two settings of one knob the later holds."""
    if not knob:
        return tuple(knobs)
    name, equals, _ = knob.partition("=")
    if not equals:
        raise WrongCall(f"{knob}: expected KNOB=VALUE, as in masking.keep_last=3")
    return (*(each for each in knobs if each.partition("=")[0].strip() != name.strip()), knob)
