"""A server on this machine that speaks OpenAI's dialect exactly, used without litellm."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from importlib import import_module

from workbench.models.answer_streams import Json, ProviderRefusal
from workbench.models.chunk_reader import how_it_broke
from workbench.models.endpoints import NO_KEY, Endpoint
from workbench.models.failures import ModelFailure

_END = "[DONE]"


async def ask_server(endpoint: Endpoint, call: Json) -> AsyncGenerator[Json, None]:
    """The chunks of its answer. Closing the generator closes the connection."""
    httpx = import_module("httpx")  # imported late: it takes a tenth of a second, for this model only
    client_of = import_module("workbench.models.http_guard").GuardedClient
    headers = {"authorization": f"Bearer {endpoint.api_key or NO_KEY}", "content-type": "application/json"}
    body = json.dumps(
        {**call, "model": endpoint.model or call["model"]}
    ).encode()  # in ASCII, so lone surrogates can be encoded, too
    began = False
    try:
        # No proxies from the environment, no certificates and no timeout: this is loopback, and the caller has a clock.
        async with (
            client_of(trust_env=False, verify=False, timeout=None) as client,
            client.stream("POST", f"{endpoint.api_base}/chat/completions", content=body, headers=headers) as answer,
        ):
            if answer.is_error:
                raise ProviderRefusal(
                    answer.status_code, (await answer.aread()).decode("utf-8", "replace"), answer.headers
                )
            kind = answer.headers.get("content-type", "")
            if not kind.startswith("text/event-stream"):
                raise ModelFailure("broken_stream", how_it_broke(None, kind))
            began = True
            async for line in answer.aiter_lines():
                data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
                if data == _END:
                    return
                if data:
                    yield _chunk(data)
    except httpx.HTTPError as error:
        raise ProviderRefusal(None, f"connection error: {error or type(error).__name__}", in_stream=began) from error


def _chunk(data: str) -> Json:
    try:
        found = json.loads(data)
    except ValueError as error:
        raise ProviderRefusal(500, f"the server sent something that is not JSON: {error}", in_stream=True) from None
    if not isinstance(found, dict) or "error" in found:
        problem = found.get("error") if isinstance(found, dict) else None
        status = problem.get("code") if isinstance(problem, dict) else None
        raise ProviderRefusal(status if isinstance(status, int) else 500, data, in_stream=True)
    return found
