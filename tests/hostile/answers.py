"""Answers to `replay` that are small on the wire and large in memory, that do not end, or that make no sense.

A fault: more than 300 MB beyond an ordinary replay, no end, a traceback, or an error of more than a line.
"""

from __future__ import annotations

import asyncio
import random
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, get_args

from aiohttp import web

from hostile.bodies import CONTENTS, KINDS, MIB, NONSENSE, PACK, packed_body
from hostile.measured import ALLOWED, Measured
from hostile.proxies import provider
from hostile.replays import recorded_session
from hostile.tally import Tally
from support.calls import Outcome
from workbench.log.events import OwnDialect
from workbench.sources.services import Services

ENDLESS = (b"data: {}\n\n", b"\0", b'{"a":[', b"[],", b"x" * 1000, b": quiet\n\n")
"""What an answer repeats until the reader goes away."""


PROGRAM = """
import sys
from pathlib import Path
from workbench.cli.main import main
code = main(sys.argv[2:])
Path(sys.argv[1]).write_bytes(Path("/proc/self/status").read_bytes())
sys.exit(code)
"""
"""The program, which leaves behind what memory it took. What the system says of a child counts its parent's as well."""


class Said(NamedTuple):
    """What the provider answers with."""

    body: bytes
    headers: dict[str, str]
    endless: bool = False


def run(tries: int, chance: random.Random, folder: Path) -> Tally:
    """`tries`: how many answers."""
    tally = Tally("answers to replay")
    asyncio.run(_all(tally, tries, chance, folder / "status"))
    return tally


async def _all(tally: Tally, tries: int, chance: random.Random, status: Path) -> None:
    said = Said(b"{}", {})

    async def answer(incoming: web.BaseRequest) -> web.StreamResponse:
        await incoming.read()
        if not said.endless:
            return web.Response(body=said.body, headers=said.headers)
        response = web.StreamResponse(headers=said.headers)
        await response.prepare(incoming)
        with suppress(ConnectionError):
            while True:
                await response.write(said.body * 100)
        return response

    with Services() as services:
        sources = {dialect: recorded_session(services, dialect) for dialect in get_args(OwnDialect)}
    large, most = 1024 if tries >= 100 else 70, 0
    async with provider(answer) as url:
        ordinary = {dialect: (await _replayed(sources[dialect], url, status)).peak for dialect in sources}
        for _ in range(tries):
            dialect = chance.choice([*sources])
            said = _chosen(chance, large)
            with tally.watching(f"{dialect}, {said.body[:60]!r} of {len(said.body)}, {said.headers}, {said.endless}"):
                outcome, peak = await _replayed(sources[dialect], url, status)
                # An answer that cannot be read is a row of the table, with what is wrong.
                assert outcome.code in (0, 1), f"exit code {outcome.code}: {outcome.err[-300:]!r}"
                assert outcome.out, f"it says nothing: {outcome.err[-300:]!r}"
                assert "Traceback" not in outcome.err, outcome.err[-500:]
                grown = peak - ordinary[dialect]
                most = max(most, grown)
                assert grown < ALLOWED, f"it took {grown // MIB} MB more"
            packed_body.cache_clear()
    tally.told = f"at most {most // MIB} MB more"


def _chosen(chance: random.Random, large: int) -> Said:
    headers = {"Content-Type": chance.choice(KINDS[:3])}
    match chance.randrange(4):
        case 0:
            return Said(chance.choice(NONSENSE), headers)
        case 1:
            return Said(chance.choice(ENDLESS), headers, endless=True)
        case 2:
            return Said(packed_body(chance.choice([*CONTENTS]), (), 60 * MIB), headers)
    names = tuple(chance.choices([*PACK], k=chance.choice((1, 1, 2))))
    body = packed_body(chance.choice([*CONTENTS]), names, chance.choice((MIB, large * MIB)))
    return Said(body, {**headers, "Content-Encoding": ", ".join(names)})


async def _replayed(session: str, url: str, status: Path) -> Measured:
    """One replay in a process of its own."""
    words = ("replay", session, "--to", url, "--yes")
    command = (sys.executable, "-c", PROGRAM, str(status), *words)
    status.unlink(missing_ok=True)
    ended = await asyncio.to_thread(subprocess.run, command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="utf-8")) if status.exists() else None
    outcome = Outcome(ended.returncode, *(each.decode("utf-8", "replace") for each in (ended.stdout, ended.stderr)))
    return Measured(outcome, int(peak[1]) * 1024 if peak else 0)
