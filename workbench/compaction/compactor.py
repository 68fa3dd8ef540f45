"""The compactor: from a log to a preview, a draft, and the event to append.

It never appends. The caller that holds the session does, and until then nothing has happened: a cancel leaves nothing
behind. Everything that grows with the conversation runs in a thread, so that the event loop is never blocked.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

from workbench.compaction import prompts
from workbench.compaction.audit import audit_summary, summary_with_lost
from workbench.compaction.digest import make_digest
from workbench.compaction.facts import FactCollection, Mentions, collect_facts
from workbench.compaction.preview import (
    PreviewInputs,
    event_of,
    frees_too_little,
    preview_of,
    previous_text,
    summary_source,
)
from workbench.compaction.progress import CompactionProgress, ReportProgress, ignore_progress, with_progress
from workbench.compaction.record import read_details
from workbench.compaction.requests import SummaryRequests, split_into_requests, without_stages
from workbench.compaction.selection import select_for
from workbench.compaction.summariser import (
    REFUSE_OVER_CAP,
    Summariser,
    SummariserAccess,
    cost_of,
    run_in_thread,
    run_with_progress,
    setup_for,
    within_cap,
)
from workbench.compaction.values import (
    CompactionPreview,
    CompactionRefused,
    Fact,
    SelectedRange,
    SummaryAudit,
    SummaryDraft,
    Trigger,
)
from workbench.config.errors import WrongCall
from workbench.config.garbage import collector_paused
from workbench.config.values import replace
from workbench.context.items import Item
from workbench.context.plan import ContextPlan
from workbench.context.planner import Planner
from workbench.context.setup import Setup
from workbench.log.events import Compaction, Event
from workbench.models.catalogue import Catalogue, is_local
from workbench.models.gateway import Gateway, SilenceLimits
from workbench.models.retry import RetrySchedule

DIGEST = "digest"
"""The author of a summary that no model wrote."""
TOO_WEAK = "the embedded model is too weak to summarise, so this is the digest; name another with compaction.model"
NO_MODEL = "there is no model to ask, so this is the digest"


class _Tried(NamedTuple):
    """A log planned with a compaction that is not in it yet."""

    of: tuple[object, ...]
    """Identifies the compaction and the log."""
    planner: Planner


class Compactor:
    """Makes the compactions of one session."""

    def __init__(
        self,
        setup: Setup,
        gateway: Gateway | None,
        *,
        patience: SilenceLimits | None = None,
        schedule: RetrySchedule | None = None,
        catalogue: Catalogue | None = None,
        live: bool = False,
        mentions: Mentions | None = None,
        no_model: str = NO_MODEL,
    ) -> None:
        """`gateway` leads to the summarising model; without one only the digest is possible, and `no_model` says why.

        `catalogue` has the user's own models and all prices. `live`: calls without a result are still running.
        `mentions`: a cache for texts that are read again.
        """
        self.setup = setup
        self.catalogue = catalogue or Catalogue()
        self.summariser = setup_for(setup, self.catalogue)
        """The setup of the summarising model."""
        self._gateway = gateway
        self._patience = patience
        self._schedule = schedule or RetrySchedule()
        self._live = live
        self._mentions = mentions
        self._no_model = no_model
        self._policy = setup.loaded.policy.compaction
        self._tried: _Tried | None = None
        self._trying = Lock()
        self._facts: tuple[tuple[Item, ...], FactCollection] | None = None
        self._requests: tuple[tuple[Item, ...], int, SummaryRequests] | None = None

    @property
    def unable(self) -> str:
        """Why no model can be asked; empty if one can."""
        if is_local(self.summariser.model):
            return TOO_WEAK
        if self._gateway is None or not self.summariser.model:
            return self._no_model
        if missing := self._gateway.endpoint.lacks_key:
            return f"there is no key for {self.summariser.model} (set {missing}), so this is the digest"
        try:
            prompts.load_prompt(self._policy.prompt)
        except WrongCall as error:
            return f"{error}; so this is the digest"
        return ""

    def preview_inputs(self, digest: bool = False) -> PreviewInputs:
        """The setups that plan and that summarise."""
        unable = "" if digest else self.unable
        model = "" if digest or unable else self.summariser.model
        return PreviewInputs(self.setup, self._lay_out, self.catalogue, model, unable)

    # Preview

    def preview(
        self,
        events: Sequence[Event],
        trigger: Trigger,
        why: str = "",
        *,
        digest: bool = False,
        planner: Planner | None = None,
        progress: ReportProgress = ignore_progress,
    ) -> CompactionPreview:
        """What a compaction would do now. Raises CompactionRefused if nothing is worth it.

        `planner`: one that has planned these events already; it is used up. `progress` is called in this thread.
        """
        setup = self.setup
        with collector_paused():
            planner = planner or setup.planner(events, live=self._live)
            plan = planner.plan()
            selected = select_for(setup, plan, events, trigger, progress)
            progress(CompactionProgress("planning"))
            plan_with = partial(self._plan_with, events, planner=planner)
            made = preview_of(self.preview_inputs(digest), events, plan, plan_with, selected, trigger, why)
            setup.counter.flush()
        return made

    def _plan_with(self, events: Sequence[Event], body: Compaction, planner: Planner | None = None) -> ContextPlan:
        """The plan with this compaction as the next event.

        The texts of one compaction are tried one after the other, and only the first needs the log planned again.
        """
        seq = events[-1].seq + 1 if events else 1
        of = (seq, body.first, body.last, body.kept)
        with self._trying:
            known = self._tried
            if known is None or known.of != of or planner not in (None, known.planner):
                known = self._tried = _Tried(of, planner or self.setup.planner(events, live=self._live))
            return known.planner.plan_with(body)

    # Draft

    async def draft(
        self,
        events: Sequence[Event],
        preview: CompactionPreview,
        *,
        digest: bool = False,
        progress: ReportProgress = ignore_progress,
    ) -> SummaryDraft:
        """A summary by the model or, if that fails, by the digest. Raises CompactionRefused if neither works."""
        started = time.monotonic()
        problems: list[str] = []
        cost: float | None = 0.0
        made: SummaryDraft | None = None
        if digest and preview.model:  # as agreed, but without asking a model
            preview = replace(preview, model="", request_tokens=0, parts=0, cost=0.0)
        if not digest:
            text, problems, cost = await self.summary(preview.selected, preview.summary_cap, progress)
            if text:
                try:
                    made = await run_with_progress(partial(self._by_model, events, preview, text), progress)
                except CompactionRefused as refused:
                    problems.append(f"{refused.kind}: {refused}")
        if made is None:
            made = await run_with_progress(partial(self._by_digest, events, preview), progress)
        problems = [*problems, *made.problems]
        return replace(made, seconds=time.monotonic() - started, cost=cost, problems=tuple(problems))

    async def summary(
        self, selected: SelectedRange, cap: int, report: ReportProgress
    ) -> tuple[str, list[str], float | None]:
        """The model's summary, or an empty text and why; and the cost."""
        if unable := self.unable:
            return "", [unable], 0.0
        assert self._gateway is not None
        writer = Summariser(self.summariser, SummariserAccess(self._gateway, self._patience, self._schedule), report)
        prompt = prompts.load_prompt(self._policy.prompt)
        text, problems = "", []
        try:
            layout = await run_in_thread(self._lay_out, selected, cap)
            text = await writer.write_summary(layout, partial(summary_source, selected, self._policy), prompt, cap)
        except CompactionRefused as refused:
            problems.append(f"{refused.kind}: {refused}")
        return text, problems, cost_of(writer.usages, self.catalogue)

    def _by_model(
        self, events: Sequence[Event], preview: CompactionPreview, text: str, report: ReportProgress
    ) -> SummaryDraft:
        tokens, cap = self.setup.counter.count(text).tokens, preview.summary_cap
        if tokens >= preview.source_tokens:
            size = f"the summary has {tokens:,} tokens, and what it replaces {preview.source_tokens:,}"
            raise CompactionRefused("larger", size)
        if tokens > REFUSE_OVER_CAP * cap:
            raise CompactionRefused("too_long", f"the summary has {tokens:,} tokens, and {cap:,} were asked for")
        summary, problems = within_cap(text, cap, self.setup.counter)
        audited = self._audit(preview.selected, summary, report)
        made = self._drafted(events, preview, summary, self.summariser.model, audited)
        self._check(made)
        if made.too_little_freed and not preview.too_little_freed:  # the digest may be shorter
            raise CompactionRefused("freed", made.too_little_freed)
        if not made.fits:
            room = self.setup.limits.capacity
            left = f"the request would still have {made.tokens_after:,} tokens, and {room:,} fit"
            raise CompactionRefused("does_not_fit", left)
        return replace(made, prompt_hash=prompts.load_prompt(self._policy.prompt).hash, problems=problems)

    def digested(self, events: Sequence[Event], preview: CompactionPreview) -> SummaryDraft:
        """The draft by the digest, at once and without reading the previous summary.

        Raises CompactionRefused if it does not work.
        """
        selected, cap = preview.selected, preview.summary_cap
        text = self.digest(selected, cap)
        audited = audit_summary(selected, text, facts=self._facts_of(selected, ignore_progress), brief=True)
        made = self._drafted(events, preview, text, DIGEST, audited)
        self._check(made)
        return made

    def _by_digest(self, events: Sequence[Event], preview: CompactionPreview, report: ReportProgress) -> SummaryDraft:
        text = self.digest(preview.selected, preview.summary_cap, report)
        made = self._drafted(events, preview, text, DIGEST, self._audit(preview.selected, text, report))
        self._check(made)
        return made

    def digest(self, selected: SelectedRange, cap: int, report: ReportProgress = ignore_progress) -> str:
        """The summary that needs no model."""
        previous = previous_text(selected, self._policy)
        return make_digest(selected, cap, self.setup.counter, previous, self._facts_of(selected, report))

    def digest_audit(self, preview: CompactionPreview) -> SummaryAudit:
        """What the digest would keep and lose: known before any model is asked."""
        return self._audit(preview.selected, self.digest(preview.selected, preview.summary_cap))

    def _audit(self, selected: SelectedRange, summary: str, report: ReportProgress = ignore_progress) -> SummaryAudit:
        previous, facts = previous_text(selected, self._policy), self._facts_of(selected, report)
        report(CompactionProgress("auditing"))
        return audit_summary(selected, summary, previous=previous, facts=facts)

    def _facts_of(self, selected: SelectedRange, report: ReportProgress) -> FactCollection:
        """What a summary should not lose: read once for the digest, the audit, and every edit."""
        known = self._facts
        if known is None or known[0] is not selected.items:
            items = with_progress(selected.items, len(selected.items), "collecting", report)
            known = self._facts = (selected.items, collect_facts(items, self._mentions))
        return known[1]

    def _lay_out(self, selected: SelectedRange, cap: int) -> SummaryRequests:
        """The requests of a summary; the ones that the preview showed are the ones that are made."""
        known = self._requests
        if known is None or known[0] is not selected.items or known[1] != cap:
            source, prompt = summary_source(selected, self._policy), prompts.load_prompt(self._policy.prompt)
            made = split_into_requests(source, prompt, without_stages(self.summariser), cap)
            known = self._requests = (selected.items, cap, made)
        return known[2]

    def _drafted(
        self, events: Sequence[Event], preview: CompactionPreview, summary: str, made_by: str, audited: SummaryAudit
    ) -> SummaryDraft:
        """A draft with its audit and its figures from the plan."""
        body = event_of(preview.selected, summary, self._policy, preview.recall)
        text, sent = self._size(summary), self._size(body.preface + summary) + self._size(body.acknowledgement)
        after = self._plan_with(events, body)
        self.setup.counter.flush()
        fits = after.verdict.status != "too_large"
        little = frees_too_little(self._policy, preview.uncut_before, after, preview.trigger)
        return SummaryDraft(
            preview, summary, made_by, audited, sent, text, after.size, fits=fits, too_little_freed=little
        )

    def _size(self, text: str) -> int:
        return self.setup.counter.count(text).tokens

    # Editing

    def edited(self, events: Sequence[Event], draft: SummaryDraft, summary: str) -> SummaryDraft:
        """The draft with another text; audit and figures are made again."""
        audited = self._audit(draft.preview.selected, summary)
        made = self._drafted(events, draft.preview, summary, draft.made_by, audited)
        return replace(draft, summary=summary, audit=made.audit, **_figures(made))

    def with_lost(
        self, events: Sequence[Event], draft: SummaryDraft, facts: Sequence[Fact] | None = None
    ) -> SummaryDraft:
        """The draft with lost facts put back into its summary: these, or all of them."""
        return self.edited(
            events, draft, summary_with_lost(draft.summary, draft.audit.lost if facts is None else facts)
        )

    def plan_with_draft(self, events: Sequence[Event], draft: SummaryDraft) -> ContextPlan:
        """The plan of the next request if this draft were accepted."""
        preview = draft.preview
        return self._plan_with(events, event_of(preview.selected, draft.summary, self._policy, preview.recall))

    # Accepting

    def _check(self, draft: SummaryDraft) -> None:
        """Raise CompactionRefused for a draft that must not be used."""
        if not draft.summary.strip():
            raise CompactionRefused("empty", "the summary is empty")
        if draft.too_little_freed and draft.preview.trigger != "manual":
            raise CompactionRefused("freed", draft.too_little_freed)

    def body(self, draft: SummaryDraft) -> Compaction:
        """The event to append. Raises CompactionRefused if it must not be used."""
        self._check(draft)
        self._tried = self._facts = self._requests = None
        body = event_of(draft.preview.selected, draft.summary, self._policy, draft.preview.recall)
        return replace(body, meta=draft_meta(draft))


def _figures(made: SummaryDraft) -> dict[str, Any]:
    names = ("summary_tokens", "text_tokens", "tokens_after", "fits", "too_little_freed")
    return {name: getattr(made, name) for name in names}


def draft_meta(draft: SummaryDraft) -> dict[str, Any]:
    """How a compaction was made, as JSON values."""
    preview, selected = draft.preview, draft.preview.selected
    turns = [item.turn for item in selected.items]
    for event in selected.previous:  # what they replace is in the range, though only their summaries were read
        assert isinstance(event.body, Compaction)
        noted = read_details(event.body.meta)
        turns += [turn for turn in (noted.first_turn, noted.last_turn) if turn is not None]
    return {
        "trigger": preview.trigger,
        "why": preview.why,
        "model": preview.model,
        "made_by": draft.made_by,
        "prompt_hash": draft.prompt_hash,
        "seconds": round(draft.seconds, 3),
        "cost": draft.cost,
        "tokens_before": preview.tokens_before,
        "tokens_after": draft.tokens_after,
        "source_tokens": preview.source_tokens,
        "summary_tokens": draft.summary_tokens,
        "ratio": round(draft.ratio, 3),
        "request_ratio": round(draft.request_ratio, 3),
        "merged": selected.merges,
        "score": round(draft.audit.score, 4),
        "facts_kept": len(draft.audit.kept),
        "facts_lost": len(draft.audit.lost),
        "forgotten": len(draft.audit.forgotten),
        "events": preview.events,
        "first_at": preview.first_at,
        "last_at": preview.last_at,
        "first_turn": min(turns, default=0),
        "last_turn": max(turns, default=0),
        "kept_tokens": selected.kept_tokens,
        "problems": list(draft.problems),
    }
