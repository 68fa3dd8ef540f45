"""OpenAI's Responses, as its own client and plain ones see them, over HTTP and websockets."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx
import pytest

from support.waiting import GIVE_UP
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer
from workbench.wire.dialects import from_stream, read_answer

if TYPE_CHECKING:
    import openai

pytestmark = pytest.mark.xdist_group("litellm")  # where the other tests import the clients
SCHEMA = {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}
SHELL: Any = {"type": "function", "name": "exec_command", "parameters": SCHEMA, "strict": False}
PATCH: Any = {"type": "custom", "name": "apply_patch", "description": "A FREEFORM tool."}
SEARCH: Any = {"type": "web_search"}
STEP = {"reasoning": "Hm.", "reply": "Hello.", "calls": [{"tool": "exec_command", "arguments": {"cmd": "ls"}}]}


@pytest.fixture
async def official(server: RehearsalServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with client_of(server) as client:
        yield client


def client_of(server: RehearsalServer) -> openai.AsyncOpenAI:
    import openai

    plain = httpx.AsyncClient(trust_env=False, verify=False)
    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0, http_client=plain)


async def test_a_whole_response_has_reasoning_text_and_a_call() -> None:
    async with RehearsalServer(Script([STEP])) as server, client_of(server) as official:
        found = await official.responses.create(model="rehearsal", input="go", tools=[SHELL, SEARCH])
    assert [item.type for item in found.output] == ["reasoning", "message", "function_call"]
    assert found.output_text == "Hello."
    assert found.status == "completed"
    call: Any = found.output[2]
    assert (call.name, json.loads(call.arguments)) == ("exec_command", {"cmd": "ls"})
    assert found.usage is not None
    assert found.usage.total_tokens == found.usage.input_tokens + found.usage.output_tokens > 10


async def test_a_streamed_one_is_the_same_piece_by_piece() -> None:
    async with RehearsalServer(Script([STEP, STEP], chunk=2)) as server, client_of(server) as official:
        whole = await official.responses.create(model="rehearsal", input="go", tools=[SHELL])
        async with official.responses.stream(model="rehearsal", input="go", tools=[SHELL]) as stream:
            events: list[Any] = [event async for event in stream]
            final = await stream.get_final_response()
    kinds = [event.type for event in events]
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert "".join(each.delta for each in events if each.type == "response.output_text.delta") == "Hello."
    assert "".join(each.delta for each in events if each.type == "response.reasoning_summary_text.delta") == "Hm."
    said = "".join(each.delta for each in events if each.type == "response.function_call_arguments.delta")
    assert json.loads(said) == {"cmd": "ls"}
    added = [each.item.type for each in events if each.type == "response.output_item.added"]
    assert added == ["reasoning", "message", "function_call"]
    assert [item.type for item in final.output] == [item.type for item in whole.output]
    assert final.output_text == whole.output_text


async def test_what_our_own_readers_make_of_both_is_the_same() -> None:
    async with (
        RehearsalServer(Script([STEP, STEP])) as server,
        httpx.AsyncClient(trust_env=False, verify=False) as client,
    ):
        asked = {"model": "rehearsal", "input": "go", "tools": [SHELL]}
        whole = (await client.post(f"{server.url}/responses", json=asked)).json()
        streamed = (await client.post(f"{server.url}/responses", json={**asked, "stream": True})).text
    bodies, used = read_answer("responses", whole)
    again, reported = read_answer("responses", from_stream("responses", streamed))
    assert [*map(repr, bodies)] == [*map(repr, again)]
    assert used is not None
    assert reported is not None
    assert (used.prompt, used.completion) == (reported.prompt, reported.completion)


async def test_a_conversation_goes_on_from_an_earlier_response(official: openai.AsyncOpenAI) -> None:
    from openai import BadRequestError

    first = await official.responses.create(model="m", input="run ls, then run pwd", tools=[SHELL])
    call: Any = first.output[-1]
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "a.txt"}
    second = await official.responses.create(model="m", previous_response_id=first.id, input=[result], tools=[SHELL])
    call = second.output[-1]
    assert json.loads(call.arguments) == {"cmd": "pwd"}
    assert second.previous_response_id == first.id
    with pytest.raises(BadRequestError, match="'resp_x' not found"):
        await official.responses.create(model="m", previous_response_id="resp_x", input="go")


async def test_tools_come_freeform_in_namespaces_and_later(official: openai.AsyncOpenAI) -> None:
    found = await official.responses.create(model="m", input='write b.txt: "one"', tools=[SHELL, PATCH])
    call: Any = found.output[-1]
    assert (call.type, call.name) == ("custom_tool_call", "apply_patch")
    assert call.input == "*** Begin Patch\n*** Add File: b.txt\n+one\n*** End Patch\n"
    space: Any = {"type": "namespace", "name": "mcp__box", "description": "", "tools": [SHELL]}
    found = await official.responses.create(model="m", input="run ls", tools=[space])
    call = found.output[-1]
    assert (call.name, call.to_dict()["namespace"]) == ("exec_command", "mcp__box")
    own = {**space, "name": "functions", "tools": [{"type": "custom", "name": "exec", "description": "tools.x"}]}
    items: Any = [
        {"type": "additional_tools", "role": "developer", "tools": [own]},
        {"role": "user", "content": [{"type": "input_text", "text": "run ls"}]},
    ]
    call = (await official.responses.create(model="m", input=items)).output[-1]
    assert (call.type, call.name) == ("custom_tool_call", "exec")
    assert 'tools.exec_command({cmd: "ls"})' in call.input
    assert "namespace" not in call.to_dict()


async def test_a_freeform_call_is_streamed_as_text(official: openai.AsyncOpenAI) -> None:
    asked: Any = {"model": "m", "input": 'write b.txt: "one"', "tools": [PATCH], "stream": True}
    deltas = [each async for each in await official.responses.create(**asked)]
    said = "".join(each.delta for each in deltas if each.type == "response.custom_tool_call_input.delta")
    assert said.startswith("*** Begin Patch\n*** Add File: b.txt")


async def test_the_limits_of_an_answer_and_its_shape_are_kept(official: openai.AsyncOpenAI) -> None:
    short = await official.responses.create(model="m", input="hello", max_output_tokens=5)
    assert short.status == "incomplete"
    assert short.incomplete_details is not None
    assert short.incomplete_details.reason == "max_output_tokens"
    shape: Any = {"type": "object", "properties": {"title": {"type": "string"}, "score": {"type": "integer"}}}
    told: Any = {"format": {"type": "json_schema", "name": "x", "schema": shape}}
    made = await official.responses.create(model="m", input="hello", text=told)
    assert json.loads(made.output_text).keys() == {"title", "score"}


async def test_tokens_are_counted_and_models_named(official: openai.AsyncOpenAI) -> None:
    counted = await official.responses.input_tokens.count(model="m", input="one two three")
    used = (await official.responses.create(model="m", input="one two three")).usage
    assert used is not None
    assert counted.input_tokens == used.input_tokens
    assert (await official.models.retrieve("vendor/model-1")).id == "vendor/model-1"


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("context 4096", "BadRequestError"),
        ("status 401", "AuthenticationError"),
        ("status 429 wait 3", "RateLimitError"),
        ("status 500", "InternalServerError"),
        ("drop", "APIConnectionError"),
        ("error", "APIError"),
    ],
)
async def test_faults_are_errors_of_openai_s_own_client(official: openai.AsyncOpenAI, fault: str, kind: str) -> None:
    import openai

    async def streamed() -> list[Any]:
        headers = {"x-rehearse-fault": fault}
        stream = await official.responses.create(model="m", input="hi", stream=True, extra_headers=headers)
        return [event async for event in stream]

    with pytest.raises(getattr(openai, kind)):
        await streamed()


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (None, "input: expected text or a list of items"),
        ([], "at least one item"),
        (["text"], "input: expected a list of objects"),
        ([{"type": "function_call", "call_id": "1", "name": "a", "arguments": "{}"}], "No tool output found"),
        ([{"type": "function_call_output", "call_id": "1", "output": "x"}], "No tool call found"),
    ],
)
async def test_what_openai_refuses_is_refused(client: httpx.AsyncClient, items: Any, said: str) -> None:
    found = await client.post("/v1/responses", json={"model": "m", "input": items})
    assert found.status_code == 400
    assert said in found.json()["error"]["message"]


# As a websocket


async def answered(socket: aiohttp.ClientWebSocketResponse, **frame: Any) -> list[dict[str, Any]]:
    """Send a request and read until it is answered."""
    await socket.send_json({"type": "response.create", "model": "m", **frame})
    events: list[dict[str, Any]] = []
    while not events or events[-1]["type"] not in ("response.completed", "error"):
        events.append(await socket.receive_json(timeout=GIVE_UP))
    return events


async def test_a_websocket_takes_a_prewarm_and_then_only_what_is_new(server: RehearsalServer) -> None:
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{server.url}/v1/responses") as socket:
        start = [{"role": "developer", "content": "Be terse."}]
        warm = await answered(socket, input=start, tools=[SHELL], generate=False)
        assert [event["type"] for event in warm] == ["response.created", "response.completed"]
        assert warm[-1]["response"]["output"] == []
        asked = [{"role": "user", "content": [{"type": "input_text", "text": "run ls then run pwd"}]}]
        before = warm[-1]["response"]["id"]
        first = (await answered(socket, input=asked, tools=[SHELL], previous_response_id=before))[-1]["response"]
        call = first["output"][-1]
        assert json.loads(call["arguments"]) == {"cmd": "ls"}
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "a.txt"}
        second = await answered(socket, input=[result], tools=[SHELL], previous_response_id=first["id"])
        assert json.loads(second[-1]["response"]["output"][-1]["arguments"]) == {"cmd": "pwd"}
        assert second[-1]["response"]["usage"]["input_tokens"] > first["usage"]["input_tokens"]
    assert [len(request.body["input"]) for request in server.requests] == [1, 1, 1]


async def test_a_websocket_says_what_is_wrong_and_stays(server: RehearsalServer, client: httpx.AsyncClient) -> None:
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{server.url}/responses") as socket:
        await socket.send_str("no json")
        assert "expected a JSON object" in (await socket.receive_json())["error"]["message"]
        await socket.send_json({"type": "response.cancel"})
        assert "expected response.create" in (await socket.receive_json())["error"]["message"]
        lost = (await answered(socket, input="hi", previous_response_id="resp_x"))[-1]
        assert (lost["status"], lost["error"]["type"]) == (400, "invalid_request_error")
        assert (await answered(socket, input="hi"))[-1]["type"] == "response.completed"
    assert (await client.get("/v1/responses")).status_code == 404, "no websocket was asked for"


@pytest.mark.parametrize(
    ("fault", "last", "outcome"),
    [
        ("status 429 wait 7", '"retry-after":"7"', "complete"),
        ("error", '"type":"error"', "complete"),
        ("bad_json", '"bro', "complete"),
        ("html", "<!DOCTYPE html>", "complete"),
        ("cut", "", "broken"),
        ("drop", "", "broken"),
        ("stall", "", "gone"),
        ("mute", "", "gone"),
    ],
)
async def test_faults_break_a_websocket_as_they_break_a_stream(
    server: RehearsalServer, fault: str, last: str, outcome: str
) -> None:
    async with aiohttp.ClientSession() as session:
        headers = {"x-rehearse-fault": fault}
        async with session.ws_connect(f"{server.url}/v1/responses", headers=headers) as socket:
            await socket.send_json({"type": "response.create", "model": "m", "input": "hi"})
            received = await server.arrival()
            if outcome == "complete":
                while last not in await socket.receive_str(timeout=GIVE_UP):
                    pass
            elif outcome == "broken":
                while (await socket.receive(timeout=GIVE_UP)).type == aiohttp.WSMsgType.TEXT:
                    pass
    assert await received.outcome == outcome


@pytest.mark.parametrize("fault", ["", "mute"])
async def test_leaving_ends_an_open_websocket(fault: str) -> None:
    async with aiohttp.ClientSession() as session:
        async with RehearsalServer() as server:
            headers = {"x-rehearse-fault": fault} if fault else {}
            socket = await session.ws_connect(f"{server.url}/v1/responses", headers=headers)
            if fault:
                await socket.send_json({"type": "response.create", "model": "m", "input": "hi"})
                received = await server.arrival()
        assert (await socket.receive(timeout=GIVE_UP)).type != aiohttp.WSMsgType.TEXT
    assert not fault or received.outcome.result() == "gone"
