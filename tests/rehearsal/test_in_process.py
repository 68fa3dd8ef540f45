"""The stand-in takes the path of any other model, gateway and engine, and needs no litellm for it."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from support.waiting import GIVE_UP
from workbench.models.failures import ModelFailure
from workbench.models.gateway import Gateway, SilenceLimits
from workbench.models.reply_parts import CallPiece, ReplyFinished, ReplyPart, ReportedUsage, TextPiece, ThinkingPiece
from workbench.rehearsal.in_process import rehearse
from workbench.rehearsal.script import Script

HELLO = {"model": "rehearsal", "messages": [{"role": "user", "content": "hello"}]}
FULL = {
    "reasoning": "I need two things.",
    "reply": "Looking.",
    "calls": [{"tool": "f", "arguments": {"path": "ö"}}, {"tool": "g"}],
}


async def answered(script: Script | None = None, request: Mapping[str, object] = HELLO) -> list[ReplyPart]:
    rehearse(script)
    return [part async for part in Gateway().stream(request)]


async def test_it_answers_without_key_and_network() -> None:
    parts = await answered()
    assert "rehearsal model" in "".join(part.text for part in parts if isinstance(part, TextPiece))
    assert parts[-1] == ReplyFinished("stop")


async def test_thinking_text_parallel_calls_and_usage_come_as_parts() -> None:
    parts = await answered(Script([FULL], chunk=5))
    assert "".join(part.text for part in parts if isinstance(part, ThinkingPiece)) == "I need two things."
    assert "".join(part.text for part in parts if isinstance(part, TextPiece)) == "Looking."
    calls = [part for part in parts if isinstance(part, CallPiece)]
    assert [part.name for part in calls if part.name] == ["f", "g"]
    assert "".join(part.arguments for part in calls if part.number == 0) == '{"path": "ö"}'
    assert len({part.call_id for part in calls if part.call_id}) == 2
    assert any(isinstance(part, ReportedUsage) and part.prompt > 5 and part.completion > 10 for part in parts)
    assert parts[-1] == ReplyFinished("tool_calls")


async def test_any_name_behind_its_own_is_the_same_model_and_the_last_script_holds() -> None:
    await answered(Script([{"reply": "old"}]))
    parts = await answered(Script([{"reply": "new"}]), {**HELLO, "model": "rehearsal/anything"})
    assert parts[0] == TextPiece("new")


FAILURES = {
    "status 400": "bad_request",
    "status 401": "authentication",
    "status 404": "unknown_model",
    "status 413": "context_too_long",
    "status 429 wait 7": "rate_limit",
    "status 500": "overloaded",
    "status 503": "overloaded",
    "status 504": "timeout",
    "status 529": "overloaded",
    "context 4096": "context_too_long",
    "quota": "bad_request",
    "policy": "refused_content",
    "drop": "overloaded",
    "html": "broken_stream",
    "cut": "broken_stream",
    "bad_json": "broken_stream",
    "error": "broken_stream",
    "no_finish": "broken_stream",
}


@pytest.mark.parametrize("fault", FAILURES)
async def test_each_fault_is_the_failure_that_it_is_over_http(fault: str) -> None:
    with pytest.raises(ModelFailure) as caught:
        await answered(Script([{"reply": "x" * 20, "fault": fault}], chunk=5))
    failure = caught.value
    assert failure.category == FAILURES[fault]
    assert failure.wait == (7 if "wait" in fault else 1 if fault in ("status 503", "status 529") else None)
    assert (failure.limit, failure.asked) == ((4096, 4097) if fault.startswith("context") else (None, None))


@pytest.mark.parametrize("fault", ["silence", "stall", "mute"])
async def test_silence_lasts_until_the_gateway_s_patience_ends(fault: str) -> None:
    rehearse(Script([{"reply": "x" * 20, "fault": fault}], chunk=5))
    with pytest.raises(ModelFailure, match=r"within 0\.05 seconds"):
        async for _ in Gateway().stream(HELLO, patience=SilenceLimits(0.05, 0.05)):
            pass


async def _rest(stream: AsyncIterator[ReplyPart]) -> list[ReplyPart]:
    return [part async for part in stream]


async def test_closing_the_gateway_ends_an_answer_that_stalls() -> None:
    rehearse(Script([{"reply": "x" * 20, "fault": "stall"}], chunk=5))
    gateway = Gateway()
    stream = gateway.stream(HELLO)
    await anext(stream)
    await gateway.close()
    with pytest.raises(ModelFailure, match="the connection was closed"):
        await asyncio.wait_for(_rest(stream), GIVE_UP)


async def test_a_request_that_no_provider_would_take_is_refused() -> None:
    with pytest.raises(ModelFailure, match="tool_call_id") as caught:
        await answered(request={"model": "rehearsal", "messages": [{"role": "tool", "content": "x"}]})
    assert caught.value.category == "bad_request"


TURNS = """
import sys
from workbench.cli.main import main
for form in ([], ["--json"], ["--stream"]):
    code = main(["ask", "-m", "rehearsal", "read a.txt", *form])
    print("end of", form, code, sorted({"litellm", "openai", "httpx", "mcp"} & set(sys.modules)), flush=True)
"""


def test_a_whole_turn_with_tools_imports_no_litellm(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a line of the file\n")
    done = subprocess.run([sys.executable, "-c", TURNS], cwd=tmp_path, capture_output=True, text=True, check=True)
    *said, rest = re.split(r"^end of (.*)\n", done.stdout, flags=re.MULTILINE)
    assert said[1::2] == ["[] 0 []", "['--json'] 0 []", "['--stream'] 0 []"]
    assert all("a line of the file" in each for each in said[::2])
    assert rest == ""
