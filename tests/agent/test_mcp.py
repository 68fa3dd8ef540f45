"""Tools of real MCP servers; one that fails is reported and never ends the session."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.hostile import head, hostile, redirect
from workbench.agent.mcp import McpServer, McpTools, _free_name, _without_boolean_schemas, check_config
from workbench.agent.mcp_link import McpLink, _text, import_mcp
from workbench.agent.tools.base import ToolOutcome
from workbench.agent.tools.registry import Toolbox
from workbench.config.errors import WrongCall
from workbench.models.tokens import counter_for

pytestmark = pytest.mark.xdist_group("mcp")

SERVER = '''
import asyncio, os, socket, sys
from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

server = MCPServer("tiny")
started, stopped = asyncio.Event(), asyncio.Event()

@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def echo(text: str) -> str:
    """Says it again."""
    return text

@server.tool()
def fail() -> str:
    raise ToolError("no luck")

@server.tool()
def die() -> str:
    print("out of cheese", file=sys.stderr, flush=True)
    os._exit(3)

@server.tool(structured_output=False)
def picture() -> list:
    return ["look", Image(data=b"12345", format="png")]

@server.tool(name="odd name/é", structured_output=False)
def place() -> str:
    return os.getcwd() + " " + os.environ.get("COLOUR", "") + " " + os.environ.get("SECRET", "none")

@server.tool()
async def hang() -> str:
    started.set()
    try:
        await asyncio.Event().wait()
    finally:
        stopped.set()

@server.tool()
async def until_started() -> str:
    await started.wait()
    return "started"

@server.tool()
async def until_stopped() -> str:
    await stopped.wait()
    return "stopped"

if sys.argv[1] == "http":
    import uvicorn
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listening])
else:
    server.run()
'''


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.py"
    path.write_text(SERVER, encoding="utf-8")
    return path


@pytest.fixture
def tiny(script: Path) -> McpServer:
    return McpServer("tiny", (sys.executable, str(script), "stdio"))


@pytest.fixture
def http(script: Path) -> Iterator[tuple[McpServer, subprocess.Popen[str]]]:
    command = [sys.executable, str(script), "http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        yield McpServer("far", url=f"http://127.0.0.1:{port}/mcp"), process
        process.kill()


def toolbox(tools: McpTools, root: Path) -> Toolbox:
    return Toolbox(root, more=tools.tools)


@pytest.mark.parametrize("off", [frozenset[str](), frozenset({"a.b"})])
def test_a_tool_has_the_same_name_whatever_is_switched_off(tmp_path: Path, off: frozenset[str]) -> None:
    listed = [SimpleNamespace(name=name) for name in ("a.b", "a_b")]
    tools = McpTools([], tmp_path)
    tools._links = [cast(Any, SimpleNamespace(server=McpServer("s", switched_off=off), listed=listed))]
    tools._tool = lambda name, *_: cast(Any, name)  # type: ignore[method-assign]
    assert {found.own_name: str(found.tool) for found in tools._find_tools()} == {"a.b": "s__a_b", "a_b": "s__a_b_2"}


async def test_tools_are_named_after_their_server_and_do_what_it_does(
    tiny: McpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "not for servers")
    server = McpServer("tiny", tiny.command, env={"COLOUR": "red"}, switched_off=frozenset({"hang", "gone"}))
    async with McpTools([server], tmp_path) as tools:
        box = toolbox(tools, tmp_path)
        assert [tool.name for tool in tools.tools] == [
            *("tiny__echo", "tiny__fail", "tiny__die", "tiny__picture", "tiny__odd_name__"),
            *("tiny__until_started", "tiny__until_stopped"),
        ]
        assert (box.kind("tiny__echo"), box.kind("tiny__fail")) == ("read", "run")
        assert box.call("tiny__echo", '{"text": "é"}').subject == '{"text": "é"}'
        assert box.call("tiny__fail", "").subject == ""
        assert await box.run_tool("tiny__echo", '{"text": "é"}') == ToolOutcome("é")
        assert (await box.run_tool("tiny__echo", '{"text": 1}')).text == "text: expected text, got 1"
        failed = await box.run_tool("tiny__fail", "")
        assert failed.is_error
        assert "no luck" in failed.text
        assert (await box.run_tool("tiny__picture", "")).text == "look\n[image: image/png, 5 bytes]"
        assert (await box.run_tool("tiny__odd_name__", "")).text == f"{tmp_path} red none"
        assert tools.problems == ["mcp.tiny.off: no tool called gone"]
        costs = {cost.name: cost for cost in tools.costs(counter_for("gpt-4o"))}
        assert [cost.name for cost in costs.values() if not cost.is_off] == [tool.name for tool in tools.tools]
        assert costs["tiny__echo"].tokens > costs["tiny__fail"].tokens > 0
        assert (costs["tiny__hang"].is_off, costs["tiny__hang"].own_name) == (True, "hang")
        assert costs["tiny__odd_name__"].own_name == "odd name/é"
    gone = await box.run_tool("tiny__echo", '{"text": "é"}')
    assert gone == ToolOutcome("the MCP server tiny is gone: stopped", is_error=True)


async def test_servers_that_fail_are_reported_and_the_others_go_on(
    tiny: McpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLOUR", "blue")
    monkeypatch.setenv("SECRET", "not for servers")
    servers = [
        McpServer("absent", ("no-such-program-anywhere",)),
        McpServer("broken", (sys.executable, "-c", "raise SystemExit('bad day')")),
        McpServer("nobody", url="http://127.0.0.1:1/mcp"),
        tiny,
        McpServer("other", tiny.command, pass_env=("COL*",)),
    ]
    async with McpTools(servers, tmp_path) as tools:
        box = toolbox(tools, tmp_path)
        assert {tool.name.partition("__")[0] for tool in tools.tools} == {"tiny", "other"}
        check_those_that_do_not_start_are_reported(tools.problems)
        await check_one_that_dies_is_reported(box)
        assert tools.problems[3:] == ["mcp.tiny: ended: Connection closed (out of cheese)"]
        assert await box.run_tool("other__echo", '{"text": "a"}') == ToolOutcome("a")
        passed = await box.run_tool("other__odd_name__", "")
        assert passed.text == f"{tmp_path} blue none", "the variables that are passed, and no other keys"
        await check_a_cancelled_call_is_cancelled_at_the_server(box)
        assert len(tools.problems) == 4


def check_those_that_do_not_start_are_reported(problems: Sequence[str]) -> None:
    absent, broken, nobody = problems
    assert absent == "mcp.absent: cannot be started: No such file or directory"
    assert broken == "mcp.broken: cannot be started: Connection closed (bad day)"
    assert nobody.startswith("mcp.nobody: cannot be started: ")


async def check_one_that_dies_is_reported(box: Toolbox) -> None:
    for tool in ("tiny__die", "tiny__echo"):
        outcome = await box.run_tool(tool, '{"text": "a"}' if tool == "tiny__echo" else "")
        assert outcome.is_error
        assert outcome.text == "the MCP server tiny is gone: ended: Connection closed (out of cheese)"


async def check_a_cancelled_call_is_cancelled_at_the_server(box: Toolbox) -> None:
    call = asyncio.create_task(box.run_tool("other__hang", ""))
    assert (await box.run_tool("other__until_started", "")).text == "started"
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await box.run_tool("other__until_stopped", "")).text == "stopped"


async def test_a_connection_that_fails_once_the_tools_are_listed_has_ended(tmp_path: Path) -> None:
    from mcp.types import Tool

    class Failing(McpLink):
        async def _connected(self, errors: TextIO) -> None:
            self.listed = (Tool(name="echo", input_schema={}),)
            raise OSError(5, "lost")

    link = Failing(McpServer("far"), tmp_path)
    await link.task
    assert link.problem == "ended: lost"


async def test_a_server_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    silent = McpServer("silent", (sys.executable, "-c", "import sys; sys.stdin.read()"))
    async with McpTools([silent], tmp_path, start_seconds=0.2) as tools:
        assert tools.tools == ()
        assert tools.problems == ["mcp.silent: did not name its tools within 0.2 s"]


async def test_nothing_is_left_when_starting_is_cancelled(tmp_path: Path) -> None:
    import_mcp()  # so that the time is spent on the server
    silent = McpServer("silent", (sys.executable, "-c", "import sys; sys.stdin.read()"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2), McpTools([silent], tmp_path):
            raise AssertionError("a silent server was taken for a working one")
    assert not [task for task in asyncio.all_tasks() if task.get_name().startswith("mcp ")]


async def test_a_call_has_a_time_limit(tiny: McpServer, tmp_path: Path) -> None:
    async with McpTools([tiny], tmp_path, call_seconds=0.2) as tools:
        outcome = await toolbox(tools, tmp_path).run_tool("tiny__hang", "")
        assert outcome == ToolOutcome("the MCP server tiny did not answer within 0.2 s", is_error=True)


async def test_streamable_http(http: tuple[McpServer, subprocess.Popen[str]], tmp_path: Path) -> None:
    server, process = http
    async with McpTools([server], tmp_path) as tools:
        box = toolbox(tools, tmp_path)
        assert await box.run_tool("far__echo", '{"text": "a"}') == ToolOutcome("a")
        process.kill()
        process.wait()
        outcome = await box.run_tool("far__echo", '{"text": "a"}')
        assert outcome.is_error
        assert "the MCP server far" in outcome.text
        assert len(tools.problems) == 1


async def test_without_servers_nothing_is_loaded(tmp_path: Path) -> None:
    async with McpTools([], tmp_path) as tools:
        assert (tools.tools, tools.problems) == ((), [])


def test_what_is_no_text_has_a_placeholder_and_long_text_is_cut() -> None:
    from mcp import types

    text = types.TextResourceContents(uri="file:///a", text="inside")
    blob = types.BlobResourceContents(uri="file:///b", blob="MTIzNDU=")
    blocks: list[types.ContentBlock] = [
        types.AudioContent(data="MTIzNA==", mime_type="audio/wav"),
        types.EmbeddedResource(resource=text),
        types.EmbeddedResource(resource=blob),
        types.ResourceLink(uri="file:///c", name="c"),
    ]
    expected = "[audio: audio/wav, 4 bytes]\ninside\n[resource: file:///b, 5 bytes]\n[resource: file:///c]"
    assert _text(types.CallToolResult(content=blocks), 1000) == expected
    assert _text(types.CallToolResult(content=[], structured_content={"a": 1}), 1000) == '{"a": 1}'
    assert _text(types.CallToolResult(content=[]), 1000) == "(no output)"
    long = _text(types.CallToolResult(content=[types.TextContent(text="x" * 5000)]), 1000)
    assert "left out 4000 of 5000 bytes" in long


def test_schemas_that_are_just_true_or_false_are_spelt_out() -> None:
    schema = {"properties": {"a": True, "b": {"type": "array", "items": False}}}
    expected = {"properties": {"a": {}, "b": {"type": "array", "items": {"not": {}}}}}
    assert _without_boolean_schemas(schema) == expected


def test_the_config() -> None:
    table = {
        "a": {"command": ["x", "--y", ""], "env": {"K": "v"}, "off": ["t"]},
        "b": {"url": "https://example.org/mcp"},
    }
    assert check_config(table) == (
        McpServer("a", ("x", "--y", ""), env={"K": "v"}, switched_off=frozenset({"t"})),
        McpServer("b", url="https://example.org/mcp"),
    )


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("x", "mcp.a: expected a table, got 'x'"),
        ({}, "mcp.a: expected either command or url"),
        ({"command": ["x"], "url": "http://h"}, "mcp.a: expected either command or url"),
        ({"command": "x y"}, "mcp.a.command: expected a list of words such as a program and its options, got 'x y'"),
        ({"command": []}, "mcp.a.command: expected a program first, got []"),
        ({"command": [""]}, "mcp.a.command: expected a program first, got ['']"),
        (
            {"command": ["x"], "cmd": 1},
            "mcp.a.cmd: no such key; expected one of command, url, env, pass_env, off; did you mean command?",
        ),
        ({"command": ["x"], "env": 1}, "mcp.a.env: expected a table of names and texts, got 1"),
        ({"command": ["x"], "env": {"K": 1}}, "mcp.a.env.K: expected text"),
        ({"command": ["x"], "env": {"A=B": ""}}, "mcp.a.env.A=B: expected the name of a variable"),
        (
            {"command": ["x"], "pass_env": "K"},
            "mcp.a.pass_env: expected a list of names of variables such as [\"GH_TOKEN\"], got 'K'",
        ),
        (
            {"url": "http://h", "pass_env": ["K"]},
            "mcp.a.pass_env: expected only with a command; a url has no environment",
        ),
        ({"command": ["x"], "off": "t"}, "mcp.a.off: expected a list of tools, got 't'"),
        ({"url": "ftp://h"}, "mcp.a.url: expected an http or https address, got 'ftp://h'"),
        ({"url": "http://[h"}, "mcp.a.url: expected an http or https address, got 'http://[h'"),
        ({"url": "http://h", "env": {"K": "v"}}, "mcp.a.env: expected only with a command; a url has no environment"),
    ],
)
def test_a_wrong_config_is_named(entry: Any, message: str) -> None:
    with pytest.raises(WrongCall) as caught:
        check_config({"a": entry}, "c.toml")
    assert str(caught.value) == f"c.toml: {message}"


def test_a_server_needs_a_plain_name() -> None:
    with pytest.raises(WrongCall, match=r"c.toml: mcp.a b: expected a name of up to 32"):
        check_config({"a b": {"command": ["x"]}}, "c.toml")


@given(st.lists(st.text(max_size=80), max_size=20))
def test_names_are_always_valid_and_never_the_same(wanted: list[str]) -> None:
    taken: set[str] = set()
    for each in wanted:
        name = _free_name("s__" + each, taken)
        assert name not in taken
        assert len(name) <= 64
        assert all(char.isascii() and (char.isalnum() or char in "_-") for char in name)
        taken.add(name)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_server_that_sends_us_to_another_is_refused_by_name(tmp_path: Path, status: int) -> None:
    with hostile(head()) as thief, hostile(redirect(f"{thief.url}/mcp", status)) as server:
        async with McpTools([McpServer("far", url=f"{server.url}/mcp")], tmp_path) as tools:
            [problem] = tools.problems
        assert thief.requests == []
    assert thief.url in problem
