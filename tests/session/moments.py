"""A moment of a session, told in every way there is: by the panes, the preview, the timeline, and the commands."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tui.play import Watcher, until
from workbench.cli.main import main
from workbench.context.plan import ContextPlan
from workbench.tui.inspector.request import request_json

ROW = ("seq", "kind", "state", "tokens", "original_tokens", "pinned", "text")
"""What is compared of a row."""


async def printed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """What a command prints as JSON."""
    capsys.readouterr()
    await asyncio.to_thread(main, list(words))
    out, err = capsys.readouterr()
    assert out, err
    return json.loads(out)


async def travel(on: Watcher, place: int | None) -> None:
    """Look at a request; None: at now."""
    on.model.travel(place)
    await until(lambda: on.shown.at == place)
    await on.settled()


def figures(plan: ContextPlan) -> dict[str, Any]:
    """All that is told of a plan."""
    return {
        "model": plan.model or None,
        "policy": plan.policy,
        "window": plan.limits.window,
        "verdict": (plan.verdict.fits, plan.verdict.why),
        "totals": plan.totals._asdict(),
        "budget": {name: value for name, value in plan.budget._asdict().items() if value},
        "max_output": plan.max_output,
        "items": [tuple(getattr(row, name) for name in ROW) for row in plan.items],
    }


def written_figures(told: dict[str, Any]) -> dict[str, Any]:
    """The same, from the JSON of `plan`."""
    return {
        **{name: told[name] for name in ("model", "policy", "window", "totals", "max_output")},
        "verdict": (told["verdict"]["fits"], told["verdict"]["why"]),
        "budget": {name: value for name, value in told["budget"].items() if value},
        "items": [tuple(row[name] for name in ROW) for row in told["items"]],
    }


async def check_moment(
    on: Watcher, place: int, ref: str, capsys: pytest.CaptureFixture[str], *more: str
) -> dict[str, Any]:
    """At a past request all that shows it agrees; gives its body.

    `more`: what the command line has to say so that the JSON is under the same policy.
    """
    await travel(on, place)
    plan, mark, number = on.shown.plan, on.shown.requests[place], str(place + 1)
    told = await printed(capsys, "plan", ref, "--nth", number, "--json", *more)
    assert (told["request"], told["reported"]) == (place + 1, mark.reported)
    assert written_figures(told) == figures(plan)
    if mark.reported and not mark.exact and mark.purpose == "turn":
        by_event = await printed(capsys, "plan", ref, "--at", str(mark.upto), "--json", *more)
        assert written_figures(by_event) == written_figures(told)
    if not more:
        listed = (await printed(capsys, "requests", ref, "--json"))["requests"][place]
        unattributed = None if mark.reported is None else plan.unattributed
        assert (listed["tokens"], listed["reported"], listed["unattributed"]) == (
            plan.totals.tokens,
            mark.reported,
            unattributed,
        )
    if on.shown.view != "what-if" and mark.tokens:
        assert plan.size == mark.tokens, "the timeline's figure"
    body: dict[str, Any] = json.loads(request_json(plan))
    if not mark.exact and plan.verdict.fits and body["messages"]:
        assert await printed(capsys, "plan", ref, "--nth", number, "--request", *more) == body
    return body
