"""Recording stays out of the way: it waits for those who wait for a first byte, and does nothing twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
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
from workbench.log.codec import clean
from workbench.log.store import Store
from workbench.proxy import known_hashes, recorder
from workbench.proxy.known_hashes import KnownHashes
from workbench.proxy.recorder import Recorder
from workbench.proxy.routes import Upstreams
from workbench.proxy.server import ProxyServer
from workbench.proxy.sessions import ProxySessions
from workbench.traces import request_thread
from workbench.traces.building import content_hash

NEVER = 1e6
ASK = {"model": "m", "messages": [user("look")]}
WHOLE = json.dumps({"model": "m", "choices": [{"message": {"role": "assistant", "content": "done"}}]}).encode()
TEXTS = st.text(st.characters(exclude_categories=()))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=8,
)


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[ProxySessions]:
    with Store.open(tmp_path / "proxy.db") as store:
        yield ProxySessions(lambda: store)


def _until(event: Event) -> Callable[[], None]:
    def work() -> None:
        event.wait()

    return work


async def test_recording_stops_in_the_middle_for_whoever_waits_for_a_first_byte(
    sessions: ProxySessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "PATIENCE", NEVER)
    made = Recorder(sessions)
    order: list[str] = []
    begun, request_came, ended = Event(), Event(), Event()

    def long_work() -> None:
        order.append("recording begins")
        begun.set()
        request_came.wait()
        sessions.pause()
        order.append("recording ends")
        ended.set()

    made.sent(long_work, 1)
    await asyncio.to_thread(begun.wait)
    made.hold_off("an agent")
    request_came.set()
    for _ in range(1000):
        await asyncio.sleep(0)
    order.append("first byte")
    made.go_on("an agent")
    await asyncio.to_thread(ended.wait)
    assert order == ["recording begins", "first byte", "recording ends"]
    made.close()


async def test_what_waited_long_enough_is_recorded_whoever_waits(
    sessions: ProxySessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "PATIENCE", 0.01)
    made = Recorder(sessions)
    made.hold_off("an agent that never gets an answer")
    done = Event()
    made.sent(done.set, 1)
    assert await asyncio.to_thread(done.wait, 120)
    made.close()


async def test_the_end_of_the_program_waits_for_nobody(
    sessions: ProxySessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "PATIENCE", NEVER)
    made = Recorder(sessions)
    made.hold_off("an agent")
    order: list[int] = []
    for number in range(5):
        made.sent(lambda number=number: order.append(number), 1)  # type: ignore[misc]
    await asyncio.to_thread(made.close, NEVER)
    assert order == [0, 1, 2, 3, 4]
    assert made.lost == 0


async def test_a_provider_that_thinks_for_long_does_not_hold_up_the_recording_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "PATIENCE", NEVER)
    thinking = Answer(silence=asyncio.Event())
    with Store.open(tmp_path / "proxy.db") as store:
        kept = ProxySessions(lambda: store)
        made = Recorder(kept)
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
            recorded = Event()
            made.sent(recorded.set, 1)  # one after the other
            await asyncio.to_thread(recorded.wait)
            assert not stuck.done()
            stuck.cancel()
            await asyncio.gather(stuck, return_exceptions=True)
        made.close()


async def test_requests_wait_a_little_for_a_recorder_that_is_far_behind_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(json.dumps(ASK))
    monkeypatch.setattr(recorder, "MOST_WAITING", 100 * size)
    monkeypatch.setattr(recorder, "BEHIND", NEVER)
    with Store.open(tmp_path / "proxy.db") as store:
        made = Recorder(ProxySessions(lambda: store))
        busy = Event()
        made.sent(_until(busy), 1)
        async with (
            Provider(Answer(body=b"{}", content_type="application/json")) as provider,
            ProxyServer(Upstreams(provider.url), made) as server,
            aiohttp.ClientSession() as client,
        ):

            async def ask() -> None:
                async with client.post(f"{server.address}/v1/chat/completions", json=ASK) as came:
                    assert came.status == 200

            passed = 0
            while made._waiting <= 50 * size:
                await ask()
                passed += 1
            more = [asyncio.create_task(ask()) for _ in range(20)]
            for _ in range(1000):
                await asyncio.sleep(0)
            assert len(provider.requests) == passed
            busy.set()
            await asyncio.gather(*more)
        await asyncio.to_thread(made.close, NEVER)
        assert made.lost == 0
        assert len(store.list()) > 0


async def test_a_recorder_that_never_catches_up_holds_up_nobody(
    sessions: ProxySessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_WAITING", 100)
    monkeypatch.setattr(recorder, "BEHIND", 0.01)
    made = Recorder(sessions)
    stuck = Event()
    made.sent(_until(stuck), 90)
    await made.room()
    made.sent(lambda: None, 90)
    assert made.lost == 1
    stuck.set()
    made.close()


def test_what_a_conversation_repeats_is_hashed_once(recording: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Any] = []

    def counting(value: Any) -> str:
        hashed.append(value)
        return content_hash(value)

    for module in (known_hashes, request_thread):
        monkeypatch.setattr(module, "content_hash", counting)
    talk: list[dict[str, Any]] = []
    for number in range(30):
        for _ in range(3):  # others that it is compared with
            recording.pass_through("/v1/messages", claude(user(f"beside {number}")), answered(said("yes")))
        talk += [user(f"question {number}"), said(f"answer {number}")]
        hashed.clear()
        recording.send("/v1/messages", claude(*talk, user("and?")))
        assert [value for value in hashed if value in talk[:-2]] == []


@given(st.lists(VALUES, max_size=12), st.integers(0, 60))
def test_known_hashes_are_the_hashes_and_never_take_more_than_they_may(values: list[Any], most: int) -> None:
    known = KnownHashes(most)
    lookalikes = [1, True, 1.0, "1", [1], [True], {"a": 1}, {"a": 1.0}]
    for value in (*values, *lookalikes, *reversed(values), *lookalikes):
        assert known.of(value) == content_hash(value)
        assert known._size == sum(map(len, known._known)) <= most


@given(VALUES)
def test_a_content_is_known_by_its_sorted_json(value: Any) -> None:
    written = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert content_hash(value) == sha256(clean(written).encode()).hexdigest()
