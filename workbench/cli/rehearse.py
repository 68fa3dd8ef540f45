"""`workbench rehearse`: the built-in stand-in over HTTP, to try clients and tests against."""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from workbench.config.errors import WrongCall
from workbench.config.signals import stop_requested
from workbench.config.values import replace
from workbench.rehearsal.faults import FAULTS, HEADER
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

KEPT = 100
"""How many requests the server keeps: nothing reads them here."""


def run_rehearse(options: argparse.Namespace) -> int:
    """Serve until Ctrl+C."""
    if not 0 <= options.port <= 65535:
        raise WrongCall(f"--port: expected a number from 0 to 65535, got {options.port}")
    script = Script.load(options.script) if options.script else Script()
    if options.speed is not None:
        if not 0 <= options.speed < float("inf"):
            raise WrongCall(f"--speed: expected a number from 0 up, got {options.speed}")
        script.pace = replace(script.pace, speed=options.speed)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(script, options.port))
    return 0


async def _serve(script: Script, port: int) -> None:
    stopped = stop_requested()
    async with RehearsalServer(script, port, keep=KEPT) as server:
        print(_welcome(server.url, len(script.steps)), flush=True)
        await stopped.wait()


def _welcome(url: str, steps: int) -> str:
    plan = f"{steps} steps of the script, then rules" if steps else "by rule"
    return "\n".join(
        [
            f"The rehearsal model (no AI) answers at {url}, {plan}. Ctrl+C ends it.",
            "",
            "  OpenAI's dialect:     workbench ask -m openai/rehearsal --api-base " + url + "/v1 ...",
            "                        OPENAI_BASE_URL=" + url + "/v1 OPENAI_API_KEY=any",
            "                        chat completions and Responses, also as a websocket",
            "  Anthropic's dialect:  workbench ask -m anthropic/rehearsal --api-base " + url + " ...",
            "                        ANTHROPIC_BASE_URL=" + url + " ANTHROPIC_API_KEY=any",
            "  Gemini's dialect:     GOOGLE_GEMINI_BASE_URL=" + url + " GEMINI_API_KEY=any",
            f"  A fault on request:   the header {HEADER}: " + ", ".join(FAULTS),
        ]
    )
