"""A request on a websocket waits like any other: it is seen whole, is released unchanged, or is answered by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import WSMsgType
from hypothesis import given
from hypothesis import strategies as st

from proxy.test_gate import Held, of, proxy
from proxy.test_websockets import ASKED, CALL, DONE, GOT, HEAD, Socket, answer, serving
from support.waiting import GIVE_UP
from workbench.config.errors import WrongCall
from workbench.log.events import AssistantMessage, Hold, Request, RequestAnswer, Usage
from workbench.proxy import holding
from workbench.proxy.control import ReleaseOrder, release_request
from workbench.proxy.frame_texts import frame_of, request_in
from workbench.proxy.frames import SocketFrames
from workbench.proxy.records import HeldRecord
from workbench.proxy.routes import Route
from workbench.proxy.websockets import HELD, WHY_FIXED
from workbench.wire.requests import RequestBodies

MORE = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]}
WHOLE = {**HEAD, "input": [ASKED]}
DELTA = {**HEAD, "input": [GOT], "previous_response_id": "r1"}


@asynccontextmanager
async def connected(
    folder: Path, provider: Socket, *rules: str, seconds: float = 60
) -> AsyncIterator[tuple[Held, aiohttp.ClientWebSocketResponse]]:
    async with (
        serving(provider.serve) as url,
        proxy(folder, url, *rules, seconds=seconds) as running,
        running.client.ws_connect(running.address + "/v1/responses", autoping=False) as socket,
    ):
        yield running, socket


async def done(socket: aiohttp.ClientWebSocketResponse) -> dict[str, Any]:
    """The response that comes."""
    while True:
        event: dict[str, Any] = json.loads(await socket.receive_str())
        if event["type"] in ("response.completed", "error"):
            return event


async def test_it_waits_is_seen_whole_and_goes_on_as_it_was(tmp_path: Path) -> None:
    provider = Socket(answer("r0"), answer("r1", CALL), answer("r2", DONE))
    async with connected(tmp_path, provider, "every") as (running, socket):
        warm = {**WHOLE, "generate": False}
        await socket.send_str(json.dumps(warm))
        await done(socket)  # warming up is not held
        first = json.dumps(WHOLE, indent=1)
        await socket.send_str(first)
        detail = await running.detail()
        assert (detail.body["input"], detail.summary.fixed) == ([ASKED], "")
        assert len(provider.frames) == 1
        await running.let_go("as_it_was")
        await done(socket)
        await socket.send_str(json.dumps(DELTA))
        detail = await running.detail()
        assert detail.body == {**request_in(json.dumps(HEAD)), "input": [ASKED, CALL, GOT]}
        assert detail.new == ("messages.1", "messages.2")
        order = ReleaseOrder("changed", body={**detail.body, "model": "gpt-5-mini"})
        with pytest.raises(WrongCall, match="not rewritten"):
            await asyncio.to_thread(release_request, running.proxy, detail.summary.id, order)
        assert detail.summary.fixed == WHY_FIXED
        await running.let_go("as_it_was")
        await done(socket)
        assert provider.frames == [json.dumps(warm), first, json.dumps(DELTA)]
        await socket.close()
        events = await running.events()
    assert [hold.end for hold in of(Hold, events)] == ["as_it_was", "as_it_was"]
    assert [each.status for each in of(RequestAnswer, events)] == [200, 200, 200]
    assert RequestBodies(events).body(of(Hold, events)[1].request)["input"] == [ASKED, CALL, GOT]


async def test_one_that_is_whole_can_be_changed_and_the_agent_goes_on_from_what_it_asked(tmp_path: Path) -> None:
    provider = Socket(answer("r1", CALL), answer("r2", DONE))
    async with connected(tmp_path, provider, "text:look") as (running, socket):
        await socket.send_str(json.dumps(WHOLE))
        detail = await running.detail()
        changed = {**detail.body, "input": [{**ASKED, "content": "do not look"}]}
        await running.let_go("changed", body=changed)
        await done(socket)
        await socket.send_str(json.dumps(DELTA))
        await done(socket)
        await socket.close()
        events = await running.events()
    assert [request_in(frame) for frame in provider.frames] == [
        changed,
        {**request_in(json.dumps(HEAD)), "input": [ASKED, CALL, GOT]},
    ]
    asked, sent, after = [event for event in events if isinstance(event.body, Request)]
    assert isinstance(sent.body, Request)
    assert sent.body.instead_of == asked.seq
    bodies = RequestBodies(events)
    assert [bodies.body(each.seq)["input"] for each in (asked, sent, after)] == [
        [ASKED],
        changed["input"],
        [ASKED, CALL, GOT],
    ]
    assert [each.request for each in of(RequestAnswer, events)] == [sent.seq, after.seq]


async def test_it_can_be_answered_by_hand_and_the_provider_learns_of_it_with_the_next(tmp_path: Path) -> None:
    provider = Socket(answer("r1", CALL), answer("r3", DONE))
    async with connected(tmp_path, provider, "tool:ls") as (running, socket):
        await socket.send_str(json.dumps(WHOLE))
        await done(socket)
        await socket.send_str(json.dumps(DELTA))
        await running.let_go("answered", text="by hand")
        own = (await done(socket))["response"]
        assert own["output"][0]["content"][0]["text"] == "by hand"
        following = {**HEAD, "input": [MORE], "previous_response_id": own["id"]}
        await socket.send_str(json.dumps(following))
        await done(socket)
        await socket.close()
        events = await running.events()
    assert request_in(provider.frames[1]) == {
        **request_in(json.dumps(following)),
        "input": [GOT, *own["output"], MORE],
        "previous_response_id": "r1",
    }
    assert [body.content for body in of(AssistantMessage, events)] == ["by hand", "done"]
    assert [hold.end for hold in of(Hold, events)] == ["answered"]
    assert len(of(Usage, events)) == 2, "nobody reported anything for an answer by hand"
    last = max(event.seq for event in events if isinstance(event.body, Request))
    assert RequestBodies(events).body(last)["input"] == [ASKED, CALL, GOT, *own["output"], MORE]


async def test_what_comes_behind_it_waits_too_and_the_time_limit_lets_all_go(tmp_path: Path) -> None:
    provider = Socket(answer("r1", DONE), [])
    async with connected(tmp_path, provider, "every", seconds=0) as (running, socket):
        await socket.send_str(json.dumps(WHOLE))
        await socket.send_bytes(b"behind")
        await socket.send_str('{"type": "other"}')
        await done(socket)
        assert await socket.receive_bytes() == b"behind"
        await socket.close()
        await asyncio.wait_for(provider.closed.wait(), GIVE_UP)
        assert provider.frames == [json.dumps(WHOLE), '{"type": "other"}']
        assert [hold.end for hold in of(Hold, await running.events())] == ["expired"]


async def test_a_client_that_closes_is_not_held_any_more(tmp_path: Path) -> None:
    provider = Socket()
    async with connected(tmp_path, provider, "every") as (running, socket):
        await socket.send_str(json.dumps(WHOLE))
        await running.held()
        await socket.close()
        while running.gate.held:
            await asyncio.sleep(0)
        await asyncio.wait_for(provider.closed.wait(), GIVE_UP)
        events = await running.events()
    assert not provider.frames
    assert [hold.end for hold in of(Hold, events)] == ["gone"]
    assert [each.status for each in of(RequestAnswer, events)] == [0]


async def test_who_waits_is_told_that_somebody_is_there_and_the_provider_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "ALIVE_SECONDS", 0.01)
    provider = Socket(answer("r1", DONE))
    async with connected(tmp_path, provider, "every") as (running, socket):
        await socket.send_str(json.dumps(WHOLE))
        sign = await socket.receive()
        assert (sign.type, sign.data) == (WSMsgType.PING, HELD)
        await socket.pong(sign.data)
        await socket.ping(b"of the client")
        while (came := await socket.receive()).type is WSMsgType.PING:
            pass  # the provider's answer to his ping comes through, though his request waits
        assert (came.type, came.data) == (WSMsgType.PONG, b"of the client")
        await running.let_go("as_it_was")
        while (came := await socket.receive()).type is WSMsgType.PING:
            pass
        assert json.loads(came.data)["type"] == "response.created"


async def test_an_error_holds_the_next_one(tmp_path: Path) -> None:
    provider = Socket([{"type": "error", "status": 429, "error": {"message": "slow down"}}], answer("r1", DONE))
    async with connected(tmp_path, provider, "error") as (running, socket):
        await socket.send_str(json.dumps(WHOLE))
        assert (await done(socket))["status"] == 429
        await socket.send_str(json.dumps(WHOLE))
        assert "error" in (await running.held()).why
        await running.let_go("as_it_was")
        await done(socket)


STEPS = st.lists(
    st.tuples(st.sampled_from(("as_it_was", "answered", "changed")), st.booleans()), min_size=1, max_size=12
)


@given(STEPS)
def test_whatever_was_done_the_provider_always_knows_what_the_client_knows(steps: list[tuple[str, bool]]) -> None:
    """But for the request itself that was changed."""
    frames = SocketFrames(Route("openai", "responses"), {}, None)
    client: list[Any] = []
    earlier = ""
    memory: dict[str, list[Any]] = {"": []}
    for number, (end, is_whole) in enumerate(steps):
        new = {"type": "message", "role": "user", "content": f"say {number}"}
        said = {"type": "message", "role": "assistant", "content": f"said {number}"}
        sends_all = is_whole or not earlier
        body = {"input": [*client, new]} if sends_all else {"input": [new], "previous_response_id": earlier}
        client = [*client, new]
        text = frame_of(body, "{}")
        request = frames.request_for_provider(request_in(text))
        assert frames.earlier.full_request(request)["input"] == client
        if end == "changed" and request.get("previous_response_id"):
            end = "as_it_was"  # such ones are not rewritten
        asked = frames.from_client(text)
        other = {"input": [{**new, "content": "something else"}]} if end == "changed" else None
        frames.continue_after_hold(asked, HeldRecord("every", "", 0, end), other, {"input": client})  # type: ignore[arg-type]
        earlier = f"r{number}"
        if end == "answered":
            frames.record_own_answer(asked, {"id": earlier, "output": [said]})
        else:
            sent = request_in(frame_of(other, text) if other is not None else frames.to_provider(text))
            items = [*memory[sent.get("previous_response_id") or ""], *sent["input"]]
            assert items == client or other is not None
            memory[earlier] = [*items, said]
            response = {"id": earlier, "output": [said]}
            frames.from_provider(json.dumps({"type": "response.completed", "response": response}))
        client = [*client, said]


async def test_a_breakpoint_that_breaks_holds_no_socket_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("workbench.proxy.gate.items_in", None)
    async with connected(tmp_path, Socket(answer("r1", DONE)), "every") as (_, socket):
        await socket.send_str(json.dumps(WHOLE))
        assert (await done(socket))["type"] == "response.completed"
    assert [record.message for record in caplog.records] == ["breakpoints could not be checked"]
