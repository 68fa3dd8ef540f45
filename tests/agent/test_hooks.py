"""Hooks may veto beforehand; one that fails is reported and skipped."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.requirements import requirement
from workbench.agent.hooks import POINTS, HookProblem, HookResult, Hooks, Point, installed_hooks
from workbench.config.errors import WrongCall


class Entry:
    """An entry point that is not installed."""

    def __init__(self, name: str, hook: Any) -> None:
        self.name = name
        self._hook = hook

    def load(self) -> Any:
        if isinstance(self._hook, ImportError):
            raise self._hook
        return self._hook


def hooks(hook: Callable[..., Any], name: str = "before_tool.test") -> Hooks:
    return Hooks({}, [Entry(name, hook)])


def raising(error: BaseException) -> Callable[[Any], None]:
    def hook(payload: Any) -> None:
        raise error

    return hook


async def test_without_hooks_nothing_happens() -> None:
    for point in POINTS:
        assert await Hooks().run_hooks(point, {"x": 1}) == HookResult(None, ())


async def test_a_command_sees_only_the_keys_that_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("GH_TOKEN", "gh-secret")
    table = {"after_tool": ["echo $OPENAI_API_KEY.$GH_TOKEN > got"], "pass_env": ["GH_*"]}
    assert await Hooks(table, cwd=tmp_path).run_hooks("after_tool", {}) == HookResult()
    assert (tmp_path / "got").read_text() == ".gh-secret\n"


@requirement("codex", "others", "hooks can look at what the agent does")
async def test_callables_and_commands_get_the_payload(tmp_path: Path) -> None:
    got: list[dict[str, Any]] = []
    both = Hooks(
        {"after_tool": ["cat > got; echo $WORKBENCH_HOOK > point"]}, [Entry("after_tool", got.append)], cwd=tmp_path
    )
    assert await both.run_hooks("after_tool", {"tool": "é", "path": tmp_path}) == HookResult()
    payload = {"point": "after_tool", "tool": "é", "path": str(tmp_path)}
    assert got == [payload]
    assert json.loads((tmp_path / "got").read_text()) == payload
    assert (tmp_path / "point").read_text() == "after_tool\n"
    assert await both.run_hooks("before_tool", {}) == HookResult()
    assert len(got) == 1


async def test_one_hook_cannot_change_what_another_gets() -> None:
    got: list[Any] = []
    chain = Hooks({}, [Entry("before_tool.a", dict.clear), Entry("before_tool.b", got.append)])
    payload = {"arguments": {"x": 1}}
    assert await chain.run_hooks("before_tool", payload) == HookResult()
    assert got == [{"point": "before_tool", "arguments": {"x": 1}}]
    assert payload == {"arguments": {"x": 1}}


@pytest.mark.parametrize("said", [None, True])
async def test_a_callable_that_agrees_lets_it_pass(said: bool | None) -> None:
    assert await hooks(lambda payload: said).run_hooks("before_tool", {}) == HookResult()


async def test_a_coroutine_is_waited_for() -> None:
    async def hook(payload: dict[str, Any]) -> tuple[bool, str]:
        await asyncio.sleep(0)
        return False, payload["tool"]

    assert await hooks(hook).run_hooks("before_tool", {"tool": "fly"}) == HookResult("fly")


async def test_a_callable_vetoes_with_or_without_a_reason() -> None:
    assert (await hooks(lambda payload: (False, "no")).run_hooks("before_tool", {})).vetoed == "no"
    assert (await hooks(lambda payload: False).run_hooks("before_tool", {})).vetoed == "before_tool.test gave no reason"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo 'not on  Sunday' >&2; exit 2", "not on Sunday"),
        ("echo no; exit 2", "no"),
        ("exit 2", "no reason given"),
        ("""echo '{"veto": "full"}'; exit 2""", "full"),
        ("""echo '{"veto": "full"}'""", "full"),
        ("""echo '{"veto": ""}'""", "no reason given"),
    ],
)
async def test_a_command_vetoes_and_those_behind_it_do_not_run(tmp_path: Path, command: str, reason: str) -> None:
    chain = Hooks({"before_model": [command, "touch ran"]}, cwd=tmp_path)
    assert await chain.run_hooks("before_model", {}) == HookResult(reason)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        (raising(KeyError("x")), "KeyError: 'x'"),
        (raising(TimeoutError("connect timed out")), "TimeoutError: connect timed out"),
        (raising(SystemExit(1)), "RuntimeError: SystemExit: 1"),
        (raising(asyncio.CancelledError()), "RuntimeError: CancelledError: "),
        (lambda payload: "nonsense", "expected None, True, False or (False, \"reason\"), got 'nonsense'"),
        (lambda: None, "TypeError: "),
        (ImportError("gone"), "ImportError: gone"),
    ],
)
async def test_a_callable_that_fails_is_reported_and_skipped(hook: Any, message: str) -> None:
    got: list[Any] = []
    chain = Hooks({}, [Entry("before_tool.bad", hook), Entry("before_tool.good", got.append)])
    result = await chain.run_hooks("before_tool", {})
    assert result.vetoed is None
    (problem,) = result.problems
    assert (problem.point, problem.hook) == ("before_tool", "before_tool.bad")
    assert problem.message.startswith(message)
    assert len(got) == 1


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("echo oops >&2; exit 1", "exit status 1: oops"),
        ("exit 7", "exit status 7"),
        ("echo hello", """expected nothing or {"veto": "reason"}, got 'hello'"""),
        ("echo '[1]'", """expected nothing or {"veto": "reason"}, got '[1]'"""),
        ("kill -9 $$", "exit status -9"),
        ("x\0", "cannot be started: embedded null byte"),
    ],
)
async def test_a_command_that_fails_is_reported_and_skipped(tmp_path: Path, command: str, message: str) -> None:
    chain = Hooks({"before_tool": [command, "echo '{}'; touch ran"]}, cwd=tmp_path)
    assert await chain.run_hooks("before_tool", {}) == HookResult(None, (HookProblem("before_tool", command, message),))
    assert (tmp_path / "ran").exists()


async def test_a_hook_that_takes_too_long_is_reported_and_left(tmp_path: Path) -> None:
    never = threading.Event()

    async def sleeps(payload: Any) -> None:
        await asyncio.get_running_loop().create_future()

    entries = [Entry("before_tool.thread", lambda payload: never.wait()), Entry("before_tool.loop", sleeps)]
    chain = Hooks({"before_tool": ["sleep 1000"]}, entries, cwd=tmp_path, seconds=0.2)
    result = await chain.run_hooks("before_tool", {})
    never.set()
    assert [problem.hook for problem in result.problems] == ["before_tool.thread", "before_tool.loop", "sleep 1000"]
    assert {problem.message for problem in result.problems} == {"took longer than 0.2 s"}


async def test_a_coroutine_that_cancels_itself_does_not_cancel_the_turn() -> None:
    async def hook(payload: Any) -> None:
        raise asyncio.CancelledError

    (problem,) = (await hooks(hook).run_hooks("before_tool", {})).problems
    assert problem.message == "CancelledError"


async def test_cancelling_the_turn_cancels_the_hook() -> None:
    started = asyncio.Event()

    async def hook(payload: Any) -> None:
        started.set()
        await asyncio.get_running_loop().create_future()

    running = asyncio.create_task(hooks(hook).run_hooks("before_tool", {}))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_afterwards_there_is_nothing_to_veto(tmp_path: Path) -> None:
    points: tuple[Point, ...] = ("after_model", "after_tool", "after_compact")
    for point in points:
        result = await Hooks({point: ["echo late >&2; exit 2"]}, cwd=tmp_path).run_hooks(point, {})
        assert result.vetoed is None
        assert [str(problem) for problem in result.problems] == [
            f"hook {point}: echo late >&2; exit 2: cannot veto what has happened: late"
        ]


async def test_an_entry_point_with_another_name_is_reported_once() -> None:
    odd = Hooks({}, [Entry("befor_tool", print)])
    (problem,) = (await odd.run_hooks("before_tool", {})).problems
    assert problem.message.startswith("no such point; expected before_model, ")
    assert (await odd.run_hooks("before_tool", {})).problems == ()


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"befor_tool": []}, "config.toml: hooks.befor_tool: no such key; expected one of before_model, "),
        ({"zzz": []}, "config.toml: hooks.zzz: no such key; expected one of before_model, "),
        ({"before_tool": "x"}, "config.toml: hooks.before_tool: expected a list of commands, got 'x'"),
        ({"before_tool": [1]}, "config.toml: hooks.before_tool: expected a list of commands, got [1]"),
        ({"before_tool": [" "]}, "config.toml: hooks.before_tool: expected a list of commands, got [' ']"),
    ],
)
def test_a_config_that_is_wrong_is_said(config: dict[str, Any], problem: str) -> None:
    with pytest.raises(WrongCall) as error:
        Hooks(config)
    assert str(error.value).startswith(problem)


def test_installed_hooks_are_looked_up() -> None:
    assert all(each.name for each in installed_hooks())
