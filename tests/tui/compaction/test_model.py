"""Compactions by hand in the session model, without a screen: made, stopped, refused, undone."""

from __future__ import annotations

import asyncio
import json
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.requirements import requirement
from tui.compaction.long_talk import SUMMARY, WINDOW
from tui.compaction.watching import Scripted, bodies, drafted, on_talk, view
from tui.play import answer, opened, until
from workbench.compaction.preview import WorthwhileSummary, worthwhile_summary
from workbench.config.errors import Refused
from workbench.context.plan import ContextPlan
from workbench.context.setup import Setup
from workbench.log.events import Compaction, Failure, Revert
from workbench.session.compactions import BUSY, STOPPED
from workbench.session.undoing import Which
from workbench.session.worker import SessionWorker
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")


async def test_the_panel_has_its_value_as_soon_as_a_session_is_open(services: Services) -> None:
    async with on_talk(services) as on:
        assert view(on).mode == "confirm"
        assert view(on).policy == "workbench"
        assert len(view(on).curve.sizes) == 9
        assert view(on).forecast.limit == 16_000


async def test_what_could_be_compacted_is_tried_once_for_a_log(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def counted(setup: Setup, plan: ContextPlan, *arguments: Any) -> WorthwhileSummary:
        tried.append(plan.size)
        return worthwhile_summary(setup, plan, *arguments)

    monkeypatch.setattr("workbench.views.compaction_view.worthwhile_summary", counted)

    async def show(work: SessionWorker) -> None:
        work.compactions.show(work.compactions.current())

    async with on_talk(services) as on:
        assert " items" in view(on).would
        before = view(on)
        await on.model.call_session(lambda work: partial(show, work))
        await until(lambda: view(on) is not before)
        assert (len(tried), view(on).would) == (1, before.would)
        on.model.decide("exclude", 5, 5)
        await until(lambda: len(tried) == 2)
        await until(lambda: view(on).would != before.would)


async def test_by_hand_gives_the_summary_and_the_new_usage(services: Services, script: Scripted) -> None:
    script(answer(SUMMARY))
    async with on_talk(services) as on:
        before = view(on).tokens
        outcome = await on.model.call_session(lambda session: session.compactions.compact)
        await on.settled()
        assert outcome.summary == SUMMARY
        assert (outcome.before, outcome.after) == (before, view(on).tokens)
        assert outcome.after < outcome.before
        assert outcome.window == WINDOW
        last = view(on).last
        assert last is not None
        assert last.event.seq == outcome.seq
        assert "compacted by itself" not in [notice.title for notice in on.notices]


async def test_without_a_model_nobody_is_asked(services: Services, script: Scripted) -> None:
    made = script()
    async with on_talk(services) as on:
        outcome = await on.model.call_session(lambda session: session.compactions.compact, digest=True)
        assert outcome.made_by == "digest"
        assert not made.requests


async def test_one_at_a_time_and_a_stop_by_hand(services: Services, script: Scripted) -> None:
    gate = threading.Event()
    script([gate, *answer(SUMMARY)])
    async with on_talk(services) as on:
        first = asyncio.ensure_future(on.model.call_session(lambda session: session.compactions.compact))
        await until(lambda: view(on).running is not None)
        with pytest.raises(Refused, match=BUSY.partition(";")[0]):
            await on.model.call_session(lambda session: session.compactions.compact)
        on.model.new_session()
        await until(lambda: "still working" in on.told)
        on.model.stop_compacting()
        with pytest.raises(Refused, match=STOPPED.partition(";")[0]):
            await first
        gate.set()
        await on.settled()
        assert not await bodies(on, Compaction)
        on.model.stop_compacting()
        await on.settled()
        assert "no compaction is running" in on.told


@requirement("sliding", "failures", "a compaction that fails does not fail silently")
async def test_a_refusal_is_shown_and_stays_in_the_log(services: Services, script: Scripted) -> None:
    script()
    keeps_all = ("compaction.selection=last_messages", "compaction.keep_messages=500")
    async with on_talk(services, *keeps_all) as on:
        with pytest.raises(Refused, match="nothing to compact: the policy summarises everything but the last 500"):
            await on.model.call_session(lambda session: session.compactions.compact, digest=True)
        await on.settled()
        [failure] = await bodies(on, Failure)
        assert failure.category == "compaction"
        assert view(on).failed is not None


async def test_undo_redo_peel_and_all_say_what_they_did_and_the_tokens(services: Services, script: Scripted) -> None:
    script()
    async with on_talk(services) as on:
        before = view(on).tokens
        outcome = await on.model.call_session(lambda session: session.compactions.compact, digest=True)
        after = outcome.after
        changes: list[tuple[Which, int | None, int, int]] = [
            ("undo", None, before, after),
            ("redo", None, after, before),
            ("peel", None, before, after),
            ("redo", outcome.seq, after, before),
            ("all", None, before, after),
        ]
        for which, seq, now, had in changes:
            on.model.revert(which, seq)
            await on.settled()
            assert on.notices[-1].text.endswith(f" · {had:,} → {now:,} of {WINDOW:,} tokens")
            assert view(on).tokens == now
        assert len(await bodies(on, Revert)) == 5
        on.model.revert("peel")
        await on.settled()
        assert "nothing to undo: there is no active compaction" in on.told


async def test_another_model_summarises_where_the_policy_names_one(
    services: Services, script: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = script(answer(SUMMARY))
    monkeypatch.setattr("workbench.agent.serving.serving", made.serving)
    async with on_talk(services, 'compaction.model="other"') as on:
        await on.model.call_session(lambda session: session.compactions.compact)
        assert made.requests[0]["model"] == "other"


async def test_a_file_can_be_previewed_but_not_compacted(services: Services, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    words = " ".join(f"word{at}" for at in range(400))
    messages = [{"role": role, "content": f"{words} {at}"} for at in range(12) for role in ("user", "assistant")]
    path.write_text(json.dumps(messages), "utf-8")
    async with opened(services, str(path), window=WINDOW, reserve=2_000) as on:
        assert view(on).fixed
        draft = await drafted(on)
        assert draft.made_by == "digest"
        with pytest.raises(Refused, match="a file is read-only"):
            await on.model.accept_summary(draft)
        with pytest.raises(Refused, match="a file is read-only"):
            await on.model.call_session(lambda session: session.compactions.compact)


async def test_looking_at_one_closely(services: Services, script: Scripted) -> None:
    script(answer(SUMMARY))
    async with on_talk(services) as on:
        await on.model.call_session(lambda session: session.compactions.compact)
        await on.settled()
        entry = view(on).last
        assert entry is not None
        looked = await on.model.audit_compaction(entry)
        assert looked.kept == entry.details.facts_kept
        assert len(looked.lost) == entry.details.facts_lost


async def test_what_nobody_expected_is_told_in_one_line(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    async with on_talk(services) as on:

        async def broken(work: object) -> None:
            raise ZeroDivisionError("no")

        with pytest.raises(Refused, match="this should not happen: ZeroDivisionError: no"):
            await on.model.call_session(lambda work: partial(broken, work))
        monkeypatch.setattr("workbench.session.compactions.compaction_panel_view", lambda inputs: 1 / 0)
        on.model.decide("pin", 5, 5)
        await on.settled()
        assert "ZeroDivisionError" in on.told
