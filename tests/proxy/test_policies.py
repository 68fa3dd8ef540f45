"""A policy on the way: results are masked in batches and for good, nothing else changes, and the log has both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, get_args

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.bodies import Call, Reply, Said, Talk, written
from support.provider import Answer, Provider
from support.recorder_thread import in_thread
from workbench.config.settings import Settings
from workbench.context.setup import PlanOptions, Setup, set_up
from workbench.log.events import DialectName, OwnDialect, Request, ToolResult, text_of
from workbench.log.store import Store
from workbench.models.catalogue import Catalogue
from workbench.proxy import batches
from workbench.proxy.batches import ConversationWords
from workbench.proxy.body_plans import plan_body
from workbench.proxy.control import PolicyOrder, ProxyPolicy
from workbench.proxy.conversation_marks import Conversations
from workbench.proxy.policies import PassingPolicies
from workbench.proxy.recorder import Recorder
from workbench.proxy.routes import Route, Upstreams
from workbench.proxy.server import ProxyServer
from workbench.proxy.sessions import ProxySessions
from workbench.sources.options import Options
from workbench.sources.recorded import RecordedSession
from workbench.sources.savings import session_savings
from workbench.sources.services import Services
from workbench.sources.source import as_source
from workbench.wire.requests import RequestBodies
from workbench.wire.rewriting import items_in

KNOBS = (
    *("masking.keep_first=0", "masking.keep_last=1", "masking.scope=session", "truncation.strategy=none"),
    *("masking.batch_tokens=0", "masking.batch_ratio=0", "masking.min_tokens=0"),
)


def setup_for(model: str) -> Setup:
    return set_up(PlanOptions("workbench", KNOBS, model or "gpt-4o"), Settings(), Catalogue())


def passing(batch: int, recorder: Conversations | None = None) -> PassingPolicies:
    """A proxy's policies, with one for all conversations."""
    return PassingPolicies(lambda _, model: setup_for(model), batch, ProxyPolicy("workbench", KNOBS), recorder)


def talk(steps: int, lines: int = 100) -> Talk:
    """An agent at work: each step calls a tool; the results of the last one are what comes last."""
    calls = (Call(f"c{at}", "ls", at % 2 == 0, f"result {at}\n" * lines) for at in range(steps))
    return (Said(("look",)), *(Reply("hm", f"step {at}", (call,)) for at, call in enumerate(calls)))


def results(dialect: DialectName, body: dict[str, Any]) -> list[str]:
    return [item.text for item in items_in(dialect, body) if item.kind == "result"]


def route(dialect: DialectName) -> Route:
    return Route("openai", dialect)


@given(
    dialect=st.sampled_from(get_args(OwnDialect)),
    lengths=st.lists(st.integers(1, 120), min_size=2, max_size=7),
    batch=st.integers(0, 1_500),
)
def test_what_was_sent_masked_once_is_sent_so_for_good_and_all_else_as_it_is(
    dialect: DialectName, lengths: list[int], batch: int
) -> None:
    policy = passing(batch)
    counter = setup_for("" if dialect == "gemini" else "m").counter

    def tokens(text: str) -> int:
        return counter.count(text).tokens

    before: list[str] = []
    masked: set[int] = set()
    for steps in range(1, len(lengths) + 1):
        calls = [Call(f"c{at}", "ls", False, f"result {at}\n" * lengths[at]) for at in range(steps)]
        asked = written(dialect, (Said(("look",)), *(Reply("hm", "", (call,)) for call in calls)))
        sent = policy.changed_body(route(dialect), {}, asked) or asked
        now, whole = results(dialect, sent), results(dialect, asked)
        changed = {at for at in range(steps) if now[at] != whole[at]}
        assert [now[at] for at in sorted(masked)] == [before[at] for at in sorted(masked)]
        assert masked <= changed
        assert steps - 1 not in changed, "the last message is what is answered"
        others = [item for item in items_in(dialect, sent) if item.kind != "result"]
        assert others == [item for item in items_in(dialect, asked) if item.kind != "result"]
        if changed - masked:
            assert sum(tokens(whole[at]) - tokens(now[at]) for at in changed - masked) >= batch
        before, masked = now, changed


def test_a_batch_with_the_same_result_twice_can_be_undone() -> None:
    """Some providers use the ids of calls again."""

    def asked(steps: int) -> dict[str, Any]:
        calls = [Call("c", "ls", False, "the same\n" * 100)] * 2
        calls += [Call(f"c{at}", "ls", False, f"result {at}\n" * 100) for at in range(steps)]
        return written("chat", (Said(("look",)), *(Reply("hm", "", (call,)) for call in calls)))

    words = ConversationWords()

    def sent(steps: int) -> int:
        body = asked(steps)
        planned = plan_body("chat", body, setup_for("m"))
        return len(words.decide("chat", body, planned, 100, (), masking=True, aside=False).masks)

    assert sent(1) == 2
    assert words.undo() == 1
    assert sent(2) == 1, "with the next batch both are whole again"


def test_words_that_are_forgotten_do_not_wait_for_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "REMEMBERED", 1)
    words, setup = ConversationWords(), setup_for("m")

    def sent(steps: int, *, aside: bool = False) -> int:
        body = written("chat", talk(steps))
        return len(words.decide("chat", body, plan_body("chat", body, setup), 100, (), masking=True, aside=aside).masks)

    assert sent(6) == 5
    words.leave_all(forget_undone=True)
    assert sent(1, aside=True) == 0, "which forgets most of the others"
    assert sent(1) == 0
    assert not words.leaving


def test_new_masks_wait_for_a_batch() -> None:
    policy = passing(1_000)
    changed = [
        sum(
            "masked" in text for text in results("anthropic", policy.changed_body(route("anthropic"), {}, body) or body)
        )
        for body in (written("anthropic", talk(steps)) for steps in range(1, 10))
    ]
    assert changed[0] == changed[1] == 0
    assert changed == sorted(changed)
    assert len(set(changed)) < 6, "not one more with each step"
    assert changed[-1] >= 4
    assert policy.figures.batches == len(set(changed)) - 1
    assert str(policy.figures).startswith(f"masked or cut {changed[-1]} results in ")


@pytest.mark.parametrize(
    ("where", "more"),
    [(Route("openai", "responses", "counting"), {}), (route("responses"), {"previous_response_id": "r"})],
)
def test_what_is_counted_or_has_only_what_is_new_passes(where: Route, more: dict[str, Any]) -> None:
    assert passing(0).changed_body(where, {}, {**written("responses", talk(5)), **more}) is None
    assert passing(0).changed_body(route("responses"), {}, written("responses", talk(5))) is not None


def test_parallel_results_that_the_model_has_not_seen_stay_whole() -> None:
    calls = tuple(Call(f"c{at}", "ls", False, f"result {at}\n" * 200) for at in range(4))
    body = written("chat", (Said(("look",)), Reply("", "", calls)))
    assert passing(0).changed_body(route("chat"), {}, body) is None


def answered(prompt: int, cached: int) -> Answer:
    used = {"input_tokens": prompt - cached, "cache_read_input_tokens": cached, "output_tokens": 5}
    body = {"id": "m", "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": "ok"}], "usage": used}
    return Answer(body=json.dumps(body).encode(), content_type="application/json")


@asynccontextmanager
async def proxied(
    store: Store, make: Callable[[Recorder], PassingPolicies], *answers: Answer
) -> AsyncIterator[tuple[str, Provider]]:
    recorder = in_thread(ProxySessions(lambda: store))
    async with Provider(*answers) as provider:
        upstreams = Upstreams(provider.url.removesuffix("/v1"))
        async with ProxyServer(upstreams, recorder, policies=make(recorder)) as server:
            yield server.address, provider
    recorder.close()


async def ask(address: str, body: dict[str, Any]) -> int:
    async with aiohttp.ClientSession() as client, client.post(f"{address}/v1/messages", json=body) as came:
        await came.read()
        return came.status


async def test_what_was_asked_and_what_was_sent_are_both_in_the_log(tmp_path: Path, services: Services) -> None:
    bodies = [{**written("anthropic", talk(steps)), "model": "claude-sonnet-4-5"} for steps in (1, 4, 5)]
    answers = [answered(500, 0), answered(700, 300), answered(1_000, 690)]
    with Store.open(tmp_path / "proxy.db") as store:
        async with proxied(store, partial(passing, 500), *answers) as (address, provider):
            for body in bodies:
                assert await ask(address, body) == 200
        sent = [request.body for request in provider.requests]
        [info] = store.list()
        events = store.session(info.id, write=False).events()
    assert sent[0] == bodies[0]
    assert [sum("masked" in text for text in results("anthropic", body)) for body in sent] == [0, 3, 3]
    held = RequestBodies(events)
    logged = [(event.seq, event.body) for event in events if isinstance(event.body, Request)]
    assert [held.body(seq) for seq, _ in logged] == [bodies[0], bodies[1], sent[1], bodies[2], sent[2]]
    assert [body.instead_of for _, body in logged] == [0, 0, logged[1][0], 0, logged[3][0]]
    said = [text_of(event.body.content) for event in events if isinstance(event.body, ToolResult)]
    assert said == results("anthropic", bodies[2]), "the conversation is the agent's, whole"
    found = session_savings(RecordedSession(services, Options(), as_source("s", events)).listed)
    assert found is not None
    assert (found.changed, found.batches, found.cache_lost) == (2, 1, 200)
    assert found.not_sent > 1_000


async def test_what_is_undone_is_a_batch_that_costs_cache_too(tmp_path: Path, services: Services) -> None:
    """Also where as much is masked as before: one result came back, another as long as it left."""
    steps = [{**written("anthropic", talk(steps)), "model": "claude-sonnet-4-5"} for steps in (1, 2, 3)]
    answers = [answered(500, 0), answered(700, 300), answered(900, 690)]
    made: list[PassingPolicies] = []

    def make(recorder: Recorder) -> PassingPolicies:
        made.append(passing(300, recorder))
        return made[0]

    with Store.open(tmp_path / "proxy.db") as store:
        async with proxied(store, make, *answers) as (address, provider):
            await ask(address, steps[0])
            while not made[0].listed():
                await asyncio.sleep(0)
            await ask(address, steps[1])
            session = made[0].listed()[0].session
            await asyncio.to_thread(made[0].order, session, PolicyOrder("undo"))
            await ask(address, steps[2])
        sent = [results("anthropic", request.body) for request in provider.requests]
        [info] = store.list()
        events = store.session(info.id, write=False).events()
    assert [["masked" in text for text in each] for each in sent[1:]] == [
        [True, False],
        [False, True, False],
    ]
    found = session_savings(RecordedSession(services, Options(), as_source("s", events)).listed)
    assert found is not None
    assert (found.changed, found.batches, found.cache_lost) == (2, 2, 200 + 10)


async def test_a_policy_that_fails_costs_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def broken(policy: ProxyPolicy, model: str) -> Setup:
        raise RuntimeError("no such thing")

    body = {**written("anthropic", talk(5)), "model": "claude-sonnet-4-5"}
    with Store.open(tmp_path / "proxy.db") as store:
        async with proxied(store, lambda _: PassingPolicies(broken, 0, ProxyPolicy()), answered(500, 0)) as (
            address,
            provider,
        ):
            assert await ask(address, body) == 200
        assert [request.body for request in provider.requests] == [body]
    assert "the policy could not be applied" in caplog.text
