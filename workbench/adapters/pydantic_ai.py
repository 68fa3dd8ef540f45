"""Pydantic AI: `Agent(model, capabilities=[PlannedRequests(window=16_000)])`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from workbench.adapters.chat_messages import Originals, leading_prompt, text_of_content
from workbench.adapters.conversations import AdapterSettings, PlannedConversations
from workbench.config.optional_packages import packages_of_extra
from workbench.config.values import replace

with packages_of_extra("pydantic-ai", __name__):
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler
    from pydantic_ai.messages import (
        BinaryContent,
        ImageUrl,
        InstructionPart,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        RetryPromptPart,
        SystemPromptPart,
        TextContent,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext

Pair = tuple[dict[str, Any], Any]
"""A message in OpenAI's form, and the part of a request or the response that it was made from."""


class PlannedRequests(AbstractCapability[Any]):
    """Plans each request of an agent. `all_messages()` keeps every message whole.

    A history processor would change these messages; this changes only what is sent.
    `workbench.context` has the context that was used last.
    """

    def __init__(self, **settings: Unpack[AdapterSettings]) -> None:
        self.workbench = PlannedConversations("openai", settings)

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: WrapModelRequestHandler
    ) -> ModelResponse:
        """Send the planned messages."""
        given, head = _pairs(request_context.messages), _head(request_context)
        prompt = leading_prompt([message for message, _ in given], head["system"])
        talk = given[prompt.length :]
        made = await self.workbench.request(
            [message for message, _ in talk], ctx.conversation_id or "", **{**head, "system": prompt.text}
        )
        parts = [*(own for _, own in given[: prompt.length]), *_own(prompt.without(made.body["messages"]), talk)]
        request_context.messages = _messages(parts, request_context.messages)
        response = await handler(request_context)
        self.workbench.record_answer(made.context, [_response(response)], _usage(response))
        return response


def _head(request: ModelRequestContext) -> dict[str, Any]:
    """The system prompt, the tools and the model."""
    parameters = request.model_request_parameters
    offered = (*parameters.function_tools, *parameters.output_tools)
    return {
        "system": InstructionPart.join(parameters.instruction_parts) if parameters.instruction_parts else "",
        "tools": [
            {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
            for tool in offered
        ],
        "model": request.model.model_name,
    }


# Pydantic AI's messages in OpenAI's form


def _pairs(messages: Sequence[ModelMessage]) -> list[Pair]:
    found: list[Pair] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            found.append((_response(message), message))
        else:
            found += [(_part(part), part) for part in message.parts]
    return found


def _part(part: Any) -> dict[str, Any]:
    match part:
        case SystemPromptPart(content=text):
            return {"role": "system", "content": text}
        case UserPromptPart(content=content):
            return {
                "role": "user",
                "content": content if isinstance(content, str) else [_content(each) for each in content],
            }
        case ToolReturnPart():
            return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
        case RetryPromptPart(tool_name=str()):
            return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response()}
        case RetryPromptPart():
            return {"role": "user", "content": part.model_response()}
    return {"role": "user", "content": str(part)}


def _content(content: Any) -> dict[str, Any]:
    match content:
        case str() as text:
            return {"type": "text", "text": text}
        case TextContent(content=text):
            return {"type": "text", "text": text}
        case ImageUrl(url=url):
            return {"type": "image_url", "image_url": {"url": url}}
        case BinaryContent() if content.is_image:
            return {"type": "image_url", "image_url": {"url": content.data_uri}}
    return {"type": "file", "file": {"filename": type(content).__name__}}


def _response(message: ModelResponse) -> dict[str, Any]:
    text = "\n\n".join(part.content for part in message.parts if isinstance(part, TextPart))
    thinking = "\n".join(part.content for part in message.parts if isinstance(part, ThinkingPart))
    calls = [
        {
            "id": part.tool_call_id,
            "type": "function",
            "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
        }
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    return {
        "role": "assistant",
        "content": text or None,
        **({"reasoning_content": thinking} if thinking else {}),
        **({"tool_calls": calls} if calls else {}),
    }


def _usage(response: ModelResponse) -> dict[str, Any]:
    used = response.usage
    return {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "prompt_tokens_details": {"cached_tokens": used.cache_read_tokens},
    }


# And back


def _own(planned: Sequence[dict[str, Any]], given: Sequence[Pair]) -> list[Any]:
    """The parts and responses of planned messages: the framework's own where nothing was changed in them."""
    originals = Originals(given)
    return [originals.whole_object(each) or _changed(each, originals.result(each)) for each in planned]


def _messages(parts: Sequence[Any], before: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Messages of these parts and responses. Parts that follow each other are one request, as the first one's was."""
    requests = {id(part): each for each in before if isinstance(each, ModelRequest) for part in each.parts}
    made: list[ModelMessage] = []
    for own in parts:
        if isinstance(own, ModelResponse):
            made.append(own)
        elif made and isinstance(made[-1], ModelRequest):
            made[-1] = replace(made[-1], parts=[*made[-1].parts, own])
        else:
            made.append(replace(requests.get(id(own), ModelRequest([])), parts=[own]))
    return made


def _changed(message: dict[str, Any], result: Any) -> Any:
    """The part or the response for a message that the policy changed or made."""
    text = text_of_content(message.get("content"))
    if isinstance(result, ToolReturnPart):
        return replace(result, content=text)
    if isinstance(result, RetryPromptPart) and result.tool_name:  # with other contents it would add its own words again
        return ToolReturnPart(result.tool_name, text, tool_call_id=result.tool_call_id)
    if message["role"] == "tool":
        return ToolReturnPart("", text, tool_call_id=message["tool_call_id"])
    if message["role"] == "assistant":
        calls = [
            ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"])
            for call in message.get("tool_calls", ())
        ]
        return ModelResponse([*([TextPart(text)] if text else []), *calls])
    return SystemPromptPart(text) if message["role"] == "system" else UserPromptPart(text)
