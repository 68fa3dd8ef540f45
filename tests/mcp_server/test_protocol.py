"""Messages of the protocol: each request gets one answer, whatever else is sent."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from workbench.config.errors import WrongCall
from workbench.mcp_server.protocol import BAD_REQUEST, MOST_BYTES, VERSIONS, McpService, ServedTool, ToolCallRequest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


def _echo(request: ToolCallRequest) -> str:
    if "wrong" in request.arguments:
        raise WrongCall("that is wrong")
    if "gone" in request.arguments:
        raise FileNotFoundError(2, "No such file or directory", "secret.txt")
    if "broken" in request.arguments:
        raise ZeroDivisionError
    return f"{request.arguments.get('text')} {request.meta.get('who')}"


def service() -> McpService:
    return McpService("test", "1", "what it is for", [ServedTool("echo", "says it again", {"type": "object"}, _echo)])


def told(*messages: Any) -> list[dict[str, Any]]:
    """The answers to these messages, each an object or the bytes of a line."""
    lines = [each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in messages]
    out = BytesIO()
    service().serve_stream(BytesIO(b"".join(lines)), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def request(method: str, number: int | str = 1, **parameters: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}


def called(**arguments: Any) -> dict[str, Any]:
    [answer] = told(request("tools/call", name="echo", arguments=arguments, _meta={"who": "me"}))
    found: dict[str, Any] = answer["result"]
    return found


def test_a_client_gets_its_own_version_if_it_is_known_and_the_newest_otherwise() -> None:
    asked = [request("initialize", protocolVersion=version) for version in (*VERSIONS, "2099-01-01")]
    assert [each["result"]["protocolVersion"] for each in told(*asked)] == [*VERSIONS, VERSIONS[0]]


def test_tools_are_listed_as_read_only_and_called_with_arguments_and_meta() -> None:
    [listed] = told(request("tools/list", "a"))
    [tool] = listed["result"]["tools"]
    assert listed["id"] == "a"
    assert (tool["name"], tool["annotations"]["readOnlyHint"]) == ("echo", True)
    assert called(text="hello") == {"content": [{"type": "text", "text": "hello me"}], "isError": False}


def test_a_tool_that_fails_answers_with_an_error_of_its_own() -> None:
    assert called(wrong=1) == {"content": [{"type": "text", "text": "that is wrong"}], "isError": True}
    assert called(gone=1)["content"][0]["text"] == "this could not be answered: No such file or directory"
    assert called(broken=1)["content"][0]["text"] == "this could not be answered: ZeroDivisionError"
    assert called(gone=1)["isError"] is called(broken=1)["isError"] is True


@pytest.mark.parametrize("ending", [b"\n", b""])
def test_the_longest_message_that_is_allowed_is_read(ending: bytes) -> None:
    message = json.dumps(request("ping")).encode()
    [answer] = told(message.ljust(MOST_BYTES) + ending)
    assert answer["result"] == {}
    [answer, after] = told(message.ljust(MOST_BYTES + 1) + b"\n", request("ping", 2))
    assert answer["error"]["message"] == "expected a message of at most 1,000,000 bytes"
    assert after["id"] == 2


def test_what_cannot_be_answered_gets_an_error_and_the_next_message_is_answered() -> None:
    long = b'{"id": 5, "method": "ping", "x": "' + b"x" * MOST_BYTES * 2 + b'"}\n'
    deep = b"[" * 100_000 + b"\n"
    wrong = [request("nothing"), request("tools/call", name="no"), request("tools/call", name="echo", arguments=[1])]
    answers = told(b"{\n", b"[]\n", deep, long, *wrong, {"id": 3}, request("ping", 9))
    codes = [each["error"]["code"] for each in answers[:-1]]
    assert codes == [-32700, -32600, -32700, -32700, -32601, -32602, -32602, -32600]
    assert answers[-1] == {"jsonrpc": "2.0", "id": 9, "result": {}}


@pytest.mark.parametrize("number", [1, 0, -3, 10**30, "", "a", "1"])
def test_an_id_is_a_whole_number_or_a_text_and_comes_back_as_it_was(number: int | str) -> None:
    assert told(request("ping", number)) == [{"jsonrpc": "2.0", "id": number, "result": {}}]


@given(JSON)
def test_a_request_with_any_other_id_is_an_error_with_the_id_null(wrong: Any) -> None:
    assume(isinstance(wrong, bool) or not isinstance(wrong, str | int))
    [answer] = told({"jsonrpc": "2.0", "id": wrong, "method": "ping"})
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert answer["error"]["message"] == "id: expected a text or a whole number"


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"id": 1, "method": 5}, "method: expected"),
        ({"id": 1, "method": "ping", "params": [1]}, "params: expected an object"),
        ({"id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": []}}, "arguments: expected"),
        ({"id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": "x"}}, "arguments: expected"),
        ({"id": 1, "method": "tools/call", "params": {"name": 5}}, "name: expected one of these tools: echo"),
    ],
)
def test_an_error_names_what_is_wrong_and_keeps_the_id(message: dict[str, Any], why: str) -> None:
    [answer] = told({"jsonrpc": "2.0", **message})
    assert answer["id"] == 1
    assert answer["error"]["message"].startswith(why)


@pytest.mark.parametrize("spoken", [{}, {"jsonrpc": None}, {"jsonrpc": "1.0"}, {"jsonrpc": 2.0}], ids=repr)
@pytest.mark.parametrize("name", [{}, {"id": 7}], ids=repr)
def test_what_is_no_json_rpc_2_is_refused(spoken: dict[str, Any], name: dict[str, Any]) -> None:
    error = {"code": BAD_REQUEST, "message": 'jsonrpc: expected "2.0"'}
    assert told({**spoken, **name, "method": "ping"}) == [{"jsonrpc": "2.0", "id": name.get("id"), "error": error}]


def test_notifications_answers_and_empty_lines_get_no_answer() -> None:
    silent = [{"jsonrpc": "2.0", "method": "notifications/initialized"}, {"id": 1, "result": {}}, b"\n"]
    assert told(*silent, b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}') == [
        {"jsonrpc": "2.0", "id": 2, "result": {}}
    ]


@given(st.lists(JSON.map(lambda value: json.dumps(value).encode() + b"\n") | st.binary(max_size=60), max_size=6))
def test_nothing_that_is_sent_ends_the_server_and_every_answer_is_a_line(messages: list[bytes]) -> None:
    lines = [each.replace(b"\n", b" ") + b"\n" for each in messages]
    answers = told(*lines, request("ping", "last"))
    assert answers[-1]["id"] == "last"
    assert len(answers) <= len(lines) + 1


@given(st.text())
def test_any_text_arrives_as_it_was_and_in_one_line(words: str) -> None:
    assert called(text=words)["content"][0]["text"] == f"{words} me"
