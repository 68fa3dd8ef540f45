"""Digest and audit of real transcripts, where there are any: a table of what they save and keep.

`support/recordings` says where they are looked for.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.recordings import FOLDER, readable_files
from support.talk import COUNTER, ROOMY, preset
from support.validity import problems
from workbench.compaction.audit import audit_summary, summary_with_lost
from workbench.compaction.digest import make_digest
from workbench.compaction.selection import select_range
from workbench.compaction.values import CompactionRefused
from workbench.config.text import table
from workbench.context.planner import plan
from workbench.context.render import render_request
from workbench.log.codec import decode_event, encode_event
from workbench.log.events import Event
from workbench.sources.source import file_logs

CAP = 2_000
"""Tokens of a digest, as in the default policy."""
SUFFIXES = (".json", ".jsonl", ".traj")
MANY = 5
"""Of a file with many conversations the longest are looked at."""
HEADER = ("transcript", "events", "tokens before", "after", "ratio", "facts", "kept", "score")


def transcripts() -> Iterator[tuple[str, list[Event]]]:
    """All of them: a file that cannot be read is a failure."""
    for file in (each for each in readable_files(*SUFFIXES) if ".wire." not in each.name):
        found = file_logs(file.name, file.read_text("utf-8"))
        assert found, file.name
        longest = sorted(range(len(found)), key=lambda at: -len(found[at]))[:MANY]
        for at in sorted(longest):
            yield (f"{file.name}#{at + 1}" if len(found) > 1 else file.name), found[at]


@pytest.mark.skipif(not FOLDER.is_dir(), reason="no transcripts here")
def test_every_transcript_is_planned_into_a_request_that_providers_take() -> None:
    policy = preset("workbench")
    for name, events in transcripts():
        made = plan(events, policy, ROOMY, COUNTER)
        assert made.verdict.fits, name
        sent = render_request(made)["messages"]
        assert any(message["role"] == "user" for message in sent), name
        assert problems(sent) == [], name
        assert [decode_event(encode_event(event)) for event in events] == events, name


@pytest.mark.skipif(not FOLDER.is_dir(), reason="no transcripts here")
def test_digest_and_audit_of_every_transcript(capsys: pytest.CaptureFixture[str]) -> None:
    policy = preset("confirm")
    lines: list[tuple[str, ...]] = []
    refused = 0
    for name, events in transcripts():
        made = plan(events, policy, ROOMY, COUNTER)
        try:
            selected = select_range(made, events, policy.compaction, ROOMY, COUNTER, trigger="overflow")
        except CompactionRefused:
            refused += 1
            continue
        text = make_digest(selected, CAP, COUNTER)
        found = audit_summary(selected, text)
        before = sum(item.tokens for item in selected.items)
        after = COUNTER.count(text).tokens
        assert after <= min(CAP, before)
        assert 0 <= found.score <= 1
        assert audit_summary(selected, summary_with_lost(text, found.lost)).lost == ()
        facts = len(found.kept) + len(found.lost)
        figures = (len(events), before, after, before / after, facts, len(found.kept))
        shown = (f"{figure:,.1f}" if isinstance(figure, float) else f"{figure:,}" for figure in figures)
        lines.append((name, *shown, f"{found.score:.2f}"))
    with capsys.disabled():
        print("", *table(HEADER, lines, right=frozenset(range(1, len(HEADER)))), sep="\n")
        print(f"and {refused} of a single turn, with nothing to compact" if refused else "")
    assert lines
