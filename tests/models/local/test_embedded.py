"""The embedded model, for real: what it streams, what it refuses, and how its process comes and goes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.waiting import GIVE_UP, patiently
from workbench.config.errors import WrongCall
from workbench.models.endpoints import Endpoint
from workbench.models.local.embedded import LocalFailure, LocalModel

Ended = Callable[[int], Awaitable[None]]

PARENT = """
import asyncio
from workbench.models.local.embedded import LocalModel

async def main():
    model = LocalModel(ctx=512)
    await model.start()
    print(model.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def client(endpoint: Endpoint) -> httpx.AsyncClient:
    headers = {"Authorization": f"Bearer {endpoint.api_key}"}
    return httpx.AsyncClient(
        base_url=endpoint.api_base, headers=headers, timeout=GIVE_UP, trust_env=False, verify=False
    )


def question(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "local", "messages": [{"role": "user", "content": text}], **more}


async def chunks(answer: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    """The JSON of each event of a stream, up to its end mark."""
    async for line in answer.aiter_lines():
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line.removeprefix("data: "))


async def test_one_process_serves_all_until_it_is_stopped_in_the_middle_of_an_answer(
    model: LocalModel, ended: Ended
) -> None:
    endpoint = await check_all_who_start_it_share_one_process(model)
    pid = model.pid
    assert pid is not None
    await check_the_same_beginning_is_reported_as_cached_the_second_time(endpoint)
    await check_it_streams_an_answer_and_says_what_it_cost(endpoint)
    await check_a_request_over_the_window_is_refused_with_both_sizes(endpoint, model.window)
    await check_nobody_gets_an_answer_without_the_key(endpoint)
    assert {model.pid} == {pid}
    with pytest.raises(httpx.HTTPError):
        await read_until_stopped(model, endpoint)
    assert model.pid is None
    await ended(pid)


async def check_all_who_start_it_share_one_process(model: LocalModel) -> Endpoint:
    """Also where one of them gives up."""
    impatient, *patient = (asyncio.create_task(model.start()) for _ in range(5))
    await asyncio.sleep(0)
    impatient.cancel()
    endpoints = await asyncio.gather(*patient)
    assert impatient.cancelled()
    assert len({endpoint.api_base for endpoint in endpoints}) == 1
    assert await model.start() == endpoints[0]
    return endpoints[0]


async def check_it_streams_an_answer_and_says_what_it_cost(endpoint: Endpoint) -> None:
    body = question("Hello!", max_tokens=12, stream=True, stream_options={"include_usage": True})
    async with client(endpoint) as http, http.stream("POST", "/chat/completions", json=body) as answer:
        assert answer.status_code == 200
        got = [chunk async for chunk in chunks(answer)]
    deltas = [choice for chunk in got for choice in chunk["choices"]]
    texts = [text for choice in deltas if (text := choice["delta"].get("content"))]
    assert len(texts) > 1
    assert [choice["finish_reason"] for choice in deltas if choice["finish_reason"]][-1] in ("stop", "length")
    usage = got[-1]["usage"]
    assert 0 < usage["completion_tokens"] <= 12
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


async def check_the_same_beginning_is_reported_as_cached_the_second_time(endpoint: Endpoint) -> None:
    async with client(endpoint) as http:
        first, second = [
            (await http.post("/chat/completions", json=question("What is a dog?", max_tokens=1))).json()["usage"]
            for _ in range(2)
        ]
    assert first["prompt_tokens"] == second["prompt_tokens"]
    assert first["prompt_tokens_details"]["cached_tokens"] == 0
    assert 0 < second["prompt_tokens_details"]["cached_tokens"] <= second["prompt_tokens"]


async def check_a_request_over_the_window_is_refused_with_both_sizes(endpoint: Endpoint, window: int) -> None:
    async with client(endpoint) as http:
        answer = await http.post("/chat/completions", json=question("one more word " * 600, stream=True))
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["type"] == "exceed_context_size_error"
    assert error["n_ctx"] == window == 1024
    assert error["n_prompt_tokens"] > 1024


async def check_nobody_gets_an_answer_without_the_key(endpoint: Endpoint) -> None:
    async with client(Endpoint(endpoint.api_base, "another key")) as http:
        assert (await http.post("/chat/completions", json=question("Hello!"))).status_code == 401
    assert endpoint.api_key not in repr(endpoint)


async def read_until_stopped(model: LocalModel, endpoint: Endpoint) -> None:
    body = question("Tell a long story.", stream=True)
    async with client(endpoint) as http, http.stream("POST", "/chat/completions", json=body) as answer:
        async for _ in chunks(answer):
            await model.stop()


async def test_stopping_gives_up_a_start_that_is_under_way(model: LocalModel) -> None:
    starting = asyncio.create_task(model.start())
    await asyncio.sleep(0)
    await model.stop()
    with pytest.raises(LocalFailure, match="stopped before it had started"):
        await starting
    await model.stop()


async def test_a_process_that_died_is_started_again(model: LocalModel, ended: Ended) -> None:
    before = await model.start()
    pid = model.pid or 0
    assert pid
    os.kill(pid, signal.SIGTERM)
    await ended(pid)
    async with patiently():
        while model.pid:  # asyncio learns of it in a thread of its own
            await asyncio.sleep(0.01)
    after = await model.start()
    assert model.pid not in {None, pid}
    assert after.api_key != before.api_key


async def test_it_ends_with_a_parent_that_is_killed(gguf: Path, ended: Ended) -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    pid = int(await asyncio.wait_for(parent.stdout.readline(), GIVE_UP))
    os.kill(pid, 0)
    parent.kill()
    await parent.wait()
    await ended(pid)


@pytest.mark.parametrize(
    ("find", "put", "reason"),
    [
        (b"", b"", "corrupted or incomplete"),
        (b"GGUF\x03", b"GGUF\x63", "version 99"),
    ],
    ids=["cut", "of the future"],
)
async def test_a_broken_file_is_an_error_that_names_it_and_the_true_reason(
    cut_gguf: Path, find: bytes, put: bytes, reason: str
) -> None:
    cut_gguf.write_bytes(cut_gguf.read_bytes().replace(find, put, 1))
    broken = LocalModel(cut_gguf)
    with pytest.raises(LocalFailure, match=reason) as failed:
        await broken.start()
    assert str(cut_gguf) in str(failed.value)
    assert "\n" not in str(failed.value)
    await broken.stop()


async def test_a_start_that_takes_too_long_is_given_up(gguf: Path) -> None:
    hurried = LocalModel(gguf, ctx=512, deadline=0.001)
    with pytest.raises(LocalFailure, match=r"within 0\.001 s"):
        await hurried.start()
    assert hurried.pid is None


async def test_the_window_is_what_the_server_truly_gives(gguf: Path) -> None:
    async with LocalModel(gguf, ctx=9000) as model:
        assert model.window == model.info.window == 8192  # what SmolLM2 was trained for


def test_what_the_catalogue_is_told_of_it() -> None:
    model = LocalModel(ctx=2048)
    assert model.info.name == "local"
    assert (model.info.window, model.info.max_output) == (2048, 512)
    assert "tools" not in model.info.capabilities
    assert model.info.input_price == model.info.output_price == 0


def test_a_window_that_holds_nothing_is_refused() -> None:
    with pytest.raises(WrongCall, match="at least 256 tokens"):
        LocalModel(ctx=10)
