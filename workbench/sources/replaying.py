"""Send a recorded request again: unchanged, under another policy, to another model, or without some of its items.

The answers are not stored. Calls in them are shown and never run.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field

from workbench.config.errors import Refused, WrongCall
from workbench.config.tables import shown_value
from workbench.config.text import whole_number
from workbench.config.values import replace
from workbench.context.stages.mask import mask_marker
from workbench.log.events import DialectName, Event, Request, Usage
from workbench.models.catalogue import REHEARSAL, is_built_in
from workbench.models.model_names import is_model_name
from workbench.proxy.body_plans import BodyPlan, plan_body
from workbench.sources.log_places import LogPlaces
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.replay_answers import ReplayAnswer, priced_row, recorded_answer
from workbench.sources.replay_sending import ReplayPlace, ReplaySender, proxy_settings
from workbench.sources.requests import TALK, sent_in_place
from workbench.sources.services import Services
from workbench.sources.source import Source
from workbench.sources.source_setups import make_setup
from workbench.wire.checked_requests import BadRequest
from workbench.wire.dialects import DIALECTS
from workbench.wire.requests import RequestBodies
from workbench.wire.rewriting import Rewrite, rewritten

MOST = 20
"""How many times one command may send a request. Each time is paid for."""
_RANGE = re.compile(r"#?(\d+)(?:-#?(\d+))?")


class ReplayWish(Struct, frozen=True):
    """What the user wants to send again, and with which changes."""

    number: int | None = None
    """The request's number in `workbench requests`; None: the last one of the conversation that the log has in full."""
    times: int = 1
    exclude: tuple[str, ...] = ()
    """Events to leave out, in the form `12` or `12-20`, or paths in the body, in the form `messages.7.2`."""
    mask: tuple[str, ...] = ()
    """What to mask, in the same forms. A text after `=` replaces it; without one, a marker does."""
    to: str = ""
    """Where to send it: an address, or the rehearsal model; empty: to the provider."""
    send_key: bool = False
    """Whether to send the provider's key to that address."""
    changes: Rewrite = field(default_factory=Rewrite)
    """Changes to single items, by their paths."""


class RecordedRequest(NamedTuple):
    """A request that the log has in full, so it can be sent again."""

    recorded: RecordedSession
    at: int
    """Its index."""
    request: Request
    body: dict[str, Any]
    model: str
    """The name of the model in the request, or of the one that replaces it."""

    @property
    def number(self) -> int:
        return self.at + 1


class ReplayJob(NamedTuple):
    """A request that is ready to be sent again."""

    number: int
    dialect: DialectName
    model: str
    body: dict[str, Any]
    headers: Mapping[str, str]
    changes: Rewrite
    recorded: ReplayAnswer | None
    """The recorded answer; None: the log does not have it."""
    tokens: int
    """The approximate size of the request."""
    cost: float | None
    """The approximate cost of sending it once, with an answer of the recorded length; None: unknown."""
    times: int
    to: str
    address: str
    """The server, and whether a key is sent to it, in words; empty for the rehearsal model."""
    sends_key: bool
    highest: float | None
    """The cost of sending it once, with the longest answer that it allows; None: unknown."""
    policy: str = ""
    """The policy that it was planned again with; empty: none."""

    @property
    def is_free(self) -> bool:
        """Whether sending it costs nothing."""
        return self.to == REHEARSAL

    @property
    def destination(self) -> ReplayPlace:
        """Where it is sent, and how."""
        return ReplayPlace(self.dialect, self.model, self.headers, self.to, self.sends_key)

    @property
    def question(self) -> str:
        """The question before it is sent: where it goes, whether a key is sent, and the cost."""
        price = "at a price that is not known" if self.cost is None else f"for about ${self.cost * self.times:.4f}"
        times, each = ("", "") if self.times == 1 else (f" {self.times} times", " each")
        where = f"{self.model}{times} at {self.address}"
        return f"send request {self.number:,} to {where}, {self.tokens:,} tokens{each}, {price}?"

    @property
    def described(self) -> str:
        """The request and its changes, in one line."""
        changes = self.changes
        changed = [f"without {', '.join(sorted(changes.exclude))}"] if changes.exclude else []
        changed += [f"with {', '.join(sorted(changes.mask))} masked or cut"] if changes.mask else []
        changed += [f"with {', '.join(sorted(changes.texts))} edited"] if changes.texts else []
        changed += [f"with other {', '.join(sorted(changes.parameters))}"] if changes.parameters else []
        under = f" under {self.policy}" if self.policy else ""
        nothing = "which changes nothing in it" if under else "unchanged"
        return f"request {self.number:,} to {self.model}{under}, {'; '.join(changed) or nothing}"


def find_request(services: Services, options: Options, source: Source, number: int | None) -> RecordedRequest:
    """The request with this number; for None, the conversation's last one that is stored whole.

    Raises Refused if it cannot be sent again.
    """
    recorded = RecordedSession(services, Options(window=options.window, reserve=options.reserve), source)
    index = _find_index(recorded, number)
    mark = recorded.marks[index]
    bodies = RequestBodies(source.events)
    if not mark.exact or not bodies.is_whole(mark.request):
        raise Refused(
            f"request {index + 1} cannot be sent again: the log holds its messages, but not the request itself; "
            "`workbench proxy` records whole requests"
        )
    request, body = bodies.request(mark.request), bodies.body(mark.request)
    model = options.model or _model_asked(index + 1, request, body)
    return RecordedRequest(recorded, index, request, body, model)


def prepare_replay(services: Services, options: Options, source: Source, wish: ReplayWish) -> ReplayJob:
    """Find the request, change it, and estimate its cost. Raises WorkbenchError."""
    if not 1 <= wish.times <= MOST:
        raise WrongCall(f"-n: expected a number from 1 to {MOST}, got {wish.times}")
    recorded, index, request, body, model = find_request(services, options, source, wish.number)
    mark, bodies = recorded.marks[index], RequestBodies(source.events)
    to = REHEARSAL if is_built_in(options.model) else wish.to
    plain = plan_body(request.dialect, body, recorded.setup(mark.model))
    changes, policy = _by_hand(plain, source.events, wish), ""
    if options.policy or options.knobs:
        setup = make_setup(
            services, options, source._replace(model=model), options.policy, options.knobs, recorded, index
        )
        planned = plan_body(request.dialect, body, setup)
        policy, decided = planned.plan.policy, planned.rewrite()
        by_hand = changes.exclude | set(changes.texts)
        mask = {path: text for path, text in decided.mask.items() if path not in by_hand}
        changes = replace(changes, exclude=changes.exclude | decided.exclude, mask={**mask, **changes.mask})
    body = rewritten(request.dialect, body, replace(changes, model=options.model))
    answer = recorded_answer(services.catalogue, source.events, bodies, sent_in_place(recorded.marks, mark.request))
    tokens = plan_body(request.dialect, body, recorded.setup(mark.model)).plan.size
    used = Usage(model, 0, tokens, completion=(answer.completion if answer else None) or 0)
    cost = 0.0 if to == REHEARSAL else priced_row(services.catalogue, used).cost
    highest = 0.0 if to == REHEARSAL else _highest_cost(services, request.dialect, body, used)
    address, sends_key = ("", False) if to == REHEARSAL else _address(services, request.dialect, model, to, wish)
    return ReplayJob(
        number=index + 1,
        dialect=request.dialect,
        model=model,
        body=body,
        headers=request.headers,
        changes=changes,
        recorded=answer,
        tokens=tokens,
        cost=cost,
        times=wish.times,
        to=to,
        address=address,
        sends_key=sends_key,
        highest=highest,
        policy=policy,
    )


def _highest_cost(services: Services, dialect: DialectName, body: dict[str, Any], used: Usage) -> float | None:
    """The cost if all of the request is written into the provider's cache and the answer is as long as it may be."""
    speaker = DIALECTS[dialect].new_speaker()
    try:
        limit = speaker.read_request(body, speaker.paths[0]).max_tokens
    except BadRequest:
        limit = None
    most = limit or services.catalogue.find_model(used.model).max_output or used.completion
    longest = replace(used, completion=max(most, used.completion))
    written = replace(longest, cache_write=used.prompt or 0)
    costs = [priced_row(services.catalogue, each).cost for each in (longest, written)]
    return None if None in costs else max(cost or 0.0 for cost in costs)


def _model_asked(number: int, request: Request, body: Mapping[str, Any]) -> str:
    """The model that a recorded request asks for. Raises Refused if it names no valid one, or if log and body name
    different models."""
    in_body = DIALECTS[request.dialect].model_in_body
    model = body.get("model", request.model) if in_body else request.model
    if not isinstance(model, str) or not is_model_name(model) or (request.model and model != request.model):
        raise Refused(
            f"request {number} cannot be sent again: what its log names is no model: {shown_value(model)}; "
            "--model names another one"
        )
    return model


def _address(services: Services, dialect: DialectName, model: str, to: str, wish: ReplayWish) -> tuple[str, bool]:
    """The server in words, and whether a key is sent to it."""
    from workbench.proxy.replay_targets import target_of

    found = target_of(dialect, model, to, proxy_settings(services), send_key=wish.send_key)
    return found.described, found.sends_key


def _find_index(recorded: RecordedSession, number: int | None) -> int:
    if number is not None:
        index = recorded.place(number, "--at")
        assert index is not None
        return index
    whole = [at for at, mark in enumerate(recorded.marks) if mark.exact and mark.purpose in TALK]
    if not whole:
        raise Refused("the log holds no whole request to send again; sessions recorded by `workbench proxy` do")
    return whole[-1]


# The user's changes


def _by_hand(planned: BodyPlan, events: Sequence[Event], wish: ReplayWish) -> Rewrite:
    paths_by_event = event_paths(planned, events) if wish.exclude or wish.mask else {}
    sizes = {item.path: item for item in planned.items}
    exclude = frozenset(path for what in wish.exclude for path in _paths(what, paths_by_event))
    mask: dict[str, str] = {}
    for each in wish.mask:
        what, _, text = each.partition("=")
        for path in _paths(what, paths_by_event):
            size = len(sizes[path].text) // 4 if path in sizes else 0
            mask[path] = text or mask_marker(size, path, "tool_result" if _is_result(sizes, path) else "message")
    by_path = wish.changes
    return replace(by_path, exclude=by_path.exclude | exclude, mask={**by_path.mask, **mask})


def _is_result(items: Mapping[str, Any], path: str) -> bool:
    return path in items and items[path].kind == "result"


def event_paths(planned: BodyPlan, events: Sequence[Event]) -> dict[int, tuple[str, ...]]:
    """By event of the log: its paths in the request."""
    places, found, last = LogPlaces(), dict[int, tuple[str, ...]](), 0
    places.add_events(events)
    for number, body in enumerate(planned.bodies, 1):
        seq = places.find_event(body, last)
        if seq is not None and planned.paths.get(number):
            last = max(last, seq)
            found[seq] = planned.paths[number]
    return found


def _paths(what: str, paths_by_event: Mapping[int, tuple[str, ...]]) -> Iterable[str]:
    named = _RANGE.fullmatch(what)
    if named is None:
        return [what]
    first, last = whole_number(named[1]), whole_number(named[2] or named[1])
    found = [path for seq, paths in paths_by_event.items() if first <= seq <= last for path in paths]
    if not found:
        raise WrongCall(f"{what}: no such event in the request; use an event's number, or a path such as messages.7")
    return found


async def send_replay(services: Services, job: ReplayJob) -> AsyncIterator[ReplayAnswer]:
    """Send the request, and yield each answer. One is sent after the other, so later ones can use the cache."""
    async with ReplaySender(services, job.destination) as sender:
        for _ in range(job.times):
            yield await sender.send_body(job.body)
