"""`peek_head`, `peek_tail` and `peek_grep`: read texts again from the log that were cut, masked, dropped or summarised.

Markers and summaries name the ids. Events that the user excluded cannot be read: the user decided that, it was not done
to make room. A session that continues another one can also read that one's log, and so on back, because its summary
names ids from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.agent.tools.base import Arguments, Tool, ToolContext, ToolFailure, ToolLimits, ToolOutcome, object_schema
from workbench.agent.tools.search import run_search_worker
from workbench.compaction.prompts import RECALL_TOOLS
from workbench.config.background import in_background
from workbench.config.distribution import package_folder
from workbench.config.errors import WorkbenchError
from workbench.context.control import CONTROL, NO_DECISION, UserDecision, in_effect, with_pair
from workbench.log.errors import NotFound
from workbench.log.events import (
    CONTINUED_FROM,
    AssistantMessage,
    Compaction,
    Event,
    Setting,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
    text_of,
)
from workbench.log.store import Store
from workbench.models.tokens import counter_named

TOKENS = 2_000
"""How much is shown by default."""
MOST = 8_000
SPOKEN = (UserMessage, AssistantMessage, SystemMessage, ToolCall, ToolResult)
"""The kinds of events that can be read again; reasoning was never sent."""

_RANGE = re.compile(r"(\d+)(?:\s*(?:-|–|to)\s*(\d+))?")
_START = "import sys; sys.path.append(sys.argv[1]); from workbench.agent.tools.peek_worker import main; main()"

Events = Callable[[], Sequence[Event]]
"""Returns the session's present events."""
Earlier = Callable[[str], Sequence[Event]]
"""Returns the events of another session by its full id. Raises WorkbenchError if it cannot be read."""


class PeekedEvent(NamedTuple):
    """One event as it is shown."""

    heading: str
    text: str


class EventRange(NamedTuple):
    """The meaning of an id: some events of a log."""

    log: Sequence[Event]
    first: int
    last: int


def stored_events(session: str) -> Sequence[Event]:
    """The events of a session in the user's store."""
    with Store.open() as store:
        if store.info(session).id != session:  # a title, or the beginning of another id
            raise NotFound(f"there is no session '{session}'")
        with store.session(session, write=False) as view:
            return view.events()


def peek_tools(events: Events, limits: ToolLimits | None = None) -> tuple[Tool, ...]:
    """The three tools for one session's log, and for the logs of the sessions that it continues."""
    limits = limits or ToolLimits()
    wanted = {"type": "integer", "minimum": 1, "maximum": MOST, "description": f"how much, default {TOKENS}"}

    def look_up(arguments: Arguments) -> list[PeekedEvent]:
        return peeked_events(events(), arguments["id"], stored_events)

    async def head(arguments: Arguments, context: ToolContext) -> ToolOutcome:
        return ToolOutcome(await in_background(lambda: _head(look_up(arguments), _room(arguments))))

    async def tail(arguments: Arguments, context: ToolContext) -> ToolOutcome:
        return ToolOutcome(await in_background(lambda: _tail(look_up(arguments), _room(arguments))))

    async def grep(arguments: Arguments, context: ToolContext) -> ToolOutcome:
        return await _grep(await in_background(look_up, arguments), arguments["pattern"], limits)

    what = "a text that was cut, masked, dropped or summarised"
    pattern = {"type": "string", "minLength": 1, "description": "regular expression (Python's)"}
    head_name, tail_name, grep_name = RECALL_TOOLS
    return (
        _tool(head_name, f"Read the beginning of {what}.", head, tokens=wanted),
        _tool(tail_name, f"Read the end of {what}.", tail, tokens=wanted),
        _tool(grep_name, f"Find lines in {what}.", grep, ("pattern",), pattern=pattern),
    )


def _tool(name: str, description: str, run: Any, required: tuple[str, ...] = (), **more: Mapping[str, Any]) -> Tool:
    reference = {"type": "string", "minLength": 1, "description": "as in the marker's [id X], or events as in 3-41"}
    schema = object_schema(("id", *required), id=reference, **more)
    return Tool(name, "read", description, schema, run, lambda arguments: str(arguments["id"]))


def _room(arguments: Arguments) -> int:
    return int(arguments.get("tokens", TOKENS))


# What an id means


def peeked_events(
    events: Sequence[Event], ref: str, earlier: Earlier = stored_events, *, excluded: bool = False
) -> list[PeekedEvent]:
    """The events for an id, a number, a range of numbers, or the id of a compaction or session; raises ToolFailure.

    The session's own events come first, then those of the session that it continues, and so on back. `SESSION:3-41`
    means events of an earlier session by their numbers. `excluded`: also those that are excluded, because it was not
    the user who did it.
    """
    name = ref.strip().removeprefix("[").removesuffix("]").strip().removeprefix("id ").strip()
    log, first, last = _span(events, name, earlier)
    hidden = frozenset[int]() if excluded else excluded_events(log)
    found = [event for event in log[first - 1 : last] if isinstance(event.body, SPOKEN)]
    shown = [event for event in found if event.seq not in hidden]
    if not shown:
        why = "the user has excluded it" if found else "nothing that was said or done has that id"
        raise ToolFailure(f"id: {name[:80]}: {why}")
    return [PeekedEvent(f"[{event.id}] {spoken_by(event)}", spoken_text(event)) for event in shown]


def _span(log: Sequence[Event], name: str, earlier: Earlier, seen: frozenset[str] = frozenset()) -> EventRange:
    """Find a name in a log, or in one that it continues. `seen` has the sessions that were already searched."""
    event = next((event for event in log if event.id == name), None)
    if event is not None:
        carried = _carried(event)
        if not carried:
            return _stands_for(log, event)
        name = carried
    elif _RANGE.fullmatch(name):
        return _by_numbers(log, name)
    origin = _origin(log)
    if not origin or origin in seen:
        hint = "expected the id of a marker, as in [id X], or events as in 3-41"
        raise ToolFailure(f"id: {name[:80]}: there is no such item; {hint}")
    try:
        before = earlier(origin)
    except WorkbenchError as error:
        why = f"the session {origin}, which this one continues, cannot be read: {error}"
        raise ToolFailure(f"id: {name[:80]}: it is not here, and {why}") from None
    if name == origin:
        return EventRange(before, 1, len(before))
    return _span(before, name.removeprefix(f"{origin}:"), earlier, seen | {origin})


def _carried(event: Event) -> str:
    """The id of the session that this summary at the beginning of a log covers; empty for any other event."""
    return str(event.body.meta.get(CONTINUED_FROM, "")) if isinstance(event.body, Compaction) else ""


def _stands_for(log: Sequence[Event], event: Event) -> EventRange:
    body = event.body
    first, last = (body.first, body.last) if isinstance(body, Compaction) else (event.seq, event.seq)
    return EventRange(log, first, min(last, event.seq))


def _by_numbers(log: Sequence[Event], name: str) -> EventRange:
    numbers = _RANGE.fullmatch(name)
    assert numbers is not None
    first, last = int(numbers[1]), int(numbers[2] or numbers[1])
    if not 1 <= first <= last or first > len(log):
        raise ToolFailure(f"id: {name[:80]}: expected events from 1 to {len(log)}")
    return EventRange(log, first, min(last, len(log)))


def _origin(log: Sequence[Event]) -> str:
    """The session that a log continues; empty if it continues none."""
    found = ""
    for event in log:
        if isinstance(event.body, Setting) and event.body.key == CONTINUED_FROM:
            found = str(event.body.value or "")
    return found


def excluded_events(events: Sequence[Event]) -> frozenset[int]:
    """The events that the user excluded, including the other half of a call and its result."""
    overrides = in_effect([event for event in events if type(event.body) in CONTROL]).overrides
    if not overrides:
        return frozenset()
    call_ids = {event.seq: event.body.call_id for event in events if isinstance(event.body, ToolCall | ToolResult)}
    pairs: dict[str, UserDecision] = {}
    for seq, call_id in call_ids.items():
        pairs[call_id] = with_pair(pairs.get(call_id, NO_DECISION), overrides.get(seq, NO_DECISION))
    alone = {seq for seq, decision in overrides.items() if decision.excluded and seq not in call_ids}
    return frozenset(alone.union(seq for seq, call_id in call_ids.items() if pairs[call_id].excluded))


def spoken_by(event: Event) -> str:
    """Who said or did it, in words; for the events of `SPOKEN`."""
    match event.body:
        case ToolCall(tool=tool):
            return f"call of {tool}"
        case ToolResult(tool=tool, is_error=failed):
            return f"{'failed ' if failed else ''}result{f' of {tool}' if tool else ''}"
        case SystemMessage():
            return "system"
    return "user" if isinstance(event.body, UserMessage) else "assistant"


def spoken_text(event: Event) -> str:
    """What was said; of a call, its arguments. For the events of `SPOKEN`."""
    body = event.body
    if isinstance(body, ToolCall):
        return body.arguments
    assert isinstance(body, UserMessage | AssistantMessage | SystemMessage | ToolResult)
    return text_of(body.content)


# The three ways to look


def _pieces(found: Sequence[PeekedEvent], *, backwards: bool = False) -> Iterator[str]:
    """The texts to show, the nearest first; a single item needs no heading."""
    for entry in reversed(found) if backwards else found:
        yield entry.text if len(found) == 1 else f"{entry.heading}\n{entry.text}"


def _head(found: Sequence[PeekedEvent], room: int) -> str:
    count = counter_named("o200k_base")
    shown: list[str] = []
    for piece in _pieces(found):
        end = count.head(piece, room)
        shown += [piece[:end]] if end else []  # an item of which nothing is shown does not count
        if end < len(piece):
            break
        room -= count.count(piece).tokens
    return _with_note("\n".join(shown), found, "the beginning", len(shown))


def _tail(found: Sequence[PeekedEvent], room: int) -> str:
    count = counter_named("o200k_base")
    shown: list[str] = []
    for piece in _pieces(found, backwards=True):
        start = count.tail(piece, room)
        shown[:0] = [piece[start:]] if start < len(piece) else []
        if start:
            break
        room -= count.count(piece).tokens
    return _with_note("\n".join(shown), found, "the end", len(shown))


def _with_note(text: str, found: Sequence[PeekedEvent], what: str, shown: int) -> str:
    """The text with a last line that says how much is shown, unless everything is."""
    whole = sum(len(entry.text) for entry in found)
    if len(found) == 1:
        note = f"[{what}: {len(text):,} of {whole:,} characters]" if len(text) < whole else ""
        return f"{text}\n{note}" if note else text or "[empty]"
    note = f"[{what}: {shown:,} of {len(found):,} items]" if shown < len(found) else f"[{len(found):,} items]"
    return f"{text}\n{note}"


async def _grep(found: Sequence[PeekedEvent], pattern: str, limits: ToolLimits) -> ToolOutcome:
    wanted = {"pattern": pattern, "texts": found, "limit": limits.max_matches, "seconds": limits.search_seconds}
    stdin = await in_background(lambda: json.dumps(wanted).encode())
    root = package_folder().parent
    return await run_search_worker("peek_grep", _START, (str(root),), root, stdin, limits)
