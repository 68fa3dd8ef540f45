"""The OpenAI Agents SDK: `planned = PlannedInput(window=16_000)`, then `Runner.run(agent, text, **planned.run())`."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Unpack

from workbench.adapters.conversations import AdapterSettings, PlannedConversations
from workbench.config.optional_packages import packages_of_extra
from workbench.library.context import Context

with packages_of_extra("agents", __name__):
    from agents import Agent, ModelResponse, RunConfig, RunContextWrapper, RunHooks
    from agents.run_config import CallModelData, ModelInputData


class PlannedInput(RunHooks[Any]):
    """Plans the input of each model call, and notes what comes back. A session keeps every item whole.

    `workbench.context` has the context that was used last.
    """

    def __init__(self, **settings: Unpack[AdapterSettings]) -> None:
        self.workbench = PlannedConversations("openai-responses", settings)
        self._asked: ContextVar[Context | None] = ContextVar("asked", default=None)
        """Of the run that this task is doing."""

    def run(self, config: RunConfig | None = None) -> dict[str, Any]:
        """The arguments that a run needs: the configuration with the filter, and the hooks."""
        chosen = config or RunConfig()
        chosen.call_model_input_filter = self
        return {"run_config": chosen, "hooks": self}

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Give the planned input."""
        agent, given = data.agent, data.model_data
        model = agent.model if isinstance(agent.model, str) else getattr(agent.model, "model", "")
        tools = [_definition(tool) for tool in await agent.get_all_tools(RunContextWrapper(data.context))]
        planned = await self.workbench.request(
            given.input, system=given.instructions, tools=[tool for tool in tools if tool], model=str(model or "")
        )
        self._asked.set(planned.context)
        return ModelInputData(planned.body["input"], given.instructions)

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        """Note the answer."""
        used = response.usage
        report = {
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "input_tokens_details": {"cached_tokens": used.input_tokens_details.cached_tokens},
            "output_tokens_details": {"reasoning_tokens": used.output_tokens_details.reasoning_tokens},
        }
        planned = self._asked.get()
        if planned is not None:
            self.workbench.record_answer(planned, response.to_input_items(), report)


def _definition(tool: Any) -> dict[str, Any] | None:
    """A function tool as it is offered; None for one that the provider runs."""
    schema = getattr(tool, "params_json_schema", None)
    if schema is None:
        return None
    return {"type": "function", "name": tool.name, "description": tool.description, "parameters": schema}
