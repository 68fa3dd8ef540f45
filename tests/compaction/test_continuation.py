"""Going on in a new session: the summary is a framed record with a link back, and survives every later plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.drafts import compactor, drafted, says, setup, work
from support.logs import number
from support.provider import Provider
from support.requirements import requirement
from support.validity import problems
from workbench.compaction.continuation import PREFACE, first_events, summarise_session, whole_session
from workbench.compaction.metrics import count_metrics
from workbench.compaction.record import read_record
from workbench.compaction.values import CompactionRefused
from workbench.config.errors import WrongCall
from workbench.context.policy import CompactionPolicy
from workbench.context.policy_names import PRESETS
from workbench.context.render import render_messages
from workbench.log.events import (
    CONTINUED_FROM,
    AssistantMessage,
    Compaction,
    Override,
    Setting,
    UserMessage,
)
from workbench.log.store import Store

pytestmark = pytest.mark.xdist_group("litellm")


async def test_a_session_is_carried_over_as_a_whole_by_the_model() -> None:
    async with Provider(says("All eight bugs; port 9001 first.")) as provider:
        made = await summarise_session(compactor(provider.url), number(work(8)))
        text = provider.requests[0].body["messages"][1]["content"]
    assert (made.summary, made.made_by, made.problems) == ("All eight bugs; port 9001 first.", "scripted", ())
    assert all(f"src/app{at}.py" in text for at in range(1, 9)), "the latest turn, too"
    assert made.audit.lost


async def test_without_a_model_or_on_request_the_digest_does_it() -> None:
    events = number(work(8))
    asked = await summarise_session(compactor(), events, digest=True)
    assert (asked.made_by, asked.problems) == ("digest", ())
    left_alone = await summarise_session(compactor(), events)
    assert left_alone.made_by == "digest"
    assert left_alone.problems
    assert "We decided to use port 9008" in asked.summary


async def test_an_earlier_summary_is_carried_on_and_the_excluded_is_not() -> None:
    log = [*work(2), Compaction(1, 4, "Port 9001 was chosen early."), Override("exclude", 8, 8)]
    events = number(log)
    plan = setup().plan(events)
    selected = whole_session(plan, events, CompactionPolicy())
    assert [item.seq for item in selected.items] == [5, 6, 7]
    assert [event.seq for event in selected.previous] == [9]
    assert (selected.first, selected.last, selected.kept_tokens) == (1, len(events), 0)
    again = whole_session(plan, events, CompactionPolicy(update=False))
    assert [item.seq for item in again.items] == [1, 2, 3, 4, 5, 6, 7]
    assert "Port 9001 was chosen early." in (await summarise_session(compactor(), events, digest=True)).summary


async def test_nothing_to_go_on_from_is_refused() -> None:
    with pytest.raises(CompactionRefused, match="this session is empty"):
        await summarise_session(compactor(), number([Setting("title", "x")]))
    with pytest.raises(WrongCall, match="the summary is empty"):
        first_events("old", " ", [])


@requirement("window", "others", "a summary of a past conversation can be put into a new one")
@pytest.mark.parametrize("policy", PRESETS)
async def test_the_record_opens_the_new_session_and_stays_through_planning(policy: str, tmp_path: Path) -> None:
    first = first_events("old-id", "We fixed it.", [Setting("title", "t"), Setting("policy", policy)])
    with Store.open(tmp_path / "store.db") as store, store.create(first) as made:
        made.append(UserMessage("go on"), AssistantMessage("gladly"), UserMessage("and now?"))
        events = made.events()
    assert events[0].body == Setting(CONTINUED_FROM, "old-id")
    plan = setup(policy).plan(events)
    said = render_messages(plan)
    assert problems(said) == []
    assert (said[0]["role"], said[0]["content"]) == ("user", f"{PREFACE}We fixed it.")
    assert plan.verdict.fits


async def test_the_record_is_updated_by_the_next_compaction() -> None:
    events = number([*first_events("old-id", "Port 4711 was chosen.", [Setting("title", "t")]), *work(8)])
    made = compactor()
    draft = await drafted(made, events, digest=True)
    assert [event.seq for event in draft.preview.selected.previous] == [3]
    assert "Port 4711 was chosen." in draft.summary


def test_the_link_and_who_wrote_it_are_kept() -> None:
    *_, body = first_events("old-id", "text", [])
    assert isinstance(body, Compaction)
    assert (body.meta["made_by"], body.meta[CONTINUED_FROM]) == ("hand", "old-id")
    assert count_metrics(read_record(number([body]))).uncosted == 0, "writing by hand costs nothing"
    assert (body.first, body.last) == (1, 1)
