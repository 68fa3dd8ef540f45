"""At a past request the chat is of that request: states as of then, where it was asked, what came later set apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.recordings import file_cases
from tui.play import Watcher, until
from tui.recorded.long_run import as_session, run
from workbench.sources.services import Services
from workbench.views.row_lookup import row_of

pytestmark = pytest.mark.usefixtures("project")


async def at_request(on: Watcher, place: int) -> None:
    on.model.travel(place)
    await until(lambda: on.shown.at == place)


def entries(on: Watcher) -> list[Any]:
    return [on.transcript[at] for at in range(len(on.transcript))]


def check(on: Watcher) -> None:
    """All entries against the plan that the context shows."""
    shown, said = on.shown, entries(on)
    newest = shown.at is None or shown.is_newest
    upto = len(said) and max(each.seq for each in said) if shown.at is None else shown.events
    for entry in said:
        standing = on.transcript.entry_state(entry)
        seq = entry.call.result_seq if entry.call and entry.call.result_seq else entry.seq
        at = row_of(shown.plan.items, seq)
        row = None if at is None or shown.plan.items[at].seq != seq else shown.plan.items[at]
        assert (standing is None) == (row is None)
        if standing is not None and row is not None:
            assert (standing.state, standing.tokens) == (row.state, row.tokens)
        assert entry.is_later is (entry.seq > upto and not newest)
    asked = [entry.asked_before for entry in said if entry.asked_before]
    later = [entry for entry in said if entry.seq > upto]
    assert asked == ([shown.at + 1] if shown.at is not None and later else [])
    assert not asked or later[0].asked_before


async def test_the_chat_is_of_the_request_that_is_looked_at(services: Services) -> None:
    on = Watcher(services, as_session(services, run(12)))
    try:
        await on.settled()
        check(on)
        preview = await on.model.preview_compaction(True)
        await on.model.compact_as_previewed(preview, True)
        await on.settled()
        check(on)
        assert any(
            on.transcript.entry_state(entry).state == "summarised" for entry in entries(on)[:6] if entry.kind == "tool"
        )
        for place in (3, 7, 0):
            await at_request(on, place)
            check(on)
            assert not any(
                (standing := on.transcript.entry_state(entry)) is not None and standing.state == "summarised"
                for entry in entries(on)
            ), "nothing was summarised then"
        on.model.interrupt()
        await until(lambda: on.shown.at is None)
        check(on)
    finally:
        await on.model.close()


@pytest.mark.parametrize("path", file_cases(".jsonl"))
async def test_the_same_with_real_files(services: Services, path: Path) -> None:
    if len(services.sources(str(path))) > 1:
        pytest.skip("holds several conversations")
    on = Watcher(services, str(path))
    try:
        await on.settled()
        check(on)
        count = len(on.shown.requests)
        for place in sorted({0, count // 3, count // 2, count - 1} & set(range(count))):
            await at_request(on, place)
            check(on)
    finally:
        await on.model.close()
