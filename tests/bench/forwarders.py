"""A provider, a bare forwarder of aiohttp, and the proxy, each in a process of its own.

As a command: `bench.forwarders provider CHUNKS`, `bare URL` or `ours URL FOLDER`; its first line is the address.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web


@asynccontextmanager
async def _serving(handler: Any) -> AsyncIterator[str]:
    app = web.Application(client_max_size=0)
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


def _provider(chunks: int) -> Any:
    whole = json.dumps({"model": "m", "choices": [{"message": {"role": "assistant", "content": "yes"}}]}).encode()
    pieces = [
        b"data: %s\n\n"
        % json.dumps({"model": "m", "choices": [{"index": 0, "delta": {"content": f"w{at} "}}]}).encode()
        for at in range(chunks)
    ]

    async def answer(incoming: web.Request) -> web.StreamResponse:
        body = await incoming.read()
        if b'"stream"' not in body[:200]:
            return web.Response(body=whole, content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(incoming)
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(0.0005)  # so that they come one by one, as tokens do
        return response

    return answer


@asynccontextmanager
async def _bare(to: str) -> AsyncIterator[str]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), auto_decompress=False) as client:

        async def forward(incoming: web.Request) -> web.StreamResponse:
            body = await incoming.read()
            async with client.request(incoming.method, to + incoming.path_qs, data=body) as upstream:
                response = web.StreamResponse(status=upstream.status, headers={"Content-Type": upstream.content_type})
                await response.prepare(incoming)
                async for chunk in upstream.content.iter_any():
                    await response.write(chunk)
                return response

        async with _serving(forward) as url:
            yield url


async def _main(kind: str, *given: str) -> None:
    if kind == "provider":
        serving = _serving(_provider(int(given[0])))
    elif kind == "bare":
        serving = _bare(given[0])
    else:
        serving = _ours(*given)
    async with serving as url:
        print(url, flush=True)
        await asyncio.to_thread(sys.stdin.read)  # until the process that started us ends


@asynccontextmanager
async def _ours(to: str, folder: str) -> AsyncIterator[str]:
    from workbench.proxy.recorder_link import in_process
    from workbench.proxy.routes import Upstreams
    from workbench.proxy.server import ProxyServer

    recorder = in_process(print, journals=Path(folder) / "unrecorded", store=Path(folder) / "proxy.db")
    async with ProxyServer(Upstreams(to), recorder) as server:
        yield server.address
    recorder.close()


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
