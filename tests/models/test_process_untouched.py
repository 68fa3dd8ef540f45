"""Parts of Workbench as a library: the process that uses them is as it was, also after a call through litellm."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("litellm")

STATE = """
import gc, logging, os, sys, warnings
import httpx
from aiohttp import http_parser, web_protocol

# What litellm itself does: it hides warnings about its own types, and shows tiktoken where its files are.
LITELLMS = (
    ".*conflict with protected namespace.*",
    ".*Accessing the.*attribute on the instance is deprecated.*",
    ".*`ReadOnly` qualifier.*",
)
def is_of_library(each):  # its own warnings, as of urllib3 and requests, or warnings about the types of litellm
    return each[2].__module__ != "builtins" or bool(each[1] and each[1].pattern in LITELLMS)

OWN = ("workbench", "LiteLLM")  # what they log is their own

def settings(logger):
    return logger.level, logger.propagate, list(logger.handlers), list(logger.filters)

def state():
    named = [name for name, each in logging.Logger.manager.loggerDict.items() if isinstance(each, logging.Logger)]
    plain = (logging.NOTSET, True, [], [])
    loggers = {{name: settings(logging.getLogger(name)) for name in named if not name.startswith(OWN)}}
    return {{
        "httpx": (httpx.AsyncClient.send, httpx.Client.send),
        "aiohttp": (web_protocol.HttpRequestParser, http_parser.HttpRequestParser),
        "environment": {{name: value for name, value in os.environ.items() if name != "TIKTOKEN_CACHE_DIR"}},
        "warnings": [each for each in warnings.filters if not is_of_library(each)],
        "root logger": settings(logging.getLogger()),
        "loggers": {{name: each for name, each in loggers.items() if each != plain}},
        "collector": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()),
    }}

def changed(before):
    return {{name: difference(before[name], now) for name, now in state().items() if before[name] != now}}

def difference(old, new):
    if isinstance(old, dict):
        return {{name: (old.get(name), new.get(name)) for name in old | new if old.get(name) != new.get(name)}}
    return old, new

logging.getLogger("httpx").setLevel(logging.INFO)  # a program that wants to see its requests
os.environ["LITELLM_MODE"] = "DEV"
before = state()
"""

IMPORTS = (
    STATE
    + """
import workbench.agent.loop, workbench.compaction.compactor, workbench.context.planner, workbench.context.setup
import workbench.models.catalogue, workbench.models.gateway, workbench.models.http_guard, workbench.models.tokens
import workbench.rehearsal.server, workbench.session.worker, workbench.sources.services, workbench.traces.formats
assert "litellm" not in sys.modules
print(changed(before))
"""
)

CALL = (
    STATE
    + """
import asyncio
sys.path.insert(0, {tests!r})
from support.provider import Answer, Provider, piece, text, usage
from workbench.models.endpoints import Endpoint
from workbench.models.gateway import Gateway
from workbench.models.reply_parts import TextPiece

async def main():
    async with Provider(Answer([*text("fine"), piece({{}}, "stop"), usage(3, 1)])) as provider:
        request = {{"model": "openai/m", "messages": [{{"role": "user", "content": "hi"}}]}}
        stream = Gateway(Endpoint(provider.url)).stream(request)
        return "".join([part.text async for part in stream if isinstance(part, TextPiece)])

print(asyncio.run(main()), "litellm" in sys.modules, changed(before))
"""
)
"""Run by test_gateway_process, which then goes on to faults."""


def test_to_import_the_library_changes_nothing_in_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS.format()], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "{}\n"), done.stderr


KNOWN = {
    "llms/base.py": 1,  # create_aclient_session, which nothing calls
    "llms/custom_httpx/http_handler.py": 2,
    "llms/custom_httpx/httpx_handler.py": 1,  # which nothing imports
    "llms/openai/common_utils.py": 2,
    "llms/openai/completion/handler.py": 2,
}
"""Where litellm makes clients for completions; `guard_litellm` has to know them all."""
OTHERS = ("assistants.py", "fine_tuning", "image_variations", "openai.py", "azure/common_utils.py")
"""Not for completions, or with a client from `_get_async_http_client`."""


def test_litellm_makes_its_clients_where_they_are_guarded() -> None:
    spec = find_spec("litellm")  # not imported: the other tests of this process need none
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    found = {}
    for path in sorted((folder / "llms").rglob("*.py")):
        source, name = path.read_text("utf-8"), path.relative_to(folder).as_posix()
        count = source.count("httpx.AsyncClient(") + source.count(" AsyncOpenAI(")
        if count and not name.endswith(OTHERS) and not any(f"/{each}/" in name for each in OTHERS):
            found[name] = count
    assert found == KNOWN
