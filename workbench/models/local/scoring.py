"""How likely the embedded model finds an answer: its log-probability, token by token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from workbench.models.endpoints import Endpoint
from workbench.models.local.embedded import LocalFailure

MOST_TOKENS = 24
"""Tokens at the beginning of the answer that are scored. Each is a request of its own, and the decision falls early."""
_CANDIDATES = 200
"""Tokens whose probability the server reports at each place. A token that is less likely counts like the last one."""


async def answer_logprob(endpoint: Endpoint, messages: Sequence[Mapping[str, str]], answer: str) -> float:
    """The natural logarithm of the probability that the model answers these messages with the beginning of `answer`.

    Raises LocalFailure if the server refuses, such as a conversation that is longer than its window.
    """
    httpx = import_module("httpx")  # late: it takes a tenth of a second, for this model only
    client_of = import_module("workbench.models.http_guard").GuardedClient
    headers = {"authorization": f"Bearer {endpoint.api_key}"}
    base = endpoint.api_base.removesuffix("/v1")
    try:
        async with client_of(trust_env=False, verify=False, timeout=None, headers=headers, base_url=base) as client:
            asked = {"messages": [dict(message) for message in messages]}
            prompt = (await _reply(client, "/apply-template", asked))["prompt"]
            before = await _tokens(client, prompt)
            wanted = (await _tokens(client, answer))[:MOST_TOKENS]
            total = 0.0
            for at, token in enumerate(wanted):
                total += await _token_logprob(client, [*before, *wanted[:at]], token)
            return total
    except (httpx.HTTPError, KeyError, IndexError, TypeError, ValueError) as error:
        raise LocalFailure(f"the model `local` gave no probabilities: {error or type(error).__name__}") from None


async def _reply(client: Any, path: str, body: Mapping[str, Any]) -> Any:
    answer = await client.post(path, json=body)
    if answer.is_error:
        raise LocalFailure(f"the model `local` refused: {answer.text[:300]}")
    return answer.json()


async def _tokens(client: Any, text: str) -> list[int]:
    asked = {"content": text, "parse_special": True, "add_special": False}
    found: list[int] = (await _reply(client, "/tokenize", asked))["tokens"]
    return found


async def _token_logprob(client: Any, before: list[int], token: int) -> float:
    asked = {"prompt": before, "n_predict": 1, "n_probs": _CANDIDATES, "temperature": 0, "cache_prompt": True}
    likely = (await _reply(client, "/completion", asked))["completion_probabilities"][0]["top_logprobs"]
    return float(next((each["logprob"] for each in likely if each["id"] == token), likely[-1]["logprob"]))
