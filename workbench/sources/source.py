"""Where a plan's events come from: a session of the store, or a file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.config.errors import WorkbenchError, WrongCall
from workbench.config.text import printable
from workbench.context.policy_names import RECORDED
from workbench.log.codec import decode_event
from workbench.log.errors import BadEvent, NotFound
from workbench.log.events import (
    Body,
    Compaction,
    Event,
    Hold,
    Override,
    Request,
    RequestAnswer,
    Revert,
    Setting,
    Usage,
    UserMessage,
    text_of,
)
from workbench.log.store import Store
from workbench.sources.foreign import harmless_log
from workbench.traces.reading import bad_file
from workbench.traces.references import SUB_AGENTS, is_file, split_ref

if TYPE_CHECKING:
    from workbench.traces.building import Recording
    from workbench.traces.formats import FileContent

EVENT_BYTES = 500
"""The average size of an event in the store."""
MOST_FILES = 50
"""Files to suggest for the beginning of a path."""
_TITLES = 3
"""Conversations of a file to list where the user has to choose one."""
_TITLE = 60


class Source(NamedTuple):
    """Events to plan, and what is known about them."""

    name: str
    events: list[Event]
    model: str
    policy: str
    live: bool
    """Whether another process is writing the session now, so that open calls may still get results."""
    is_file: bool
    knobs: tuple[str, ...] = ()
    """Set in the session, as `masking.keep_last=3`; options of a command override them."""
    recorded: bool = False
    """Whether the whole conversation is another agent's and was not continued here."""
    decided: bool = False
    """Whether anything was masked, compacted or the like here: then the next request is shown."""


def as_source(name: str, events: list[Event], *, live: bool = False, is_file: bool = False) -> Source:
    """A log with what it says about planning: model, policy and knobs."""
    settings = [event for event in events if isinstance(event.body, Setting)]
    model, policy = setting_in(settings, "model"), setting_in(settings, "policy")
    made = Source(name, events, model, policy, live, is_file, knobs_of(settings))
    recorded, decided = _recorded(events)
    return made._replace(recorded=recorded and not made.policy, decided=decided)


def _recorded(events: Sequence[Event]) -> tuple[bool, bool]:
    """Whether a log is another agent's and was not continued here; and whether anything was decided here."""
    end = recorded_end(events)
    if not end:
        return False, False
    since = [event.body for event in events[end:]]
    continued = any(isinstance(body, UserMessage | Usage) for body in since)
    return not continued, any(isinstance(body, Override | Compaction | Revert) for body in since)


def recorded_end(events: Sequence[Event]) -> int:
    """How many events of a log another agent recorded; 0: none. What was said and decided here comes after them."""
    at = next((at for at in reversed(range(len(events))) if _says_recorded(events[at].body)), None)
    if at is None:
        return 0
    # In a log of the proxy, the agent's events come after the setting and end with a request.
    return 1 + next((later for later in reversed(range(at, len(events))) if _is_of_request(events[later].body)), at)


def _says_recorded(body: Body) -> bool:
    """The setting has the name of the policy; its value is the format."""
    return isinstance(body, Setting) and body.key == RECORDED and bool(body.value)


def recorded_by(first: Event | None) -> str:
    """The agent whose requests became a session in the proxy, from its first event; empty for other sessions."""
    body = first.body if first is not None else None
    return str(body.value) if isinstance(body, Setting) and _says_recorded(body) else ""


def _is_of_request(body: Body) -> bool:
    return isinstance(body, Request | RequestAnswer | Hold) or (isinstance(body, Usage) and body.request > 0)


def names_file(ref: str) -> bool:
    """Whether a reference is the path of a file, or of a conversation in one, as in `talks.json#2`."""
    path, _ = split_ref(ref)
    return path == "-" or is_file(path)


def read_source(ref: str, store: Callable[[], Store], *, growing: bool = False) -> Source:
    """A session by id, unique prefix or title; or a file. `FILE#2` is its second conversation.

    The store is opened only for a session: a file can be read where nothing can be written. `growing`: ignore an
    unfinished last line of a file that is being written.
    """
    if not ref:
        raise WrongCall("expected a session or a file, got an empty name")
    path, number = split_ref(ref)
    if names_file(ref):
        return _from_file(path, number, growing)
    try:
        with store().session(ref, write=False) as session:
            return as_source(ref, session.events(), live=session.is_written)
    except NotFound as error:
        if _is_folder(path):
            raise WrongCall(f"{path}: expected a file, this is a folder") from None
        raise WrongCall(f"{ref}: no such file, and {error}") from None


def read_sources(ref: str, store: Callable[[], Store]) -> list[Source]:
    """Like `read_source`, but all conversations of a file if none is chosen."""
    from workbench.traces.formats import read_file  # late: the readers of all formats, which our own sessions need not

    path, number = split_ref(ref)
    if number is not None or not names_file(ref):
        return [read_source(ref, store)]
    name, content = read_file(path)
    return [as_source(name, log, is_file=True) for log in file_logs(name, content)]


def source_bytes(ref: str, store: Callable[[], Store]) -> int:
    """The approximate size of a source in bytes, without reading it; 0 if it does not exist."""
    path, _ = split_ref(ref)
    try:
        return Path(path).stat().st_size if is_file(path) else store().info(ref).events * EVENT_BYTES
    except (OSError, WorkbenchError):
        return 0


def _is_folder(path: str) -> bool:
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def paths_like(text: str) -> list[str]:
    """The files and folders that begin with a path; none if the text does not look like a path."""
    if not (text.startswith(("/", "~", ".")) or os.sep in text):
        return []
    whole = os.path.expanduser(text)
    try:
        if os.path.isfile(split_ref(whole)[0]):
            return [whole]
        folder, begin = os.path.split(whole)
        with os.scandir(folder or ".") as entries:
            found = [
                entry.path.removeprefix("./") + (os.sep if entry.is_dir() else "")
                for entry in entries
                if entry.name.startswith(begin) and (begin or not entry.name.startswith("."))
            ]
    except (OSError, ValueError):
        return []
    return sorted(found)[:MOST_FILES]


def setting_in(events: Iterable[Event], key: str) -> str:
    """The value of a setting at the end of a log; empty if it is not set."""
    found = ""
    for event in events:
        if isinstance(event.body, Setting) and event.body.key == key:
            found = str(event.body.value or "")
    return found


def knobs_of(events: Iterable[Event]) -> tuple[str, ...]:
    """The knobs that a log sets. The last such setting counts; it has all knobs."""
    found: Any = ()
    for event in events:
        if isinstance(event.body, Setting) and event.body.key == "knobs":
            found = event.body.value
    return tuple(str(each) for each in found) if isinstance(found, list | tuple) else ()


def _from_file(path: str, number: int | None, growing: bool) -> Source:
    from workbench.traces.formats import read_conversations, read_file  # late: see above

    name, content = read_file(path, growing=growing)
    own = exported_log(content)
    found = [] if own is not None else read_conversations(name, content, number or 1, path)
    if number is None and len(sessions := [at for at, each in enumerate(found, 1) if not each.sub_agent]) == 1:
        number = sessions[0]
    if number is None and len(found) > 1:
        last = ", ".join(f"{at} {_title(found[at - 1])}" for at in range(len(found), 0, -1)[:_TITLES])
        raise WrongCall(f"{name}: holds {len(found)} conversations; choose one, as in {path}#1; the last are {last}")
    if number is not None and not 1 <= number <= (len(found) or 1):
        raise WrongCall(f"{name}: expected a conversation from 1 to {len(found) or 1}, got {number}")
    if own is not None:
        return as_source(name, harmless_log(_event_log(name, own)), is_file=True)
    return as_source(name, recorded_log(found[(number or 1) - 1]), is_file=True)


def _title(found: Recording) -> str:
    """The name of a conversation in a list: its title, or how it begins."""
    titles = (str(body.value) for body in found if isinstance(body, Setting) and body.key == "title")
    messages = (text_of(body.content) for body in found if isinstance(body, UserMessage))
    shown = printable(found.title or next(chain(titles, messages), "")).strip()
    return f'"{shown[:_TITLE]}{"..." if len(shown) > _TITLE else ""}"'


def exported_log(content: FileContent) -> str | None:
    """The text of a file if it looks like the lines of `export --format events`, with any spacing and order."""
    if isinstance(content, str):
        return content if _is_event_log(content.lstrip()) else None
    if isinstance(content, bytes) and _is_event_log(content[: content.find(b"\n") + 1].decode()):
        return content.decode()
    return None


def _is_event_log(begun: str) -> bool:
    if re.match(r'\{"v":\d+,"seq":', begun):  # one of ours, also where its first line is broken
        return True
    line = begun[: begun.find("\n")] if "\n" in begun else begun
    try:
        first = json.loads(line) if line.startswith("{") and '"seq"' in line else None
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and first.keys() >= {"v", "seq", "id", "at", "kind"}


def file_logs(name: str, content: FileContent, path: str = "") -> list[list[Event]]:
    """The conversations of a file, each as a log; `path`: include those of files that belong to it."""
    from workbench.traces.formats import read_conversations  # late: see above

    own = exported_log(content)
    if own is not None:
        return [harmless_log(_event_log(name, own))]
    return [recorded_log(found) for found in read_conversations(name, content, path=path)]


def recorded_log(found: Recording) -> list[Event]:
    """A conversation of another agent as a log. The setting that says so is at the end, so that no event moves."""
    log = harmless_log(number_events(found))
    at = log[-1].at if log else 0
    settings = [Setting(SUB_AGENTS, found.sub_agents)] if found.sub_agents else []
    settings.append(Setting(RECORDED, found.format))
    return [*log, *(Event(seq, f"e{seq:05d}", at, body) for seq, body in enumerate(settings, len(log) + 1))]


def _event_log(name: str, text: str) -> list[Event]:
    events: list[Event] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                event = decode_event(line)
            except BadEvent as error:
                raise WrongCall(f"{name}: line {number}: {error}") from None
            if event.seq != len(events) + 1:
                raise bad_file(name, number, f"the event with seq {len(events) + 1}", event.seq)
            events.append(event)
    return events


def number_events(bodies: Iterable[Body]) -> list[Event]:
    """Bodies as a log. Ids depend on the position alone; times are the recording's."""
    times = chain(getattr(bodies, "times", ()), repeat(0))
    return [*map(Event, count(1), map("e%05d".__mod__, count(1)), times, bodies)]
