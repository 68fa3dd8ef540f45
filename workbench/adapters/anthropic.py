"""The `anthropic` client: `client = plan_anthropic(Anthropic(), window=16_000)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from workbench.adapters.conversations import AdapterSettings, PlannedConversations
from workbench.adapters.planned_methods import CallContents, plan_methods

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic

    AnyAnthropic = TypeVar("AnyAnthropic", Anthropic, AsyncAnthropic)


def plan_anthropic(client: AnyAnthropic, **settings: Unpack[AdapterSettings]) -> AnyAnthropic:
    """A copy of a client whose messages, those of `beta` too, are planned before they are sent."""
    from anthropic import AsyncAnthropic

    planned, awaited = client.copy(), isinstance(client, AsyncAnthropic)
    messages = PlannedConversations("anthropic", settings)
    for owner in (planned.messages, planned.beta.messages):
        plan_methods(owner, messages, _messages, create=awaited, parse=awaited, stream=False)
    return planned


def _messages(given: dict[str, Any]) -> CallContents:
    def put_back(request: dict[str, Any]) -> dict[str, Any]:
        return {"messages": request["messages"]}

    def messages_in(response: Any) -> list[Any]:
        return [{"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in response.content]}]

    return CallContents(list(given.get("messages") or ()), given.get("system"), put_back, messages_in)
