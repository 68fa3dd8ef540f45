"""Recording stays out of the way, stores what it can together, and does nothing twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.conftest import Recording, answered, claude, said, user
from support.provider import Answer, Provider
from support.recorder_thread import in_thread
from workbench.config.text import without_surrogates
from workbench.log.errors import ReadOnly
from workbench.log.events import Request, RequestAnswer
from workbench.log.store import Store
from workbench.proxy import known_values, recorder
from workbench.proxy import sessions as sessions_module
from workbench.proxy.known_values import ByIdentity
from workbench.proxy.recorder import Recorder
from workbench.proxy.routes import Route, Upstreams
from workbench.proxy.server import ProxyServer
from workbench.proxy.sessions import ProxySessions
from workbench.traces import request_thread
from workbench.traces.building import content_hash

NEVER = 1e6
ROUTE = Route("openai", "chat")
ASK = {"model": "m", "messages": [user("look")]}
ASKED = json.dumps(ASK).encode()
WHOLE = json.dumps({"model": "m", "choices": [{"message": {"role": "assistant", "content": "done"}}]}).encode()
TEXTS = st.text(st.characters(exclude_categories=()))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=8,
)


class SlowStore:
    """A store that cannot be opened before somebody says so."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.asked, self.ready = Event(), Event()

    def __call__(self) -> Store:
        self.asked.set()
        self.ready.wait()
        return self._store


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[SlowStore]:
    with Store.open(tmp_path / "proxy.db") as store:
        yield SlowStore(store)


def exchange(recorder: Recorder, size: int = 0) -> None:
    recorder.record_request(ROUTE, {}, [ASKED, b" " * size], 1).record_answer(200, {}, [WHOLE], 1, 2)


def requests(store: Store) -> int:
    sessions = [store.session(info.id, write=False) for info in store.list()]
    return sum(isinstance(event.body, Request) for session in sessions for event in session.events())


async def test_a_provider_that_thinks_for_long_does_not_hold_up_the_recording_of_others(tmp_path: Path) -> None:
    thinking = Answer(silence=asyncio.Event())
    with Store.open(tmp_path / "proxy.db") as store:
        made = in_thread(ProxySessions(lambda: store))
        async with (
            Provider(thinking, Answer(body=WHOLE, content_type="application/json")) as provider,
            ProxyServer(Upstreams(provider.url), made) as server,
            aiohttp.ClientSession() as client,
        ):
            url = f"{server.address}/v1/chat/completions"
            stuck = asyncio.create_task(client.post(url, json=ASK))
            await provider.arrived.wait()
            async with client.post(url, json=ASK) as came:
                assert await came.read() == WHOLE
            while made.waiting:
                await asyncio.sleep(0)
            assert requests(store)
            assert not stuck.done()
            stuck.cancel()
            await asyncio.gather(stuck, return_exceptions=True)
        made.close()


async def test_requests_wait_a_little_for_a_recorder_that_is_far_behind_and_nothing_is_lost(
    slow: SlowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(ASKED)
    monkeypatch.setattr(recorder, "MOST_WAITING", 100 * size)
    monkeypatch.setattr(recorder, "BEHIND", NEVER)
    made = in_thread(ProxySessions(slow))
    async with (
        Provider(Answer(body=b"{}", content_type="application/json")) as provider,
        ProxyServer(Upstreams(provider.url), made) as server,
        aiohttp.ClientSession() as client,
    ):

        async def ask() -> None:
            async with client.post(f"{server.address}/v1/chat/completions", json=ASK) as came:
                assert came.status == 200

        passed = 0
        while not made.is_behind:
            await ask()
            passed += 1
        more = [asyncio.create_task(ask()) for _ in range(20)]
        for _ in range(1000):
            await asyncio.sleep(0)
        assert len(provider.requests) == passed
        slow.ready.set()
        await asyncio.gather(*more)
    await asyncio.to_thread(made.close, NEVER)
    assert made.lost == 0
    assert requests(slow()) == passed + 20


def test_answers_that_are_still_arriving_have_a_limit_of_their_own(
    slow: SlowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_ARRIVING", 1000)
    made = in_thread(ProxySessions(slow))
    assert made.reserve_bytes(600)
    assert not made.reserve_bytes(600)
    made.free_bytes(600)
    assert made.reserve_bytes(600)
    slow.ready.set()
    made.close(120)


async def test_a_recorder_that_never_catches_up_holds_up_nobody(
    slow: SlowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_WAITING", 1000)
    monkeypatch.setattr(recorder, "BEHIND", 0.01)
    told: list[str] = []
    made = in_thread(ProxySessions(slow), told.append)
    open_ = made.record_request(ROUTE, {}, [ASKED, b" " * 800], 1)
    await made.wait_for_room()
    waiting = made.waiting
    exchange(made, 800)
    assert made.waiting == waiting, "a request that does not fit takes its answer with it"
    open_.record_answer(200, {}, [b" " * 900], 1, 2)
    assert told == [f"not recorded: {recorder.TOO_MUCH}"]
    slow.ready.set()
    made.close(120)
    [info] = slow().list()
    events = [event.body for event in slow().session(info.id, write=False).events()]
    [answer] = [event for event in events if isinstance(event, RequestAnswer)]
    assert answer.status == 200, "the error for what does not fit leaves out its text"
    assert recorder.TOO_MUCH in answer.problem


def test_what_waits_is_stored_together(slow: SlowStore, monkeypatch: pytest.MonkeyPatch) -> None:
    made = in_thread(ProxySessions(slow))
    exchange(made)
    slow.asked.wait()
    for _ in range(20):
        exchange(made)
    batches = count_calls(monkeypatch, sessions_module, "store_together")
    slow.ready.set()
    made.close(120)
    assert requests(slow()) == 21
    assert len(batches) < 5


def count_calls(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[None]:
    calls: list[None] = []
    real = getattr(module, name)

    def counting(*given: Any, **more: Any) -> Any:
        calls.append(None)
        return real(*given, **more)

    monkeypatch.setattr(module, name, counting)
    return calls


def test_a_session_that_cannot_be_written_costs_the_others_nothing(tmp_path: Path) -> None:
    with Store.open(tmp_path / "proxy.db") as store:
        recording = Recording(store)
        recording.sessions.in_batches = True
        talks = [[user("one thing to do")], [user("another thing to do")]]
        opened = [recording.send("/v1/messages", claude(*talk), {"session-id": talk[0]["content"]}) for talk in talks]
        recording.sessions.store_all()
        assert opened[0].stored.session is not None
        opened[0].stored.session.close()
        for asked in opened:
            recording.answer(asked, answered(said("yes")))
        with pytest.raises(ReadOnly):
            recording.sessions.store_all()
        kept = store.session(opened[1].stored.id, write=False).events()
        assert [event for event in kept if isinstance(event.body, RequestAnswer)]


def test_what_a_conversation_repeats_is_hashed_once(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Any] = []

    def counting(value: Any) -> str:
        hashed.append(value)
        return content_hash(value)

    for module in (known_values, request_thread):
        monkeypatch.setattr(module, "content_hash", counting)
    talk: list[dict[str, Any]] = []
    for number in range(30):
        for _ in range(3):  # others that it is compared with
            recording.pass_through("/v1/messages", claude(user(f"beside {number}")), answered(said("yes")))
        talk += [user(f"question {number}"), said(f"answer {number}")]
        hashed.clear()
        recording.send("/v1/messages", claude(*talk, user("and?")))
        assert [value for value in hashed if value in talk[:-2]] == []


@given(st.lists(VALUES, max_size=12), st.integers(0, 3_000))
def test_known_values_are_as_found_and_never_take_more_than_they_may(values: list[Any], most: int) -> None:
    known = ByIdentity(content_hash, most)
    lookalikes = [1, True, 1.0, "1", [1], [True], {"a": 1}, {"a": 1.0}]
    everything = [*values, *lookalikes, *reversed(values), *lookalikes]
    for value in everything:
        assert known.result_for(value) == known.result_for([value][0]) == content_hash(value)
        assert known.results_for([value, value]) == [content_hash(value)] * 2
        assert known._size == sum(size for _, _, size in known._known.values()) <= most
    assert known.result_for([*everything]) == content_hash(everything)


@given(VALUES)
def test_a_content_is_known_by_its_sorted_json(value: Any) -> None:
    written = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert content_hash(value) == sha256(without_surrogates(written).encode()).hexdigest()
