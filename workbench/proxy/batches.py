"""The replacement texts for the tool results of one conversation, and the batches in which they change.

`proxy/policies` explains why they change only in batches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct, field

from workbench.config.errors import WrongCall
from workbench.log.events import DialectName
from workbench.proxy.body_plans import BodyPlan, ItemChange
from workbench.traces.building import content_hash
from workbench.traces.request_thread import Exchange
from workbench.wire.parts import split_body
from workbench.wire.rewriting import BodyItem, Rewrite, rewritten

REMEMBERED: Final = 2_000
"""How many replaced results are remembered besides those of the last request; the oldest are forgotten first."""
BATCHES: Final = 100
"""How many batches can be undone."""


class WordChanges(NamedTuple):
    """The replacement texts for the results of one request."""

    masks: Mapping[str, str]
    """The replacement texts, by the paths of the results in the request."""
    new: int = 0
    """How many of them belong to a batch that begins with this request."""


class _Beginning(NamedTuple):
    """The beginning of a request that was sent, as hashes."""

    head: str
    messages: Sequence[str]


class ConversationWords(Struct, eq=False):
    """The replacement texts of one conversation. A result is identified by its hash, wherever it is in a request."""

    texts: dict[str, str] = field(default_factory=dict)
    """The replacement text of each result, by its hash; the most recently sent are last."""
    leaving: set[str] = field(default_factory=set)
    """Results whose texts stay only until the next batch, because they were undone or the policy was replaced."""
    undone: set[str] = field(default_factory=set)
    """Results that the policy must not change again."""
    batches: list[frozenset[str]] = field(default_factory=list)
    """Batches that can be undone, the newest last."""
    masked_count: int = 0
    """How many results of the last request were sent with a replacement text."""
    sent: _Beginning | None = None
    """The beginning of the last request, kept while `leaving` is not empty."""

    def adopt(self, other: ConversationWords, planned: BodyPlan, *, leaving: bool) -> None:
        """Copy the texts for a request's results from `other`. `leaving`: they stay only until the next batch."""
        names = set(_seen_names(planned).values()) & other.texts.keys()
        self.texts = {name: other.texts[name] for name in names} | self.texts
        self.batches = [*(batch for batch in other.batches if batch & names), *self.batches]
        if leaving:
            self.leaving |= names

    def undo(self) -> int:
        """Undo the last batch when the next one begins. Return how many results that changes.

        Raises WrongCall if there is no batch to undo.
        """
        while self.batches:
            names = self.batches.pop() & self.texts.keys()
            if names:
                self.leaving |= names
                self.undone |= names
                return len(names)
        raise WrongCall("nothing to undo on the way: no batch of results was masked or cut since the policy was set")

    def leave_all(self, *, forget_undone: bool) -> None:
        """Let another policy, or none, decide from the next batch on; with `forget_undone`, on undone results too."""
        self.leaving = set(self.texts)
        self.batches.clear()
        if forget_undone:
            self.undone.clear()

    def decide(
        self,
        dialect: DialectName,
        body: dict[str, Any],
        planned: BodyPlan,
        batch_tokens: int,
        pinned: Collection[str],
        *,
        masking: bool,
        aside: bool,
    ) -> WordChanges:
        """Return the texts for a request's results: the same as in earlier requests and, if a batch is due, new ones.

        `batch_tokens`: how many tokens a batch must free. `pinned`: the hashes of results that must be sent whole.
        `masking`: whether new results may be masked. `aside`: the request is a side request, outside the conversation.
        """
        names = _seen_names(planned)
        kept = {path: self.texts[name] for path, name in names.items() if name in self.texts}
        wanted = {
            path: change
            for path, change in planned.changes().items()
            if path in names and names[path] not in self.undone and names[path] not in pinned
        }
        fresh = {path: change for path, change in wanted.items() if path not in kept}
        going = {path for path in kept if names[path] in self.leaving or names[path] in pinned}
        is_due = bool(fresh) and sum(change.freed for change in fresh.values()) >= batch_tokens
        is_pinned = any(names[path] in pinned for path in kept)
        if not aside and (is_due or is_pinned or self._is_lost(dialect, body, kept, going)):
            new = fresh | {path: wanted[path] for path in going & wanted.keys()} if masking else {}
            kept = {path: text for path, text in kept.items() if path not in going}
            self._begin_batch(names, going, new)
            masks = kept | {path: change.text for path, change in new.items()}
            changes = WordChanges(masks, len(fresh) if masking else 0)
        else:
            changes = WordChanges(kept)
        self._remember(names, changes.masks, aside=aside)
        self.sent = _beginning(dialect, rewritten(dialect, body, Rewrite(mask=changes.masks))) if self.leaving else None
        return changes

    def _begin_batch(self, names: Mapping[str, str], going: set[str], new: Mapping[str, ItemChange]) -> None:
        for name in {names[path] for path in going}:  # a set: an agent that reuses ids may send the same result twice
            self.leaving.discard(name)
            del self.texts[name]
        if new:
            self.batches = [*self.batches, frozenset(names[path] for path in new)][-BATCHES:]

    def _is_lost(self, dialect: DialectName, body: dict[str, Any], kept: Mapping[str, str], going: set[str]) -> bool:
        """Whether the agent itself changed its request before the first result in `going`.

        Then the cache after that change is lost anyway, and these results can change now.
        """
        if self.sent is None or not going:
            return False
        first = min(int(path.split(".")[1]) for path in going)
        now = _beginning(dialect, rewritten(dialect, body, Rewrite(mask=kept)), first)
        return now.head != self.sent.head or now.messages != self.sent.messages[:first]

    def _remember(self, names: Mapping[str, str], masks: Mapping[str, str], *, aside: bool) -> None:
        here = set(names.values())
        if not aside:
            self.masked_count = len(masks)
            # A result that the agent no longer sends needs no mask.
            for name in self.leaving - here:
                del self.texts[name]
            self.leaving &= here
        for path, text in masks.items():
            self.texts.pop(names[path], None)  # moves it to the end
            self.texts[names[path]] = text
        for name in [name for name in self.texts if name not in here][:-REMEMBERED]:
            self.leaving.discard(name)
            del self.texts[name]
        self.undone = {name for name in self.undone if name in here} if len(self.undone) > REMEMBERED else self.undone


def seen_results(planned: BodyPlan) -> list[BodyItem]:
    """The results that may be changed: the model has replied after them, and their calls are not open."""
    items = planned.items
    spoke = max((at for at, item in enumerate(items) if item.kind in ("assistant", "call", "reasoning")), default=0)
    return [item for item in items[:spoke] if item.kind == "result" and planned.can_change(item.path)]


def result_names(items: Iterable[BodyItem]) -> dict[str, str]:
    """The hash that identifies each result of a request, by its path.

    Equal results without ids differ in their order only: a file whose result was masked may be read again.
    """
    made: dict[str, str] = {}
    equal: Counter[tuple[str, str]] = Counter()
    for item in items:
        if item.kind == "result":
            number = 0 if item.given_id else equal[item.tool, item.text]
            equal[item.tool, item.text] += not item.given_id
            made[item.path] = content_hash([item.given_id or number, item.tool, item.text])
    return made


def _seen_names(planned: BodyPlan) -> dict[str, str]:
    names = result_names(planned.items)
    return {item.path: names[item.path] for item in seen_results(planned)}


def _beginning(dialect: DialectName, body: dict[str, Any], messages: int | None = None) -> _Beginning:
    """Hash the beginning of a request. `messages`: how many messages; None: all."""
    exchange = Exchange(dialect, body, {}, "", 0, split_body(dialect, body))
    messages_so_far = exchange.parts.messages[:messages]
    return _Beginning(
        content_hash([exchange.prompt, exchange.parts.tools]), [content_hash(each) for each in messages_so_far]
    )
