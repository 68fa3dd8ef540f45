"""The adapter for Google's ADK: `App(..., plugins=[PlannedPlugin(window=16_000)])`."""

from __future__ import annotations

from typing import Any, Unpack

from workbench.adapters.chat_messages import Originals
from workbench.adapters.conversations import AdapterSettings, PlannedConversations
from workbench.config.optional_packages import packages_of_extra
from workbench.library.plain_values import plain

with packages_of_extra("adk", __name__):
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai import types


class PlannedPlugin(BasePlugin):
    """Plans each request of an app's agents before it is sent. ADK's session still keeps every event whole.

    The attribute `workbench.context` is the context that was used last.
    """

    def __init__(self, name: str = "workbench", **settings: Unpack[AdapterSettings]) -> None:
        super().__init__(name)
        self.workbench = PlannedConversations("google", settings)

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Replace the contents of the request with the planned ones."""
        given = [(plain(content, "contents"), content) for content in llm_request.contents]
        tools = [plain(tool, "tools") for tool in llm_request.config.tools or () if isinstance(tool, types.Tool)]
        planned = await self.workbench.request(
            [message for message, _ in given],
            _key(callback_context),
            system=prompt_text(llm_request.config.system_instruction),
            tools=tools,
            model=llm_request.model or "",
        )
        originals = Originals(given)
        llm_request.contents = [
            originals.whole_object(message) or types.Content.model_validate(message)
            for message in planned.body["contents"]
        ]

    async def after_model_callback(self, *, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """Add the answer to its context. Pieces of a stream are skipped: ADK passes the whole answer after them."""
        context = self.workbench.context_under(_key(callback_context))
        if context is not None and not llm_response.partial:
            answer = [llm_response.content] if llm_response.content and llm_response.content.parts else []
            self.workbench.record_answer(context, answer, llm_response.usage_metadata)


def _key(context: CallbackContext) -> str:
    """The key of a conversation: of one agent in one session, because each agent of an app sees another part of it."""
    return f"{context.session.id}/{context.agent_name}"


def prompt_text(instruction: Any) -> str:
    """The text of a system instruction, in any of the forms that it may have."""
    if isinstance(instruction, str) or instruction is None:
        return instruction or ""
    found = plain(instruction, "system_instruction")
    parts = found.get("parts", [found]) if isinstance(found, dict) else found
    return "\n".join(part if isinstance(part, str) else str(part.get("text", "")) for part in parts)
