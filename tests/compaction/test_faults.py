"""Whatever the summariser does: the log is intact, the plan is the old one or the new one, and the session goes on.

A scripted model behind a real HTTP server, a real store, and the real gateway between them.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from support.drafts import WINDOW, compactor, drafted, says, setup, work
from support.provider import Answer, Drop, Pause, Provider, refusal, text
from support.requirements import requirement
from support.talk import words
from support.waiting import GIVE_UP
from workbench.compaction.compactor import Compactor
from workbench.compaction.values import SummaryDraft
from workbench.log.events import AssistantMessage, UserMessage
from workbench.log.session import Session
from workbench.log.store import Store
from workbench.models.gateway import SilenceLimits
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

pytestmark = pytest.mark.xdist_group("litellm")

GOOD = "The user has bugs fixed one by one; port 9001 was decided on for src/app1.py."
TOO_LONG = "This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens."


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Store.open(tmp_path / "store.db") as store, store.create(work(8)) as made:
        yield made


async def compacted(session: Session, made: Compactor) -> SummaryDraft:
    """A whole compaction, accepted; and then a turn."""
    events = session.events()
    draft = await drafted(made, events)
    [event] = session.append(made.body(draft))
    after = made.setup.plan(session.events())
    assert session.events() == [*events, event]
    assert after.totals.tokens == draft.tokens_after < made.setup.plan(events).totals.tokens
    session.append(UserMessage("go on"), AssistantMessage("gladly"))
    assert made.setup.plan(session.events()).verdict.fits
    return draft


async def faulty(session: Session, *answers: Answer, patience: SilenceLimits | None = None) -> SummaryDraft:
    async with Provider(*answers) as provider:
        return await compacted(session, compactor(provider.url, patience=patience))


async def test_a_summary_that_is_as_it_should_be_is_taken(session: Session) -> None:
    draft = await faulty(session, says(GOOD))
    assert (draft.summary, draft.made_by, draft.problems) == (GOOD, "scripted", ())


async def test_a_summary_over_its_cap_is_cut_to_it(session: Session) -> None:
    long = GOOD + "\n" + words(1_200)
    draft = await faulty(session, says(long))
    cap = draft.preview.summary_cap
    assert cap == 1_000
    assert (draft.made_by, draft.text_tokens <= cap) == ("scripted", True)
    assert draft.summary.startswith(GOOD)
    assert long.startswith(draft.summary)
    assert re.fullmatch(r"too_long: the summary had 1,\d+ tokens and was cut to the cap of 1,000", draft.problems[0])


FAULTS = {
    "error": (refusal(500, "Oops"), "model: overloaded: Oops."),
    "refused": (
        refusal(400, "Rejected by our safety system", code="content_policy_violation"),
        "model: refused content",
    ),
    "filtered": (says("I", finish="content_filter"), "model: scripted refused"),
    "empty": (says(" \n"), "empty: scripted wrote nothing"),
    "only thinking": (says("<think>", "hm", "</think>\n"), "empty: scripted wrote nothing"),
    "too long": (says(words(2_500)), "too_long: the summary has 2,500 tokens, and 1,000 were asked for"),
    "larger than its source": (says(words(5_000)), "larger: the summary has 5,000 tokens, and what it replaces "),
    "without an end": (says(words(100), finish="length"), "too_long: scripted came to no end within "),
    "cut half way": (Answer([*text("half of", " a sum"), Drop()]), "model: broken stream"),
    "no answer at all": (Answer(before="close"), "model: connection"),
}


@requirement("codex", "failures", "an error while compacting is handled gracefully")
@requirement("sliding", "failures", "a summary that came out empty is an error, and the session goes on")
@pytest.mark.parametrize(("answer", "problem"), FAULTS.values(), ids=FAULTS.keys())
async def test_the_digest_takes_over_when_the_model_fails(session: Session, answer: Answer, problem: str) -> None:
    draft = await faulty(session, answer)
    assert draft.made_by == "digest"
    [said] = draft.problems
    assert said.startswith(problem)
    assert not re.search("tries again|is kept|Try again", said), "advice for a turn, which this is not"
    assert "We decided to use port 9006" in draft.summary


async def test_a_model_that_stays_silent_is_given_up(session: Session) -> None:
    draft = await faulty(session, Answer(silence=asyncio.Event()), patience=SilenceLimits(first=0.3, between=60))
    assert draft.made_by == "digest"
    assert re.match("timeout: (?!timeout)", draft.problems[0])


async def test_a_stream_that_broke_is_asked_for_once_more(session: Session) -> None:
    async with Provider(Answer([*text("half"), Drop()]), says(GOOD)) as provider:
        draft = await compacted(session, compactor(provider.url))
        assert len(provider.requests) == 2
    assert draft.summary == GOOD


async def test_a_provider_that_finds_the_request_too_long_gets_smaller_parts(session: Session) -> None:
    async with RehearsalServer(Script(window=2_500)) as server:
        draft = await compacted(session, compactor(f"{server.url}/v1"))
        lengths = [len(each.body["messages"][1]["content"]) for each in server.requests]
    assert draft.made_by == "scripted"
    assert draft.problems == ()
    assert lengths[0] > 2 * max(lengths[1:])
    assert "part 1 of" in server.requests[1].body["messages"][1]["content"]
    assert server.requests[-1].body["messages"][1]["content"].startswith("Write one summary of the conversation")


async def test_a_provider_that_never_takes_the_request_is_given_up_after_two_more_tries(session: Session) -> None:
    async with Provider(refusal(400, TOO_LONG, code="context_length_exceeded")) as provider:
        draft = await compacted(session, compactor(provider.url))
        assert len(provider.requests) == 3
    assert draft.made_by == "digest"
    assert draft.problems[0].startswith("does_not_fit: context too long")


@pytest.fixture
async def silent() -> AsyncIterator[Provider]:
    """A model that begins to write and then says nothing more."""
    async with Provider(Answer([*text("it", " was"), Pause(asyncio.Event())])) as provider:
        yield provider


async def test_a_cancel_leaves_nothing_behind(session: Session, silent: Provider) -> None:
    events = session.events()
    made = compactor(silent.url)
    plan = made.setup.plan(events)
    began = asyncio.Event()
    preview = made.preview(events, "manual")
    making = asyncio.create_task(
        made.draft(events, preview, progress=lambda step: began.set() if step.characters else None)
    )
    await asyncio.wait_for(began.wait(), GIVE_UP)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    await asyncio.wait_for(silent.gone.wait(), GIVE_UP)
    assert session.events() == events
    assert made.setup.plan(session.events()) == plan
    session.append(UserMessage("go on"))
    assert made.setup.plan(session.events()).verdict.fits


PROGRAM = f"""
import asyncio
from workbench.cli.main import main
from workbench.models.engine import engine

async def answer(call):
    print("asked", flush=True)
    await asyncio.Event().wait()
    yield

engine().provide_answering("openai", answer)
main(["compact", "killed", "--yes", "--window", "{WINDOW}", "--model", "openai/m"])
"""
"""A model that says nothing: no litellm, which takes seconds to import."""


async def test_a_process_that_is_killed_leaves_the_log_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    data = Path(os.environ["WORKBENCH_DATA_DIR"])
    data.mkdir()
    with Store.open(data / "workbench.db") as store, store.create(work(8), id="killed") as made:
        before = made.events()
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", PROGRAM, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    await process.stdout.readuntil(b"asked\n")
    os.kill(process.pid, signal.SIGKILL)
    assert await process.wait() == -signal.SIGKILL
    with Store.open(data / "workbench.db") as store, store.session("killed") as made:
        assert made.writable
        assert made.events() == before
        await compacted(made, compactor(made=setup()))
