"""The stand-in as a provider of litellm's, in the same process: it takes the path of any other model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from workbench.models.engine import engine
from workbench.rehearsal.answers import pieces
from workbench.rehearsal.faults import IN_THE_MIDDLE, Refusal
from workbench.rehearsal.openai_dialect import REASONS, OpenAI, delta_json, usage_json
from workbench.rehearsal.rehearsal_model import PlayedAnswer, RehearsalModel
from workbench.rehearsal.request import BadRequest, RehearsalRequest
from workbench.rehearsal.script import Script

NAME = "rehearsal"


def rehearse(script: Script | None = None) -> None:
    """From now on the model `rehearsal` plays this script, in the whole process; without one it has its rules."""
    engine().provide(partial(register, script=script))


def register(litellm: Any, script: Script | None = None) -> RehearsalModel:
    """Add the provider to litellm (the module itself, which only its user imports), or replace the one that is there.

    The class is made here because it has to inherit from litellm's.
    """
    from_types = litellm.types.utils
    error = litellm.llms.custom_llm.CustomLLMError
    stand_in = RehearsalModel(script)

    def play(model: str, messages: list[Any], optional_params: dict[str, Any]) -> tuple[RehearsalRequest, PlayedAnswer]:
        try:
            request = OpenAI().read({**optional_params, "model": model, "messages": messages})
        except BadRequest as bad:
            raise error(400, str(bad)) from bad
        played = stand_in.play(request)
        if played.refusal:
            raise _failure(litellm, played.refusal, model)
        if played.fault and played.fault.kind == "drop":
            raise error(500, "the connection was closed, as the script asks for")
        return request, played

    class RehearsalProvider(litellm.CustomLLM):  # type: ignore[misc]  # litellm is a value here, its classes are not known
        """litellm's side of the stand-in."""

        async def acompletion(
            self, model: str, messages: list[Any], model_response: Any, optional_params: dict[str, Any], **_: Any
        ) -> Any:
            """A whole answer."""
            request, played = play(model, messages, optional_params)
            if played.fault and played.fault.kind in ("html", "no_finish"):
                raise error(500, f"no answer, as the script asks for: {played.fault.kind}")
            async for _delta in _deltas(played, error):
                pass
            body = OpenAI().whole(played, request, NAME)
            message = from_types.Message(**body["choices"][0]["message"])
            finish = body["choices"][0]["finish_reason"]
            model_response.choices = [from_types.Choices(finish_reason=finish, index=0, message=message)]
            model_response.model = f"{NAME}/{model}"
            if "usage" in body:
                model_response.usage = from_types.Usage(**body["usage"])
            return model_response

        def astreaming(
            self, model: str, messages: list[Any], optional_params: dict[str, Any], **_: Any
        ) -> AsyncIterator[Any]:
            """An answer piece by piece; what refuses the request does so at once, as over HTTP."""
            return self._chunks(model, play(model, messages, optional_params)[1])

        async def _chunks(self, model: str, played: PlayedAnswer) -> AsyncIterator[Any]:
            def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> Any:
                choice = from_types.StreamingChoices(index=0, delta=from_types.Delta(**delta), finish_reason=finish)
                return from_types.ModelResponseStream(choices=[choice], model=model, **more)

            async for delta in _deltas(played, error):
                yield chunk(delta)
            if played.fault and played.fault.kind in ("html", "no_finish"):
                return
            # litellm stops listening at the finish reason: what was used has to come before it.
            if played.answer.usage:
                yield chunk({}, usage=usage_json(played.answer.usage))
            yield chunk({}, REASONS[played.answer.reason])

    others = [entry for entry in litellm.custom_provider_map if entry["provider"] != NAME]
    litellm.custom_provider_map = [*others, {"provider": NAME, "custom_handler": RehearsalProvider()}]
    litellm.utils.custom_llm_setup()
    return stand_in


async def _deltas(played: PlayedAnswer, error: Any) -> AsyncIterator[dict[str, Any]]:
    """The answer's pieces when they are due, broken off where a fault says so."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    kind = played.fault.kind if played.fault else ""
    await asyncio.sleep(played.pace.delay)
    if kind in ("silence", "mute"):
        await asyncio.Event().wait()
    if kind == "html":
        return
    found = list(pieces(played.answer, played.pace))
    middle = len(found) // 2 if kind in IN_THE_MIDDLE else len(found)
    for piece in found[:middle]:
        wait = began + piece.at - loop.time() if piece.at else 0
        if wait > 0:
            await asyncio.sleep(wait)
        yield delta_json(piece, played.answer)
    if kind == "stall":
        await asyncio.Event().wait()
    if middle < len(found):
        raise error(500, f"the stream broke off, as the script asks for: {kind}")


def _failure(litellm: Any, refusal: Refusal, model: str) -> Exception:
    """litellm's exception for a refusal. It tells most from the status, but knows nobody's words for these two."""
    text = OpenAI().error(refusal, model)["error"]["message"]
    found: Exception
    match refusal.kind:
        case "context":
            found = litellm.ContextWindowExceededError(text, model=model, llm_provider=NAME)
        case "policy":
            found = litellm.ContentPolicyViolationError(text, model=model, llm_provider=NAME)
        case _:
            found = litellm.llms.custom_llm.CustomLLMError(refusal.status, text)
            if refusal.wait is not None:
                # Where litellm looks for a response's headers.
                found.headers = {"retry-after": str(refusal.wait)}  # type: ignore[attr-defined]  # of a value, as above
    return found
