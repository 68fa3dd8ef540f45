"""Applies policies to requests in the proxy: tool results are masked or cut, permanently and in batches.

A provider caches the beginning of requests. So a result that was masked or cut is sent with the same text from then on,
and nothing new is changed until it saves enough to be worth losing the cache after it. Only results that the model has
seen are changed: never the last message, thinking, or a call. Other items that a policy would leave out are kept.

Undoing a batch, switching a policy off or replacing it also waits for a batch. Until then the same texts are sent, and
the cache is lost only once per batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from threading import Lock
from typing import Any, Final

from msgspec import Struct, field

from workbench.config.errors import WrongCall
from workbench.config.settings import Settings
from workbench.config.text import counted
from workbench.context.setup import PlanOptions, Setup, set_up
from workbench.log.events import DialectName
from workbench.models.catalogue import Catalogue
from workbench.proxy.batches import ConversationWords, result_names
from workbench.proxy.body_plans import plan_body
from workbench.proxy.control import PolicyOrder, ProxyPolicy, SessionPolicy
from workbench.proxy.conversation_marks import Conversations, MatchedSession
from workbench.proxy.policy_notes import policy_note
from workbench.proxy.routes import Route
from workbench.wire.rewriting import Rewrite, items_in, rewritten

CONVERSATIONS: Final = 200
"""Conversations whose replacement texts are kept; the least recently used are dropped first."""
PINNED: Final = 2_000
"""The maximum number of pinned results."""
MODELS: Final = 32
"""Setups that are cached, one for each policy and model."""

SetupFor = Callable[[ProxyPolicy, str], Setup]
"""Returns a policy's setup for a model. Raises WorkbenchError."""


def setup_maker(settings: Settings, catalogue: Catalogue) -> SetupFor:
    """Return a function that makes setups from the user's settings."""
    return lambda chosen, model: set_up(PlanOptions(chosen.policy, chosen.knobs, model), settings, catalogue)


class PolicyFigures(Struct):
    """Totals of what the policies did."""

    requests: int = 0
    """The number of changed requests."""
    results: int = 0
    batches: int = 0

    def __str__(self) -> str:
        done = f"{counted(self.results, 'result')} in {counted(self.batches, 'batch', 'batches')}"
        return f"masked or cut {done}; {counted(self.requests, 'request')} changed"


class _Conversation(Struct, eq=False):
    """The policy of one conversation, and its replacement texts."""

    words: ConversationWords = field(default_factory=ConversationWords)
    own: bool = False
    chosen: ProxyPolicy | None = None
    """The conversation's own policy, if `own`; None: nothing is changed."""
    before: ProxyPolicy | None = None
    """The policy before it was switched off: its changes are undone when its next batch would be due."""
    is_new: bool = False
    """Whether its first requests may have been sent before its session was known."""
    lock: Lock = field(default_factory=Lock)


class PassingPolicies:
    """Changes requests that pass. Safe for any thread."""

    def __init__(
        self,
        setup_for: SetupFor,
        batch_tokens: int,
        default: ProxyPolicy | None = None,
        recorder: Conversations | None = None,
    ) -> None:
        """`batch_tokens`: the least that new changes must save together; `default`: for conversations without a policy.

        `recorder`: finds the conversation of a request, and records decisions in it.
        """
        self._setup_for = lru_cache(MODELS)(setup_for)
        self._batch_tokens = batch_tokens
        self._default = default
        self._recorder = recorder
        self._conversations: dict[str, _Conversation] = {}
        """By session, the last used at the end. The empty key is for requests that belong to no session yet."""
        self._pinned: dict[str, None] = {}
        self._lock = Lock()
        self.figures = PolicyFigures()

    @property
    def is_on(self) -> bool:
        """Whether any request may be changed. If not, no request is read."""
        return self._default is not None or any(
            each.chosen is not None or each.words.leaving for each in tuple(self._conversations.values())
        )

    # Changing requests

    def changed_body(self, route: Route, headers: Mapping[str, str], body: dict[str, Any]) -> dict[str, Any] | None:
        """The body to send instead of a request; None: it is sent unchanged."""
        if route.dialect is None or route.name or not body or body.get("previous_response_id"):
            return None
        where = MatchedSession() if self._recorder is None else self._recorder.match_session(route, headers, body)
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
        applied: ProxyPolicy,
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

    def _policy(self, found: _Conversation) -> ProxyPolicy | None:
        return found.chosen if found.own else self._default

    def _conversation(self, session: str) -> _Conversation:
        with self._lock:
            found = self._conversations.pop(session, None)
            found = found or _Conversation(is_new=bool(session))
            self._conversations[session] = found
            for old in list(self._conversations)[:-CONVERSATIONS]:
                del self._conversations[old]
            return found

    # Control from outside

    def listed(self) -> tuple[SessionPolicy, ...]:
        """The policies of all recorded sessions."""
        return tuple(map(self.session_policy, self._recorder.marks)) if self._recorder is not None else ()

    def session_policy(self, session: str) -> SessionPolicy:
        """The policy of a session. Raises WrongCall if the proxy does not record this session."""
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
            words.masked_count,
            len(words.batches),
            len(words.leaving),
            self._default,
            self._recorder.marks[session].client,
        )

    def order(self, session: str, order: PolicyOrder) -> SessionPolicy:
        """Set, change or undo the policy of a session. It reads files: do not call it in the event loop.

        Raises WorkbenchError.
        """
        self.session_policy(session)
        assert self._recorder is not None
        if order.do == "set":
            self._setup_for.cache_clear()  # a policy file may have changed
            self._setup_for(order.policy, "")  # reports an unreadable file now
        found = self._conversation(session)
        with found.lock:
            if order.do == "undo":
                self._recorder.note_setting(session, policy_note("undo", results=found.words.undo()))
            else:
                policy = self._choose(found, order)
                self._recorder.note_setting(session, policy_note(order.do, "" if policy is None else str(policy)))
        return self.session_policy(session)

    def _choose(self, found: _Conversation, order: PolicyOrder) -> ProxyPolicy | None:
        found.before = self._policy(found) or found.before
        found.own, found.chosen = order.do != "default", order.policy if order.do == "set" else None
        found.words.leave_all(forget_undone=order.do != "off")
        return self._policy(found)

    def policy_for_request(self, route: Route, headers: Mapping[str, str], body: dict[str, Any]) -> ProxyPolicy | None:
        """The policy for a request; None: it is sent unchanged."""
        where = MatchedSession() if self._recorder is None else self._recorder.match_session(route, headers, body)
        return self._policy(self._conversations.get(where.session) or _Conversation())

    def pinned_in(self, dialect: DialectName, body: dict[str, Any]) -> tuple[str, ...]:
        """The paths of the pinned results in a request."""
        if not self._pinned:
            return ()
        names = result_names(items_in(dialect, body))
        return tuple(path for path, name in names.items() if name in self._pinned)

    def pin(self, dialect: DialectName, body: dict[str, Any], paths: frozenset[str]) -> tuple[str, ...]:
        """Protect these results of a request from all policies. Return the ids of their calls. Raises WrongCall."""
        whole = items_in(dialect, body)
        items, names = {item.path: item for item in whole if item.path in paths}, result_names(whole)
        for path in sorted(paths):
            if path not in items or items[path].kind != "result":
                raise WrongCall(f"{path}: expected the path of a tool's result; nothing else is changed on the way")
        with self._lock:
            pinned = self._pinned | dict.fromkeys(names[path] for path in items)
            self._pinned = dict.fromkeys(list(pinned)[-PINNED:])
        return tuple(item.call_id for item in items.values())
