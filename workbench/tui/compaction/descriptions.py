"""Compaction in words: what comes next, the last compaction, previews and drafts. Colour is never the only sign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from textual.content import Content

from workbench.compaction.metrics import FigureSpread
from workbench.compaction.preview import loss_words
from workbench.compaction.record import STATUS_NAMES, CompactionEntry, Status
from workbench.compaction.undo import NestedCompaction
from workbench.compaction.values import Fact, SummaryDraft
from workbench.config.text import percent, printable
from workbench.context.policy import Mode
from workbench.log.events import Compaction
from workbench.tui.widgets.wrapped_lines import flow_pieces, hanging_lines
from workbench.views.compaction_values import CompactionView, PastOffer, RunningCompaction, progress_text

Rows = list[tuple[str, str]]
"""A report: names and values."""
ABOUT_MODES: dict[Mode, str] = {"auto": "by itself", "confirm": "asks first", "manual": "by hand only", "off": "never"}
SIGNS: dict[Status, str] = {"standing": "◆", "replaced": "▪", "reverted": "◇"}
COLOURS: dict[Status, str] = {"standing": "$slot-summaries", "replaced": "$quiet", "reverted": "$quiet"}


def panel_title(view: CompactionView, width: int) -> str:
    """The mode and the policy, with labels if there is room."""
    mode, policy = f"{view.mode} ({ABOUT_MODES[view.mode]})", printable(view.policy)
    fixed = " · read-only" if view.fixed else ""
    whole = f"Compaction · mode {mode} · policy {policy}{fixed}"
    return whole if len(whole) <= width else f"Compaction · {mode} · {policy}{fixed}"


# What comes next


def next_line(view: CompactionView) -> Content:
    """What happens next, with figures if something is due."""
    decision = view.decision
    if view.mode in ("off", "manual"):
        return Content.assemble(("○ ", "$quiet"), view.next)
    if decision.trigger is None:
        return Content.assemble(("▸ ", "bold"), view.next)
    sign = {"none": "‖", "ask": "?", "compact": "!"}[decision.action]
    text = f"compaction due, but {decision.held}" if decision.held else view.next
    figures = decision.why.removesuffix(f"; {decision.held}")
    return Content.assemble((f"{sign} {printable(text)}", "bold $warning"), f" · {printable(figures)}")


def running_line(running: RunningCompaction, now: float) -> Content:
    """The progress of the running compaction."""
    before = running.progress.stage in ("selecting", "planning")
    what = ("preview" if before else "drafting") if running.draft else "compacting"
    seconds = f"{int(max(0.0, now - running.since))} s"
    return Content.assemble((f"⟳ {what}: ", "bold $accent"), f"{progress_text(running.progress)} · {seconds}")


def past_line(past: PastOffer) -> Content:
    """Says that a past request is selected, and how to go back."""
    text = f"request {past.number:,} in view: {past.tokens:,} tokens"
    return Content.assemble(("◷ ", "bold"), text, (" · } goes to the newest", "$quiet"))


def would_lines(view: CompactionView, width: int) -> list[Content]:
    """What a compaction would summarise now, or at the selected past request; empty if unknown."""
    past = view.past
    if past is not None and past.would:
        then = Content.styled("compacting then would have summarised ", "$quiet")
        return Content.assemble(then, printable(past.would)).wrap(width)
    if past is not None:
        then = Content.styled("nothing could be compacted then: ", "$quiet")
        return list(hanging_lines(then, printable(past.nothing), width)) if past.nothing else []
    if view.would:
        now = Content.styled("compacting now would ", "$quiet")
        return Content.assemble(now, f"summarise {printable(view.would)}").wrap(width)
    if view.nothing and view.last is not None:  # without any compaction, `last_lines` says it
        return list(hanging_lines(Content.styled("nothing to compact: ", "$quiet"), printable(view.nothing), width))
    return []


def proxy_lines(view: CompactionView, width: int) -> list[Content]:
    """What the session's proxy masks and cuts, and what that saved and cost; empty if it changes nothing."""
    if view.proxy_policy is None:
        return []
    return list(hanging_lines(Content.styled("on the way  ", "$quiet"), printable(str(view.proxy_policy)), width))


# The last compaction


def last_lines(view: CompactionView, width: int) -> list[Content]:
    """The figures of the newest compaction, or why there is none. No figure is split by a line break.

    For a past request: the newest compaction before it, and the number of later ones.
    """
    if view.past is not None:
        return flow_pieces(_before_request(view, view.past), width, " · ")
    if view.failed is not None:
        text = f"{view.failed.kind}: {printable(view.failed.message)}"
        return Content.assemble((f"✗ failed at event {view.failed.seq}, ", "bold $error"), text).wrap(width)
    if view.last is None:
        if view.nothing:
            return Content.assemble(("nothing to compact yet: ", "$quiet"), printable(view.nothing)).wrap(width)
        return [Content.styled("no compactions yet", "$quiet")]
    undo = (
        ("u undoes it", "$quiet") if view.last.status == "standing" else (compaction_state(view.last), "bold $warning")
    )
    if view.fixed and view.last.status == "standing":
        undo = (f"by {printable(view.last.details.made_by or 'the agent')}", "$quiet")
    pieces = [
        Content.assemble((f"#{view.last.event.seq}: ", "bold"), entry_figures(view.last)),
        *([Content(facts)] if (facts := facts_of(view.last)) else []),
        Content.styled(*undo),
    ]
    if any(piece.cell_length > width for piece in pieces):
        return Content(" · ").join(pieces).wrap(width)
    return flow_pieces(pieces, width, " · ")


def _before_request(view: CompactionView, past: PastOffer) -> Iterator[Content]:
    if past.last is None:
        yield Content.styled("no compaction before it", "$quiet")
    else:
        before = Content.styled("the last before it ", "$quiet")
        yield Content.assemble(before, (f"#{past.last.event.seq}: ", "bold"), entry_figures(past.last))
    known = past.last.event.seq if past.last is not None else -1
    later = sum(branch.entry.event.seq > known for branch in tree_branches(view.history))
    if later:
        yield Content.styled(f"{later:,} came later", "$quiet")


def entry_figures(entry: CompactionEntry) -> str:
    """Tokens of source and summary, as far as they were recorded."""
    noted = entry.details
    if noted.source_tokens is None or noted.summary_tokens is None:
        before, after = noted.tokens_before, noted.tokens_after
        if before is None:
            return "token counts not recorded"
        return f"made at {before:,} tokens" if after is None else f"request {before:,} → {after:,} tokens"
    ratio = "" if noted.ratio is None else f" ({noted.ratio:.1f}×)"
    return f"{noted.source_tokens:,} → {noted.summary_tokens:,} tokens{ratio}"


def facts_of(entry: CompactionEntry) -> str:
    """How many facts the summary kept."""
    kept, lost = entry.details.facts_kept, entry.details.facts_lost
    if kept is None or lost is None:
        return ""
    return f"kept {kept:,} of {kept + lost:,} facts"


def compaction_state(entry: CompactionEntry) -> str:
    """The state of a compaction in words."""
    by = "" if entry.by is None else f" by #{entry.by}"
    return f"{STATUS_NAMES[entry.status]}{by}"


# The tree


class TreeLine(NamedTuple):
    """One compaction of the tree."""

    prefix: str
    entry: CompactionEntry


def tree_branches(nodes: Sequence[NestedCompaction], lead: str = "") -> Iterator[TreeLine]:
    """The tree line by line, the newest first; below each compaction are those that it replaced."""
    for at, node in enumerate(reversed(nodes)):
        last = at == len(nodes) - 1
        top = not lead
        yield TreeLine("" if top else lead[:-2] + ("└ " if last else "├ "), node.entry)
        inner = "  " if top else lead[:-2] + ("  " if last else "│ ") + "  "
        yield from tree_branches(node.inside, inner)


def branch_line(branch: TreeLine) -> Content:
    """One line of the tree: state, range and figures."""
    entry = branch.entry
    first, last = entry.range
    colour = COLOURS[entry.status]
    by = entry.details.made_by or entry.details.model
    parts = [
        Content.assemble(
            (branch.prefix, "$quiet"),
            (f"{SIGNS[entry.status]} #{entry.event.seq}", f"bold {colour}"),
            f" {entry_figures(entry)}",
        ),
        Content.styled(compaction_state(entry), colour),
        Content.styled(f"events {first:,}–{last:,}" if first <= last else "originals not in this log", "$quiet"),
        *([Content(facts_of(entry))] if facts_of(entry) else []),
        *([Content.styled(printable(entry.details.trigger), "$quiet")] if entry.details.trigger else []),
        *([Content.styled(f"by {printable(by)}", "$quiet")] if by else []),
    ]
    return Content(" · ").join(parts)


# Previews and drafts


def draft_rows(draft: SummaryDraft, window: int) -> Rows:
    """The figures of a draft, the losses first."""
    preview = draft.preview
    used = percent(draft.freed / max(preview.tokens_before, 1))
    freed = f"frees {draft.freed:,} ({used} of what is used, {percent(draft.freed / max(window, 1))} of the window)"
    size = f"{draft.summary_tokens:,} tokens, by {draft.made_by}"
    if draft.text_tokens > preview.summary_cap:
        size += f"; too long: its text has {draft.text_tokens:,}, and at most {preview.summary_cap:,} are wanted"
    return [
        ("facts", loss_words(draft.audit)),
        ("request", f"{preview.tokens_before:,} → {draft.tokens_after:,} of {window:,} tokens, {freed}"),
        ("summary", size),
    ]


def fact_line(fact: Fact, word: str, seq: int | None) -> Content:
    """A lost fact, and where it came from."""
    where = f"  event {seq}" if seq is not None else ""
    return Content.assemble(
        (f"{word} ", "bold $error"), (f"{fact.kind} ", "$quiet"), printable(fact.text), (where, "$quiet")
    )


def summary_of(entry: CompactionEntry) -> str:
    """The text that replaces the range."""
    assert isinstance(entry.event.body, Compaction)
    return entry.event.body.summary


# The status in full


def status_rows(view: CompactionView) -> Rows:
    """Triggers, history and metrics, for `/compaction-status`."""
    rows: Rows = [
        ("policy", f"{view.policy}; mode {view.mode}: {ABOUT_MODES[view.mode]}"),
        ("context", f"{view.tokens:,} of {view.window:,} tokens ({percent(view.tokens / max(view.window, 1), 1)})"),
        *_first_limit(view),
        *([("on the way", str(view.proxy_policy))] if view.proxy_policy is not None else ()),
    ]
    for name, check in view.decision.checks.named:
        rows.append((name, f"{'fired' if check.fired else 'not yet'}: {check.why}"))
    rows += [("now", _now(view)), ("next", view.next), ("", "")]
    lines = [branch_line(branch).plain for branch in tree_branches(view.history)]
    rows += [("history" if at == 0 else "", line) for at, line in enumerate(lines)] or [("history", "none yet")]
    if view.failed is not None:
        rows.append(("failed", f"event {view.failed.seq}, {view.failed.kind}: {view.failed.message}"))
    return [*rows, ("", ""), *_metrics(view)]


def _first_limit(view: CompactionView) -> Rows:
    """If two thresholds differ: which one comes first, and why."""
    policy, first = view.decision.checks.threshold, view.curve.limit
    if policy is None or not 0 < first < policy.fires_at:
        return []
    why = f"the policy's {policy.fires_at:,}: a longer request leaves too little for the answer"
    return [("compacts at", f"{first:,} tokens, before {why}")]


def _now(view: CompactionView) -> str:
    decision = view.decision
    if view.nothing and decision.action == "none":
        return f"{decision.why}; nothing to compact: {view.nothing}"
    return {"none": decision.why, "ask": decision.question, "compact": f"compacts: {decision.why}"}[decision.action]


def _metrics(view: CompactionView) -> Rows:
    counted = view.metrics
    if not counted.made and not counted.failures:
        return [("made", "none yet")]
    unknown = f", {counted.uncosted} at an unknown cost" if counted.uncosted else ""
    rows: Rows = [
        ("made", f"{counted.made} ({_counts(counted.by_status)}); by trigger: {_counts(counted.by_trigger)}"),
        ("without a model", f"{counted.digests}"),
        ("freed", "not recorded" if counted.freed is None else f"{counted.freed:,} tokens"),
        ("cost", "unknown" if counted.cost is None else f"${counted.cost:.4f}{unknown}"),
        ("failures", _counts(counted.failures)),
    ]
    spreads = (("seconds", counted.seconds), ("ratio", counted.ratios), ("facts kept", counted.scores))
    return rows + [(name, _spread(spread)) for name, spread in spreads if spread is not None]


def _spread(spread: FigureSpread) -> str:
    return f"{spread.least:.2f} to {spread.most:.2f}, {spread.mean:.2f} on average of {spread.of}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {STATUS_NAMES.get(name, name)}" for name, count in sorted(counts.items())) or "none"
