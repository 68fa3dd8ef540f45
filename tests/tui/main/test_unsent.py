"""Messages that could not be sent are back in the input."""

from __future__ import annotations

import threading

import pytest

from tui.play import Script, program, settle, typed, until
from workbench.models.failures import ModelFailure
from workbench.sources.services import Services

pytestmark = pytest.mark.usefixtures("project")


async def test_what_waited_in_another_session_is_in_the_input(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    Script([gate, ModelFailure("bad_request", "refused.")]).play(monkeypatch)
    async with program(services) as (pilot, screen):
        screen.model.send("first")
        await until(lambda: screen.model.state.activity.kind == "asking")
        screen.model.send("second")
        await until(lambda: screen.model.state.queue == ("second",))
        gate.set()
        await settle(pilot)
        await typed(pilot, "/new ")  # a blank, so that Enter does not complete it
        assert screen.model.state.title == "new session"
        assert screen.chat.composer.text == "second"
