"""The rehearsal model in this process: the gateway uses it like any model, without litellm and without network."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from workbench.models.answer_streams import Json, ProviderRefusal
from workbench.models.catalogue import REHEARSAL
from workbench.models.engine import engine
from workbench.rehearsal.faults import IN_THE_MIDDLE
from workbench.rehearsal.rehearsal_model import PlayedAnswer, RehearsalModel
from workbench.rehearsal.script import Script
from workbench.wire.answers import answer_pieces
from workbench.wire.chat_speaker import REASONS, delta_json
from workbench.wire.checked_requests import BadRequest
from workbench.wire.dialects import DEFAULT


def rehearse(script: Script | None = None) -> RehearsalModel:
    """Make the model `rehearsal` answer by this script in the whole process. Without a script it follows rules."""
    stand_in = RehearsalModel(script)

    async def answering(call: Json) -> AsyncGenerator[Json, None]:
        async for chunk in _chunks(_play(stand_in, call)):
            yield chunk

    engine().provide_answering(REHEARSAL, answering)
    return stand_in


def _play(stand_in: RehearsalModel, call: Json) -> PlayedAnswer:
    """Have the model answer a request. Raises ProviderRefusal before any piece if the script has it refused."""
    speaker = DEFAULT.new_speaker()
    try:
        request = speaker.read_request(call)
    except BadRequest as bad:
        raise ProviderRefusal(400, str(bad)) from None
    played = stand_in.play(request)
    refusal = played.refusal
    if refusal:
        message = speaker.error(refusal, request.model)["error"]["message"]
        headers = {} if refusal.wait is None else {"retry-after": str(refusal.wait)}
        raise ProviderRefusal(refusal.status, message, headers)
    if played.fault and played.fault.kind == "drop":
        raise ProviderRefusal(500, "the connection was closed, as the script asks for")
    return played


async def _chunks(played: PlayedAnswer) -> AsyncGenerator[Json, None]:
    """Yield the pieces of the answer, each at its time. A fault of the script stops or breaks the stream."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    kind = played.fault.kind if played.fault else ""
    await asyncio.sleep(played.pace.delay)
    if kind in ("silence", "mute"):
        await asyncio.Event().wait()
    if kind == "html":
        return
    found = list(answer_pieces(played.answer, played.pace))
    middle = len(found) // 2 if kind in IN_THE_MIDDLE else len(found)
    for piece in found[:middle]:
        # Sleep even for 0 seconds: other tasks can run then, and this one can be cancelled.
        await asyncio.sleep(max(0.0, began + piece.at - loop.time()) if piece.at else 0)
        yield {"choices": [{"delta": delta_json(piece, played.answer)}]}
    if kind == "stall":
        await asyncio.Event().wait()
    if middle < len(found):
        raise ProviderRefusal(500, f"the stream broke off, as the script asks for: {kind}", in_stream=True)
    if not played.finishes:
        return
    yield {"choices": [{"delta": {}, "finish_reason": REASONS[played.answer.reason]}]}
    if played.answer.usage:
        yield {"choices": [], **DEFAULT.usage_json(played.answer.usage)}
