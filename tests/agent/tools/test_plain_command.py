"""What a pattern's beginning allows is a program with its words, as a shell would read them and without a shell."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.agent.approvals import Approvals
from workbench.agent.calls import CallRunner
from workbench.agent.tools.base import ToolContext
from workbench.agent.tools.plain_command import plain_words
from workbench.agent.tools.registry import Toolbox
from workbench.log.events import ToolCall, ToolResult

START = r"printf '%s\0' "
"""A program that tells its words apart."""

pieces = st.sampled_from(
    [
        *"ab1 \t\n\r\v\0'\"\\$`;&|<>(){}[]*?~!#=:^%@,+-/.",
        *("${x}", "$(touch F)", "`touch F`", "$'\\x60touch F\\x60'", "${x@P}", "${x:=", "x=1 ", "~/", "{a,b}", "<(a)"),
        *("'a b'", '"a b"', "\\ ", "\\\n", "\\*", '"\\"', "a~1", "=ls", ">F", "&& touch F", "| tee F", "\u00a0", "é"),
    ]
)
texts = st.lists(pieces, max_size=12).map("".join)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with files that globs would find, and beside it a shell that leaves a trace."""
    folder = tmp_path_factory.mktemp("place")
    for name in ("a", "b", "ab", "home"):
        (folder / name).touch()
    shell = folder.parent / "bash"
    shell.write_text('#!/bin/sh\ntouch "$0.started"\nexec /bin/bash "$@"\n')
    shell.chmod(0o755)
    return folder


async def run(command: str, allowed: list[str], folder: Path) -> ToolResult:
    """The result of a command as a turn runs it, with nobody to ask."""

    async def no_hook(point: object, payload: object) -> None:
        return None

    services: Any = SimpleNamespace(toolbox=Toolbox(folder), approvals=Approvals(allow=allowed), ask=None, report=None)
    call = ToolCall("1", "run_command", json.dumps({"command": command}))
    found = [body async for body in CallRunner(services, no_hook).run_calls([call])]
    assert isinstance(found[-1], ToolResult)
    return found[-1]


@given(texts)
@example("${x:=$'\\x60touch F\\x60'}${x@P}")
@example("a\\\nb")
@example('"\\$x"')
@example("'a b' \"c 'd'\" e\\ f")
async def test_whatever_a_beginning_allows_runs_the_words_of_shlex_and_starts_no_shell(place: Path, text: str) -> None:
    command = START + text
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHELL", str(place.parent / "bash"))
        result = await run(command, [f"run_command:{START}*"], place)
    assert not (place.parent / "bash.started").exists()
    assert not (place / "F").exists()
    words = plain_words(command)
    if words is None:
        assert "not allowed, and there is nobody to ask" in str(result.content)
    else:
        assert list(words) == shlex.split(command)
        said = "\0".join(words[2:]) + "\0"
        assert result.content == f"{said}\n[exit status 0]"


@given(texts)
@example("a ~ b")
@example("a=~ b:~ c~d")
@example('"a\\b\\"c\\\\"')
def test_a_shell_reads_the_same_words(place: Path, text: str) -> None:
    words = plain_words(f"printf {text}")
    if words is not None:
        script = f"set -- printf {text}\nprintf '%s\\0' \"$@\""
        env = {**os.environ, "HOME": str(place / "home")}
        done = subprocess.run(["/bin/bash", "-c", script], cwd=place, env=env, capture_output=True, check=True)
        assert done.stdout.decode().split("\0")[:-1] == list(words)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("pytest tests/ -k 'a and b'", ["pytest", "tests/", "-k", "a and b"]),
        ("git show HEAD~1 HEAD^", ["git", "show", "HEAD~1", "HEAD^"]),
        (r"grep -n foo\|bar 'x y'/z", ["grep", "-n", "foo|bar", "x y/z"]),
        ("tool --name=value a:b %x +y ''", ["tool", "--name=value", "a:b", "%x", "+y", ""]),
        (" ls\n", ["ls"]),
    ],
)
def test_ordinary_commands_need_no_shell(command: str, words: list[str]) -> None:
    assert plain_words(command) == tuple(words)


@pytest.mark.parametrize(
    "command",
    [
        *("a; b", "a & b", "a | b", "a > b", "a < b", "a\nb", "(a)", "a `b`", "a $b", 'a "$b"', "a $(b)", "a \\\n b"),
        *("a *", "a ?", "a [b]", "a {b,c}", "a ~", "a ~/b", "a b=~", "a b:~", "a !b", "! a", "a # b", "A=1 b", "a\rb"),
        *("a =b", "a 'b", 'a "b', "a\0", "", "''", "cd a", "source a", ". a", "eval a", "exec a", "time a", "if a"),
    ],
)
def test_what_a_shell_would_have_to_read_is_not_plain(command: str) -> None:
    assert plain_words(command) is None


def test_what_no_system_would_take_is_not_even_read() -> None:
    assert plain_words("a" * 200_000) is None


async def test_without_leave_for_a_shell_none_is_started(tmp_path: Path) -> None:
    arguments = json.dumps({"command": "touch F; touch G"})
    outcome = await Toolbox(tmp_path).run_tool("run_command", arguments, ToolContext(shell=False))
    assert outcome == ("command: needs a shell, for which it is not allowed", True)
    assert os.listdir(tmp_path) == []


async def test_the_exact_text_goes_to_the_users_shell(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/bash")
    command = "echo ${BASH_VERSION:+in} a | tr a b"
    assert (await run(command, [f"run_command:{command}"], place)).content == "in b\n[exit status 0]"
    both = ["run_command:echo *", "run_command:type type"]
    assert "shell builtin" in str((await run("type type", both, place)).content)
    missing = await run("no-such-program x", ["run_command:no-such-program *"], place)
    assert str(missing.content).startswith("command: cannot be started: ")


async def test_blanks_are_no_command_whose_leave_would_be_the_whole_tool(place: Path) -> None:
    call = Toolbox(place).call("run_command", json.dumps({"command": "\u00a0\n"}))
    assert call.problem == "command: expected a command, got blanks"
