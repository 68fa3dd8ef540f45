"""LangChain and LangGraph: `create_agent(model, tools, middleware=[PlannedMiddleware(window=16_000)])`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Unpack

from workbench.adapters.chat_messages import Originals, SystemPrompt, leading_prompt
from workbench.adapters.conversations import AdapterSettings, PlannedConversations, PlannedRequest
from workbench.config.optional_packages import packages_of_extra

with packages_of_extra("langchain", __name__):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
    from langchain_core.messages.utils import convert_to_openai_messages
    from langchain_core.utils.function_calling import convert_to_openai_tool


class PlannedMiddleware(AgentMiddleware[Any, Any, Any]):
    """Plans each request of an agent. The agent's state keeps every message whole.

    `workbench.context` has the context that was used last.
    """

    def __init__(self, **settings: Unpack[AdapterSettings]) -> None:
        super().__init__()
        self.workbench = PlannedConversations("openai", settings)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Send the planned messages."""
        given = _pairs(request.messages)
        made = self.workbench.request_now([message for message, _ in given], **_head(request))
        answer = handler(request.override(messages=_own(made, given, SystemPrompt(0, request.system_prompt or ""))))
        self._note(made.context, answer.result)
        return answer

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Send the planned messages."""
        given = _pairs(request.messages)
        made = await self.workbench.request([message for message, _ in given], **_head(request))
        answer = await handler(
            request.override(messages=_own(made, given, SystemPrompt(0, request.system_prompt or "")))
        )
        self._note(made.context, answer.result)
        return answer

    def _note(self, context: Any, result: Sequence[BaseMessage]) -> None:
        usage = next((each.usage_metadata for each in result if isinstance(each, AIMessage)), None)
        self.workbench.record_answer(context, [message for message, _ in _pairs(result)], _usage(usage))

    def pre_model_hook(self, state: Any) -> dict[str, Any]:
        """For LangGraph's `create_react_agent(..., pre_model_hook=planned.pre_model_hook)`: the state stays whole."""
        given = _pairs(state["messages"] if isinstance(state, dict) else state.messages)
        prompt = leading_prompt([message for message, _ in given])
        talk = given[prompt.length :]
        made = self.workbench.request_now([message for message, _ in talk], system=prompt.text)
        return {"llm_input_messages": [*(own for _, own in given[: prompt.length]), *_own(made, talk, prompt)]}


def _pairs(messages: Sequence[BaseMessage]) -> list[tuple[dict[str, Any], BaseMessage]]:
    """Each message in OpenAI's form, and as it is."""
    return [(_chat(message), message) for message in messages]


def _chat(message: BaseMessage) -> dict[str, Any]:
    found = convert_to_openai_messages(message)
    assert isinstance(found, dict)
    return found


def _head(request: ModelRequest[Any]) -> dict[str, Any]:
    tools = [tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in request.tools]
    model = getattr(request.model, "model_name", None) or getattr(request.model, "model", None)
    return {"system": request.system_prompt, "tools": tools, "model": str(model or "")}


def _own(
    planned: PlannedRequest, given: Sequence[tuple[dict[str, Any], BaseMessage]], prompt: SystemPrompt
) -> list[Any]:
    """Planned messages as LangChain's: its own objects where nothing was changed in them."""
    originals = Originals(given)
    made: list[BaseMessage] = []
    for message in prompt.without(planned.body["messages"]):
        whole, result = originals.whole_object(message), originals.result(message)
        if whole is not None:
            made.append(whole)
        elif result is not None:
            made.append(result.model_copy(update={"content": message["content"], "artifact": None}))
        else:
            made += convert_to_messages([message])
    return made


def _usage(usage: Any) -> dict[str, Any] | None:
    """LangChain's count of an answer under OpenAI's names."""
    if usage is None:
        return None
    cached = (usage.get("input_token_details") or {}).get("cache_read") or 0
    return {
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage["output_tokens"],
        "total_tokens": usage["total_tokens"],
        "prompt_tokens_details": {"cached_tokens": cached},
    }
