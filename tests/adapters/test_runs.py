"""A long run of each framework through its adapter: every request is valid, fits, and is what the context gives."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.adapted import ADAPTED, every_adapter
from adapters.measuring import asked, complaint, dialect_of, measure, unchecked
from adapters.scripted import STEPS, WINDOW, read_log, script
from workbench.library.context import Context
from workbench.log.events import Compaction, Override, ToolResult, Usage, text_of
from workbench.log.store import Store
from workbench.rehearsal.server import RehearsalServer

SHORT = 2
"""Turns: 17,000 tokens in a window of 16,000. The whole run is for `compare.py`."""


@pytest.mark.long
@pytest.mark.parametrize("name", every_adapter())
async def test_what_goes_out_is_the_request_of_the_context(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[dict[str, Any]] = []
    make = Context.request

    def noted(context: Context, dialect: str | None = None) -> dict[str, Any]:
        requests.append(make(context, dialect))
        return requests[-1]

    monkeypatch.setattr(Context, "request", noted)
    async with RehearsalServer(script(WINDOW)) as server:
        conversations = await ADAPTED[name][1](server.url, SHORT, store="a run")
        conversations.close()
    received = asked(server)
    assert len(received) == len(requests) == SHORT * STEPS
    for sent, request in zip(received, requests, strict=True):
        assert complaint(sent) == ""
        dialect = dialect_of(sent)
        body = {"model": sent.body.get("model", ""), **request}
        assert unchecked(dialect, sent.body).messages == unchecked(dialect, body).messages
    figures = measure(server)
    assert figures.fit == figures.requests
    assert figures.kept > 0.8
    assert figures.missing_said == 0
    _check_recorded()


def _check_recorded() -> None:
    """The stored session has everything whole, once, with what was reported."""
    with Store.open() as store:
        bodies = [event.body for event in store.session("a run").events()]
    results = [text_of(body.content) for body in bodies if isinstance(body, ToolResult)]
    wanted = [
        read_log(2 * request + each)
        for request in range(SHORT * STEPS)
        if request % STEPS != STEPS - 1
        for each in range(2 if request % STEPS % 6 == 5 else 1)
    ]
    assert [text for text in wanted if not any(text in result or _quoted(text) in result for result in results)] == []
    assert len(results) == len(wanted)
    assert len([body for body in bodies if isinstance(body, Usage)]) == SHORT * STEPS
    assert not [body for body in bodies if isinstance(body, Override)]
    assert len([body for body in bodies if isinstance(body, Compaction)]) < SHORT


def _quoted(text: str) -> str:
    """A text as it stands in JSON, in which ADK wraps results."""
    return text.replace("\n", "\\n")
