"""`workbench rehearse` as a process."""

from __future__ import annotations

import argparse
import asyncio
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from workbench.cli.main import make_parser
from workbench.cli.rehearse import run_rehearse
from workbench.config.errors import WrongCall


def options(*words: str) -> argparse.Namespace:
    return make_parser().parse_args(["rehearse", *words])


async def test_it_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    script = tmp_path / "play.jsonl"
    script.write_text('{"reply": "From the script."}\n', encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "workbench", "rehearse", "--port", "0", "--script", str(script), "--speed", "5000"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    first = (await process.stdout.readline()).decode()
    address = re.search(r"http://127\.0\.0\.1:\d+", first)
    assert address, first
    assert "no AI" in first
    body = {"model": "x", "messages": [{"role": "user", "content": "hello"}]}
    async with httpx.AsyncClient(base_url=address.group(), trust_env=False, verify=False) as client:
        replies = [(await client.post("/v1/chat/completions", json=body)).json() for _ in range(2)]
    assert replies[0]["choices"][0]["message"]["content"] == "From the script."
    assert "rehearsal model" in replies[1]["choices"][0]["message"]["content"]
    process.send_signal(signal.SIGINT)
    rest, errors = await process.communicate()
    assert process.returncode == 0
    assert errors == b""
    assert b"OPENAI_BASE_URL" in rest
    assert b"ANTHROPIC_BASE_URL" in rest
    assert b"GOOGLE_GEMINI_BASE_URL" in rest
    assert b"x-rehearse-fault" in rest


def test_it_needs_no_litellm_and_loads_nothing_heavy() -> None:
    code = (
        "import sys, workbench.cli.rehearse, workbench.rehearsal.in_process\n"
        "print(sorted({'litellm', 'openai', 'httpx', 'tiktoken', 'textual', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--port", "70000"), "--port: expected a number from 0 to 65535"),
        (("--speed", "-1"), "--speed: expected a number from 0 up"),
        (("--script", "nowhere.toml"), "nowhere.toml: no such file"),
    ],
)
def test_a_wrong_call_is_refused_in_one_line(words: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(WrongCall, match=complaint):
        run_rehearse(options(*words))
