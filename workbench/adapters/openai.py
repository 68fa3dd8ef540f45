"""The adapter for the `openai` client: `client = plan_openai(OpenAI(), window=16_000)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from workbench.adapters.chat_messages import leading_prompt
from workbench.adapters.conversations import AdapterSettings, PlannedConversations
from workbench.adapters.planned_methods import CallContents, plan_methods

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

    AnyOpenAI = TypeVar("AnyOpenAI", OpenAI, AsyncOpenAI)


def plan_openai(client: AnyOpenAI, **settings: Unpack[AdapterSettings]) -> AnyOpenAI:
    """Return a copy of a client that plans its requests (chat completions and responses) before it sends them.

    A request that continues what the provider stored (`previous_response_id`, `conversation`) is sent unchanged.
    """
    from openai import AsyncOpenAI

    planned, awaited = client.copy(), isinstance(client, AsyncOpenAI)
    chats, responses = PlannedConversations("openai", settings), PlannedConversations("openai-responses", settings)
    for owner in (planned.chat.completions, planned.beta.chat.completions):
        plan_methods(owner, chats, chat_request, create=awaited, parse=awaited)
    plan_methods(planned.responses, responses, _responses_request, create=awaited, parse=awaited)
    return planned


def chat_request(given: dict[str, Any]) -> CallContents:
    """Split the arguments of a chat call: messages, system prompt, and a function that puts planned messages back."""
    messages = list(given.get("messages") or ())
    prompt = leading_prompt(messages)

    def put_back(request: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [*messages[: prompt.length], *prompt.without(request["messages"])]}

    return CallContents(messages[prompt.length :], prompt.text, put_back, _chat_answer)


def _chat_answer(response: Any) -> list[Any]:
    """The answer as a message, without empty fields, as programs send it back. Some answers have no choices."""
    if not response.choices:
        return []
    message = response.choices[0].message.model_dump(exclude_none=True)
    return [{name: value for name, value in message.items() if value not in ([], {})}]


def _responses_request(given: dict[str, Any]) -> CallContents | None:
    """Like `chat_request`, for the Responses API; None if the request must not be planned."""
    if given.get("previous_response_id") or given.get("conversation"):
        return None
    items = given.get("input")
    listed = [{"role": "user", "content": items}] if isinstance(items, str) else list(items or ())

    def put_back(request: dict[str, Any]) -> dict[str, Any]:
        return {"input": request["input"]}

    return CallContents(listed, given.get("instructions"), put_back, lambda response: list(response.output))
