"""A session to look at: our own, or another agent's transcript, with its requests, plans and compactions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from workbench.compaction.record import Status, read_record
from workbench.config.errors import WrongCall
from workbench.config.text import SCHEMA
from workbench.context.items import Item
from workbench.context.policy_names import PRESETS, RECORDED
from workbench.lab.replay.lab_source import LabSource
from workbench.lab.values import PolicyRun, SourceRun
from workbench.library.frames import data_frame
from workbench.library.lab_results import LabResult
from workbench.library.pages import Page, session_page
from workbench.library.plans import Plan
from workbench.library.setups import ChosenPolicy
from workbench.library.setups import policy as chosen_policy
from workbench.library.stored_logs import is_store
from workbench.log.events import Compaction
from workbench.log.store import Store
from workbench.sources.found_plans import FoundPlan, find_plan
from workbench.sources.options import Options
from workbench.sources.own_requests import OwnRequests
from workbench.sources.recorded import ListedRequest, RecordedSession
from workbench.sources.services import Services
from workbench.sources.source import Source


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One request of a session, as it was sent."""

    session: LoggedSession = field(repr=False)
    number: int
    """From 1."""
    model: str
    purpose: str
    """turn, side, sub-agent or compaction."""
    tokens: int
    """Our count of its items."""
    reported: int | None
    """The provider's count; None if it is not known."""
    unattributed: int | None
    """What was reported beyond our count."""

    @property
    def plan(self) -> Plan:
        """What the model saw in it."""
        return Plan(self.session._found(self.number).plan)

    @property
    def items(self) -> Sequence[Item]:
        """Its items, with their states."""
        return self.plan.items

    @property
    def body(self) -> dict[str, Any] | None:
        """The request as it went over the wire; None if the log does not have it."""
        return self.session._found(self.number).body

    def to_dict(self) -> dict[str, Any]:
        """Its figures as JSON values."""
        names = ("number", "model", "purpose", "tokens", "reported", "unattributed")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class PastCompaction:
    """A compaction of a session."""

    event: int
    """Its place in the log."""
    first: int
    """The first event that it replaces."""
    last: int
    status: Status
    summary: str
    made_by: str | None
    tokens_before: int | None
    tokens_after: int | None

    def to_dict(self) -> dict[str, Any]:
        """It as JSON values."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class LoggedSession:
    """A session, read once. `workbench.open` gives it; the user's settings apply as for the program."""

    def __init__(self, services: Services, source: Source) -> None:
        self._services = services
        self._source = source

    @property
    def name(self) -> str:
        """Its id, title or file."""
        return self._source.name

    @property
    def model(self) -> str:
        """The model that it was made with; empty if that is not known."""
        return self._source.model

    @cached_property
    def requests(self) -> tuple[LoggedRequest, ...]:
        """The requests that were sent to a model, in order."""
        recorded = RecordedSession(self._services, Options(), self._source)
        own = None if self._source.recorded else OwnRequests(self._services, self._source.events)
        listed = recorded.listed if own is None else own.listed(recorded.marks)
        return tuple(self._request(each) for each in listed)

    def _request(self, each: ListedRequest) -> LoggedRequest:
        mark = each.mark
        return LoggedRequest(self, each.number, mark.model, mark.purpose, each.tokens, mark.reported, each.unattributed)

    def request(self, number: int) -> LoggedRequest:
        """One request, from 1; below 0: from the end."""
        if type(number) is not int:
            raise WrongCall(f"request: expected a number, got {number!r}")
        at = number - 1 if number > 0 else number
        if number == 0 or not -len(self.requests) <= at < len(self.requests):
            raise WrongCall(f"request: expected a number from 1 to {len(self.requests)}, got {number}")
        return self.requests[at]

    def _found(self, number: int | None, asked: Options | None = None) -> FoundPlan:
        if asked is None:
            return find_plan(self._services, self._source, Options(), number)
        from workbench.lab.replay.what_if import find_any_plan  # late: most programs replay nothing

        return find_any_plan(self._services, self._source, asked, number)

    def plan(
        self,
        policy: str | ChosenPolicy = "",
        model: str = "",
        window: int | None = None,
        *,
        request: int | None = None,
        **knobs: Any,
    ) -> Plan:
        """What the model would see under a policy; without one, what it saw or sees next.

        `request`: the number of a past request; None: of another agent's session the last one, of our own the next.
        """
        chosen = chosen_policy(policy or "workbench", **knobs)
        asked = Options(policy=chosen.name if policy else "", knobs=chosen.sets, model=model, window=window)
        return Plan(self._found(request, asked).plan)

    @cached_property
    def compactions(self) -> tuple[PastCompaction, ...]:
        """All compactions that were made, also those that were replaced or undone."""
        found = []
        for entry in read_record(self._source.events).entries:
            body = entry.event.body
            assert isinstance(body, Compaction)
            first, last = entry.range
            noted = entry.details
            figures = noted.made_by, noted.tokens_before, noted.tokens_after
            found.append(PastCompaction(entry.event.seq, first, last, entry.status, body.summary, *figures))
        return tuple(found)

    def lab(
        self,
        policies: str | ChosenPolicy | Sequence[str | ChosenPolicy] = PRESETS,
        *,
        model: str = "",
        window: int | None = None,
    ) -> LabResult:
        """The whole session under several policies: tokens, cost, and which facts the model would have missed."""
        asked = Options(model=model, window=window)
        lab = LabSource(self._services, asked, self._source)
        runs: list[PolicyRun] = []
        for each in [policies] if isinstance(policies, str | ChosenPolicy) else policies:
            chosen = chosen_policy(each) if each != RECORDED else ChosenPolicy(RECORDED)
            runs.append(lab.run_policy(chosen.name, chosen.sets))
        return LabResult(SourceRun(self.name, self.model, len(lab.marks), tuple(runs)))

    def to_dict(self) -> dict[str, Any]:
        """Its requests and compactions as JSON values."""
        return {
            "schema": SCHEMA,
            "name": self.name,
            "model": self.model or None,
            "requests": [each.to_dict() for each in self.requests],
            "compactions": [each.to_dict() for each in self.compactions],
        }

    def to_pandas(self) -> Any:
        """Its requests as a data frame of pandas, which has to be installed."""
        return data_frame([each.to_dict() for each in self.requests])

    def close(self) -> None:
        """Close the store, if it was opened."""
        self._services.__exit__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Session {self.name}: {len(self.requests):,} requests, {len(self.compactions):,} compactions>"

    def _repr_html_(self) -> str:
        return str(self._page())

    def _page(self) -> Page:
        rows = [(each.number, each.model, each.tokens, each.reported, each.purpose) for each in self.requests]
        return session_page(self.name, self.model, rows, len(self.compactions))


def open_logged_session(session: str | os.PathLike[str]) -> LoggedSession:
    """Open a session by id, unique beginning or title; the file of a transcript, in any known format; or the file of a
    context's store, of which the newest session is opened.

    `FILE#2` is the second conversation of a file. Raises WorkbenchError with what was found instead.
    """
    if not isinstance(session, str | os.PathLike):
        raise WrongCall(f"open: expected a session or a file, got {session!r}")
    services = Services()
    try:
        if is_store(session):
            services.store = Store.open(Path(session))
            newest = services.store.list(limit=1)
            if not newest:
                raise WrongCall(f"{os.fspath(session)}: this store has no sessions")
            return LoggedSession(services, services.source(newest[0].id))
        return LoggedSession(services, services.source(os.fspath(session)))
    except BaseException:
        services.__exit__()
        raise
