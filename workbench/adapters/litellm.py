"""litellm: `litellm.callbacks = [plan_litellm(window=16_000)]` plans every `acompletion`, of a router too."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Unpack

from workbench.adapters.conversations import AdapterSettings, PlannedConversations
from workbench.adapters.openai import chat_request
from workbench.adapters.planned_methods import PlannedCall, plan_call, plan_call_now
from workbench.adapters.recorded_streams import WatchedStream

CHATS = ("completion", "acompletion")


class LitellmPlanner:
    """What litellm calls before a request is sent and after it was answered."""

    def __init__(self, settings: AdapterSettings, completion: Callable[..., Any]) -> None:
        super().__init__()
        self.workbench = PlannedConversations("openai", settings)
        self._completion = completion
        self._open: dict[str, PlannedCall] = {}

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Plan the messages of a chat."""
        if getattr(call_type, "value", call_type) not in CHATS or not kwargs.get("messages"):
            return None
        call = await plan_call(self.workbench, chat_request, kwargs)
        self._open[str(kwargs.get("litellm_call_id"))] = call
        return call.arguments

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> None:
        """Record an answer that came whole."""
        if getattr(response, "usage", None) is not None:
            self._record(request_data, response)

    async def async_log_success_event(self, kwargs: dict[str, Any], response_obj: Any, **_: Any) -> None:
        """Record an answer that was streamed; litellm puts it together when the stream has ended."""
        self._record(kwargs, response_obj)

    def _record(self, request_data: dict[str, Any], response: Any) -> None:
        call = self._open.pop(str(request_data.get("litellm_call_id")), None)
        if call is not None:
            call.record_answer(response)

    def completion(self, **given: Any) -> Any:
        """`litellm.completion`, planned: litellm asks no callback before a call that waits."""
        call = plan_call_now(self.workbench, chat_request, given)
        answer = self._completion(**call.arguments)
        return WatchedStream(answer, call.record_stream) if given.get("stream") else call.record_answer(answer)

    async def async_post_call_failure_deployment_hook(self, request_data: Any, *_: Any, **more: Any) -> None:
        """Forget a request that has no answer."""
        self._open.pop(str(request_data.get("litellm_call_id")), None)


def plan_litellm(**settings: Unpack[AdapterSettings]) -> Any:
    """A callback for litellm's list of callbacks. Its `completion` is for calls that are not awaited."""
    logger = import_module("litellm.integrations.custom_logger").CustomLogger
    made = type("PlannedCallback", (LitellmPlanner, logger), {})
    return made(settings, import_module("litellm").completion)
