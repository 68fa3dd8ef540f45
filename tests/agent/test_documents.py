"""What the documents behind the presets ask for, on turns and requests that arrive at a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.agents import agent, bodies, said
from support.requirements import requirement
from support.talk import words
from workbench.log.events import AssistantMessage, Compaction, UserMessage
from workbench.log.session import Session
from workbench.models.endpoints import Endpoint
from workbench.models.gateway import Gateway
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

pytestmark = pytest.mark.xdist_group("litellm")


@requirement("confirm", "summary", "the request for the summary leaves the system prompt out")
@requirement("confirm", "summary", "the prompt wants the summary alone, brief but complete, without a preamble")
@requirement(
    "confirm", "request", "the next request has the system prompt, summary, acknowledgement and the new message"
)
async def test_the_request_for_a_summary_is_one_of_its_own(session: Session, project: Path) -> None:
    for at in range(8):
        session.append(UserMessage(f"question {at}"), AssistantMessage(f"answer {at}: {words(100)}", f"r{at}"))
    async with RehearsalServer(Script([{"reply": "They talked."}, {"reply": "Gladly."}])) as server:
        gateway = Gateway(Endpoint(f"{server.url}/v1", "key", "openai"))
        made = agent(session, project, gateway, model="unheard-of", policy="confirm")
        [compaction] = bodies([step async for step in made.compact()], Compaction)
        await said(made, "go on")
        await gateway.close()
    asked, answered = (request.body["messages"] for request in server.requests)
    assert [message["role"] for message in asked] == ["system", "user"]
    assert "nothing before it, nothing behind it" in asked[0]["content"]
    assert "Be brief but complete" in asked[0]["content"]
    assert all(f"question {at}" in asked[1]["content"] for at in range(7))
    assert "inside Workbench" not in str(asked)
    assert compaction.summary == "They talked."
    assert "inside Workbench" in answered[0]["content"]
    assert [message["role"] for message in answered] == ["system", "user", "assistant", "user"]
    assert answered[1]["content"].startswith("[Conversation summary from compaction]: ")
    assert answered[1]["content"].endswith("They talked.")
    assert answered[2]["content"] == compaction.acknowledgement
    assert answered[3]["content"] == "go on"


@requirement("sliding", "trigger", "the fifth turn that ends leads to a compaction without anybody's doing")
@requirement("sliding", "summary", "a compaction makes the context 60 to 80 % smaller")
async def test_the_fifth_turn_makes_the_context_much_smaller(session: Session, project: Path, gateway: Gateway) -> None:
    for at in range(4):
        session.append(UserMessage(f"question {at}"), AssistantMessage(f"answer {at}: {words(900)}", f"r{at}"))
    made = agent(session, project, gateway, policy="sliding")
    assert [step async for step in made.settle()] == []
    before = made.plan.budget
    await said(made, "say hello")
    [compaction] = bodies([step async for step in made.settle()], Compaction)
    assert (compaction.meta["trigger"], compaction.meta["last_turn"]) == ("turns", 5)
    after = made.plan.budget
    conversation = before.history + before.turn
    assert after.summaries + after.history + after.turn < 0.4 * conversation
