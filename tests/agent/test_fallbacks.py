"""Where a model cannot answer the next one does, planned for anew; the session's own model stays what it was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from workbench.agent.approvals import Approvals
from workbench.agent.loop import Agent
from workbench.agent.serving import Fallbacks, Prepared
from workbench.agent.steps import EventAppended, ModelSwitched, RequestPlanned, TurnStep, WaitingToRetry
from workbench.agent.tools.registry import Toolbox
from workbench.agent.turn_services import TurnServices
from workbench.config.errors import WorkbenchError
from workbench.config.settings import Settings
from workbench.context.setup import PlanOptions, Setup, set_up
from workbench.log.events import AssistantMessage, Failure, Setting, SlotContent, ToolResult, Usage, UserMessage
from workbench.log.session import Session
from workbench.log.store import Store
from workbench.models.catalogue import Catalogue
from workbench.models.endpoints import Endpoint
from workbench.models.failures import ELSEWHERE, Category
from workbench.models.gateway import Gateway, SilenceLimits
from workbench.models.retry import RetrySchedule
from workbench.rehearsal.script import Script
from workbench.rehearsal.server import RehearsalServer

pytestmark = pytest.mark.xdist_group("litellm")

WINDOWS = {"first": 100_000, "second": 64_000, "third": 32_000, "tiny": 600}
FAULTS: dict[Category, str] = {
    "authentication": "status 401",
    "unknown_model": "status 404",
    "rate_limit": "status 429",
    "overloaded": "status 503",
    "timeout": "mute",
    "connection": "drop",
    "context_too_long": "context 50",
    "refused_content": "policy",
    "bad_request": "status 422",
    "broken_stream": "html",
}
"""A way to each failure that the rehearsal server has. Those that say nothing in time need a patience of their own."""


def setup_of(model: str) -> Setup:
    known = {name: {"window": window, "max_output": 100} for name, window in WINDOWS.items()}
    return set_up(PlanOptions(model=model), Settings(), Catalogue(known))


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Store.open(tmp_path / "store.db") as store, store.create() as made:
        yield made


@dataclass
class Stage:
    """An agent whose models are servers of their own, by name."""

    agent: Agent
    servers: dict[str, RehearsalServer]
    prepared: list[str] = field(default_factory=list)

    async def say(self, message: str) -> list[TurnStep]:
        async with aclosing(self.agent.turn(message)) as steps:
            return [step async for step in steps]

    def asked(self, model: str) -> int:
        return len(self.servers[model].requests)


@asynccontextmanager
async def stage(
    session: Session,
    folder: Path,
    models: dict[str, list[dict[str, Any]]],
    *,
    tries: int = 1,
    patience: SilenceLimits | None = None,
    broken: str = "",
) -> AsyncIterator[Stage]:
    """`models`: the script of each, in the order in which they are asked. `broken`: one that cannot be prepared.

    `patience` is for the first alone, so that a slow machine cannot make the others late.
    """
    async with AsyncExitStack() as stack:
        servers = {
            name: await stack.enter_async_context(RehearsalServer(Script(steps))) for name, steps in models.items()
        }
        prepared: list[str] = []

        def endpoint(model: str) -> Endpoint:
            return Endpoint(f"{servers[model].url}/v1", "key", "openai")

        async def prepare(model: str) -> Prepared:
            prepared.append(model)
            if model == broken:
                raise WorkbenchError(f"{model}: no such thing")
            return setup_of(model), endpoint(model), SilenceLimits()

        own, *others = models
        gateway = Gateway(endpoint(own), patience)
        stack.push_async_callback(gateway.close)
        fallbacks = await stack.enter_async_context(Fallbacks(others, prepare))
        schedule = RetrySchedule(tries=tries, first_wait=0.01, jitter=0)
        means = TurnServices(gateway, Toolbox(folder), Approvals(), schedule=schedule, fallbacks=fallbacks)
        yield Stage(Agent(session, setup_of(own), means), servers, prepared)


def bodies(steps: list[TurnStep], kind: type) -> list[Any]:
    return [step.event.body for step in steps if isinstance(step, EventAppended) and isinstance(step.event.body, kind)]


def plans(steps: list[TurnStep]) -> list[tuple[str, int]]:
    return [(step.plan.model, step.plan.limits.window) for step in steps if isinstance(step, RequestPlanned)]


async def test_the_next_model_answers_planned_for_its_own_window(session: Session, tmp_path: Path) -> None:
    script = {"first": [{"fault": "status 401"}], "second": [{"reply": "here I am"}]}
    async with stage(session, tmp_path, script) as on:
        steps = await on.say("hello")
    assert plans(steps) == [("first", 100_000), ("second", 64_000)]
    [switched] = [step for step in steps if isinstance(step, ModelSwitched)]
    assert (switched.model, switched.instead_of, switched.failure.category) == ("second", "first", "authentication")
    [answer], [usage], [failure] = bodies(steps, AssistantMessage), bodies(steps, Usage), bodies(steps, Failure)
    assert (answer.content, answer.model, usage.model) == ("here I am", "second", "second")
    assert failure.category == "authentication"
    assert failure.message.startswith("first: authentication: ")
    assert failure.message.endswith("second is asked instead.")
    assert not bodies(steps, Setting), "the session's own model stays"
    assert on.servers["second"].requests[0].body["model"] == "second"


async def test_the_rest_of_the_turn_stays_with_it_and_the_next_turn_goes_home(session: Session, tmp_path: Path) -> None:
    call = {"calls": [{"tool": "list_files", "arguments": {}}]}
    script: dict[str, list[dict[str, Any]]] = {
        "first": [{"fault": "status 503"}, {"reply": "I am back"}],
        "second": [call, {"reply": "done"}, {"reply": "never said"}],
    }
    async with stage(session, tmp_path, script) as on:
        steps = await on.say("look around")
        assert [model for model, _ in plans(steps)] == ["first", "second", "second"]
        assert bodies(steps, ToolResult)
        assert on.agent.plan.model == "first"
        again = await on.say("and now?")
    assert [model for model, _ in plans(again)] == ["first"]
    assert bodies(again, AssistantMessage)[-1].model == "first"
    spoken = on.servers["first"].requests[-1].body["messages"]
    assert [message["role"] for message in spoken] == ["system", "user", "assistant", "tool", "assistant", "user"]


@pytest.mark.parametrize("category", FAULTS)
async def test_only_what_another_model_can_mend_goes_elsewhere(
    session: Session, tmp_path: Path, category: Category
) -> None:
    patience = SilenceLimits(first=0.5) if category == "timeout" else None
    script = {"first": [{"fault": FAULTS[category]}] * 2, "second": [{"reply": "yes"}]}
    async with stage(session, tmp_path, script, patience=patience) as on:
        steps = await on.say("hello")
    assert category in {failure.category for failure in bodies(steps, Failure)}
    assert bool(bodies(steps, AssistantMessage)) == (category in ELSEWHERE)
    assert bool(on.prepared) == (category in ELSEWHERE)


async def test_retries_come_first(session: Session, tmp_path: Path) -> None:
    script = {"first": [{"fault": "status 503"}] * 3, "second": [{"reply": "yes"}]}
    async with stage(session, tmp_path, script, tries=3) as on:
        steps = await on.say("hello")
    assert on.asked("first") == 3
    assert on.asked("second") == 1
    kinds = [type(step) for step in steps]
    assert kinds.index(WaitingToRetry) < kinds.index(ModelSwitched)


async def test_what_one_model_began_no_other_finishes(session: Session, tmp_path: Path) -> None:
    cut = {"reply": "I was about to say", "chunk": 4, "fault": "cut"}
    async with stage(session, tmp_path, {"first": [cut], "second": [{"reply": "yes"}]}) as on:
        steps = await on.say("hello")
    [answer] = bodies(steps, AssistantMessage)
    assert (answer.finish, answer.model) == ("broken", "first")
    assert on.prepared == []


async def test_all_are_tried_in_order_and_the_last_failure_ends_the_turn(session: Session, tmp_path: Path) -> None:
    script: dict[str, list[dict[str, Any]]] = {
        "first": [{"fault": "status 401"}],
        "second": [{"fault": "status 503"}],
        "third": [{"fault": "status 404"}],
    }
    async with stage(session, tmp_path, script) as on:
        steps = await on.say("hello")
    assert [model for model, _ in plans(steps)] == ["first", "second", "third"]
    assert [failure.category for failure in bodies(steps, Failure)] == ["authentication", "overloaded", "unknown_model"]
    assert isinstance(steps[-1], EventAppended)
    assert not bodies(steps, AssistantMessage)


async def test_one_that_cannot_be_prepared_or_is_too_small_is_passed_over(session: Session, tmp_path: Path) -> None:
    answers = [{"reply": "yes"}]
    script = {"first": [{"fault": "status 401"}], "second": answers, "tiny": answers, "third": answers}
    async with stage(session, tmp_path, script, broken="second") as on:
        steps = await on.say("hello " * 800)
    assert [step.model for step in steps if isinstance(step, ModelSwitched)] == ["second", "tiny", "third"]
    categories = [failure.category for failure in bodies(steps, Failure) if failure.category != "compaction"]
    assert categories == ["authentication", "connection", "does_not_fit"]
    assert bodies(steps, AssistantMessage)[-1].model == "third"
    assert on.asked("tiny") == 0, "what does not fit is never sent"


async def test_a_model_without_tools_is_offered_none_and_the_next_turn_has_them_again(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Setup, "calls_tools", property(lambda setup: setup.model != "second"))
    script = {"first": [{"fault": "status 401"}, {"reply": "a"}], "second": [{"reply": "b"}]}
    async with stage(session, tmp_path, script) as on:
        steps = await on.say("hello")
        await on.say("again")
    gone = [body for body in bodies(steps, SlotContent) if body.slot == "tools" and not body.text]
    assert gone
    assert "tools" not in on.servers["second"].requests[0].body
    first, second = (request.body["tools"] for request in on.servers["first"].requests)
    assert first == second


async def test_a_guessed_window_ends_with_the_turn_also_where_another_model_answers(
    session: Session, tmp_path: Path
) -> None:
    for at in range(20):
        session.append(UserMessage(f"question {at}"), AssistantMessage("word " * 500, f"r{at}"))
    script = {"first": [{"fault": "context 50"}] + [{"fault": "status 503"}] * 3, "second": [{"reply": "here I am"}]}
    async with stage(session, tmp_path, script) as on:
        steps = await on.say("hello")
        [first, guessed, second] = plans(steps)
        assert (first, second) == (("first", 100_000), ("second", 64_000))
        assert guessed[1] < 100_000
        assert on.agent.compactions.compactor.setup is on.agent.setup
        assert on.agent.setup.info.window == 100_000


async def test_a_limit_that_a_fallback_names_is_learnt_for_it_alone(session: Session, tmp_path: Path) -> None:
    script = {"first": [{"fault": "status 401"}], "second": [{"fault": "context 20000"}, {"reply": "b"}]}
    async with stage(session, tmp_path, script) as on:
        steps = await on.say("hello")
        assert plans(steps) == [("first", 100_000), ("second", 64_000), ("second", 20_000)]
        assert on.agent.plan.limits.window == 100_000
    [setting] = bodies(steps, Setting)
    assert setting.value == {"model": "second", "tokens": 20_000, "source": "provider"}


async def test_interrupting_while_a_fallback_is_asked_leaves_the_session_to_its_own_model(
    session: Session, tmp_path: Path
) -> None:
    script = {"first": [{"fault": "status 401"}, {"reply": "a"}], "second": [{"fault": "mute"}]}
    async with stage(session, tmp_path, script) as on:
        task = asyncio.create_task(on.say("hello"))
        await on.servers["second"].arrival()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        steps = await on.say("again")
        assert [model for model, _ in plans(steps)] == ["first"]
    users = [event.body for event in session.events() if isinstance(event.body, UserMessage)]
    assert len(users) == 2
