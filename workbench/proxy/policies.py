"""Policies on the way: results of tools that they mask or cut are sent so, for good and in batches.

A provider caches what requests begin with. So what was sent in other words once is sent in the same words from then on,
and nothing new is changed before it frees enough to be worth the cache behind it. Only results that the model has seen
are changed: never the last message, what the model thought, or a call. What else a policy would leave out stays.

A batch is also the moment at which something is undone: a batch of before, a policy that was switched off or exchanged
for another. Until then it is sent in the same words, so that the cache is not lost more often than batches do it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any, Final

from workbench.config.errors import WrongCall
from workbench.config.settings import Settings
from workbench.config.text import counted
from workbench.context.setup import PlanOptions, Setup, set_up
from workbench.log.events import DialectName
from workbench.models.catalogue import Catalogue
from workbench.proxy.batches import ConversationWords, result_name
from workbench.proxy.body_plans import plan_body
from workbench.proxy.control import PolicyOrder, SessionPolicy, WayPolicy
from workbench.proxy.conversation_marks import Belonging, Conversations
from workbench.proxy.policy_notes import noted
from workbench.proxy.routes import Route
from workbench.wire.rewriting import Rewrite, items_in, rewritten

CONVERSATIONS: Final = 200
"""Conversations whose words are kept; those that asked least lately are forgotten first."""
PINNED: Final = 2_000
"""Results that are pinned at most."""
MODELS: Final = 32
"""Setups that are kept: one for each policy and model."""

SetupFor = Callable[[WayPolicy, str], Setup]
"""A policy's setup for a model. Raises WorkbenchError."""


def setups(settings: Settings, catalogue: Catalogue) -> SetupFor:
    """From the user's settings."""
    return lambda chosen, model: set_up(PlanOptions(chosen.policy, chosen.knobs, model), settings, catalogue)


@dataclass(slots=True)
class PolicyFigures:
    """What was done so far."""

    requests: int = 0
    """Those that were changed."""
    results: int = 0
    batches: int = 0

    def __str__(self) -> str:
        done = f"{counted(self.results, 'result')} in {counted(self.batches, 'batch', 'batches')}"
        return f"masked or cut {done}; {counted(self.requests, 'request')} changed"


@dataclass(slots=True, eq=False)
class _Conversation:
    """What one conversation is sent under, and what of it was sent in other words."""

    words: ConversationWords = field(default_factory=ConversationWords)
    own: bool = False
    chosen: WayPolicy | None = None
    """Its own, if it has one; None: nothing is changed."""
    before: WayPolicy | None = None
    """What was chosen before it was switched off: when its next batch would be due, what it did is undone."""
    is_new: bool = False
    """Whether it may have asked something before it was known to be a session."""
    lock: Lock = field(default_factory=Lock)


class PassingPolicies:
    """Changes requests as they pass. May be asked from any thread."""

    def __init__(
        self,
        setup_for: SetupFor,
        batch_tokens: int,
        default: WayPolicy | None = None,
        recorder: Conversations | None = None,
    ) -> None:
        """`batch_tokens`: what new changes free together at least; `default`: for conversations with none of their own.

        `recorder`: which conversation a request belongs to, and where it is written down what was decided.
        """
        self._setup_for = lru_cache(MODELS)(setup_for)
        self._batch_tokens = batch_tokens
        self._default = default
        self._recorder = recorder
        self._conversations: dict[str, _Conversation] = {}
        """By session, the one that asked last at the end; under the empty one, what is of no session yet."""
        self._pinned: dict[str, None] = {}
        self._lock = Lock()
        self.figures = PolicyFigures()

    @property
    def is_on(self) -> bool:
        """Whether any request may be changed. While none is, nothing is read."""
        return self._default is not None or any(
            each.chosen is not None or each.words.leaving for each in tuple(self._conversations.values())
        )

    # On the way

    def changed(self, route: Route, headers: Mapping[str, str], body: dict[str, Any]) -> dict[str, Any] | None:
        """What is sent in place of a request; None: it is sent as it is."""
        if route.dialect is None or route.name or not body or body.get("previous_response_id"):
            return None
        where = Belonging() if self._recorder is None else self._recorder.whose(route, headers, body)
        found = self._conversation(where.session)
        policy = self._policy(found)
        applied = policy or found.before
        if applied is None or (policy is None and not found.words.leaving):
            return None
        with found.lock:
            masks = self._masks(route.dialect, body, route.model, found, applied, where.aside)
        return rewritten(route.dialect, body, Rewrite(mask=masks)) if masks else None

    def _masks(
        self,
        dialect: DialectName,
        body: dict[str, Any],
        model: str,
        found: _Conversation,
        applied: WayPolicy,
        aside: bool,
    ) -> Mapping[str, str]:
        planned = plan_body(dialect, body, self._setup_for(applied, model or str(body.get("model") or "")))
        if found.is_new and (first := self._conversations.get("")) is not None:
            found.words.adopt(first.words, planned, leaving=found.own)
        found.is_new = False
        made = found.words.decide(
            dialect,
            body,
            planned,
            self._batch_tokens,
            self._pinned,
            masking=self._policy(found) is not None,
            aside=aside,
        )
        with self._lock:
            self.figures.requests += bool(made.masks)
            self.figures.results += made.new
            self.figures.batches += bool(made.new)
        return made.masks

    def _policy(self, found: _Conversation) -> WayPolicy | None:
        return found.chosen if found.own else self._default

    def _conversation(self, session: str) -> _Conversation:
        with self._lock:
            found = self._conversations.pop(session, None)
            found = found or _Conversation(is_new=bool(session))
            self._conversations[session] = found
            for old in list(self._conversations)[:-CONVERSATIONS]:
                del self._conversations[old]
            return found

    # From outside

    def listed(self) -> tuple[SessionPolicy, ...]:
        """All sessions that are recorded."""
        return tuple(map(self.told, self._recorder.marks)) if self._recorder is not None else ()

    def told(self, session: str) -> SessionPolicy:
        """What a session is sent under. Raises WrongCall for one that does not pass here."""
        if self._recorder is None:
            raise WrongCall("this proxy records nothing: there is no session to set a policy for")
        if session not in self._recorder.marks:
            raise WrongCall(f"{session}: no session of this proxy")
        found = self._conversations.get(session) or _Conversation()
        words = found.words
        return SessionPolicy(
            session,
            self._policy(found),
            found.own,
            words.standing,
            len(words.batches),
            len(words.leaving),
            self._default,
            self._recorder.marks[session].client,
        )

    def order(self, session: str, order: PolicyOrder) -> SessionPolicy:
        """Set, change or undo what a session is sent under. Raises WorkbenchError; reads files, so not in the loop."""
        self.told(session)
        assert self._recorder is not None
        if order.do == "set":
            self._setup_for.cache_clear()  # a file may have been edited
            self._setup_for(order.policy, "")  # one that cannot be read is told now
        found = self._conversation(session)
        with found.lock:
            if order.do == "undo":
                self._recorder.note(session, noted("undo", results=found.words.undo()))
            else:
                policy = self._choose(found, order)
                self._recorder.note(session, noted(order.do, "" if policy is None else str(policy)))
        return self.told(session)

    def _choose(self, found: _Conversation, order: PolicyOrder) -> WayPolicy | None:
        found.before = self._policy(found) or found.before
        found.own, found.chosen = order.do != "default", order.policy if order.do == "set" else None
        found.words.leave_all(anew=order.do != "off")
        return self._policy(found)

    def under(self, route: Route, headers: Mapping[str, str], body: dict[str, Any]) -> WayPolicy | None:
        """What a request would be sent under; None: as it is."""
        where = Belonging() if self._recorder is None else self._recorder.whose(route, headers, body)
        return self._policy(self._conversations.get(where.session) or _Conversation())

    def pinned_in(self, dialect: DialectName, body: dict[str, Any]) -> tuple[str, ...]:
        """The paths of the results of a request that are pinned."""
        if not self._pinned:
            return ()
        return tuple(item.path for item in items_in(dialect, body) if result_name(item) in self._pinned)

    def pin(self, dialect: DialectName, body: dict[str, Any], paths: frozenset[str]) -> tuple[str, ...]:
        """No policy is to change these results of a request from now on; gives their calls. Raises WrongCall."""
        items = {item.path: item for item in items_in(dialect, body) if item.path in paths}
        for path in sorted(paths):
            if path not in items or items[path].kind != "result":
                raise WrongCall(f"{path}: expected the path of a tool's result; nothing else is changed on the way")
        with self._lock:
            pinned = self._pinned | dict.fromkeys(map(result_name, items.values()))
            self._pinned = dict.fromkeys(list(pinned)[-PINNED:])
        return tuple(item.call_id for item in items.values())
