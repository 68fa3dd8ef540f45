"""Commands under a pattern that allows only their beginning, with whatever a shell might make more of.

A fault: a shell was started, something else ran, or the program got other words than `shlex` and bash read.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shlex
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hostile.tally import Tally
from workbench.agent.approvals import Approvals
from workbench.agent.calls import CallRunner
from workbench.agent.tools.registry import Toolbox
from workbench.log.events import ToolCall, ToolResult

START = r"printf '%s\0' "
PATTERNS = (f"run_command:{START}*", "run_command:printf*", "run_command:*", "run_*:printf *")
PIECES = (
    "$(touch F)", "`touch F`", "${x:=$'\\x60touch F\\x60'}${x@P}", "; touch F", "&& touch F", "| touch F", "& touch F",
    "\ntouch F", "\r\ntouch F", ">F", "<(touch F)", ">(touch F)", "$[a[$(touch F)]]", "$((a[`touch F`]))", "{touch,F}",
    "~", "*", "?", "[a-z]", "!!", "#x", "A=$(touch F)", "${x[$'\\x24\\x28touch F\\x29']}", "\\$(touch F)",
    "'$(touch F)'",
    '"$(touch F)"', '"\\`touch F\\`"', "'\\''$(touch F)", "\\\n touch F", "\vtouch F", "\u2028touch F", "\u00a0touch F",
    "=(touch F)", "=touch", "^a^b", "coproc touch F", "-k 'a and b'", "x\\ y", "''", '"a b"', "a'b c'd", "HEAD~1",
    "HEAD^", "--x=~/y", "a:~/b", "${IFS}touch${IFS}F", "\0touch F", "é", "--", "a.b/c",
)  # fmt: skip
GLUE = ("", " ", "  ", "\t", "'", '"', "\\", " '", ' "', "' ", '" ')


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: how many commands."""
    tally = Tally("commands under patterns")
    project = folder / "project"
    project.mkdir()
    for name in ("a", "b", "touch"):
        (project / name).touch()
    shell = folder / "bash"
    shell.write_text('#!/bin/sh\ntouch "$0.started"\nexec /bin/bash "$@"\n')
    shell.chmod(0o755)
    before = os.environ.get("SHELL")
    os.environ["SHELL"] = str(shell)
    try:
        allowed = asyncio.run(_all(tries, chance, project, tally))
    finally:
        os.environ["SHELL"] = before or "/bin/sh"
    tally.told = f"{allowed:,} ran, with the words that bash reads"
    return tally


async def _all(tries: int, chance: random.Random, project: Path, tally: Tally) -> int:
    allowed = 0
    traces = (project / "F", project.parent / "bash.started")
    for _ in range(tries):
        parts = (chance.choice(GLUE) + chance.choice(PIECES) + chance.choice(GLUE) for _ in range(chance.randint(1, 3)))
        command = START + "".join(parts)
        with tally.watching(repr(command)):
            said = await _result(command, chance.choice(PATTERNS), project)
            if "not allowed, and there is nobody to ask" not in said:
                allowed += 1
                words = shlex.split(command)[2:]
                assert said == "".join(f"{word}\0" for word in words or [""]) + "\n[exit status 0]", said
                bash = subprocess.run(["/bin/bash", "-c", command], cwd=project, capture_output=True, check=True)
                assert said.startswith(bash.stdout.decode()), bash.stdout
            assert not any(trace.exists() for trace in traces), "something else was started"
        for trace in traces:
            trace.unlink(missing_ok=True)
    return allowed


async def _result(command: str, pattern: str, project: Path) -> str:
    async def no_hook(point: object, payload: object) -> None:
        return None

    services: Any = SimpleNamespace(
        toolbox=Toolbox(project), approvals=Approvals(allow=[pattern]), ask=None, report=None
    )
    call = ToolCall("1", "run_command", json.dumps({"command": command}))
    found = [body async for body in CallRunner(services, no_hook).run_calls([call])]
    assert isinstance(found[-1], ToolResult)
    return str(found[-1].content)
