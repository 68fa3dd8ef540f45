"""The providers' own libraries through the proxy: they get what they would get without it.

They are imported where they are used: it takes seconds, and every process of the tests reads this file.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from proxy.test_server import proxy
from workbench.log.events import AssistantMessage, Request, Usage
from workbench.rehearsal.server import RehearsalServer

pytestmark = pytest.mark.xdist_group("litellm")  # which imports them, too


async def test_anthropic_streams_counts_and_answers(tmp_path: Path) -> None:
    import anthropic

    async with RehearsalServer() as server, proxy(tmp_path, server.url) as running:
        client = anthropic.AsyncAnthropic(base_url=running.address, api_key="any", max_retries=0)
        asked: list[anthropic.types.MessageParam] = [{"role": "user", "content": "hello there"}]
        async with client.messages.stream(model="m", max_tokens=100, messages=asked) as stream:
            said = "".join([text async for text in stream.text_stream])
        whole = await client.messages.create(model="m", max_tokens=100, messages=asked)
        counted = await client.messages.count_tokens(model="m", messages=asked)
        await client.close()
        bodies = await running.bodies()
    assert whole.content[0].type == "text"
    assert whole.content[0].text == said
    assert counted.input_tokens > 0
    requests = [body for body in bodies if isinstance(body, Request)]
    assert [(each.purpose, each.name) for each in requests] == [("turn", ""), ("turn", ""), ("side", "counting")]
    assert {body.content for body in bodies if isinstance(body, AssistantMessage)} == {said}


async def test_openai_speaks_both_of_its_dialects(tmp_path: Path) -> None:
    import openai

    async with RehearsalServer() as server, proxy(tmp_path, server.url) as running:
        client = openai.AsyncOpenAI(base_url=f"{running.address}/v1", api_key="any", max_retries=0)
        chat = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello there"}])
        said = chat.choices[0].message.content
        response = await client.responses.create(model="m", input="hello there")
        pieces = [
            event.delta
            async for event in await client.responses.create(model="m", input="hello there", stream=True)
            if event.type == "response.output_text.delta"
        ]
        await client.close()
        bodies = await running.bodies()
    assert said
    assert response.output_text == "".join(pieces) == said
    assert [each.dialect for each in bodies if isinstance(each, Request)].count("responses") == 2
    assert all(each.prompt for each in bodies if isinstance(each, Usage))
