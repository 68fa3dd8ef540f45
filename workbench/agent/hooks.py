"""Hooks: the user's own code around model calls, tool calls and compactions.

A hook is a Python callable (an entry point of the group `workbench.hooks` whose name is the point, or `POINT.NAME`) or
a shell command of the config. It gets the payload: the callable as its own dictionary, the command as JSON on standard
input. Before something happens it may veto: the callable by returning False or `(False, "reason")`, the command by exit
status 2 with the reason on standard error, or by printing `{"veto": "reason"}`. Otherwise a callable returns None or
True, and a command prints nothing or `{}` and ends with status 0. A hook that does anything else is reported and
skipped.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol, get_args

from msgspec import Meta

from workbench.agent.tools.command import user_shell
from workbench.agent.tools.environment import VariableNames
from workbench.agent.tools.output import OutputEnds
from workbench.agent.tools.process import run_process
from workbench.config.background import in_background
from workbench.config.plugin_entries import installed_entries
from workbench.config.tables import Table, read_table, shown_value
from workbench.config.variables import without_keys

Point = Literal["before_model", "after_model", "before_tool", "after_tool", "before_compact", "after_compact"]
POINTS: tuple[Point, ...] = get_args(Point)
SECONDS = 10.0
VETO = 2
"""The exit status with which a command vetoes."""
_MOST_BYTES = 16 * 1024
"""How many bytes of a command's output are read."""
_CommandList = Annotated[tuple[Annotated[str, Meta(pattern=r"\S")], ...], Meta(description="a list of commands")]


class _Commands(Table, frozen=True):
    """The `[hooks]` table."""

    before_model: _CommandList = ()
    after_model: _CommandList = ()
    before_tool: _CommandList = ()
    after_tool: _CommandList = ()
    before_compact: _CommandList = ()
    after_compact: _CommandList = ()
    pass_env: VariableNames = ()
    """Variables that the commands may see although their names look like those of keys."""


class HookProblem(NamedTuple):
    """A hook that did not work."""

    point: str
    hook: str
    """The entry point's name, or the command."""
    message: str

    def __str__(self) -> str:
        return f"hook {self.point}: {self.hook}: {self.message}"


class HookResult(NamedTuple):
    vetoed: str | None = None
    """The reason, if a hook vetoed; the hooks after it did not run."""
    problems: tuple[HookProblem, ...] = ()


class EntryPointLike(Protocol):
    """The part of `importlib.metadata.EntryPoint` that is used here."""

    @property
    def name(self) -> str: ...
    def load(self) -> Any: ...


class _Failed(Exception):
    """A hook did not work; the text says why."""


def installed_hooks() -> tuple[EntryPointLike, ...]:
    """The entry points of installed packages."""
    return installed_entries("hooks")


class Hooks:
    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        entry_points: Iterable[EntryPointLike] = (),
        *,
        cwd: Path | None = None,
        seconds: float = SECONDS,
        file: str = "config.toml",
    ) -> None:
        """`config`: the `[hooks]` table of `file`. `seconds`: for each hook. `cwd`: where commands run; None: here."""
        self._commands = read_table(_Commands, config or {}, file, "hooks")
        self._entry_points: dict[str, list[EntryPointLike]] = {}
        self._unknown: list[HookProblem] = []
        for each in entry_points:
            point = each.name.partition(".")[0]
            if point in POINTS:
                self._entry_points.setdefault(point, []).append(each)
            else:
                self._unknown.append(HookProblem(point, each.name, f"no such point; expected {', '.join(POINTS)}"))
        self._cwd = cwd or Path.cwd()
        self._seconds = seconds

    async def run_hooks(self, point: Point, payload: Mapping[str, Any]) -> HookResult:
        """Run the hooks of a point, callables first, until one vetoes."""
        problems, self._unknown = self._unknown, []  # reported once
        callables: Sequence[EntryPointLike] = self._entry_points.get(point, ())
        commands: tuple[str, ...] = getattr(self._commands, point)
        if not callables and not commands:
            return HookResult(None, tuple(problems))
        text = json.dumps({"point": point, **payload}, default=str)
        hooks: list[tuple[str, Callable[[], Awaitable[str | None]]]] = [
            *((each.name, partial(self._call, each, text)) for each in callables),
            *((command, partial(self._execute, point, command, text)) for command in commands),
        ]
        for name, start in hooks:
            try:
                reason = await start()
            except _Failed as failed:
                problems.append(HookProblem(point, name, str(failed)))
                continue
            if reason is None:
                continue
            if point.startswith("before_"):
                return HookResult(reason, tuple(problems))
            problems.append(HookProblem(point, name, f"cannot veto what has happened: {reason}"))
        return HookResult(None, tuple(problems))

    async def _call(self, entry_point: EntryPointLike, text: str) -> str | None:
        """The reason of a veto, if any. Each callable gets its own payload, so none can change another's."""
        payload = json.loads(text)
        try:
            async with asyncio.timeout(self._seconds) as limit:
                # In a thread: loading imports unknown code, and a plain function may block.
                result = await in_background(lambda: entry_point.load()(payload))
                if inspect.isawaitable(result):
                    result = await result
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise _Failed("CancelledError") from None
        except (Exception, SystemExit) as error:
            if isinstance(error, TimeoutError) and limit.expired():
                raise _Failed(f"took longer than {self._seconds:g} s") from None
            raise _Failed(f"{type(error).__name__}: {error}") from None
        match result:
            case None | True:
                return None
            case False:
                return f"{entry_point.name} gave no reason"
            case (False, str(reason)):
                return reason or f"{entry_point.name} gave no reason"
        raise _Failed(f'expected None, True, False or (False, "reason"), got {shown_value(result)}')

    async def _execute(self, point: Point, command: str, text: str) -> str | None:
        """The reason of a veto, if any."""
        output, errors = OutputEnds(_MOST_BYTES, 0), OutputEnds(_MOST_BYTES, 0)
        try:
            ended = await run_process(
                [user_shell(), "-c", command],
                cwd=self._cwd,
                seconds=self._seconds,
                output=output.add_bytes,
                errors=errors.add_bytes,
                stdin=text.encode(errors="replace"),
                env={**without_keys(self._commands.pass_env), "WORKBENCH_HOOK": point},
            )
        except (OSError, ValueError) as error:
            raise _Failed(f"cannot be started: {error}") from None
        printed, complaint = output.text().strip(), " ".join(errors.text().split())
        if ended.timed_out:
            raise _Failed(f"took longer than {self._seconds:g} s")
        if ended.status == VETO:
            return complaint or _veto(printed) or " ".join(printed.split()) or "no reason given"
        if ended.status != 0:
            raise _Failed(f"exit status {ended.status}: {complaint or printed[:200]}".rstrip(": "))
        reason = _veto(printed)
        if reason is None and printed:
            raise _Failed(f'expected nothing or {{"veto": "reason"}}, got {shown_value(printed)}')
        return reason or None


def _veto(printed: str) -> str | None:
    """The reason in the output of a command. Empty if it printed an empty object, None if it printed anything else."""
    try:
        value = json.loads(printed)
    except (ValueError, RecursionError):
        return None
    if value == {}:
        return ""
    match value:
        case {"veto": str(reason)} if len(value) == 1:
            return reason or "no reason given"
    return None
