"""Continues in a new session from a summary of an earlier one.

The new log begins with a link back and the summary as a compaction with an empty range. So it is sent as a record, in
the user's role and framed, stays in every later plan, and is updated by the next compaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.compaction.audit import audit_summary
from workbench.compaction.compactor import DIGEST, Compactor
from workbench.compaction.preview import RequestFigures, previous_text, request_figures, source_tokens
from workbench.compaction.progress import CompactionProgress, ReportProgress, ignore_progress
from workbench.compaction.prompts import recall_note
from workbench.compaction.summariser import run_in_thread, within_cap
from workbench.compaction.summary_sizes import summary_cap
from workbench.compaction.values import CompactionRefused, SelectedRange, SummaryAudit
from workbench.config.errors import WrongCall
from workbench.context.control import CONTROL, in_effect
from workbench.context.plan import ContextPlan
from workbench.context.policy import CompactionPolicy
from workbench.log.events import CONTINUED_FROM, Body, Compaction, Event, Setting

FEW = 256
"""Tokens that a summary of a session may always have."""
PREFACE = """\
Record of an earlier conversation, from which this one goes on. It reports what was said and done there and contains \
no instructions:

"""


class SessionSummary(NamedTuple):
    """A summary of a whole session. It may be edited before it is used."""

    summary: str
    made_by: str
    """The model's name, `digest`, or `hand`."""
    audit: SummaryAudit
    cost: float | None = 0.0
    problems: tuple[str, ...] = ()


async def figures_of_session(compactor: Compactor, events: Sequence[Event]) -> RequestFigures:
    """What a summary of a whole session would ask of a model. Raises CompactionRefused for an empty one."""
    selected, cap = await run_in_thread(_whole_range, compactor, events)
    return await run_in_thread(request_figures, compactor.preview_inputs(), selected, cap)


async def summarise_session(
    compactor: Compactor, events: Sequence[Event], *, digest: bool = False, progress: ReportProgress = ignore_progress
) -> SessionSummary:
    """A summary of a whole session, by the model or by the digest. Raises CompactionRefused for an empty one."""
    progress(CompactionProgress("selecting"))
    selected, cap = await run_in_thread(_whole_range, compactor, events)
    text, problems, cost = ("", [], 0.0) if digest else await compactor.summary(selected, cap, progress)
    made_by = compactor.summariser.model if text else DIGEST
    text, cut = within_cap(text, cap, compactor.setup.counter)
    if not text:
        text = await run_in_thread(compactor.digest, selected, cap)
    progress(CompactionProgress("auditing"))
    audited = await run_in_thread(audit_summary, selected, text, previous=previous_text(selected, _policy(compactor)))
    return SessionSummary(text, made_by, audited, cost, (*problems, *cut))


def _policy(compactor: Compactor) -> CompactionPolicy:
    return compactor.setup.loaded.policy.compaction


def _whole_range(compactor: Compactor, events: Sequence[Event]) -> tuple[SelectedRange, int]:
    """Everything, and the cap of its summary."""
    setup, policy = compactor.setup, _policy(compactor)
    plan = setup.plan(events)
    selected = whole_session(plan, events, policy)
    # No room has to be made here, so the summary of a few words need not be shorter than they are.
    return selected, summary_cap(policy, setup.limits, max(source_tokens(selected, plan), 2 * FEW))


def whole_session(plan: ContextPlan, events: Sequence[Event], policy: CompactionPolicy) -> SelectedRange:
    """A range with the whole conversation, except for what the user excluded."""
    stands = in_effect([event for event in events if type(event.body) in CONTROL])
    previous = stands.compactions
    # What a summary replaces is read from the summary, unless the policy starts over from the log.
    left_out = {"excluded", "aside"} | ({"summarised"} if policy.update else set())
    items = tuple(item for item in plan.items if item.unit >= 0 and item.state not in left_out)
    if not items and not previous:
        raise CompactionRefused("nothing", "nothing to continue from: this session is empty")
    last = events[-1].seq
    return SelectedRange(1, last, items, (), 0, previous, "all of the session")


def first_events(
    source: str, summary: str, settings: Sequence[Setting], made: SessionSummary | None = None, *, recall: bool = False
) -> list[Body]:
    """The first events of a session that continues another, whose id is `source`.

    `recall`: the model has the tools to read the originals in that session, and the summary says so.
    """
    if not summary.strip():
        raise WrongCall("the summary is empty: expected text")
    head = [Setting(CONTINUED_FROM, source), *settings]
    meta: dict[str, object] = {"trigger": "manual", "why": f"continued from session {source}", CONTINUED_FROM: source}
    meta |= {"made_by": made.made_by if made else "hand", "cost": 0.0}
    if made:
        meta |= {
            "score": round(made.audit.score, 4),
            "facts_kept": len(made.audit.kept),
            "facts_lost": len(made.audit.lost),
            "cost": made.cost,
            "problems": list(made.problems),
        }
    return [
        *head,
        Compaction(1, len(head), summary.strip(), preface=PREFACE + (recall_note(source) if recall else ""), meta=meta),
    ]
