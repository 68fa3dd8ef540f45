"""Asks the embedded model how likely it finds the recorded answer, instead of asking for a new one."""

from __future__ import annotations

from typing import Any, Self

from workbench.config.errors import Refused, WorkbenchError
from workbench.models.catalogue import LOCAL_WINDOW
from workbench.models.local.embedded import LocalModel
from workbench.models.local.scoring import answer_logprob
from workbench.sources.replay_answers import ReplayAnswer
from workbench.sources.replaying import ReplayJob
from workbench.wire.checked_requests import BadRequest, CheckedMessage
from workbench.wire.dialects import DIALECTS


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
