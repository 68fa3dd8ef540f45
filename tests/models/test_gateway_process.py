"""The gateway in a process of its own: what it loads and when, and that it prints nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from models.test_process_untouched import CALL

pytestmark = pytest.mark.xdist_group("litellm")

TESTS = Path(__file__).parents[1]

FAULTS = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from support.provider import Answer, Drop, Pause, Provider, Raw, piece, refusal, text, usage
from workbench.models.endpoints import Endpoint
from workbench.models.failures import ModelFailure
from workbench.models.gateway import Gateway, SilenceLimits
from workbench.config.quiet import silence_libraries

silence_libraries()
REQUEST = {{"model": "m", "messages": [{{"role": "user", "content": "hi"}}]}}

async def main():
    answers = [
        Answer([*text("fine"), piece({{}}, "stop"), usage(3, 1)]),
        Answer([*text("odd"), piece({{}}, "a word nobody knows")]),
        Answer([*text("cut"), Drop()]),
        Answer([*text("bad"), Raw(b"data: {{\\n\\n")]),
        Answer([*text("quiet"), Pause(asyncio.Event())]),
        Answer(before="close"),
        refusal(429, "slow"),
        refusal(500, "oops"),
        Answer([*text("left"), Pause(asyncio.Event())]),
    ]
    failed = 0
    async with Provider(*answers) as provider:
        gateway = Gateway(Endpoint(provider.url))
        await gateway.warm()
        for _ in answers[:-1]:
            try:
                async for _ in gateway.stream(REQUEST, patience=SilenceLimits(60, 1)):
                    pass
            except ModelFailure:
                failed += 1
        async for _ in gateway.stream(REQUEST):
            break
    print(failed, "litellm" in sys.modules)

asyncio.run(main())
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-X", "dev", "-W", "default", "-c", code], capture_output=True, text=True)


def test_importing_the_gateway_does_not_import_litellm() -> None:
    code = "import sys, workbench.models.gateway\nassert not {'litellm', 'openai', 'mcp', 'tiktoken'} & {*sys.modules}"
    done = run(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_server_that_takes_requests_as_they_are_is_asked_without_litellm() -> None:
    code = FAULTS.format(tests=str(TESTS)).replace("Endpoint(provider.url)", "Endpoint(provider.url, plain=True)")
    code = code.replace("        await gateway.warm()\n", "")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("6 False\n", "")


def test_without_litellm_the_reason_is_said() -> None:
    code = (
        "import asyncio, sys\n"
        "sys.modules['litellm'] = None\n"
        "from workbench.config.errors import WorkbenchError\n"
        "from workbench.models.gateway import Gateway\n"
        "try:\n"
        "    asyncio.run(anext(Gateway().stream({'model': 'm', 'messages': []})))\n"
        "except WorkbenchError as error:\n"
        "    print(error)\n"
    )
    done = run(code)
    assert done.stdout.startswith("litellm cannot be imported")
    assert done.stderr == ""


def test_a_call_through_litellm_changes_nothing_and_nothing_is_printed_whatever_goes_wrong() -> None:
    """In one process: to import litellm takes most of its time."""
    code = (CALL + FAULTS).format(tests=str(TESTS))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("fine True {}\n6 True\n", "")
