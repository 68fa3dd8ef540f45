"""Asks the embedded model how likely it finds the recorded answer (its log-probability, token by token), instead of
asking for a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Self

from workbench.config.errors import Refused, WorkbenchError
from workbench.models.catalogue import LOCAL_WINDOW
from workbench.models.endpoints import Endpoint
from workbench.models.local.embedded import LocalFailure, LocalModel
from workbench.sources.replay_answers import ReplayAnswer
from workbench.sources.replaying import ReplayJob
from workbench.wire.checked_requests import BadRequest, CheckedMessage
from workbench.wire.dialects import DIALECTS

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


class LocalScorer:
    """Scores requests inside its `async with` block, in which the model runs."""

    def __init__(self, job: ReplayJob) -> None:
        """Raises Refused if the log does not have the answer."""
        recorded = job.recorded
        if recorded is None or not (recorded.text or recorded.calls):
            raise Refused(f"request {job.number}: --to local needs the recorded answer, and the log does not have it")
        self._dialect = DIALECTS[job.dialect]
        self._recorded = recorded
        self._answer = "\n".join(filter(None, (recorded.text, *(f"{tool} {given}" for tool, given in recorded.calls))))
        self._model = LocalModel(job.to.partition(":")[2] or None, LOCAL_WINDOW)

    async def __aenter__(self) -> Self:
        await self._model.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._model.stop()

    async def score_body(self, body: dict[str, Any]) -> ReplayAnswer:
        """The recorded answer with its log-probability after this request. A failure is an answer with a problem."""
        scored = self._recorded._replace(cost=0.0, status=200)
        speaker = self._dialect.new_speaker()
        try:
            request = speaker.read_request(body, speaker.paths[0])
            messages = [_plain_message(message) for message in request.messages]
            endpoint = await self._model.start()
            return scored._replace(logprob=await answer_logprob(endpoint, messages, self._answer))
        except (BadRequest, WorkbenchError) as error:
            return scored._replace(problem=str(error), status=400)


def _plain_message(message: CheckedMessage) -> dict[str, str]:
    """A message as a model without tools reads it: calls and results are text."""
    calls = [f"{call.tool} {call.arguments}" for call in message.calls]
    role = "user" if message.role == "tool" else message.role
    return {"role": role, "content": "\n".join(filter(None, (message.text, *calls)))}
