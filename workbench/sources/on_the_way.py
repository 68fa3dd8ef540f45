"""A session that passes a proxy: the policy of its requests, and what another policy would change in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from workbench.config.tables import read_table
from workbench.config.text import counted
from workbench.log.events import DialectName, Event
from workbench.proxy.control import ProxyPolicy, SessionPolicy
from workbench.proxy.policies import setup_maker
from workbench.proxy.policy_preview import PolicyPreview, in_words, preview_policy
from workbench.proxy.routes import ProxySettings
from workbench.sources.requests import TALK, RequestMarks, sent_in_place
from workbench.sources.services import Services
from workbench.wire.requests import RequestBodies

AS_IT_IS = "requests are sent unchanged; masked items stay masked until a batch would be due"


class LatestRequest(NamedTuple):
    """The last request of a conversation that the log has in full."""

    dialect: DialectName
    model: str
    asked: dict[str, Any]
    sent: dict[str, Any]
    """The body that went out in its place; the same one if nothing was changed."""


def latest_request(events: Sequence[Event]) -> LatestRequest | None:
    """None if the log has none."""
    marks, bodies = RequestMarks(), RequestBodies(events)
    for event in events:
        marks.add_event(event)
    found = (
        mark.request
        for mark in reversed(marks.marks)
        if mark.exact and not mark.instead_of and mark.purpose in TALK and bodies.is_whole(mark.request)
    )
    asked = next(found, 0)
    if not asked:
        return None
    request = bodies.request(asked)
    sent = bodies.body(sent_in_place(marks.marks, asked))
    return LatestRequest(request.dialect, request.model, bodies.body(asked), sent)


class PolicyForecast(NamedTuple):
    """What a policy would do from the next request on."""

    words: str
    preview: PolicyPreview | None
    """None if the log has no request to try it on."""

    def __str__(self) -> str:
        return f"{self.words}.\n{str(self.preview)[:1].upper()}{str(self.preview)[1:]}." if self.preview else self.words


def foresee_policy(
    services: Services, events: Sequence[Event], policy: ProxyPolicy | None, now: ProxyPolicy | None
) -> PolicyForecast:
    """What a policy would change in requests whose policy is `now`. Raises WrongCall.

    Without a policy: what would change if all requests were sent unchanged from now on.
    """
    settings = services.settings
    own = read_table(ProxySettings, settings.proxy, str(settings.file), "proxy")
    found = latest_request(events)
    setup = setup_maker(settings, services.catalogue)(
        policy or now or ProxyPolicy(), found.model if found is not None else ""
    )
    words = AS_IT_IS if policy is None else f"{policy} {in_words(setup, own.batch_tokens)}"
    if found is None:
        return PolicyForecast(words, None)
    masking = policy is not None
    return PolicyForecast(
        words, preview_policy(found.dialect, found.asked, found.sent, setup, own.batch_tokens, masking=masking)
    )


def policy_words(session: SessionPolicy) -> str:
    """The policy of a session's requests, in one line."""
    if session.policy is None:
        policy = "off" if session.own else "none"
    else:
        policy = f"{session.policy} ({'of its own' if session.own else 'as all of this proxy'})"
    masked = f"; {counted(session.results, 'result')} of the last request masked or cut" if session.results else ""
    leaving = f", {session.leaving:,} of them whole again from the next batch on" if session.leaving else ""
    return f"{policy}{masked}{leaving}"
