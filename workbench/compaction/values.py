"""The values of compaction: checks, selected ranges, facts, audits, previews and drafts.

All are frozen. A draft is edited by making another one; only `Compaction`, an event, changes what is sent.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

from workbench.config.errors import Refused
from workbench.context.items import Item
from workbench.log.events import Event, KeptEvent

Trigger = Literal["turns", "tokens", "threshold", "manual", "overflow"]
"""turns since the last compaction; an absolute number of tokens; a share of the window; by hand; a request that is too
long, by the provider's or our own count."""
FactKind = Literal["path", "url", "identifier", "number", "error", "commit", "quote", "todo", "constraint", "statement"]
"""A statement is a line of an earlier summary: a decision or a preference without any other sign."""
FailureKind = Literal["model", "timeout", "empty", "too_long", "larger", "freed", "vetoed", "nothing", "does_not_fit"]
"""Why a compaction, or the model's summary, failed."""


class CompactionRefused(Refused):
    """A compaction that is not made, and why."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class TriggerCheck(NamedTuple):
    """One trigger, evaluated."""

    trigger: Trigger
    fired: bool
    why: str
    """The comparison in numbers: `84,210 of 120,000 = 70.2 % > 70 %`."""
    measured: int
    limit: int
    """What `measured` is compared with, in the same unit: turns or tokens."""
    fires_at: int
    """The smallest `measured` at which it fires: the limit, or one more if the limit itself does not."""


class TriggerChecks(Struct, frozen=True):
    """All triggers, evaluated."""

    turns: TriggerCheck | None
    """None if the policy sets no such trigger; likewise the next two."""
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
        """In order of precedence."""
        return (*self.by_policy, self.left_out, self.overflow)

    @property
    def named(self) -> tuple[tuple[str, TriggerCheck], ...]:
        """All of them, each with its name for people."""
        own = ((str(check.trigger), check) for check in self.by_policy)
        return (*own, ("left out", self.left_out), ("overflow", self.overflow))


class CompactionDecision(NamedTuple):
    """The joint decision of triggers, mode and brakes."""

    action: Literal["none", "ask", "compact"]
    trigger: Trigger | None
    why: str
    """Why it is done, or what prevents it: mode, cool-down, limit, circuit breaker."""
    checks: TriggerChecks
    question: str = ""
    """What to ask, if `action` is `ask`."""
    held: str = ""
    """Why nothing is done although a trigger fired; the last part of `why`."""
    digest: bool = False
    """Summarise without a model: limit or circuit breaker exclude the model, but the request is too long."""
    urgent: bool = False
    """Whether the request cannot be sent without a compaction: it does not fit even with its results cut."""


class SelectedRange(NamedTuple):
    """What a compaction would replace, and what of its range stays."""

    first: int
    last: int
    """Sequence numbers of the range, both inclusive."""
    items: tuple[Item, ...]
    """The plan's items that would be summarised, in order, as the stages left them."""
    kept: tuple[KeptEvent, ...]
    kept_tokens: int
    """The cost of the kept ones."""
    previous: tuple[Event, ...]
    """Compactions in force whose range is inside this one: their summaries are updated and replaced."""
    why: str
    """How the range was chosen, in a sentence with its numbers."""
    staying: tuple[Item, ...] = ()
    """The items that stay, except for excluded ones: the summariser reads them too, because answers need their
    questions."""
    merges: bool = False
    """Whether earlier summaries are summarised, with a policy that otherwise reads again what they replaced."""


class Fact(NamedTuple):
    """Something in the source that a summary keeps or loses."""

    text: str
    kind: FactKind
    event: str
    """The id of the first event that mentions it."""


class SummaryAudit(NamedTuple):
    """What a summary kept of its source."""

    score: float
    """Share of the facts that were kept, 0 to 1; 1 if there were none."""
    kept: tuple[Fact, ...]
    lost: tuple[Fact, ...]
    forgotten: tuple[Fact, ...] = ()
    """What the previous summary had and this one lacks."""
    unlisted: int = 0
    """How many facts of less weight were lost as well. A person has to read the list, so each kind has a maximum; the
    score is for the list."""


class CacheEffect(NamedTuple):
    """What a compaction does to the provider's prompt cache."""

    first_changed: int
    """The request stays the same up to this token."""
    rewritten: int
    """Tokens of the current request from there on: the part of the prompt cache that is lost."""
    saved_per_request: int
    payback: float | None
    """Requests until the savings have paid for the rewriting and the summary; None: never, or prices unknown."""
    price: float | None = None
    """Dollars for each time a token of the past is sent again; None if unknown."""


class CompactionPreview(Struct, frozen=True):
    """A compaction that could be made now. No model has been asked yet."""

    trigger: Trigger
    why: str
    selected: SelectedRange
    tokens_before: int
    """The size of the request now, as it would be sent."""
    uncut_before: int
    """The size before results are cut to make it fit: enough of this has to be freed."""
    source_tokens: int
    """The tokens that the summary is made from: the items of the range as they are sent now, or uncut if they are not
    sent, and the summaries that it replaces."""
    summary_cap: int
    """The most tokens the summary may have."""
    model: str
    """The summarising model; empty for the digest."""
    request_tokens: int
    """The size of the requests to the summariser, over all parts."""
    parts: int
    """The number of requests that it is split into."""
    cost: float | None
    """Their cost in dollars at most; None if prices are unknown."""
    cache: CacheEffect
    events: int = 0
    """How many events of the log are in the range."""
    first_at: int = 0
    """The time of the first event, in milliseconds since 1970."""
    last_at: int = 0
    too_little_freed: str = ""
    """That it frees less than the policy requires, in words with figures; only for a compaction by hand."""
    recall: bool = False
    """Whether the model has the tools to read the originals; then the summary says so."""
    unable: str = ""
    """Why no model is asked, if that was not wanted."""


class SummaryDraft(Struct, frozen=True):
    """A summary that is not in the log yet: it can be edited, accepted or discarded."""

    preview: CompactionPreview
    summary: str
    made_by: str
    """The model's name, or `digest`."""
    audit: SummaryAudit
    summary_tokens: int
    """As it is sent, with the words that frame it."""
    text_tokens: int
    """For its text alone, which has a cap."""
    tokens_after: int
    """The plan's total with it."""
    seconds: float = 0.0
    cost: float | None = None
    prompt_hash: str = ""
    problems: tuple[str, ...] = ()
    """Why the model's own summary was replaced by the digest, or was cut."""
    fits: bool = True
    """Whether the request can be sent with it."""
    too_little_freed: str = ""
    """That it frees less than the policy requires, in words with figures."""

    @property
    def freed(self) -> int:
        """How much smaller the request becomes; 0 if it does not."""
        return max(0, self.preview.tokens_before - self.tokens_after)

    @property
    def ratio(self) -> float:
        """Source to summary."""
        return self.preview.source_tokens / max(1, self.summary_tokens)

    @property
    def request_ratio(self) -> float:
        """The whole request before to the whole request after."""
        return self.preview.tokens_before / max(1, self.tokens_after)
