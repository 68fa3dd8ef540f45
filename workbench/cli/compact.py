"""`workbench compact`: replace the past of a session by a summary."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from workbench.agent.compaction_runner import CompactionRunner, failure_of
from workbench.agent.hooks import Hooks, installed_hooks
from workbench.cli.asking import user_agrees
from workbench.cli.options import options_of
from workbench.cli.sources import read_source_with_notes
from workbench.compaction import prompts
from workbench.compaction.compactor import Compactor
from workbench.compaction.preview import preview_rows
from workbench.compaction.progress import CompactionProgress, ignore_progress
from workbench.compaction.triggers import compaction_question
from workbench.compaction.values import (
    CompactionPreview,
    CompactionRefused,
    Fact,
    SelectedRange,
    SummaryAudit,
    SummaryDraft,
)
from workbench.config.background import in_background
from workbench.config.errors import Refused
from workbench.config.garbage import collector_paused
from workbench.config.signals import run_for_result
from workbench.config.text import percent, print_json, printable, printable_lines
from workbench.config.values import replace
from workbench.context.planner import Planner
from workbench.context.setup import Setup
from workbench.log.errors import ReadOnly
from workbench.log.events import Body, Event, Failure
from workbench.log.session import Session
from workbench.sources.compactors import compactor_for
from workbench.sources.services import Services
from workbench.sources.source_setups import opening_planner
from workbench.traces.reading import read_transcript_text

LOST_SHOWN = 12
BY_HAND = "hand"
"""Who made a summary that the user wrote or edited."""


class CompactJob(NamedTuple):
    """What to compact, and where to store it."""

    services: Services
    options: argparse.Namespace
    events: Sequence[Event]
    setup: Setup
    planner: Planner
    session: Session | None
    """None for a file: nothing is stored then."""
    summary: str | None = None
    """The user's own summary, instead of a new one."""


def run_compact(options: argparse.Namespace) -> int:
    """Compact a session, or show what compacting a file would give."""
    with Services() as services, ExitStack() as stack:
        with collector_paused():
            job = _job(services, options, stack)
        try:
            draft = run_for_result(_compact(job))
        except CompactionRefused as refused:
            if options.json:
                print_json(refused_json(refused))
            raise
        if options.json:
            print_json(draft_as_json(draft))
        else:
            _print(job, draft)
    return 0


def _job(services: Services, options: argparse.Namespace, stack: ExitStack) -> CompactJob:
    source = read_source_with_notes(services, options.source)
    session = None
    if not source.is_file and not options.dry_run:
        session = stack.enter_context(services.store.session(options.source))
        if not session.writable:
            raise ReadOnly(session.why_read_only)
        source = source._replace(events=session.events())
    # If no model is named anywhere, the rehearsal model, which needs no key, summarises. A digest needs none.
    asks = not (source.recorded or options.digest or options.summary is not None)
    model = source.model or (services.default_model if asks else "")
    setup, planner = opening_planner(services, options_of(options), source._replace(model=model))
    if not options.digest:
        # Fail now if the prompt cannot be read, before anything is asked.
        prompts.load_prompt(setup.loaded.policy.compaction.prompt)
    own_summary = None if options.summary is None else read_transcript_text(options.summary)[1].strip()
    return CompactJob(services, options, source.events, setup, planner, session, own_summary)


async def _compact(job: CompactJob) -> SummaryDraft:
    """Show the preview, ask, draft the summary and store it. A refusal is logged and raised."""
    options, setup, session = job.options, job.setup, job.session
    hooks = Hooks(job.services.settings.hooks, installed_hooks()) if session else Hooks()
    async with compactor_for(job.services, options_of(options), setup, digest=options.digest) as compactor:
        runner = CompactionRunner(compactor, hooks)
        try:
            digest = options.digest or options.summary is not None
            planned = await runner.plan(job.events, digest=digest, planner=job.planner)
            agreed = options.yes or options.dry_run
            if not options.json:
                _show(planned.preview, own=options.summary is not None)
            _agree(planned.preview, setup, agreed, can_ask=not options.json and sys.stdin.isatty())
            report = ignore_progress if options.json else print_progress
            noted, draft = await runner.draft(planned, digest=digest, report=report)
            draft = await in_background(_edited, job, compactor, draft)
            bodies: list[Body] = [*noted]
            unsaved: list[Body] = [*noted]
            async for body in runner.accept(planned, draft):
                bodies.append(body)
                unsaved.append(body)
                if session:
                    session.append(*unsaved)
                unsaved.clear()
        except CompactionRefused as refused:
            # Having nothing to compact is not a failure.
            if session and refused.kind != "nothing":
                session.append(failure_of(refused))
            raise
        if session:
            print_warnings(each.message for each in bodies if isinstance(each, Failure))
    print_warnings(draft.problems)
    return draft


def _edited(job: CompactJob, compactor: Compactor, draft: SummaryDraft) -> SummaryDraft:
    """Apply `--summary` and `--add-lost` to the draft."""
    if job.summary is not None:
        draft = replace(compactor.edited(job.events, draft, job.summary), made_by=BY_HAND)
    return compactor.with_lost(job.events, draft) if job.options.add_lost else draft


def print_warnings(lines: Iterable[str]) -> None:
    for line in lines:
        print(printable(f"· {line}"), file=sys.stderr)


def print_progress(progress: CompactionProgress) -> None:
    """Print a line for each stage and request, and none for the steps between."""
    is_model_request = progress.stage in ("summarising", "merging")
    if not progress.characters and (is_model_request or not progress.part):
        part = f" part {progress.part} of {progress.parts}" if is_model_request and progress.parts > 1 else ""
        print(f"· {progress.stage}{part}", file=sys.stderr)


# For people


def _show(preview: CompactionPreview, *, own: bool) -> None:
    for what, figure in preview_rows(preview, own=own):
        print(f"{what:<12} {printable(figure)}")


def _agree(preview: CompactionPreview, setup: Setup, agreed: bool, *, can_ask: bool) -> None:
    """Ask the user on a terminal. Without one, refuse a compaction that frees too little; `--yes` skips both."""
    if agreed:
        return
    if can_ask and not user_agrees(compaction_question(preview.tokens_before, setup.limits.window)):
        raise Refused("nothing was compacted")
    if preview.too_little_freed and not can_ask:
        raise CompactionRefused("nothing", f"this {preview.too_little_freed}; --yes compacts all the same")


def _print(job: CompactJob, draft: SummaryDraft) -> None:
    """Print the summary, what it lost, and the new usage."""
    window, audit = job.setup.limits.window, draft.audit
    print("\n".join(printable_lines(draft.summary)))
    print()
    print(f"audit    {len(audit.kept):,} of {len(audit.kept) + len(audit.lost):,} facts kept ({percent(audit.score)})")
    _print_facts("lost", audit.lost)
    if audit.unlisted:
        print(f"lost     {audit.unlisted:,} more facts of less weight, too many to list")
    _print_facts("dropped", [fact._replace(text=f"{fact.text}, in the previous summary") for fact in audit.forgotten])
    before, after = draft.preview.tokens_before, draft.tokens_after
    print(f"by       {printable(draft.made_by)}, {draft.preview.source_tokens:,} to {draft.summary_tokens:,} tokens")
    smaller = f", {draft.request_ratio:.1f} times smaller" if draft.request_ratio >= 1.05 else ""
    print(f"context  {before:,} to {after:,} of {window:,} tokens ({percent(after / max(window, 1))}){smaller}")
    if job.session is None:
        print("nothing was stored")
    else:
        print(f"undo it with: workbench undo {job.session.id}")


def _print_facts(what: str, facts: Sequence[Fact]) -> None:
    for fact in facts[:LOST_SHOWN]:
        print(f"{what:<8} {printable(f'{fact.kind}: {fact.text} ({fact.event})')}")
    if len(facts) > LOST_SHOWN:
        print(f"{what:<8} and {len(facts) - LOST_SHOWN:,} more; --json lists them all")


# JSON


def draft_as_json(draft: SummaryDraft) -> dict[str, Any]:
    """A draft as JSON; `docs/json.md` describes the keys."""
    preview, selected = draft.preview, draft.preview.selected
    return {
        "range": {"from": selected.first, "to": selected.last},
        "kept": kept_json(selected),
        "tokens_before": preview.tokens_before,
        "tokens_after": draft.tokens_after,
        "source_tokens": preview.source_tokens,
        "summary_tokens": draft.summary_tokens,
        "ratio": round(draft.ratio, 3),
        "request_ratio": round(draft.request_ratio, 3),
        "summary": draft.summary,
        "audit": audit_json(draft.audit),
        "trigger": preview.trigger,
        "why": preview.why,
        "refused": None,
        "made_by": draft.made_by,
        "problems": list(draft.problems),
    }


def kept_json(selected: SelectedRange) -> list[dict[str, Any]]:
    """The messages, calls and results of the range that stay in the request, each with the text that is sent."""
    shortened = {each.seq: each.text for each in selected.kept if each.text}
    return [
        {
            "seq": row.seq,
            "event": row.id,
            "role": row.role,
            "kind": row.kind,
            "text": shortened.get(row.seq, row.original if row.text is None else row.text),
            "shortened": row.seq in shortened,
        }
        for row in selected.staying
        if row.seq is not None
    ]


def refused_json(refused: CompactionRefused) -> dict[str, Any]:
    """The same keys for a compaction that was refused."""
    sizes = ("tokens_before", "tokens_after", "source_tokens", "summary_tokens", "ratio", "request_ratio")
    empty: dict[str, Any] = dict.fromkeys(("range", "kept", *sizes, "summary", "audit", "made_by"))
    return {**empty, "trigger": "manual", "why": "by hand", "refused": str(refused), "problems": []}


def audit_json(audit: SummaryAudit) -> dict[str, Any]:
    return {
        "score": round(audit.score, 4),
        "kept": [_fact(fact) for fact in audit.kept],
        "lost": [_fact(fact) for fact in audit.lost],
        "forgotten": [_fact(fact) for fact in audit.forgotten],
        "unlisted": audit.unlisted,
    }


def _fact(fact: Fact) -> dict[str, str]:
    return {"text": fact.text, "kind": fact.kind, "event": fact.event}
