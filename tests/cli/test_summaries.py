"""`workbench lab --summarise` with a model behind HTTP, through litellm, as it is called."""

from __future__ import annotations

import asyncio
import io
import json
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from support.calls import Call, Outcome
from support.talk import words
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

pytestmark = [pytest.mark.long, pytest.mark.asyncio, pytest.mark.xdist_group("litellm")]


EACH = 5
"""Compactions of a talk, each with one request."""
ALL = f"summaries: {2 * EACH} by openai/rehearsal"


RunLab = Callable[..., Awaitable[Outcome]]


@pytest.fixture
def talks(tmp_path: Path) -> list[Path]:
    """Thirty turns each: too many for a small window."""
    paths = [tmp_path / f"{name}.json" for name in "ab"]
    for path in paths:
        lines: list[dict[str, str]] = []
        for at in range(30):
            lines += [
                {"role": "user", "content": f"{path.stem}, turn {at}: {words(220)}"},
                {"role": "assistant", "content": f"done src/part{at}.py {words(220)}"},
            ]
        path.write_text(json.dumps({"messages": lines}))
    return paths


def prepared(server: RehearsalServer, folder: Path, *sources: object) -> list[str]:
    """The arguments of a call that asks this server."""
    (folder / "config").mkdir(exist_ok=True)
    model = f'[models."openai/rehearsal"]\napi_base = "{server.url}/v1"\nwindow = 6000\n'
    (folder / "config" / "config.toml").write_text(f"{model}input_price = 1\noutput_price = 1\n[requests]\ntries = 1\n")
    call = ["lab", *sources, "--policy", "window", "--model", "openai/rehearsal", "--jobs", "1", "--summarise"]
    return [str(each) for each in call]


@pytest.fixture
def run_lab(call: Call, tmp_path: Path) -> RunLab:
    """Run it in this process, where litellm is imported once."""

    async def run(server: RehearsalServer, *sources: object) -> Outcome:
        return await asyncio.to_thread(call, *prepared(server, tmp_path, *sources))

    return run


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")


async def test_summaries_are_kept_and_nobody_is_asked_twice(
    talks: list[Path], run_lab: RunLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with RehearsalServer() as server:
        refused = await run_lab(server, *talks)
        assert refused.code == 3
        assert " by openai/rehearsal may cost about $" in refused.err
        assert len(server.requests) == 0
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(map(str, talks))))
        first = await run_lab(server, "-", "--yes")
        assert (first.code, first.out.splitlines()[-1]) == (0, ALL)
        asked = len(server.requests)
        assert asked == 2 * EACH
        assert (await run_lab(server, *talks)).out == first.out
        assert len(server.requests) == asked


async def test_a_model_that_fails_is_named_and_asked_again_the_next_time(talks: list[Path], run_lab: RunLab) -> None:
    async with RehearsalServer(Script([{"fault": "status 401"}, {"fault": "status 500"}])) as server:
        failed = await run_lab(server, *talks, "--yes")
        assert failed.code == 0
        assert len(server.requests) == 2, "once for each replay, not for every summary"
        below = failed.out[failed.out.index("summaries: ") :]
        assert " by the digest\n" in below
        assert "model: authentication: " in below
        assert "model: overloaded: " in below
        again = await run_lab(server, *talks, "--yes")
        assert again.out.splitlines()[-1] == ALL


PROGRAM = f"""
import sys
from workbench.cli.main import main
from workbench.models.engine import engine
from workbench.rehearsal.in_process import rehearse
from workbench.rehearsal.script import Script, ScriptStep

rehearse(Script([*[ScriptStep()] * {EACH}, {{"fault": "mute"}}]))
rehearsed = engine().answering_for("rehearsal")

async def answer(call):
    print("asked", file=sys.stderr, flush=True)
    async for chunk in rehearsed(call):
        yield chunk

engine().provide_answering("openai", answer)
sys.exit(main(sys.argv[1:]))
"""
"""A model that answers for one talk and then says nothing more: no litellm, which takes seconds to import."""


async def test_ctrl_c_keeps_what_was_summarised(talks: list[Path], tmp_path: Path, run_lab: RunLab) -> None:
    async with RehearsalServer() as server:
        call = [sys.executable, "-c", PROGRAM, *prepared(server, tmp_path, *talks, "--yes")]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*call, stdout=pipe, stderr=pipe)
        assert process.stderr is not None
        for _ in range(EACH + 1):
            while (line := await process.stderr.readline()) != b"asked\n":
                assert line, "it has ended"
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
        assert (process.returncode, out) == (130, b"")
        assert b"what the model has summarised is kept" in err
        again = await run_lab(server, *talks, "--yes")
        assert again.out.splitlines()[-1] == ALL
        assert len(server.requests) == EACH, "only those of the other session"
