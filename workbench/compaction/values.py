"""The values that compaction is made of: checks, selected ranges, facts, audits, previews and drafts.

All of them are frozen. A draft is edited by making another one; only `Compaction`, an event, changes what is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from workbench.config.errors import Refused
from workbench.context.items import Item
from workbench.log.events import Event, KeptEvent

Trigger = Literal["turns", "tokens", "threshold", "manual", "overflow"]
"""turns since the last compaction; an absolute number of tokens; a share of the window; by hand; the provider's or our
own finding that the request is too long."""
FactKind = Literal["path", "url", "identifier", "number", "error", "commit", "quote", "todo", "constraint", "statement"]
"""A statement is a line of an earlier summary: a decision or a preference that has no other sign."""
FailureKind = Literal["model", "timeout", "empty", "too_long", "larger", "freed", "vetoed", "nothing", "does_not_fit"]
"""Why a compaction, or the model's summary, did not come about."""


class CompactionRefused(Refused):
    """A compaction that is not made, and why."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class TriggerCheck(NamedTuple):
    """One trigger, looked at."""

    trigger: Trigger
    fired: bool
    why: str
    """The comparison in numbers: `84,210 of 120,000 = 70.2 % > 70 %`."""
    measured: int
    limit: int
    """What `measured` is compared with, in the same unit: turns or tokens."""
    fires_at: int
    """The least of `measured` at which it fires: the limit, or one more where the limit itself does not."""


@dataclass(frozen=True, slots=True)
class TriggerChecks:
    """All triggers, looked at."""

    turns: TriggerCheck | None
    """None where the policy sets no such trigger; so for the next two."""
    tokens: TriggerCheck | None
    threshold: TriggerCheck | None
    left_out: TriggerCheck
    """Whether the stages had to leave something out."""
    overflow: TriggerCheck
    """Whether the request is too long."""

    @property
    def by_policy(self) -> tuple[TriggerCheck, ...]:
        """Those that the policy sets."""
        return tuple(check for check in (self.turns, self.tokens, self.threshold) if check is not None)

    @property
    def all(self) -> tuple[TriggerCheck, ...]:
        """In the order in which they count."""
        return (*self.by_policy, self.left_out, self.overflow)

    @property
    def named(self) -> tuple[tuple[str, TriggerCheck], ...]:
        """All of them, each with what people call it."""
        own = ((str(check.trigger), check) for check in self.by_policy)
        return (*own, ("left out", self.left_out), ("overflow", self.overflow))


class CompactionDecision(NamedTuple):
    """What the triggers, the mode and the brakes say together."""

    action: Literal["none", "ask", "compact"]
    trigger: Trigger | None
    why: str
    """Why it is done, or what holds it back: mode, cool-down, limit, circuit breaker."""
    checks: TriggerChecks
    question: str = ""
    """What to ask, where `action` is `ask`."""
    held: str = ""
    """Why nothing is done although a trigger fired; the last part of `why`."""
    digest: bool = False
    """Summarise without a model: limit or circuit breaker hold the model back, but the request is too long."""
    urgent: bool = False
    """Whether the request cannot be sent without a compaction: it does not fit even with its results cut."""


class SelectedRange(NamedTuple):
    """What a compaction would replace, and what of its range stays."""

    first: int
    last: int
    """Sequence numbers of the range, both inclusive."""
    items: tuple[Item, ...]
    """The plan's rows that would be summarised, in order, as the stages left them."""
    kept: tuple[KeptEvent, ...]
    kept_tokens: int
    """What the kept ones cost."""
    previous: tuple[Event, ...]
    """Standing compactions whose range lies inside this one: their summaries are updated and replaced."""
    why: str
    """How the range came about, in a sentence with its numbers."""
    beside: tuple[Item, ...] = ()
    """The rows of what is kept, but for what the user excluded: the summariser reads them too, or answers would lack
    their questions."""
    merges: bool = False
    """Whether earlier summaries are summarised, under a policy that otherwise reads again what they stand for."""


class Fact(NamedTuple):
    """Something in the source that a summary keeps or loses."""

    text: str
    kind: FactKind
    event: str
    """The id of the event it was first seen in."""


class Audit(NamedTuple):
    """What a summary kept of its source."""

    score: float
    """Share of the facts that were kept, 0 to 1; 1 where there were none."""
    kept: tuple[Fact, ...]
    lost: tuple[Fact, ...]
    forgotten: tuple[Fact, ...] = ()
    """What the previous summary held and this one does not."""
    unlisted: int = 0
    """How many facts of less weight were lost as well. A person has to read the list, so each kind has a most; the
    score is that of the list."""


class CacheEffect(NamedTuple):
    """What a compaction does to the provider's prompt cache."""

    first_changed: int
    """The request stays the same up to this token."""
    rewritten: int
    """Tokens of the request as it is now from there on: what a prompt cache has of them and cannot use any more."""
    saved_per_request: int
    payback: float | None
    """Requests until what is saved has paid for the rewriting and the summary; None: never, or prices unknown."""
    price: float | None = None
    """Dollars for a token of the past each time it is sent again; None where it is unknown."""


@dataclass(frozen=True, slots=True)
class CompactionPreview:
    """A compaction that could be made now. Nothing has been asked of a model yet."""

    trigger: Trigger
    why: str
    selected: SelectedRange
    tokens_before: int
    """The size of the request now, as it would be sent."""
    uncut_before: int
    """The same before results are cut to make it fit: what is freed has to be enough of this."""
    source_tokens: int
    """What the summary is made from: the items of the range as they are sent now, or whole where they are not sent, and
    the summaries it replaces."""
    summary_cap: int
    """The most the summary may cost."""
    model: str
    """Who summarises; empty for the digest."""
    request_tokens: int
    """How long the request to the summariser is, over all its parts."""
    parts: int
    """Into how many requests it is split so that each fits."""
    cost: float | None
    """What they cost in dollars at most; None where prices are unknown."""
    cache: CacheEffect
    events: int = 0
    """How many events of the log the range holds."""
    first_at: int = 0
    """When the first of them happened, in milliseconds since 1970."""
    last_at: int = 0
    little: str = ""
    """That it frees less than the policy asks for, in figures; only where it is compacted by hand."""
    recall: bool = False
    """Whether the model has the tools with which it can read the originals; then the summary says so."""
    unable: str = ""
    """Why no model is asked, where that was not wanted."""


@dataclass(frozen=True, slots=True)
class SummaryDraft:
    """A summary that is not in the log yet: it can be edited, accepted or thrown away."""

    preview: CompactionPreview
    summary: str
    made_by: str
    """The model's name, or `digest`."""
    audit: Audit
    summary_tokens: int
    """As it is sent: the words that frame it are counted with it."""
    text_tokens: int
    """Of its text alone, which has a cap."""
    tokens_after: int
    """The plan's total with it."""
    seconds: float = 0.0
    cost: float | None = None
    prompt_hash: str = ""
    problems: tuple[str, ...] = ()
    """Why the model's own summary was not used, where the digest took over, or why it was cut."""
    fits: bool = True
    """Whether the request can be sent with it."""
    little: str = ""
    """That it frees less than the policy asks for, in figures."""

    @property
    def freed(self) -> int:
        """How much smaller the request becomes."""
        return self.preview.tokens_before - self.tokens_after

    @property
    def ratio(self) -> float:
        """Source to summary."""
        return self.preview.source_tokens / max(1, self.summary_tokens)

    @property
    def request_ratio(self) -> float:
        """The whole request before to the whole request after."""
        return self.preview.tokens_before / max(1, self.tokens_after)
