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
from workbench.traces.desk import Desk
from workbench.traces.source import Source, knobs_of, setting
from workbench.tui.bench import newest_session
from workbench.tui.insight import Requests
from workbench.tui.model.opened import Opened, make_setup
from workbench.tui.model.tools import toolbox, tools_off
from workbench.tui.model.transcript import Entries

NEW = "new session"


def first(desk: Desk, options: Namespace, ref: str) -> Opened:
    """What the program starts with."""
    ref = ref or newest_session(desk)
    return open_source(desk, options, ref) if ref else new_session(desk, options)


def open_source(desk: Desk, options: Namespace, ref: str) -> Opened:
    """A session or a file."""
    if not _names_file(ref):
        with suppress(NotFound):
            return open_session(desk, options, desk.store.session(ref))
    found = desk.source(ref)  # what cannot be found either way is told here
    model = getattr(options, "model", None) or found.model
    return _opened(desk, options, found._replace(model=model), found.name, None)


def _names_file(ref: str) -> bool:
    """Whether a reference is the path of a file, or of a conversation in one, as in `talks.json#2`."""
    with suppress(OSError, ValueError):
        return any(Path(path).is_file() for path in (ref, ref.rpartition("#")[0]) if path)
    return False


def open_session(desk: Desk, options: Namespace, session: Session) -> Opened:
    """A session of the store; where it has no model yet, it gets the user's, or the stand-in."""
    events = session.events()
    said = setting(events, "model")
    model = getattr(options, "model", None) or said or desk.settings.model or REHEARSAL
    source = Source(session.id, events, model, setting(events, "policy"), session.is_written, False)
    made = _opened(desk, options, source, session.title or NEW, session)
    if made.writable and said != model:
        made.append(Setting("model", model))
    if made.writable:
        fill_slots(made)
    return made


def new_session(desk: Desk, options: Namespace) -> Opened:
    """An empty session, ours to write."""
    made = open_session(desk, options, desk.store.create())
    made.ours = True
    return made


def session_of(desk: Desk, options: Namespace, opened: Opened, upto: int | None = None) -> Opened:
    """A session that starts as a copy of a file."""
    bodies = [event.body for event in opened.events[:upto]]
    # At the end, so that the events keep the numbers by which compactions and overrides name them.
    bodies.append(Setting("title", Path(opened.name).name))
    if opened.setup.model:
        bodies.append(Setting("model", opened.setup.model))
    return open_session(desk, options, desk.store.create(bodies))


def fork(desk: Desk, options: Namespace, opened: Opened, at: int | None) -> Opened:
    """A copy that ends with an event, or has them all."""
    if opened.session is None:
        return session_of(desk, options, opened, at)
    made = open_session(desk, options, desk.store.fork(opened.session.id, at))
    assert made.session is not None
    if made.session.title and not made.session.title.endswith("(fork)"):
        made.name = f"{made.session.title} (fork)"
        made.append(Setting("title", made.name))
    return made


def _opened(desk: Desk, options: Namespace, source: Source, name: str, session: Session | None) -> Opened:
    knobs = (*knobs_of(source.events), *(getattr(options, "set", None) or ()))
    policy = getattr(options, "policy", None) or source.policy or desk.settings.policy or DEFAULT
    setup = make_setup(desk, options, source, policy, knobs)
    planner = setup.planner(source.events, live=source.live)
    setup.counter.flush()
    entries = Entries(source.events)
    account = Ledger(desk.catalogue)
    made = Opened(name, session, source.events, setup, policy, planner, account, entries, Requests(), knobs=knobs)
    made.off = tools_off(source.events)
    made.catch_up()
    return made


def fill_slots(opened: Opened) -> None:
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


def another(desk: Desk, options: Namespace, opened: Opened, model: str, policy: str, knob: str) -> Another:
    """Plan for another model, under another policy, or with one knob set."""
    name, ref = model or opened.setup.model, policy or opened.policy
    knobs = _with_knob(opened.knobs, knob)
    events = list(opened.events)
    live = opened.session is not None and opened.session.is_written
    source = Source(opened.name, events, name, ref, live, opened.session is None)
    setup = make_setup(desk, options, source, ref, knobs)
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
