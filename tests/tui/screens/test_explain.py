"""What the answer depended on, from the screen: asked for, explained, and what had no effect is masked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from support.provider import Answer, Provider
from tui.play import program, settle, shown, told, until
from tui.screens.looking import seen
from workbench.config.errors import WrongCall
from workbench.explain.values import ExplainWish
from workbench.sources.options import Options
from workbench.sources.services import Services
from workbench.tui.messages import Send
from workbench.tui.screens.explain import ExplainScreen, read_explain_words
from workbench.tui.widgets.dialogs import ConfirmDialog

pytestmark = pytest.mark.usefixtures("project")


def answered(text: str) -> dict[str, Any]:
    used = {"prompt_tokens": 900, "completion_tokens": 9}
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {"model": "gpt-4o", "choices": [choice], "usage": used}


class DecidingProvider(Provider):
    """Answers by what is in the request."""

    def __init__(self, decide: Callable[[str], bool]) -> None:
        super().__init__(Answer())
        self._decide = decide

    async def _answer(self, answer: Answer, incoming: web.Request) -> web.StreamResponse | None:
        text = "Two files." if self._decide(self.requests[-1].raw.decode()) else "Which files do you mean?"
        made = Answer(body=json.dumps(answered(text)).encode(), content_type="application/json")
        return await super()._answer(made, incoming)


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A request with two files that were read."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "look"}]
    for number in range(2):
        function = {"name": "read", "arguments": json.dumps({"path": f"{number}.py"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": f"[b]line {number}[/b]\n" * 200})
    messages.append({"role": "user", "content": "and now?"})
    line = {"request": {"model": "gpt-4o", "messages": messages}, "response": answered("Two files.")}
    path = tmp_path / "requests.jsonl"
    path.write_text(json.dumps(line), "utf-8")
    return path


async def test_it_asks_explains_and_masks_what_had_no_effect(services: Services, recording: Path) -> None:
    body = json.dumps(answered("Two files.")).encode()
    async with (
        Provider(Answer(body=body, content_type="application/json")) as provider,
        program(services, (150, 30), ref=str(recording)) as (pilot, screen),
    ):
        screen.send_or_run(Send(f"/explain --to {provider.url}"))
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await seen(pilot, "without some of its 3 units to gpt-4o", "at most $1.00 or 200 requests")
        assert provider.requests == []
        await pilot.press("y")
        await until(lambda: isinstance(pilot.app.screen, ExplainScreen))
        await seen(pilot, "explain the answer to request 1", "no effect: 3 units", "m masks what had no effect")
        assert len(provider.requests) == 6
        await pilot.press("m")
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await seen(pilot, "mask 2 items: frees", "mask them")
        await pilot.press("y")
        await seen(pilot, "session")  # a file cannot be changed: it becomes a session
        await pilot.press("y")
        await until(lambda: "masked 2 items, which frees" in told(pilot.app))


async def test_the_key_explains_the_request_in_view(services: Services, talk: Path) -> None:
    async with program(services, (120, 30), ref=str(talk)) as (pilot, screen):
        screen.focus_pane("context")
        await settle(pilot)
        await pilot.press("E")
        await until(lambda: "in the log" in told(pilot.app) or "the log holds" in told(pilot.app))


async def test_the_context_shows_what_was_found_also_at_80_columns(services: Services, recording: Path) -> None:
    body = json.dumps(answered("Two files.")).encode()
    async with (
        Provider(Answer(body=body, content_type="application/json")) as provider,
        program(services, (120, 30), ref=str(recording)) as (pilot, screen),
    ):
        screen.focus_pane("context")
        screen.hide("chat")
        await settle(pilot)
        rows = screen.inspector.row_list
        assert getattr(rows, "effects") is None  # noqa: B009  # mypy would believe it for ever
        screen.send_or_run(Send(f"/explain --to {provider.url}"))
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await pilot.press("y")
        await seen(pilot, "no effect: 3 units")
        await pilot.press("escape")
        await until(lambda: rows.effects is not None)
        await seen(pilot, " no effect -56 % to 56 %")
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        await until(lambda: "-56 %" not in shown(pilot.app))
        await seen(pilot, " no effect ")
        assert rows.shown is not None
        result = next(row for row in rows.shown.plan.items if row.kind == "tool_result")
        screen.inspector.show_event(result.seq or 0)
        screen.inspector.take_focus()
        await pilot.press("enter")
        await seen(pilot, "without this result and all else that has no effect")
        await pilot.press("escape")
        screen.send_or_run(Send("/explain --to rehearsal --groups"))
        await until(lambda: isinstance(pilot.app.screen, ExplainScreen))
        await seen(pilot, "units can be left out", "Esc closes")
        await pilot.press("escape")
        await until(lambda: pilot.app.screen is screen)


@pytest.mark.parametrize(
    ("decide", "first", "second", "sentence"),
    [
        (
            lambda text: "line 0" in text,
            *("needed", "no effect"),
            "without this result: Which files do you mean? (3 of 3)",
        ),
        (
            lambda text: "line 0" in text or "line 1" in text,
            *("one of several", "one of several"),
            "without this result and messages.4: Which files do you mean? (3 of 3)",
        ),
    ],
    ids=["needed", "one of several"],
)
async def test_a_row_says_what_the_answer_depended_on(
    services: Services, recording: Path, decide: Callable[[str], bool], first: str, second: str, sentence: str
) -> None:
    async with (
        DecidingProvider(decide) as provider,
        program(services, (150, 30), ref=str(recording)) as (pilot, screen),
    ):
        screen.focus_pane("context")
        screen.hide("chat")
        await settle(pilot)
        screen.send_or_run(Send(f"/explain --to {provider.url}"))
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await pilot.press("y")
        await seen(pilot, "no effect: ")
        await pilot.press("escape")
        rows = screen.inspector.row_list
        await until(lambda: rows.effects is not None)
        await settle(pilot)
        lines = [line for line in shown(pilot.app).splitlines() if "[b]line" in line]
        for line, effect in zip(lines, (first, second), strict=True):
            assert f" {effect} " in line, line
        assert rows.shown is not None
        result = next(row for row in rows.shown.plan.items if row.kind == "tool_result")
        screen.inspector.show_event(result.seq or 0)
        screen.inspector.take_focus()
        await pilot.press("enter")
        await seen(pilot, sentence)


async def test_a_second_call_does_not_lie_over_the_first_and_m_says_why_it_cannot_mask(
    services: Services, recording: Path
) -> None:
    gate = asyncio.Event()
    body = json.dumps(answered("Two files.")).encode()
    async with (
        Provider(Answer(body=body, content_type="application/json", silence=gate)) as provider,
        program(services, (120, 30), ref=str(recording)) as (pilot, screen),
    ):
        for _ in range(2):
            screen.send_or_run(Send(f"/explain --to {provider.url}"))
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await pilot.press("y")
        await until(lambda: isinstance(pilot.app.screen, ExplainScreen))
        await pilot.press("m")
        await until(lambda: "nothing is known yet" in told(pilot.app))
        gate.set()
        await seen(pilot, "m masks what had no effect")
        await pilot.press("m")
        await until(lambda: isinstance(pilot.app.screen, ConfirmDialog))
        await pilot.press("n")
        await until(lambda: pilot.app.screen is screen)
        screen.send_or_run(Send("/explain --to rehearsal"))
        await until(lambda: isinstance(pilot.app.screen, ExplainScreen))


def test_words_are_read_as_on_the_command_line() -> None:
    options, wish = read_explain_words("--groups --budget $0.5 --tries 5 -m other --to http://h --send-key")
    assert options == Options(model="other")
    assert wish == ExplainWish(grain="groups", budget=0.5, tries=5, to="http://h", send_key=True)
    for wrong in ("--what", "more", "--budget x", "--tries 1.5", "--budget -1", "'"):
        with pytest.raises(WrongCall, match="expected --groups"):
            read_explain_words(wrong)
