"""litellm keeps its clients; those from before it was guarded are not used again."""

from __future__ import annotations

from importlib import import_module

import pytest

from workbench.models.http_guard import guard_litellm

pytestmark = pytest.mark.xdist_group("litellm")


def test_a_client_that_the_process_used_before_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = import_module("litellm").in_memory_llm_clients_cache
    handler = import_module("litellm.llms.custom_httpx.http_handler").AsyncHTTPHandler
    openai_like = import_module("litellm.llms.openai.common_utils").BaseOpenAILLM
    text_completions = import_module("litellm.llms.openai.completion.handler")
    make = handler.create_client
    monkeypatch.setattr(handler, "create_client", getattr(make, "__wrapped__", make))
    monkeypatch.setattr(openai_like, "_get_async_http_client", staticmethod(openai_like._get_async_http_client))
    monkeypatch.setattr(text_completions, "AsyncOpenAI", text_completions.AsyncOpenAI)
    clients.set_cache("unguarded", object())
    guard_litellm()
    assert clients.get_cache("unguarded") is None
    clients.set_cache("guarded", client := object())
    guard_litellm()
    assert clients.get_cache("guarded") is client, "guarded once, they stay"
