"""What a session's compactions, masks and cuts took out of the context, with what was lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from workbench.agent.tools.peek import spoken_text
from workbench.compaction.record import STATUS_NAMES, CompactionEntry, read_record
from workbench.config.errors import WorkbenchError
from workbench.config.text import counted, printable
from workbench.context.items import Item, state_words
from workbench.log.events import Event, UserMessage
from workbench.mcp_server.answers import item_words, removed_rows, session_line
from workbench.mcp_server.asked_context import AskedContext
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.sources.source import Source
from workbench.sources.source_setups import opening_setup
from workbench.views.compaction_values import PastAudit
from workbench.views.compaction_view import audit_again

MOST_COMPACTIONS = 10
MOST_FACTS = 30
"""Lost facts that are listed."""
_REMINDER = "<system-reminder>"
"""How texts begin that Claude Code and others add to what the user said."""
_NUMBERS = 12
"""Events that are named for one reason."""


def what_was_removed(services: Services, asked: AskedContext, limit: int) -> list[str]:
    """Compactions, what the last one lost, what was masked or cut and why, and the largest of it."""
    entries = read_record(asked.source.events).entries
    gone = removed_rows(asked)
    lines = [session_line(asked)]
    if not entries and not gone:
        return [*lines, "nothing was removed or cut"]
    lines += _compactions(entries)
    if entries:
        lines += lost_lines(services, asked, entries[-1])
    lines += _by_reason(row for row in gone if row.state != "summarised")
    largest = sorted(gone, key=lambda row: row.tokens - row.original_tokens)[:limit]
    if largest:
        lines.append("the largest of it (`recall` gives the text of an event, or of several as in 3-41):")
        lines += [f"- {item_words(row, row.original_tokens)}" for row in largest]
    return lines


def _compactions(entries: tuple[CompactionEntry, ...]) -> Iterator[str]:
    if not entries:
        return
    yield f"{counted(len(entries), 'compaction')}, the newest first:"
    for entry in entries[: -MOST_COMPACTIONS - 1 : -1]:
        yield f"- {compaction_words(entry)}"
    if len(entries) > MOST_COMPACTIONS:
        yield f"- {len(entries) - MOST_COMPACTIONS} older ones"


def compaction_words(entry: CompactionEntry) -> str:
    noted, (first, last) = entry.details, entry.range
    figures = [
        f"{noted.tokens_before:,} tokens before" if noted.tokens_before is not None else "",
        f"{noted.tokens_after:,} after" if noted.tokens_after is not None else "",
        f"by {printable(noted.trigger)}" if noted.trigger else "",
        STATUS_NAMES[entry.status],
    ]
    covered = f"events {first} to {last}" if first <= last else "no events"
    return f"event {entry.event.seq}: {covered}; {', '.join(filter(None, figures))}"


def lost_lines(services: Services, asked: AskedContext, entry: CompactionEntry) -> list[str]:
    """What the summary of a compaction kept and lost, by the facts that rules find in what it replaced."""
    audit = audit_compaction(services, asked.source, asked.source.events, entry)
    if isinstance(audit, str):
        return [f"what the last summary lost is not known: {printable(audit)}"]
    lost = (*audit.lost, *audit.forgotten)
    total = audit.kept + len(audit.lost)
    if not total and not lost:
        return ["rules found no facts in what the last compaction replaced"]
    if not lost:
        return [f"the last summary has all {total:,} facts that were found in what it replaced"]
    lines = [f"the last summary has {audit.kept:,} of {total:,} facts that were found in what it replaced; it lost:"]
    for fact in lost[:MOST_FACTS]:
        seq = audit.seqs.get(fact.event)
        place = f" (event {seq})" if seq is not None else ""
        lines.append(f"- {fact.kind}: {printable(fact.text, 160)}{place}")
    return [*lines, *([f"- {len(lost) - MOST_FACTS:,} more"] if len(lost) > MOST_FACTS else [])]


def audit_compaction(
    services: Services, source: Source, events: Sequence[Event], entry: CompactionEntry
) -> PastAudit | str:
    """The audit of a compaction in a log, or why there is none. What the agent itself adds each time is not lost."""
    try:
        found = audit_again(opening_setup(services, Options(), source), events, entry)
    except WorkbenchError as error:
        return str(error)
    from_users = (event for event in events if isinstance(event.body, UserMessage))
    added = {event.id for event in from_users if spoken_text(event).startswith(_REMINDER)}
    lost, forgotten = ([fact for fact in facts if fact.event not in added] for facts in (found.lost, found.forgotten))
    return found._replace(lost=tuple(lost), forgotten=tuple(forgotten))


def _by_reason(rows: Iterable[Item]) -> Iterator[str]:
    found: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for row in rows:
        found[row.state, row.why].append(row)
    if found:
        yield "masked, cut or left out:"
    for (state, why), mine in sorted(found.items(), key=lambda each: -len(each[1]))[:_NUMBERS]:
        seqs = [str(row.seq) for row in mine]
        more = f" and {len(seqs) - _NUMBERS} more" if len(seqs) > _NUMBERS else ""
        tokens = sum(row.original_tokens - row.tokens for row in mine)
        events = f"{'event' if len(seqs) == 1 else 'events'} {', '.join(seqs[:_NUMBERS])}{more}"
        yield f"- {state_words(state)}, {tokens:,} tokens: {events}; {printable(why, 200)}"
