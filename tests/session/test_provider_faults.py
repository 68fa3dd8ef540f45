"""The session on the screen, with a provider that is careless or means no good: it never waits for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.hostile import DIALECTS, KEY, Call, Dialect, Hostile, OpenAI, head, hostile, redirect
from tui.play import Watcher, opened
from workbench.log.events import Failure, Setting, ToolCall, ToolResult
from workbench.sources.services import Services

pytestmark = [
    pytest.mark.xdist_group("litellm"),
    pytest.mark.usefixtures("project"),
    pytest.mark.parametrize("dialect", DIALECTS),
]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def way(dialect: Dialect, server: Hostile) -> dict[str, Any]:
    return {"model": dialect.model, "api_base": server.url + dialect.path}


async def events(on: Watcher, kind: type) -> list[Any]:
    found = await on.ask(lambda session: [event.body for event in session.events])
    return [body for body in found if isinstance(body, kind)]


async def test_two_calls_with_one_id_come_to_an_end(dialect: Dialect, services: Services, project: Path) -> None:
    (project / "a.py").write_text("one = 1\n")
    (project / "b.py").write_text("two = 2\n")
    calls = [Call("x"), Call("x", arguments='{"path": "b.py"}')]
    with hostile(head() + dialect.says(calls=calls), head() + dialect.says("both read")) as server:
        async with opened(services, **way(dialect, server)) as on:
            on.model.send("read them")
            await on.settled()
            assert on.said[-1] == ("ai", "both read")
            made, results = await events(on, ToolCall), await events(on, ToolResult)
            assert sorted(call.call_id for call in made) == sorted(result.call_id for result in results)
            shown = [on.transcript[at].call for at in range(len(on.transcript)) if on.transcript[at].call]
            assert ["one" in shown[0].result, "two" in shown[1].result] == [True, True]


async def test_a_redirect_and_an_empty_answer_are_said(dialect: Dialect, services: Services) -> None:
    with hostile(redirect("http://other.test/v1"), head() + dialect.says()) as server:
        async with opened(services, **way(dialect, server)) as on:
            on.model.send("hello")
            await on.settled()
            [failure] = await events(on, Failure)
            assert "http://other.test:80, which is another server" in failure.message
            on.model.send("hello?")
            await on.settled()
            last = on.transcript[len(on.transcript) - 1]
            assert (last.kind, last.text, last.finish) == ("ai", "", "empty")


async def test_a_learnt_window_is_forgotten_when_the_model_is_chosen_again(
    dialect: Dialect, services: Services
) -> None:
    words = "maximum context length is 3000 tokens", "prompt is too long: 9000 tokens > 3000 maximum"
    refused = dialect.refuses(400, words[dialect is not OpenAI])
    with hostile(refused, head() + dialect.says("fine")) as server:
        async with opened(services, policy="layers", **way(dialect, server)) as on:
            known = on.shown.plan.limits.window
            on.model.send("hello")
            await on.settled()
            assert (on.shown.plan.limits.window, on.shown.plan.limits.window_source) == (3_000, "provider")
            on.model.send("word " * 4_000)
            await on.settled()
            assert "/model NAME forgets it" in (await events(on, Failure))[-1].message
            on.model.switch_model(dialect.model)
            await on.settled()
            assert on.shown.plan.limits.window == known
            on.model.send("again")
            await on.settled()
            assert on.said[-1] == ("ai", "fine")
            windows = [body.value["tokens"] for body in await events(on, Setting) if body.key == "window"]
        assert windows == [3_000, 0]
        async with opened(services, **way(dialect, server)) as on:
            assert on.shown.plan.limits.window_source != "provider", "also after a restart"
