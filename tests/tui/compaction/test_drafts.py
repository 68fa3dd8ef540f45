"""Drafts in the session model: nothing changes until one is accepted, and what must not stand is refused."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tui.compaction.long_talk import SUMMARY
from tui.compaction.watching import Scripted, bodies, drafted, on_talk, view
from tui.play import answer, until
from workbench.agent.compaction_runner import CHANGED
from workbench.compaction.values import CompactionRefused
from workbench.config.errors import Refused
from workbench.log.events import Compaction, UserMessage
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")


async def test_a_draft_changes_nothing_until_it_is_accepted(services: Services, script: Scripted) -> None:
    script(answer(SUMMARY))
    async with on_talk(services) as on:
        draft = await drafted(on)
        assert not await bodies(on, Compaction)
        assert draft.audit.lost
        fuller = await on.model.put_lost_back(draft, None)
        assert not fuller.audit.lost
        edited = await on.model.edit_summary(fuller, fuller.summary + "\nAnd this.")
        assert edited.summary_tokens > fuller.summary_tokens
        outcome = await on.model.accept_summary(edited)
        await on.settled()
        [body] = await bodies(on, Compaction)
        assert body.summary.endswith("And this.")
        assert outcome.kept == outcome.facts
        assert view(on).tokens == outcome.after


async def test_a_draft_that_must_not_stand_is_refused_and_can_be_mended(services: Services, script: Scripted) -> None:
    script()
    async with on_talk(services) as on:
        draft = await drafted(on, digest=True)
        empty = await on.model.edit_summary(draft, " ")
        with pytest.raises(CompactionRefused, match="empty"):
            await on.model.accept_summary(empty)
        assert (await on.model.accept_summary(draft)).seq


async def test_a_draft_of_a_session_that_has_changed_is_refused(services: Services, script: Scripted) -> None:
    script()
    async with on_talk(services) as on:
        draft = await drafted(on, digest=True)
        on.model.decide("pin", 5, 5)
        await on.settled()
        with pytest.raises(Refused, match="has changed"):
            await on.model.accept_summary(draft)
        on.model.new_session()
        await on.settled()
        with pytest.raises(Refused, match=CHANGED.partition(":")[0]):
            await on.model.edit_summary(draft, "x")


@pytest.mark.parametrize("digest", [False, True])
async def test_what_was_agreed_to_is_what_is_in_the_log(services: Services, script: Scripted, digest: bool) -> None:
    script(answer("meanwhile"), answer(SUMMARY))
    async with on_talk(services, "compaction.mode=manual") as on:
        agreed = await on.model.preview_compaction()
        on.model.send("and something that was said since")
        await on.settled()
        outcome = await on.model.compact_as_previewed(agreed, digest)
        [body] = await bodies(on, Compaction)
        [*_, last] = await bodies(on, UserMessage)
        assert last.content == "and something that was said since"
        assert (body.first, body.last, body.kept) == (agreed.selected.first, agreed.selected.last, agreed.selected.kept)
        assert body.meta["tokens_before"] == outcome.before == agreed.tokens_before
        assert body.meta["source_tokens"] == agreed.source_tokens
        assert body.meta["model"] == ("" if digest else agreed.model)
        assert body.meta["made_by"] == ("digest" if digest else agreed.model)


async def test_what_was_agreed_to_is_not_made_where_the_session_has_changed(
    services: Services, script: Scripted
) -> None:
    script()
    async with on_talk(services) as on:
        agreed = await on.model.preview_compaction(True)
        on.model.decide("pin", 5, 5)
        await on.settled()
        for late in (on.model.compact_as_previewed, on.model.draft_summary):
            with pytest.raises(Refused, match=CHANGED.partition(":")[0]):
                await late(agreed, True)
        other = await on.model.preview_compaction(True)
        with pytest.raises(Refused, match=CHANGED.partition(":")[0]):
            await on.model.compact_as_previewed(agreed, True)
        assert not await bodies(on, Compaction)
        await on.model.compact_as_previewed(other, True)
        [body] = await bodies(on, Compaction)
        assert 5 in [each.seq for each in body.kept], "it is what was agreed to last"


async def test_a_draft_can_be_stopped(services: Services, script: Scripted) -> None:
    gate = threading.Event()
    script([gate, *answer(SUMMARY)])
    async with on_talk(services) as on:
        making = asyncio.ensure_future(drafted(on))
        await until(lambda: (now := view(on).running) is not None and now.draft)
        making.cancel()
        await asyncio.wait([making])
        gate.set()
        await on.settled()
        assert view(on).running is None


async def test_pane_and_preview_say_alike_what_would_free_too_little(services: Services, script: Scripted) -> None:
    script()
    async with on_talk(services, "compaction.min_freed=0.99") as on:
        preview = await on.model.preview_compaction(True)
        await on.settled()
        assert "% < 99 %" in preview.too_little_freed
        assert view(on).would.endswith(f"; it {preview.too_little_freed}")
        assert view(on).nothing == ""
        assert view(on).failed is None, "nothing was tried"
